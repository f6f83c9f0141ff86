// Objects that the platform is given in the place of the app's. They read of those what the platform reads of them, when
// it does: so we know what it has read, and code of the app runs as often as it ever did, and in the same order.
import {
  apply,
  create,
  defineProperty,
  deleteProperty,
  get,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  has,
  isArray,
  NativeProxy,
  ownKeys,
  record,
  set,
  setPrototypeOf,
  standing,
} from '../shared/natives.ts';

const { iterator } = Symbol;
const { defineProperty: reflectDefine } = Reflect;
const arrayPrototype = Array.prototype;
const arrayValues = arrayPrototype.values;
const arrayIteratorPrototype = getPrototypeOf(apply(arrayValues, [], [])) as object;
const arrayNext: unknown = getOwnPropertyDescriptor(arrayIteratorPrototype, 'next')?.value;

export const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

/** Hands on what is read of an object; `read` may give something else for it. */
export const dictionaryFor = (
  object: object,
  read: (key: PropertyKey, value: unknown) => unknown,
  otherwise?: () => void,
): object => standInFor(object, (key) => read(key, get(object, key)), otherwise);

/** Turns into the text that `input` turns into, when it is asked to. */
export const textFor = (input: object, turned: (text: string) => void): object =>
  standInFor(input, (key) =>
    methodOf(input, key, (made) => {
      if (!isObject(made) && typeof made !== 'symbol') turned(`${made}`);
    }),
  );

type ReadItem = (value: unknown, index: number) => unknown;

/** An empty list that no accessor on the prototype of all arrays can get at. */
export const ownList = <T>(): T[] => setPrototypeOf([], null);

/**
 * A list whose items are read through `read`, which may give something else for one. A Chrome reads arrays by their
 * indexes and heeds no iterator of theirs: those that may have one of their own are left as they are, and nothing is
 * seen of them.
 */
export function listFor(list: object, read: ReadItem): object {
  /** The iterator of an array, which a platform that wants one asks for before all else. */
  let first: unknown;
  if (isArray(list)) {
    first = get(list, iterator);
    if (!(first === arrayValues && isAsEver()) && standing(list, iterator) === first) return list;
  }
  return standInFor(list, (key) => {
    if (key !== iterator) return methodOf(list, key);
    const method = first ?? get(list, iterator);
    first = undefined;
    return iteratorMethod(list, method, read);
  });
}

/** A method that iterates as `method` of `list` does. */
export function iteratorMethod(list: object, method: unknown, read: ReadItem): unknown {
  if (typeof method !== 'function') return method;
  return () => {
    let index = 0;
    const iterating: unknown = apply(method, list, []);
    if (!isObject(iterating)) return iterating;
    return getters({
      next: () => {
        const next: unknown = get(iterating, 'next');
        if (typeof next !== 'function') return next;
        return () => {
          const result: unknown = apply(next, iterating, []);
          if (!isObject(result)) return result;
          const at = index++;
          let done: unknown;
          let isAsked = false;
          const isDone = () => {
            if (!isAsked) done = get(result, 'done');
            isAsked = true;
            return done;
          };
          // A Chrome asks for the value first, also for that of the end, and looks at it last.
          const item = () => {
            const value: unknown = get(result, 'value');
            return isDone() ? value : read(value, at);
          };
          return getters({ value: item, done: isDone });
        };
      },
    });
  };
}

function getters(fields: Record<string, () => unknown>): object {
  const object = create(null);
  const keys = ownKeys(fields);
  for (let i = 0; i < keys.length; i++) {
    defineProperty(object, keys[i] as string, record({ get: fields[keys[i] as string] }));
  }
  return object;
}

/** Whether arrays are iterated as they always were. */
const isAsEver = (): boolean =>
  getOwnPropertyDescriptor(arrayPrototype, iterator)?.value === arrayValues &&
  getOwnPropertyDescriptor(arrayIteratorPrototype, 'next')?.value === arrayNext;

/** What an object has under a name; methods run on the object itself, and `gave` hears of what they give. */
function methodOf(object: object, key: PropertyKey, gave: (value: unknown) => void = () => {}): unknown {
  const value: unknown = get(object, key);
  if (typeof value !== 'function') return value;
  return (...args: unknown[]) => {
    const given: unknown = apply(value, object, args);
    gave(given);
    return given;
  };
}

/** A proxy for nothing: one for the object itself would look at that once more. */
const standInFor = (object: object, read: (key: PropertyKey) => unknown, otherwise?: () => void): object =>
  new NativeProxy({}, record({ get: (_: object, key: PropertyKey) => read(key), ...insteadOf(object, otherwise) }));

/** Traps of a proxy for nothing that do to `object` whatever is not reading; `before` each of them. */
function insteadOf(object: object, before: () => void = () => {}): ProxyHandler<object> {
  const instead =
    <A extends unknown[], R>(then: (...args: A) => R) =>
    (_: object, ...args: A): R => {
      before();
      return then(...args);
    };
  return {
    has: instead((key) => has(object, key)),
    set: instead((key, value) => set(object, key, value)),
    deleteProperty: instead((key) => deleteProperty(object, key)),
    defineProperty: instead((key, property) => reflectDefine(object, key, property)),
    ownKeys: instead(() => ownKeys(object)),
    getPrototypeOf: instead(() => getPrototypeOf(object)),
    getOwnPropertyDescriptor: instead((key) => {
      const property = getOwnPropertyDescriptor(object, key);
      // What is not there in the nothing behind the proxy has to be something that may go.
      return property && (record({ ...property, configurable: true }) as PropertyDescriptor);
    }),
  };
}
