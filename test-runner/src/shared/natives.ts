// Our own copies of everything we use of the page's world, taken before the app's scripts ran (or as early as the app
// loads us). Whatever the app replaces later makes no difference to us, and nothing of ours can be seen through it.
//
// House rule for whoever uses them (agent, engine, interceptors): no array methods, no spread, no `for of`, since all of these look up properties that an
// app may have replaced. Loops count, and lists grow with `list[list.length] = item`.

export const win = globalThis as typeof globalThis & Window;

export const { apply, construct, deleteProperty, get, has, isExtensible, ownKeys, set } = Reflect;
export const { create, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Object;
export const { isArray } = Array;
export const { isView } = ArrayBuffer;
export const NativeBuffer = ArrayBuffer;
export const NativeBytes = Uint8Array;
export const NativeDecoder = TextDecoder;
export const NativeError = Error;
export const NativeEvalError = EvalError;
export const NativeRangeError = RangeError;
export const NativeReferenceError = ReferenceError;
export const NativeTypeError = TypeError;
export const NativePromise = Promise;
export const NativeProxy = Proxy;
export const NativeRegExp = RegExp;
export const parse = JSON.parse;
// biome-ignore lint/security/noGlobalEval: running the commands of a debugger is what the agent is for
export const indirectEval = globalThis.eval;
export const toText = String;
export const { max, min, random, round } = Math;
export const { isFinite: isFiniteNumber } = Number;

const { stringify } = JSON;
const { now: dateNow } = Date;
const { setTimeout: nativeSetTimeout, clearTimeout: nativeClearTimeout } = win;
const NativeSignal = globalThis.AbortSignal as typeof AbortSignal | undefined;
const nativeTimeout = NativeSignal?.timeout;
const objectHasOwn = Object.prototype.hasOwnProperty;
const objectToString = Object.prototype.toString;
const functionToString = Function.prototype.toString;
const promisePrototype = Promise.prototype;
const promiseThen = promisePrototype.then;
const { species } = Symbol;
const promiseSpecies = getOwnPropertyDescriptor(Promise, species)?.get;
const regexExec = RegExp.prototype.exec;
const addListener = EventTarget.prototype.addEventListener;
const { performance } = win;
const performanceNow = performance.now;
const removeListener = EventTarget.prototype.removeEventListener;
const toWellFormed = (String.prototype as { toWellFormed?: () => string }).toWellFormed;

export const now = (): number => dateNow();
/** Milliseconds since the document began, never going back. */
export const ticks = (): number => apply(performanceNow, performance, []);
export const hasOwn = (object: object, key: PropertyKey): boolean => apply(objectHasOwn, object, [key]);
export const tagOf = (value: unknown): string => apply(objectToString, value, []);
export const sourceOf = (value: object): string => apply(functionToString, value, []);
export const match = (pattern: RegExp, text: string): RegExpExecArray | null => apply(regexExec, pattern, [text]);

const arrayJoin = Array.prototype.join;
/** The texts of a list of ours, one after the other, each followed by the same. */
export const joined = (texts: readonly string[], end: string): string =>
  texts.length === 0 ? '' : apply(arrayJoin, texts, [end]) + end;

const { slice: textSlice, indexOf: textIndexOf, lastIndexOf: textLastIndexOf, toLowerCase } = String.prototype;
export const slice = (text: string, start: number, end?: number): string => apply(textSlice, text, [start, end]);
export const indexOf = (text: string, part: string, from = 0): number => apply(textIndexOf, text, [part, from]);
export const lastIndexOf = (text: string, part: string): number => apply(textLastIndexOf, text, [part]);
export const lowerCase = (text: string): string => apply(toLowerCase, text, []);
export const startsWith = (text: string, start: string): boolean => apply(textLastIndexOf, text, [start, 0]) === 0;

export function listen(target: EventTarget, type: string, handler: (event: Event) => void, capture = false): void {
  apply(addListener, target, [type, handler, capture]);
}

export function unlisten(target: EventTarget, type: string, handler: (event: Event) => void, capture = false): void {
  apply(removeListener, target, [type, handler, capture]);
}

/** What ends a task that was put off. */
export type Timer = number | { signal: AbortSignal; task: () => void };

/**
 * Does something after some time. A page that ends all its timers, by their numbers one after the other, ends none of ours
 * where the platform has others, and finds no numbers missing among its own. In a WebKit those have numbers, too.
 */
export function later(task: () => void, ms: number): Timer {
  if (!nativeTimeout || !(ms >= 0 && isFiniteNumber(ms))) return apply(nativeSetTimeout, win, [task, ms]);
  const signal: AbortSignal = apply(nativeTimeout, NativeSignal, [ms]);
  listen(signal, 'abort', task);
  return { signal, task };
}

export function cancel(timer: Timer | undefined): void {
  if (typeof timer === 'object') unlisten(timer.signal, 'abort', timer.task);
  else if (timer) apply(nativeClearTimeout, win, [timer]);
}

/** The getter of an accessor property, as a function that takes the object. */
export function getterOf<T>(prototype: object | undefined, key: PropertyKey): (object: unknown) => T {
  const get = prototype && getOwnPropertyDescriptor(prototype, key)?.get;
  return (object) => (get ? apply(get, object, []) : undefined) as T;
}

/** The same for what may be anything: nothing of what has no such accessor. To ask it of no object is to make an error. */
export function probeOf<T>(prototype: object | undefined, key: PropertyKey): (value: unknown) => T | undefined {
  const get = getterOf<T>(prototype, key);
  return (value) => {
    if (typeof value !== 'object' || value === null) return undefined;
    try {
      return get(value);
    } catch {
      return undefined;
    }
  };
}

/** The setter of an accessor property, as a function that takes the object. */
export function setterOf(prototype: object, key: PropertyKey): (object: object, value: unknown) => void {
  const set = getOwnPropertyDescriptor(prototype, key)?.set;
  return (object, value) => {
    if (set) apply(set, object, [value]);
  };
}

/** A built-in collection whose methods nobody can replace. */
function safe<T extends abstract new (...args: never[]) => object>(Base: T): T {
  const Safe = class extends (Base as unknown as new () => object) {
    // One that is not written down hands arguments on by a list, which a WebKit iterates for all to hear.
    // biome-ignore lint/complexity/noUselessConstructor: see above
    constructor() {
      super();
    }
  };
  const keys = ownKeys(Base.prototype);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    if (key === 'constructor') continue;
    defineProperty(Safe.prototype, key, getOwnPropertyDescriptor(Base.prototype, key) as PropertyDescriptor);
  }
  setPrototypeOf(Safe.prototype, null);
  return Safe as unknown as T;
}

