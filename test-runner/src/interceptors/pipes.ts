// `pipeTo` and `pipeThrough`: what is piped never reaches the script, so a stream that hands everything on is put in
// between. It asks when it is asked, and passes errors and cancellations on in both directions.
import {
  apply,
  construct,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  getterOf,
  record,
  settle,
} from '../shared/natives.ts';
import { isNative } from '../shared/words.ts';
import type { Bodies } from './bodies.ts';
import type { Branch } from './body.ts';
import type { Native, Patches } from './patch.ts';
import { isStream } from './request.ts';
import type { Realm } from './types.ts';

const OPTIONS = ['preventAbort', 'preventCancel', 'preventClose', 'signal'];
const empty = {};
/** Deeper than the classes of any pair of streams. */
const MAX_DEPTH = 8;

export function patchPipes(target: Realm, patches: Patches, bodies: Bodies): void {
  const { ReadableStream: Native, WritableStream: Writable } = target;
  if (!Writable || !Native.prototype.pipeTo) return;
  const { pipeTo, pipeThrough, getReader } = Native.prototype;
  const { read, cancel, releaseLock } = target.ReadableStreamDefaultReader.prototype;
  const { enqueue, close, error } = target.ReadableStreamDefaultController.prototype;
  const isLocked = getterOf<boolean>(Native.prototype, 'locked');
  const isTaken = getterOf<boolean>(Writable.prototype, 'locked');

  /** Pipes by way of another stream, which takes the place of the source once the platform has accepted to pipe it. */
  function show(native: Native, source: unknown, args: unknown[], branch: Branch): unknown {
    let reader: unknown;
    let first: Promise<unknown> | undefined;
    let cancelled = false;
    const release = () => apply(releaseLock, reader, []);
    const end = (how: () => void, last: () => unknown) => {
      if (cancelled) return;
      bodies.guard(how);
      release();
      last();
    };
    const readable = construct(Native, [
      record({
        pull(controller: ReadableStreamDefaultController) {
          const next: Promise<unknown> = first ?? apply(read, reader, []);
          first = undefined;
          settle(
            next,
            (result) => {
              const { done, value } = result as ReadableStreamReadResult<unknown>;
              if (done) {
                end(
                  () => branch.tap.end('end'),
                  () => apply(close, controller, []),
                );
              } else if (!cancelled) {
                bodies.guard(() => branch.chunk(value));
                apply(enqueue, controller, [value]);
              }
            },
            (reason) =>
              end(
                () => branch.failed(reason),
                () => apply(error, controller, [reason]),
              ),
          );
        },
        cancel(reason: unknown) {
          cancelled = true;
          bodies.guard(() => branch.cancelled());
          const result: Promise<unknown> = apply(cancel, reader, [reason]);
          settle(result, release, release);
          return result;
        },
      }),
      record({ highWaterMark: 0 }),
    ]);
    const result: unknown = apply(native, readable, args);
    if (!isLocked(readable)) return result;
    reader = apply(getReader, source, [record({})]);
    // What is piped counts as used from the start.
    first = apply(read, reader, []) as Promise<unknown>;
    return result;
  }

  /** Whether the platform would start to pipe, and whether that can be told without being noticed. */
  function starts(source: unknown, destination: unknown, options: unknown): boolean {
    try {
      // What a reader gives is asked for its `then`, and a pipe asks for nothing.
      return !isLocked(source) && !isTaken(destination) && isPlain(options) && !('then' in empty);
    } catch {
      return false;
    }
  }

  function unobserved(branch: Branch): void {
    bodies.engine.note('body piped out of sight');
    branch.tap.end('unobserved');
  }

  function piping(native: Native, self: unknown, args: unknown[], destination: unknown): unknown {
    const branch = bodies.of(self);
    if (!branch || branch.tap.ended) return apply(native, self, args);
    if (starts(self, destination, args[1])) return show(native, self, args, branch);
    const result: unknown = apply(native, self, args);
    bodies.guard(() => {
      if (isLocked(self)) unobserved(branch);
    });
    return result;
  }

  patches.method(Native.prototype, 'pipeTo', (_, self, args) => piping(pipeTo, self, args, args[0]));
  patches.method(Native.prototype, 'pipeThrough', (_, self, args) => {
    const branch = bodies.of(self);
    if (!branch || branch.tap.ended) return apply(pipeThrough, self, args);
    const writable = isStream(reach(args[0], 'readable')) ? reach(args[0], 'writable') : undefined;
    return piping(pipeThrough, self, args, writable);
  });
}

/** Options of which it is known, without running any code of the app, that nothing is held back from the source. */
function isPlain(options: unknown): boolean {
  if (options === undefined || options === null) return true;
  if (typeof options !== 'object') return false;
  for (let i = 0; i < OPTIONS.length; i++) {
    const found = find(options, OPTIONS[i] as string);
    if (found?.get || (OPTIONS[i] === 'preventCancel' && found?.value)) return false;
  }
  return true;
}

/** A property of a pair of streams: a plain one, or one of the platform's own accessors. */
function reach(pair: unknown, key: string): unknown {
  if (typeof pair !== 'object' || pair === null) return undefined;
  const found = find(pair, key);
  if (!found?.get) return found?.value;
  return isNative(found.get) ? apply(found.get, pair, []) : undefined;
}

function find(object: object, key: string): PropertyDescriptor | undefined {
  let at: object | null = object;
  for (let depth = 0; at && depth < MAX_DEPTH; depth++) {
    const found = getOwnPropertyDescriptor(at, key);
    if (found) return found;
    at = getPrototypeOf(at) as object | null;
  }
  return undefined;
}
