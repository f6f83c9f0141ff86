// The built-ins the runtime works with, as they were when it was injected. `build-natives.mjs` bundles this file on its own,
// puts it before the runtime, and turns every use of a built-in there (`list.map(f)`, `Object.keys(x)`, `new Map()`) into a
// use of what is taken here. So neither our code nor Vitest's notices when a page or a test replaces one.
// What it cannot turn is the language's own use of them: `[...list]`, `for of`, and `instanceof`.

type Any = any;
type Fn = (...args: Any[]) => Any;

/** Whether a text ends in `[native code] }`, asked without any method. */
function saysNative(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  const end = '[native code] }';
  for (let i = 1; i <= end.length; i++) if (text[text.length - i] !== end[end.length - i]) return false;
  return true;
}

/** The few functions everything else is judged with. */
interface Base {
  apply: typeof Reflect.apply;
  getPrototypeOf: typeof Reflect.getPrototypeOf;
  getOwnPropertyDescriptor: typeof Reflect.getOwnPropertyDescriptor;
  hasOwn: typeof Object.hasOwn;
  isArray: typeof Array.isArray;
  bind: typeof Function.prototype.bind;
  toText: typeof Function.prototype.toString;
}

function baseOf(root: Any): Base {
  const { apply, getPrototypeOf, getOwnPropertyDescriptor } = root.Reflect;
  const { bind, toString: toText } = root.Function.prototype;
  return {
    apply,
    getPrototypeOf,
    getOwnPropertyDescriptor,
    hasOwn: root.Object.hasOwn,
    isArray: root.Array.isArray,
    bind,
    toText,
  };
}

function untouched(base: Base): boolean {
  try {
    for (const key in base) if (!saysNative(base.apply(base.toText, base[key as keyof Base], []))) return false;
    return true;
  } catch {
    return false;
  }
}

/** A window nobody has touched, for a page that replaced built-ins before we came. Made when the first one is missed. */
let spare: Any;

function fresh(): Any {
  if (spare) return spare;
  try {
    const frame = document.createElement('iframe');
    frame.style.display = 'none';
    document.documentElement.appendChild(frame);
    spare = frame.contentWindow;
    leave = () => frame.remove();
  } catch {
    // A document without a root element: what the page has is what there is.
  }
  spare ??= globalThis;
  return spare;
}

let leave = (): void => {};

const base = (() => {
  try {
    const own = baseOf(globalThis);
    return untouched(own) ? own : baseOf(fresh());
  } catch {
    return baseOf(fresh());
  }
})();
const { apply, getPrototypeOf, getOwnPropertyDescriptor, hasOwn, isArray } = base;

const isNative = (fn: unknown): boolean => typeof fn === 'function' && saysNative(apply(base.toText, fn, []));

// The one that `async` functions return, whatever the page calls Promise.
const NativePromise = (async () => {})().constructor as PromiseConstructor;

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
  return typeof found === 'function' && path.length === 2 && asks ? apply(base.bind, found, [owner]) : found;
}

const promiseThen = take('Promise', 'prototype', 'then');
const promiseResolve = take('Promise', 'resolve') as (value: Any) => Promise<Any>;

const OWNERS = [
  'Array',
  'Map',
  'Set',
  'WeakMap',
  'WeakSet',
  'RegExp',
  'Promise',
  'Date',
  'EventTarget',
  'AbortController',
];

/** `method('map')(list, f)` is what `list.map(f)` was at injection; anything that is no plain built-in is asked itself. */
export function method(name: string): Fn {
  if (name === 'then') return then;
  if (name === 'catch') return (object: Any, failed: Any) => then(object, undefined, failed, 'catch');
  if (name === 'finally') return lastly;
  const onText = prototypeMethod('String', name);
  const onFunction = prototypeMethod('Function', name);
  const onArray = prototypeMethod('Array', name);
  const prototypes: Any[] = [];
  const methods: Fn[] = [];
  for (let i = 0; i < OWNERS.length; i++) {
    const found = prototypeMethod(OWNERS[i] as string, name);
    if (!found) continue;
    prototypes[prototypes.length] = global(OWNERS[i] as string).prototype;
    methods[methods.length] = found;
  }
  return (object: Any, ...args: Any[]): Any => {
    if (typeof object === 'string') {
      if (onText) return apply(onText, object, args);
    } else if (typeof object === 'function') {
      if (onFunction && !hasOwn(object, name)) return apply(onFunction, object, args);
    } else if (typeof object === 'object' && object !== null) {
      const prototype = prototypeOf(object);
      if (onArray && prototype === prototypes[0] && isArray(object)) return apply(onArray, object, args);
      // A class of its own may stand in between, and may have the method itself.
      for (let at = prototype; at && !hasOwn(object, name); at = prototypeOf(at)) {
        for (let i = 0; i < prototypes.length; i++) {
          if (prototypes[i] === at) return apply(methods[i] as Fn, object, args);
        }
        if (hasOwn(at, name)) break;
      }
    }
    return object[name](...args);
  };
}

