// Patches natives of a window by proxies, so that names, lengths, descriptors, brands and `new.target` stay theirs.
import {
  apply,
  construct,
  defineProperty,
  type Fields,
  get,
  getOwnPropertyDescriptor,
  hasOwn,
  NativeProxy,
  record,
  set,
} from '../shared/natives.ts';
import { KEY } from '../shared/owner.ts';
import type { Interceptor, Realm } from './types.ts';

// biome-ignore lint/complexity/noBannedTypes: natives are called through Reflect only
export type Native = Function;
export type Handler = (native: Native, self: unknown, args: unknown[]) => unknown;
export type Constructing = (made: object, args: unknown[], note?: unknown) => void;
/** What a native constructor is given instead, and what `Constructing` is to know of that. */
export type Given = (args: unknown[]) => { args: unknown[]; note: unknown };

const functionPrototype = Function.prototype;
const ofFunctions = {
  caller: getOwnPropertyDescriptor(functionPrototype, 'caller')?.get,
  arguments: getOwnPropertyDescriptor(functionPrototype, 'arguments')?.get,
};

interface Change {
  object: object;
  key: PropertyKey;
  before: PropertyDescriptor;
  ours: unknown;
}

export class Patches {
  /** Whether anything is recorded; a patch that cannot be taken back passes through once this is false. */
  active = true;
  private changes: Change[] = [];

  constructor(private readonly owner: () => unknown = () => undefined) {}

  /** `handler` calls the native exactly once and lets its exceptions through. */
  method(object: object | undefined, key: PropertyKey, handler: Handler): void {
    const before = object && getOwnPropertyDescriptor(object, key);
    if (!object || typeof before?.value !== 'function') return;
    this.put(object, key, before, { ...before, value: this.proxy(before.value, handler) });
  }

  /** Properties that share one function go on sharing one. */
  alias(object: object | undefined, key: PropertyKey, as: PropertyKey, native: unknown): void {
    const before = object && getOwnPropertyDescriptor(object, key);
    if (!object || !native || !before || before.value !== native) return;
    const value: unknown = getOwnPropertyDescriptor(object, as)?.value;
    this.put(object, key, before, { ...before, value });
  }

  getter(object: object | undefined, key: PropertyKey, handler: Handler): void {
    const before = object && getOwnPropertyDescriptor(object, key);
    if (!object || !before?.get) return;
    this.put(object, key, before, { ...before, get: this.proxy(before.get, handler) as () => unknown });
  }

  /** `made` hears of each object that the native constructor made, before the caller has it. */
  constructing(target: Realm, key: string, made: Constructing, given?: Given): void {
    const before = getOwnPropertyDescriptor(target, key);
    const native = before?.value;
    if (!before || typeof native !== 'function') return;
    const proxy: unknown = new NativeProxy(
      native,
      fixed({
        ...this.accessors(native, () => proxy),
        construct: (_, args, newTarget) => {
          const instead = this.active && given ? given(args) : undefined;
          const object: object = construct(native, instead?.args ?? args, newTarget === proxy ? native : newTarget);
          if (this.active) {
            try {
              made(object, args, instead?.note);
            } catch {
              // What the recorder cannot digest is not the app's concern.
            }
          }
          return object;
        },
      }),
    );
    this.put(target, key, before, { ...before, value: proxy });
    const inner = getOwnPropertyDescriptor(native.prototype, 'constructor');
    if (inner && inner.value === native) this.put(native.prototype, 'constructor', inner, { ...inner, value: proxy });
  }

  /** In reverse order, each only while it is still ours. */
  restore(): void {
    this.active = false;
    for (let i = this.changes.length - 1; i >= 0; i--) {
      const { object, key, before, ours } = this.changes[i] as Change;
      try {
        const now = getOwnPropertyDescriptor(object, key);
        if (now && (now.get ?? now.value) === ours) defineProperty(object, key, before);
      } catch {
        // Frozen by the app meanwhile; it passes through.
      }
    }
    this.changes = [];
  }

  private proxy(native: Native, handler: Handler): unknown {
    const proxy: unknown = new NativeProxy(
      native,
      fixed({
        ...this.accessors(native, () => proxy),
        apply: (_, self, args) => (this.active ? handler(native, self, args) : apply(native, self, args)),
      }),
    );
    return proxy;
  }

  /**
   * The platform's own `caller` and `arguments` know a function, and no proxy of it, so they are asked of the native. What
   * else the app finds on a function, it may have put there itself: that is asked of what the app has.
   */
  private accessors(native: Native, proxy: () => unknown): ProxyHandler<Native> {
    const receiver = (name: PropertyKey, self: unknown): unknown => {
      if ((name !== 'caller' && name !== 'arguments') || self !== proxy() || hasOwn(native, name)) return self;
      return getOwnPropertyDescriptor(functionPrototype, name)?.get === ofFunctions[name] ? native : self;
    };
    return {
      get: (_, name, self) => (name === KEY && this.active ? this.owner() : get(native, name, receiver(name, self))),
      set: (_, name, value, self) => set(native, name, value, receiver(name, self)),
    };
  }

  private put(object: object, key: PropertyKey, before: PropertyDescriptor, after: PropertyDescriptor): void {
    try {
      defineProperty(object, key, after);
      this.changes[this.changes.length] = { object, key, before, ours: after.get ?? after.value };
    } catch {
      // Not configurable in this engine, or frozen by the app: fewer taps, no harm.
    }
  }
}

/** Traps that are not there are not to be found on the prototype of all objects, where the app may have put one. */
const fixed = (traps: ProxyHandler<Native>): ProxyHandler<Native> => record(traps as Fields) as ProxyHandler<Native>;

export function interceptor(name: string, patches: Patches): Interceptor {
  return { name, uninstall: () => patches.restore() };
}
