// Methods of built-ins, decided by their receiver when they are called.
import { type Any, apply, type Fn, getOwnPropertyDescriptor, hasOwn, isArray, prototypeOf } from './base.ts';
import { lastly, then } from './promises.ts';
import { global, take } from './take.ts';

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
