// Puts the recorder into a window, once; nothing is patched before somebody calls this. Taking it out again restores
// what is still ours, in reverse order, and makes the rest pass through.
import { installEventSourceInterceptor } from '../interceptors/eventsource.ts';
import { installFetchStreamInterceptor } from '../interceptors/fetch-stream.ts';
import type { Interceptor, InterceptorOptions, Realm } from '../interceptors/types.ts';
import { countUncovered, frameCount } from '../interceptors/uncovered.ts';
import { installWebSocketInterceptor } from '../interceptors/websocket.ts';
import { apply, getterOf, listen, match, NativeRegExp, now, ticks, unlisten, win } from '../shared/natives.ts';
import { BRAND, ownerOf } from '../shared/owner.ts';
import { createDevtoolsEngine, type DevtoolsEngine, type EngineOptions } from './engine.ts';
import { HostChannel } from './host-channel.ts';
import type { BatchSink } from './outbox.ts';
import { rowLine } from './row-line.ts';

export type CaptureKind = 'websocket' | 'fetch' | 'eventsource';

export interface InstallOptions extends EngineOptions {
  /** What is recorded; everything if nothing is said. */
  capture?: readonly CaptureKind[];
  /** Only addresses that hold the text, match the pattern, or for which the function says so. */
  urlFilter?: string | RegExp | ((url: string) => boolean);
  target?: Realm;
  /** Whoever puts the recorder in knows that none of the page's own scripts ran before. */
  first?: boolean;
  /** Takes the records of the page, in batches; see also `connect`. */
  onBatch?: BatchSink;
}

/** The originals, for a tool that must not record itself. */
export interface OriginalNatives {
  WebSocket: typeof WebSocket;
  EventSource: typeof EventSource;
  fetch: typeof fetch;
  send: WebSocket['send'];
  close: WebSocket['close'];
}

export interface Coverage {
  /** Milliseconds since the document began at which the recorder was there. */
  from: number;
  /** Frames whose traffic is not seen, now. */
  frames: number;
  /** Whether none of the page's own scripts, or hardly any, ran before. */
  beforeContent: boolean;
  /** The wall clock when the document began, milliseconds since 1970. */
  began: number;
}

export interface HostLink {
  /** The id of the document that the host knows. */
  doc: string;
  send(text: string): void;
  currentTest(): unknown;
}

export interface HostRecords {
  took(seq: number): void;
  /** Hands over what waits, as far as the host is ready for it; returns how many records it has yet to confirm. */
  drain(): number;
}

export interface CaptureRuntime {
  readonly capacity: number;
  readonly engine: DevtoolsEngine;
  readonly installed: boolean;
  readonly natives: Partial<OriginalNatives>;
  coverage(): Coverage;
  /** Sends records out of the page; returns what ends that. */
  connect(sink: BatchSink): () => void;
  /** Sends them to the host that leads the page, which names the running test and confirms what has arrived. */
  toHost(link: HostLink): HostRecords;
  /** Hands over what waits, now. */
  flush(): void;
  uninstall(): void;
}

const INSTALLERS: Record<CaptureKind, (options: InterceptorOptions) => Interceptor | undefined> = {
  websocket: installWebSocketInterceptor,
  fetch: installFetchStreamInterceptor,
  eventsource: installEventSourceInterceptor,
};
const ALL: readonly CaptureKind[] = ['websocket', 'fetch', 'eventsource'];

/** A runtime with an engine, but nothing patched. */
export function createBrowseSentEventRuntime(options: InstallOptions = {}): CaptureRuntime {
  return new Runtime(options);
}

/** The runtime of the window: the one that is there, or a new one. */
export function installBrowseSentEvent(options: InstallOptions = {}): CaptureRuntime {
  const there = ownerOf(options.target ?? (win as Realm));
  if (there) return there as CaptureRuntime;
  const runtime = new Runtime(options);
  runtime.install();
  return runtime;
}

class Runtime implements CaptureRuntime {
  readonly brand = BRAND;
  readonly engine: DevtoolsEngine;
  readonly natives: Partial<OriginalNatives>;
  private readonly target: Realm;
  private interceptors: Interceptor[] = [];
  private from = 0;
  private beforeContent = false;
  private readonly began = now() - ticks();