export const SafeMap = safe(Map);
export const SafeSet = safe(Set);
export const SafeWeakMap = safe(WeakMap);

/**
 * Calls one of the two when the promise is settled. `then` asks a promise for its constructor, and that for its species;
 * where the app has put something of its own there, it is not to hear of us.
 */
export function settle(
  promise: Promise<unknown>,
  done: (value: unknown) => void,
  failed: (error: unknown) => void,
): void {
  if (hasOwnSpecies()) shielded(promise, 'constructor', () => apply(promiseThen, promise, [done, failed]));
  else apply(promiseThen, promise, [done, failed]);
}

function hasOwnSpecies(): boolean {
  if (getOwnPropertyDescriptor(promisePrototype, 'constructor')?.value !== NativePromise) return true;
  return getOwnPropertyDescriptor(NativePromise, species)?.get !== promiseSpecies;
}

/** Does something while a property that the app may have put on a prototype cannot be found through the object. */
export function shielded(object: object, key: string, task: () => unknown): void {
  const hidden = !hasOwn(object, key) && key in object && isExtensible(object);
  if (hidden) defineProperty(object, key, record({ configurable: true }));
  try {
    task();
  } finally {
    if (hidden) deleteProperty(object, key);
  }
}

/** An own property, never one of a prototype that the app may have added to. */
export function own(object: unknown, key: string): unknown {
  return typeof object === 'object' && object !== null && hasOwn(object, key) ? (object as Fields)[key] : undefined;
}

