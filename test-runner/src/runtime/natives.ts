// A page may have replaced built-ins before the runtime came. While the runtime is set up, and takes the copies that it
// works with, the engine's own stand in their places: import this first. They come from a frame of the page's own, which is
// only made where something was replaced.

type Holder = Record<string, unknown>;
type Realm = Window & typeof globalThis;

const { toString: sourceOf } = Function.prototype;
const { getOwnPropertyDescriptor, defineProperty } = Object;

const isNative = (value: unknown): boolean =>
  typeof value === 'function' && sourceOf.call(value).includes('[native code]');

const TIMERS = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'queueMicrotask'];
const places: readonly [holder: (realm: Realm) => object, names: readonly string[]][] = [
  [(realm) => realm, [...TIMERS, 'Date']],
  [(realm) => realm.JSON, ['stringify', 'parse']],
  [(realm) => realm.performance, ['now']],
];

const undo: (() => void)[] = [];

/** Puts the page's own things back. */
export function restore(): void {
  while (undo.length) undo.pop()?.();
}

function put(holder: Holder, name: string, value: unknown): void {
  const before = getOwnPropertyDescriptor(holder, name);
  defineProperty(holder, name, { value, writable: true, configurable: true });
  undo.push(() => {
    if (before) defineProperty(holder, name, before);
    else delete holder[name];
  });
}

function standIn(): void {
  const page = globalThis as unknown as Realm;
  const replaced = places.flatMap(([holder, names]) =>
    names.filter((name) => !isNative((holder(page) as Holder)[name])).map((name) => ({ holder, name })),
  );
  if (!replaced.length || !document.documentElement) return;
  const frame = document.createElement('iframe');
  frame.hidden = true;
  document.documentElement.append(frame);
  const realm = frame.contentWindow as Realm | null;
  if (realm) {
    for (const { holder, name } of replaced) {
      const source = holder(realm) as Holder;
      const value = source[name] as (...args: unknown[]) => unknown;
      // A `Date` is made with `new`; everything else is called, and wants its own `this`.
      put(holder(page) as Holder, name, name === 'Date' ? value : value.bind(source));
    }
  }
  // The timers of a frame that is gone do not ring.
  if (!replaced.some(({ name }) => TIMERS.includes(name))) frame.remove();
}

standIn();