  constructor(private readonly options: InstallOptions) {
    const target = options.target ?? (win as Realm);
    this.target = target;
    this.engine = createDevtoolsEngine(options);
    const { WebSocket: Socket, EventSource: Source, fetch: get } = target;
    this.natives = {
      WebSocket: Socket,
      EventSource: Source,
      fetch: get,
      send: Socket?.prototype.send,
      close: Socket?.prototype.close,
    };
    if (options.onBatch) this.engine.connect(options.onBatch);
  }

  get capacity(): number {
    return this.engine.capacity;
  }

  get installed(): boolean {
    return this.interceptors.length > 0;
  }

  install(): void {
    const { options, target } = this;
    this.from = ticks();
    this.beforeContent = options.first === true || target.document?.readyState === 'loading';
    const shared: InterceptorOptions = { engine: this.engine, target, owner: () => this };
    const allows = filterOf(options.urlFilter);
    if (allows) shared.allows = allows;
    const kinds = options.capture ?? ALL;
    try {
      for (let i = 0; i < kinds.length; i++) this.add(INSTALLERS[kinds[i] as CaptureKind](shared));
      this.add(countUncovered(shared));
    } catch (error) {
      // All or nothing: half of a recorder would tell half of the truth.
      this.uninstall();
      throw error;
    }
    listen(target, 'beforeunload', this.leaving, true);
    listen(target, 'pagehide', this.left, true);
    if (target.document) listen(target.document, 'visibilitychange', this.engine.next, true);
  }

  coverage = (): Coverage => ({
    from: this.from,
    frames: frameCount(this.target),
    beforeContent: this.beforeContent,
    began: this.began,
  });

  connect = (sink: BatchSink): (() => void) => this.engine.connect(sink);

  toHost = ({ doc, send, currentTest }: HostLink): HostRecords => {
    const channel = new HostChannel(doc, send);
    this.engine.currentTest = currentTest;
    this.engine.recordCoverage(this.coverage());
    this.engine.connect(channel.take, rowLine);
    return {
      took: (seq) => channel.took(seq),
      drain: () => {
        channel.hurries = true;
        this.engine.recordCoverage(this.coverage());
        this.engine.next();
        const waiting = channel.waiting + this.engine.waiting();
        channel.hurries = waiting > 0;
        return waiting;
      },
    };
  };

  flush = (): void => this.engine.flush();

  uninstall = (): void => {
    for (let i = this.interceptors.length - 1; i >= 0; i--) this.interceptors[i]?.uninstall();
    this.interceptors = [];
    unlisten(this.target, 'beforeunload', this.leaving, true);
    unlisten(this.target, 'pagehide', this.left, true);
    if (this.target.document) unlisten(this.target.document, 'visibilitychange', this.engine.next, true);
  };

  /** Whoever debugs a Chrome hears nothing more of a document once it goes: all it has to say has to be said before. */
  private readonly leaving = (event: Event): void => {
    if (event.isTrusted) this.engine.leave();
  };

  /** The document goes: what lives ends with it, unless it waits to be shown again. */
  private readonly left = (event: Event): void => {
    // Of the page's own making: nothing goes.
    if (!event.isTrusted) return;
    if (!isPersisted(event)) {
      const connections = this.engine.getConnections();
      for (let i = 0; i < connections.length; i++) {
        const { id, state } = connections[i] as { id: string; state: string };
        if (state !== 'closed') this.engine.update(id, { state: 'closed', metadata: { how: 'unload' } });
      }
    }
    this.engine.end();
  };

  private add(interceptor: Interceptor | undefined): void {
    if (interceptor) this.interceptors[this.interceptors.length] = interceptor;
  }
}

const { includes } = String.prototype;
const isPersisted = getterOf<boolean>(globalThis.PageTransitionEvent?.prototype, 'persisted');

function filterOf(filter: InstallOptions['urlFilter']): ((url: string) => boolean) | undefined {
  if (filter === undefined) return undefined;
  if (typeof filter === 'string') return (url) => apply(includes, url, [filter]);
  if (typeof filter === 'function') return filter;
  // A pattern that remembers where it was would let every other address through.
  const pattern = new NativeRegExp(filter.source, filter.flags.replace(/[gy]/g, ''));
  return (url) => match(pattern, url) !== null;
}
