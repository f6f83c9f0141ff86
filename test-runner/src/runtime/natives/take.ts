// Takes built-ins by their names.
import {
  type Any,
  apply,
  bind,
  defineProperty,
  fresh,
  getOwnPropertyDescriptor,
  isNative,
  keysOf,
  leave,
  page,
  spare,
} from './base.ts';

// The one that `async` functions return, whatever the page calls Promise.
export const NativePromise = (async () => {})().constructor as PromiseConstructor;

/** A constructor by its name. Its identity counts (`instanceof`, `expect.any(Map)`), so it is the page's own. */
export function global(name: string): Any {
  if (name === 'Promise') return NativePromise;
  return page[name] ?? fresh()[name];
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
  const before: Any[] = [];
  for (let i = 0; i < TIMERS.length; i++) {
    const name = TIMERS[i] as string;
    before[i] = page[name];
    if (!isNative(before[i])) page[name] = take('window', name);
  }
  const there = keysOf(page);
  try {
    runtime();
    keep(page, there);
  } finally {
    for (let i = 0; i < TIMERS.length; i++) {
      const name = TIMERS[i] as string;
      if (page[name] !== before[i]) page[name] = before[i];
    }
    // What came from the other window goes on working without it.
    leave();
  }
}

/** What the runtime put on the page's global object cannot be taken away or replaced by a test that tidies up. */
function keep(page: Any, there: PropertyKey[]): void {
  const keys = keysOf(page);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as PropertyKey;
    let known = false;
    for (let j = 0; j < there.length && !known; j++) known = there[j] === key;
    if (known) continue;
    const own = getOwnPropertyDescriptor(page, key);
    if (own?.configurable) defineProperty(page, key, 'value' in own ? FIXED : { configurable: false });
  }
}

const FIXED = { configurable: false, writable: false, enumerable: false };
