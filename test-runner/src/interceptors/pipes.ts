// `pipeTo` and `pipeThrough`: what is piped never reaches the script, so a stream that hands everything on is put in
// between. It asks when it is asked, and passes errors and cancellations on in both directions.
import {
  apply,
  at,
  construct,
  create,
  defineProperty,
  type Fields,
  get,
  getterOf,
  own,
  probeOf,
  record,
  settle,
} from '../shared/natives.ts';
import { isNative } from '../shared/words.ts';
import type { Bodies } from './bodies.ts';
import type { Branch } from './body.ts';
import type { Native, Patches } from './patch.ts';
import { isAborted } from './promises.ts';
import { isStream } from './request.ts';
import { isObject } from './stand-ins.ts';
import type { Realm } from './types.ts';

/** In the order in which they are read. */
const OPTIONS = ['preventAbort', 'preventCancel', 'preventClose', 'signal'];
const empty = {};

export function patchPipes(target: Realm, patches: Patches, bodies: Bodies): void {
  const { ReadableStream: Native, WritableStream: Writable } = target;
  if (!Writable || !Native.prototype.pipeTo) return;
  const { getReader } = Native.prototype;
  const { read, cancel, releaseLock } = target.ReadableStreamDefaultReader.prototype;
  const { enqueue, close, error } = target.ReadableStreamDefaultController.prototype;
  const isLocked = probeOf<boolean>(Native.prototype, 'locked');
  const closed = getterOf<Promise<unknown>>(target.ReadableStreamDefaultReader.prototype, 'closed');
  const isTaken = probeOf<boolean>(Writable.prototype, 'locked');
  const { getWriter } = Writable.prototype;
  const { releaseLock: releaseWriter } = target.WritableStreamDefaultWriter.prototype;
  const room = getterOf<number | null>(target.WritableStreamDefaultWriter.prototype, 'desiredSize');

  /** Pipes by way of another stream, which takes the place of the source. */
  function show(native: Native, source: unknown, args: unknown[], branch: Branch): unknown {
    // Before the platform pipes: of what cannot be written to it tells the source within the call.
    const between = new Between(source, branch);
    try {
      return apply(native, between.readable, args);
    } finally {
      between.started(isLocked(between.readable) === true);
    }
  }

  /** Stands between a source and a pipe, and is in the state in which the source is. */
  class Between {
    readonly readable: unknown;
    private readonly reader: unknown;
    private controller: unknown;
    /** What was read and not asked for yet. */
    private held: ReadableStreamReadResult<unknown> | undefined;
    private isReading = false;
    private isWanted = false;
    /** Whether the source has ended, and only what is held or being read is left of it. */
    private isLast = false;
    /** Why the source failed while it was read; a WebKit says so before it gives the last chunk. */
    private failure: { reason: unknown } | undefined;
    private over = false;

    constructor(
      source: unknown,
      private readonly branch: Branch,
    ) {
      this.reader = apply(getReader, source, [record({})]);
      const start = (controller: unknown) => {
        this.controller = controller;
      };
      const pull = () => {
        this.isWanted = true;
        if (this.held) this.hand(this.held);
        else if (!this.isReading) this.read();
      };
      const cancelled = (reason: unknown) => this.cancel(reason);
      this.readable = construct(Native, [record({ start, pull, cancel: cancelled }), record({ highWaterMark: 0 })]);
    }

    /** After the call of the platform, which may have refused to pipe. */
    started(isPiped: boolean): void {
      if (this.over) return;
      if (!isPiped) {
        this.over = true;
        this.release();
        return;
      }
      // What is piped counts as used from the start.
      this.read();
      // The end of the source is one of the pipe, whether or not anything is asked for.
      const ended = () => {
        if (this.held || this.isReading) this.isLast = true;
        else this.end();
      };
      const failed = (reason: unknown) => {
        if (this.isReading) this.failure = { reason };
        else this.fail(reason);
      };
      settle(closed(this.reader), ended, failed);
    }

    private read(): void {
      this.isReading = true;
      settle(
        apply(read, this.reader, []) as Promise<unknown>,
        (result) => this.took(result as ReadableStreamReadResult<unknown>),
        (reason) => this.fail(reason),
      );
    }

    private took(chunk: ReadableStreamReadResult<unknown>): void {
      this.isReading = false;
      if (this.over) return;
      if (chunk.done) this.end();
      else if (this.isWanted) this.hand(chunk);
      else this.held = chunk;
      if (this.failure) this.fail(this.failure.reason);
    }

    private hand({ value }: ReadableStreamReadResult<unknown>): void {
      this.isWanted = false;
      this.held = undefined;
      bodies.guard(() => this.branch.chunk(value));
      apply(enqueue, this.controller, [value]);
      if (this.isLast) this.end();
    }

    private end(): void {
      if (this.over) return;
      bodies.guard(() => this.branch.tap.end('end'));
      this.finish(close, []);
    }

    private fail(reason: unknown): void {
      if (this.over) return;
      bodies.guard(() => this.branch.failed(reason));
      this.finish(error, [reason]);
    }

    private finish(how: Native, args: unknown[]): void {
      this.over = true;
      this.release();
      apply(how, this.controller, args);
    }

    private cancel(reason: unknown): Promise<unknown> {
      this.over = true;
      bodies.guard(() => this.branch.cancelled());
      const result: Promise<unknown> = apply(cancel, this.reader, [reason]);
      const release = () => this.release();
      settle(result, release, release);
      return result;
    }

    private release(): void {
      apply(releaseLock, this.reader, []);
    }
  }

  /** Whether anything can come of a pipe. Where it cannot, the platform alone knows best what comes instead. */
  function flows(source: unknown, destination: unknown, signal: unknown): boolean {
    // What a reader gives is asked for its `then`, and a pipe asks for nothing.
    if (isLocked(source) || isTaken(destination) || isAborted(signal) || 'then' in empty) return false;
    const writer: unknown = apply(getWriter, destination, []);
    const hasFailed = room(writer) === null;
    apply(releaseWriter, writer, []);
    return !hasFailed;
  }

  function piping(native: Native, self: unknown, args: unknown[], destination: unknown, branch: Branch): unknown {
    const options = at(args, 1);
    const keeps = own(options, 'preventCancel');
    const isSeen = !keeps && isNative(native);
    if (isSeen && flows(self, destination, own(options, 'signal'))) return show(native, self, args, branch);
    const result: unknown = apply(native, self, args);
    bodies.guard(() => {
      if (!isLocked(self)) return;
      if (isSeen) return branch.cancelled();
      bodies.engine.note('body piped out of sight');
      branch.tap.end('unobserved');
    });
    return result;
  }

  /** The branch of a stream that may be piped; of others the platform refuses it. */
  function pipeable(self: unknown): Branch | undefined {
    const branch = bodies.of('stream', self);
    return branch && !branch.tap.ended && isLocked(self) === false ? branch : undefined;
  }

  patches.method(Native.prototype, 'pipeTo', (native, self, args) => {
    const branch = pipeable(self);
    if (!branch || isTaken(at(args, 0)) !== false) return apply(native, self, args);
    const options = new Taken(at(args, 1), OPTIONS);
    const given = [at(args, 0), options.copy];
    return options.isWhole ? piping(native, self, given, at(args, 0), branch) : apply(native, self, given);
  });
  patches.method(Native.prototype, 'pipeThrough', (native, self, args) => {
    const branch = pipeable(self);
    if (!branch || !isObject(at(args, 0))) return apply(native, self, args);
    const pair = new Taken(at(args, 0), ['readable', 'writable'], (key, value) =>
      key === 'readable' ? isStream(value) : isTaken(value) !== undefined,
    );
    if (!pair.isWhole) return apply(native, self, [pair.copy, at(args, 1)]);
    const options = new Taken(at(args, 1), OPTIONS);
    const given = [pair.copy, options.copy];
    const writable = own(pair.copy, 'writable');
    return options.isWhole ? piping(native, self, given, writable, branch) : apply(native, self, given);
  });
}

/** What the platform reads of an object of the app's: the same, as often and in the same order, and then it is known. */
class Taken {
  /** For the platform, in the place of the object. */
  readonly copy: unknown;
  /** Whether all of it was there, and is what it has to be. */
  readonly isWhole: boolean = true;

  constructor(given: unknown, keys: readonly string[], fits: (key: string, value: unknown) => boolean = () => true) {
    this.copy = given;
    if (given === undefined || given === null) return;
    this.isWhole = false;
    if (!isObject(given)) return;
    const copy: Fields = create(null);
    this.copy = copy;
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as string;
      try {
        copy[key] = get(given, key);
      } catch (error) {
        const fail = () => {
          throw error;
        };
        defineProperty(copy, key, record({ get: fail }));
        return;
      }
      if (!fits(key, copy[key])) return;
    }
    this.isWhole = true;
  }
}
