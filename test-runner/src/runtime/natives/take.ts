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
  const replaced =
    typeof own === 'function' ? !isNative(own, path[path.length - 1] as string) : own === undefined && spare;
  const found = replaced ? (walk(fresh()[path[0] as string], path) ?? own) : own;
  // These ask for `this`; the others stay what engines know how to inline.
  const asks = path[0] === 'Promise' || path[0] === 'window' || path[1] === 'from' || path[1] === 'of';
  return typeof found === 'function' && path.length === 2 && asks ? apply(bind, found, [owner]) : found;
}

const TIMERS = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'queueMicrotask'];

/**
 * Puts the untouched timers in the place of the page's, for as long as the runtime is evaluated: Vitest takes its own copies
 * from there. Returns what has to be called at the end. (A function around the runtime would be parsed twice.)
 */
export function begin(): () => void {
  const before: Any[] = [];
  for (let i = 0; i < TIMERS.length; i++) {
    const name = TIMERS[i] as string;
    before[i] = page[name];
    if (!isNative(before[i], name)) page[name] = take('window', name);
  }
  const there = symbolsOf();
  return () => {
    keep(there);
    for (let i = 0; i < TIMERS.length; i++) {
      const name = TIMERS[i] as string;
      if (page[name] !== before[i]) page[name] = before[i];
    }
    // What came from the other window goes on working without it.
    leave();
  };
}

/** What Vitest keeps on the page's global object cannot be taken away or replaced by a test that tidies up. */
function keep(there: PropertyKey[]): void {
  const keys = symbolsOf();
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as PropertyKey;
    let known = false;
    for (let j = 0; j < there.length && !known; j++) known = there[j] === key;
    const own = known ? undefined : getOwnPropertyDescriptor(page, key);
    if (own?.configurable) defineProperty(page, key, 'value' in own ? FIXED : { configurable: false });
  }
}

const FIXED = { configurable: false, writable: false, enumerable: false };

function symbolsOf(): PropertyKey[] {
  const keys = keysOf(page);
  const symbols: PropertyKey[] = [];
  // They come last.
  for (let i = keys.length - 1; i >= 0 && typeof keys[i] === 'symbol'; i--) symbols[symbols.length] = keys[i] as symbol;
  return symbols;
}