/** The untouched methods of that name, for a quick look whether an object still has one of them. */
export function untouchedMethods(name: string): Fn[] {
  const found: Fn[] = [];
  for (const owner of ['Array', 'String', 'Map', 'Set', 'WeakMap', 'RegExp', 'Function']) {
    const own = prototypeMethod(owner, name);
    if (own) found[found.length] = own;
  }
  return found;
}

/** `super.get(key)` in a class that extends Map. */
export const invoke = apply;

/** `list?.map(f)` */
export function optional(call: Fn): Fn {
  return (object: Any, args: () => Any[]): Any =>
    object === undefined || object === null ? undefined : call(object, ...args());
}

function prototypeMethod(owner: string, name: string): Fn | undefined {
  const descriptor = getOwnPropertyDescriptor(global(owner).prototype, name);
  return typeof descriptor?.value === 'function' ? take(owner, 'prototype', name) : undefined;
}

function prototypeOf(object: object): object | null {
  try {
    return getPrototypeOf(object);
  } catch {
    return null;
  }
}

function isPlainPromise(object: Any): boolean {
  const is = typeof object === 'object' && object !== null && prototypeOf(object) === NativePromise.prototype;
  return is && !hasOwn(object, 'then');
}

function then(object: Any, done?: Any, failed?: Any, name: 'then' | 'catch' = 'then'): Any {
  if (!isPlainPromise(object)) return name === 'then' ? object.then(done, failed) : object.catch(failed);
  return new NativePromise((resolve, reject) => {
    apply(promiseThen, object, [answer(done, resolve, resolve, reject), answer(failed, reject, resolve, reject)]);
  });
}

/** A promise that a callback returns is followed with the untouched `then`, too. */
function answer(callback: Any, pass: Fn, resolve: Fn, reject: Fn): Fn {
  if (typeof callback !== 'function') return pass;
  return (value: Any) => {
    try {
      const result = callback(value);
      if (isPlainPromise(result)) apply(promiseThen, result, [resolve, reject]);
      else resolve(result);
    } catch (error) {
      reject(error);
    }
  };
}

function lastly(object: Any, callback: Any): Any {
  if (!isPlainPromise(object) || typeof callback !== 'function') return object.finally(callback);
  return new NativePromise((resolve, reject) => {
    const after = (end: Fn) => (value: Any) => {
      then(
        call(callback),
        () => end(value),
        (error: Any) => reject(error),
      );
    };
    apply(promiseThen, object, [after(resolve), after(reject)]);
  });
}

const call = async (callback: Fn): Promise<Any> => await callback();

function each(promises: Any, settle: (index: number, promise: Promise<Any>) => void): number {
  let count = 0;
  for (const promise of promises) settle(count++, promiseResolve(promise));
  return count;
}

/** `Promise.all`, `allSettled` and `race` ask each promise for its `then`, so they are written anew. */
export const combinators: Record<string, (promises: Iterable<Any>) => Promise<Any>> = {
  all: (promises) =>
    new NativePromise((resolve, reject) => {
      const values: Any[] = [];
      let left = 1;
      const end = () => --left === 0 && resolve(values);
      each(promises, (i, promise) => {
        left++;
        values[i] = undefined;
        then(
          promise,
          (value: Any) => {
            values[i] = value;
            end();
          },
          reject,
        );
      });
      end();
    }),
  allSettled: (promises) =>
    (combinators['all'] as Fn)(
      mapped(promises, (promise) =>
        then(
          promise,
          (value: Any) => ({ status: 'fulfilled', value }),
          (reason: Any) => ({ status: 'rejected', reason }),
        ),
      ),
    ),
  race: (promises) =>
    new NativePromise((resolve, reject) => {
      each(promises, (_, promise) => then(promise, resolve, reject));
    }),
};

function mapped(promises: Iterable<Any>, change: (promise: Promise<Any>) => Any): Any[] {
  const out: Any[] = [];
  each(promises, (i, promise) => {
    out[i] = change(promise);
  });
  return out;
}

/** What `for (key in object)` runs over, without what a page put on the prototype of everything. */
export function keysIn(object: Any): string[] {
  const keys: string[] = [];
  for (const key in object) {
    if (hasOwn(object, key) || !(hasOwn(Object.prototype, key) || hasOwn(Array.prototype, key)))
      keys[keys.length] = key;
  }
  return keys;
}

/** `new Map(entries)` and `new Set(items)` ask the new object for `set` or `add`. */
export function collection(name: 'Map' | 'Set' | 'WeakMap' | 'WeakSet', items: Any): Any {
  const made = new (global(name))();
  const keyed = name === 'Map' || name === 'WeakMap';
  const put = take(name, 'prototype', keyed ? 'set' : 'add');
  if (items !== undefined && items !== null)
    for (const item of items) apply(put, made, keyed ? [item[0], item[1]] : [item]);
  return made;
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
