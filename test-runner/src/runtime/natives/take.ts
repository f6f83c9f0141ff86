// Takes built-ins by their names.
import { type Any, apply, bind, fresh, isNative, leave, spare } from './base.ts';

// The one that `async` functions return, whatever the page calls Promise.
export const NativePromise = (async () => {})().constructor as PromiseConstructor;

/** A constructor by its name. Its identity counts (`instanceof`, `expect.any(Map)`), so it is the page's own. */
export function global(name: string): Any {
  if (name === 'Promise') return NativePromise;
  return (globalThis as Any)[name] ?? fresh()[name];
}

function walk(root: Any, path: readonly string[]): Any {
  let at = root;
  for (let i = 1; i < path.length; i++) at = at?.[path[i] as string];
  return at;
}

/** `take('Object', 'keys')`: the function itself, or that of an untouched window when the page has its own. */
export function take(...path: string[]): Any {
  const owner = global(path[0] as string);
  const own = walk(owner, path);
  const replaced = typeof own === 'function' ? !isNative(own) : own === undefined && spare;
  const found = replaced ? (walk(fresh()[path[0] as string], path) ?? own) : own;
  // These ask for `this`; the others stay what engines know how to inline.
  const asks = path[0] === 'Promise' || path[0] === 'window' || path[1] === 'from' || path[1] === 'of';
  return typeof found === 'function' && path.length === 2 && asks ? apply(bind, found, [owner]) : found;
}

const TIMERS = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'queueMicrotask'];

/** Evaluates the runtime, with the untouched timers in the page's place: Vitest takes its own copies from there. */
export function evaluate(runtime: () => void): void {
  const page = globalThis as Any;
  const before: Any[] = [];
  for (let i = 0; i < TIMERS.length; i++) {
    const name = TIMERS[i] as string;
    before[i] = page[name];
    if (!isNative(before[i])) page[name] = take('window', name);
  }
  try {
    runtime();
  } finally {
    for (let i = 0; i < TIMERS.length; i++) {
      const name = TIMERS[i] as string;
      if (page[name] !== before[i]) page[name] = before[i];
    }
    // What came from the other window goes on working without it.
    leave();
  }
}
