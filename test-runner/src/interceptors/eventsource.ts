// EventSource: the constructor and `close`; named events as the app subscribes to them.
import type { DevtoolsEngine } from '../engine/engine.ts';
import { apply, at, getterOf, listen, SafeMap, SafeWeakMap, ticks, win } from '../shared/natives.ts';
import { interceptor, Patches } from './patch.ts';
import type { Interceptor, InterceptorOptions, Realm } from './types.ts';

const CLOSED = 2;
/** Types that are listened to from the start, whether the app does or not. */
const ALWAYS: Record<string, true | undefined> = { open: true, message: true, error: true };

export function installEventSourceInterceptor(options: InterceptorOptions): Interceptor | undefined {
  const target = options.target ?? (win as Realm);
  if (typeof target.EventSource !== 'function') return undefined;
  const patches = new Patches(options.owner);
  const sources = new Sources(options, target, patches);

  patches.constructing(target, 'EventSource', (source) => sources.opened(source as EventSource));
  patches.method(target.EventSource.prototype, 'close', (native, self, args) => {
    const result: unknown = apply(native, self, args);
    sources.closed(self as EventSource);
    return result;
  });
  patches.method(target.EventTarget.prototype, 'addEventListener', (native, self, args) => {
    if (at(args, 1)) sources.subscribed(self as EventSource, at(args, 0));
    return apply(native, self, args);
  });
  return interceptor('eventsource', patches);
}

interface Tracked {
  id: string;
  types: InstanceType<typeof SafeMap<string, true>>;
  reconnects: number;
  brokeAt: number;
  lastEventId: string;
  /** Of the events since it was opened last: asking for it takes longer than all the rest. */
  origin: string;
}

class Sources {
  private readonly engine: DevtoolsEngine;
  private readonly tracked = new SafeWeakMap<EventSource, Tracked>();
  private readonly readyState: (source: unknown) => number;
  private readonly url: (source: unknown) => string;
  private readonly withCredentials: (source: unknown) => boolean;
  private readonly data: (event: unknown) => unknown;
  private readonly lastEventId: (event: unknown) => string;
  private readonly origin: (event: unknown) => string;

  constructor(
    private readonly options: InterceptorOptions,
    target: Realm,
    private readonly patches: Patches,
  ) {
    this.engine = options.engine;
    this.readyState = getterOf(target.EventSource.prototype, 'readyState');
    this.url = getterOf(target.EventSource.prototype, 'url');
    this.withCredentials = getterOf(target.EventSource.prototype, 'withCredentials');
    this.data = getterOf(target.MessageEvent.prototype, 'data');
    this.lastEventId = getterOf(target.MessageEvent.prototype, 'lastEventId');
    this.origin = getterOf(target.MessageEvent.prototype, 'origin');
  }

  opened(source: EventSource): void {
    const url = this.url(source);
    if (this.options.allows && !this.options.allows(url)) {
      this.engine.note('excluded by the filter');
      return;
    }
    const metadata = {
      source: 'eventsource',
      withCredentials: this.withCredentials(source),
      retry: 'hidden by the platform',
    };
    const { id } = this.engine.recordConnection({ protocol: 'eventsource', url, metadata });
    const tracked = { id, types: new SafeMap<string, true>(), reconnects: 0, brokeAt: 0, lastEventId: '', origin: '' };
    this.tracked.set(source, tracked);
    // A server may name its events `open` and `error` too; those carry data.
    this.on(source, 'open', (event) => this.record(tracked, 'open', event) || this.connected(tracked));
    this.on(source, 'message', (event) => this.record(tracked, 'message', event));
    this.on(source, 'error', (event) => {
      if (!this.record(tracked, 'error', event)) this.broken(tracked, this.readyState(source) === CLOSED);
    });
  }

  /** The app wants events of a type: so do we, just before it. */
  subscribed(source: EventSource, type: unknown): void {
    const tracked = this.tracked.get(source);
    if (!tracked || typeof type !== 'string' || ALWAYS[type] === true || tracked.types.has(type)) return;
    tracked.types.set(type, true);
    this.on(source, type, (event) => this.record(tracked, type, event));
  }

  closed(source: EventSource): void {
    const tracked = this.tracked.get(source);
    try {
      if (tracked) this.end(tracked, 'close');
    } catch {
      this.engine.note('recorder error');
    }
  }

  private connected(tracked: Tracked): void {
    const metadata: Record<string, unknown> = {};
    if (tracked.brokeAt) metadata['reconnectMs'] = ticks() - tracked.brokeAt;
    tracked.brokeAt = 0;
    tracked.origin = '';
    this.engine.update(tracked.id, { state: 'open', metadata });
  }

  private broken(tracked: Tracked, forGood: boolean): void {
    if (forGood) {
      this.end(tracked, 'error');
      return;
    }
    tracked.brokeAt ||= ticks();
    tracked.reconnects++;
    this.engine.update(tracked.id, {
      state: 'connecting',
      reconnectCount: tracked.reconnects,
      metadata: { lastEventId: tracked.lastEventId },
    });
  }

  private end(tracked: Tracked, how: 'close' | 'error'): void {
    const known = this.engine.update(tracked.id, { state: 'closed' });
    if (known && known.metadata['how'] === undefined) this.engine.update(tracked.id, { metadata: { how } });
  }

  /** Whether the event was one of the server's. */
  private record(tracked: Tracked, type: string, event: Event): boolean {
    const data = this.dataOf(event);
    if (data === undefined) return false;
    const lastEventId = this.lastEventId(event);
    tracked.lastEventId = lastEventId;
    tracked.origin ||= this.origin(event);
    this.engine.record({
      connectionId: tracked.id,
      direction: 'in',
      protocol: 'eventsource',
      type,
      payload: data,
      metadata: { lastEventId, origin: tracked.origin },
    });
    return true;
  }

  private dataOf(event: Event): string | undefined {
    try {
      const data = this.data(event);
      return typeof data === 'string' ? data : undefined;
    } catch {
      return undefined;
    }
  }

  private on(source: EventSource, type: string, seen: (event: Event) => unknown): void {
    const heard = (event: Event) => {
      if (!this.patches.active || !event.isTrusted) return;
      try {
        seen(event);
      } catch {
        this.engine.note('recorder error');
      }
    };
    // Of the listeners of a source, those that capture are told first in a WebKit, and could keep it from us.
    listen(source, type, heard, true);
  }
}
