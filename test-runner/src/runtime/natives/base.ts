// What decides whether a built-in is the engine's own, and an untouched window for where it is not.

export type Any = any;
export type Fn = (...args: Any[]) => Any;

/** The page's global object; a test can even delete the name. */
export const page: Any = globalThis;

/** How V8 and JavaScriptCore write a function of theirs. */
function isTextOf(text: unknown, name: string): boolean {
  return text === `function ${name}() { [native code] }` || text === `function ${name}() {\n    [native code]\n}`;
}

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
  defineProperty: typeof Reflect.defineProperty;
  keysOf: typeof Reflect.ownKeys;
  hasOwn: typeof Object.hasOwn;
  isArray: typeof Array.isArray;
  bind: typeof Function.prototype.bind;
  toText: typeof Function.prototype.toString;
}

function baseOf(root: Any): Base {
  const { apply, getPrototypeOf, getOwnPropertyDescriptor, defineProperty, ownKeys: keysOf } = root.Reflect;
  const { bind, toString: toText } = root.Function.prototype;
  return {
    apply,
    getPrototypeOf,
    getOwnPropertyDescriptor,
    defineProperty,
    keysOf,
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
export let spare: Any;

export function fresh(): Any {
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
  spare ??= page;
  return spare;
}

export let leave = (): void => {};

const base = (() => {
  try {
    const own = baseOf(page);
    return untouched(own) ? own : baseOf(fresh());
  } catch {
    return baseOf(fresh());
  }
})();
export const { apply, getPrototypeOf, getOwnPropertyDescriptor, defineProperty, keysOf, hasOwn, isArray, bind } = base;

export function isNative(fn: unknown, name: string): boolean {
  if (typeof fn !== 'function') return false;
  const text = apply(base.toText, fn, []);
  return isTextOf(text, name) || saysNative(text);
}

export function prototypeOf(object: object): object | null {
  try {
    return getPrototypeOf(object);
  } catch {
    return null;
  }
}
