// Streams of bodies: every way in which chunks reach the app. Chunks are seen when the app gets them, in the order and
// at the pace in which it asks for them.
import { apply, at, construct, getPrototypeOf, isArray, SafeWeakMap, settle } from '../shared/natives.ts';
import { isNative } from '../shared/words.ts';
import type { Bodies, Kind } from './bodies.ts';
import type { Patches } from './patch.ts';
import { patchPipes } from './pipes.ts';
import { lockedStream } from './request.ts';
import { dictionaryFor, isObject } from './stand-ins.ts';
import type { Realm } from './types.ts';

const { asyncIterator } = Symbol;

interface Result {
  done: boolean;
  value: unknown;
}

export function patchStreams(target: Realm, patches: Patches, bodies: Bodies): void {
  const { prototype } = target.ReadableStream;
  const { values } = prototype;
  const isOurs = values && isNative(values);
  const iterators = iteratorPrototype(target);
  /** Iterators that leave the stream as it is when they are left. */
  const sparing = new SafeWeakMap<object, true>();
  patchPipes(target, patches, bodies);

  patches.method(prototype, 'getReader', (native, self, args) => {
    const reader: unknown = apply(native, self, args);
    bodies.guard(() => {
      const branch = bodies.of('stream', self);
      if (branch) bodies.set('reader', reader, branch);
    });
    return reader;
  });
  patches.method(prototype, 'tee', (native, self, args) => {
    const pair: unknown = apply(native, self, args);
    bodies.guard(() => {
      const branch = bodies.of('stream', self);
      if (!branch || !isArray(pair)) return;
      bodies.set('stream', pair[0], branch);
      bodies.set('stream', pair[1], branch.split());
    });
    return pair;
  });
  patchCancel('stream', prototype, patches, bodies);
  patchReader(target, 'ReadableStreamDefaultReader', patches, bodies);
  patchReader(target, 'ReadableStreamBYOBReader', patches, bodies);

  if (!iterators || !values) return;
  patches.method(prototype, 'values', (native, self, args) => {
    const branch = bodies.of('stream', self);
    if (!branch) return apply(native, self, args);
    let isSpared: unknown = false;
    const read = (key: PropertyKey, value: unknown) => {
      if (key === 'preventCancel') isSpared = value;
      return value;
    };
    const options = at(args, 0);
    const iterator: unknown = apply(native, self, [
      isOurs && isObject(options) ? dictionaryFor(options, read) : options,
    ]);
    bodies.guard(() => {
      bodies.set('iterator', iterator, branch);
      if (isSpared) sparing.set(iterator as object, true);
    });
    return iterator;
  });
  patches.alias(prototype, asyncIterator, 'values', values);
  patches.method(iterators, 'next', (native, self, args) => {
    const promise: unknown = apply(native, self, args);
    watch('iterator', bodies, self, promise);
    return promise;
  });
  patches.method(iterators, 'return', (native, self, args) => {
    const promise: unknown = apply(native, self, args);
    bodies.guard(() => {
      if (!sparing.has(self as object)) bodies.of('iterator', self)?.cancelled();
    });
    return promise;
  });
}

function patchReader(target: Realm, name: keyof Realm & string, patches: Patches, bodies: Bodies): void {
  const native = target[name] as { prototype: object } | undefined;
  if (!native) return;
  patches.constructing(target, name, (reader, args) => {
    const branch = bodies.of('stream', at(args, 0));
    if (branch) bodies.set('reader', reader, branch);
  });
  patches.method(native.prototype, 'read', (read, self, args) => {
    const promise: unknown = apply(read, self, args);
    watch('reader', bodies, self, promise);
    return promise;
  });
  patches.method(native.prototype, 'releaseLock', (release, self, args) => {
    const result: unknown = apply(release, self, args);
    bodies.forget(self);
    return result;
  });
  patchCancel('reader', native.prototype, patches, bodies);
}

function patchCancel(kind: Kind, prototype: object, patches: Patches, bodies: Bodies): void {
  patches.method(prototype, 'cancel', (native, self, args) => {
    const locked = lockedStream(self);
    const promise: unknown = apply(native, self, args);
    // A stream that somebody reads cannot be cancelled from beside.
    if (!locked) bodies.guard(() => bodies.of(kind, self)?.cancelled());
    return promise;
  });
}

/**
 * Looks at what a read gives. The promise is the native one, since a chunk that is there already settles it before any
 * other task: another promise would be late. A read that nobody awaits and that fails is the price, see the README.
 */
function watch(kind: Kind, bodies: Bodies, self: unknown, promise: unknown): void {
  const branch = bodies.of(kind, self);
  if (!branch || branch.tap.ended) return;
  // Written without `guard`: there may be thousands of chunks.
  const delivered = (result: unknown): void => {
    try {
      const { done, value } = result as Result;
      if (done) branch.ended();
      else branch.chunk(value);
    } catch {
      bodies.engine.note('recorder error');
    }
  };
  bodies.guard(() =>
    // A reader that let go of the stream fails too; the body does not.
    settle(promise as Promise<unknown>, delivered, (error) =>
      bodies.guard(() => bodies.of(kind, self) === branch && branch.failed(error)),
    ),
  );
}

/** Where `for await` takes its chunks from; no name leads there. */
function iteratorPrototype(target: Realm): object | undefined {
  const { ReadableStream: Native } = target;
  const { values } = Native.prototype;
  if (!values) return undefined;
  return getPrototypeOf(apply(values, construct(Native, []), [])) as object;
}