/** Deeper than any classes of an app's; a proxy may have prototypes without end. */
const MAX_DEPTH = 8;

/** What an object, or the nearest of its prototypes, has under a name, without a call of a getter. */
export function standing(object: unknown, key: PropertyKey): unknown {
  let from = object as object | null | undefined;
  for (let depth = 0; from !== null && from !== undefined && depth < MAX_DEPTH; depth++) {
    const found = getOwnPropertyDescriptor(from, key);
    if (found) return found.value;
    from = getPrototypeOf(from);
  }
  return undefined;
}

export type Fields = Record<string, unknown>;

/** An item of a list, and nothing beyond its end: there the app may have put something on the prototype of all lists. */
export const at = <T>(list: readonly T[], index: number): T | undefined =>
  index < list.length ? list[index] : undefined;

/** Visits each item of a list. */
export function each<T>(list: readonly T[], visit: (item: T, index: number) => void): void {
  for (let i = 0; i < list.length; i++) visit(list[i] as T, i);
}

/** An object without prototype, from pairs. */
export function record(fields: Fields): Fields {
  const plain: Fields = create(null);
  const keys = ownKeys(fields);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    if (fields[key] !== undefined) plain[key] = fields[key];
  }
  return plain;
}

const empty = {};

/** Only the fields of an object of ours, where the app has put one of our optional names on the prototype of all objects. */
export function ownOnly<T extends object>(fields: T): T {
  // Written out, since it is asked for every message: constant names cost next to nothing.
  const isNamed =
    'type' in empty ||
    'size' in empty ||
    'cut' in empty ||
    'protocol' in empty ||
    'timestamp' in empty ||
    'metadata' in empty ||
    'truncated' in empty ||
    'test' in empty ||
    'id' in empty ||
    'url' in empty ||
    'state' in empty ||
    'openedAt' in empty ||
    'closedAt' in empty ||
    'closeCode' in empty ||
    'reconnectCount' in empty;
  return isNamed ? (record(fields as Fields) as T) : fields;
}

/** JSON of data of our own making: records, lists, texts, numbers, booleans and null. Never calls `toJSON`. */
export function toJson(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number') return isFiniteNumber(value) ? `${value}` : 'null';
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (typeof value !== 'object' || value === null) return 'null';
  let text = '';
  if (isArray(value)) {
    for (let i = 0; i < value.length; i++) text += (i === 0 ? '' : ',') + toJson(value[i]);
    return `[${text}]`;
  }
  const keys = ownKeys(value);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (typeof key !== 'string') continue;
    const item = (value as Fields)[key];
    if (item !== undefined) text += `${text === '' ? '' : ','}${quote(key)}:${toJson(item)}`;
  }
  return `{${text}}`;
}

/** A JSON text; lone halves of surrogate pairs become U+FFFD, since not every reader takes their escapes. */
export function quote(text: string): string {
  return stringify(toWellFormed ? apply(toWellFormed, text, []) : text);
}

const { crypto } = win;
const getRandomValues = crypto?.getRandomValues as Crypto['getRandomValues'] | undefined;
const DIGITS = '0123456789abcdef';

/** A random word of hex digits. */
export function randomId(): string {
  const bytes = new NativeBytes(16);
  if (getRandomValues) apply(getRandomValues, crypto, [bytes]);
  let word = '';
  for (let i = 0; i < 16; i++) word += DIGITS[(getRandomValues ? (bytes[i] as number) : random() * 16) & 15];
  return word;
}
