// WebSocket: the constructor and `send` and `close` of the prototype; events by listeners that were there first.
import type { DevtoolsEngine } from '../engine/engine.ts';
import type { MessageDirection } from '../engine/events.ts';
import { bytesOf, encodedSize } from '../engine/payload.ts';
import { apply, at, getterOf, listen, SafeWeakMap, win } from '../shared/natives.ts';
import { isNative } from '../shared/words.ts';
import { recordBlob, sizeOfBlob } from './blobs.ts';
import { interceptor, Patches } from './patch.ts';
import { isObject, listFor, ownList, textFor } from './stand-ins.ts';
import type { Interceptor, InterceptorOptions, Realm } from './types.ts';

const OPEN = 1;
const CLOSING = 2;

export function installWebSocketInterceptor(options: InterceptorOptions): Interceptor | undefined {
  const target = options.target ?? (win as Realm);
  if (typeof target.WebSocket !== 'function') return undefined;
  const patches = new Patches(options.owner);
  const sockets = new Sockets(options, target, patches);
  const { prototype } = target.WebSocket;

  const isOurs = isNative(target.WebSocket);
  patches.constructing(
    target,
    'WebSocket',
    (socket, _, protocols) => sockets.opened(socket as WebSocket, protocols as Protocols),
    (args) => (isOurs || !isObject(at(args, 1)) ? asked(args) : { args, note: undefined }),
  );
  patches.method(prototype, 'send', (native, self, args) => {
    const before = sockets.beforeSend(self, at(args, 0));
    const result: unknown = apply(native, self, args);
    if (before) sockets.sent(self as WebSocket, at(args, 0), before);
    return result;
  });
  patches.method(prototype, 'close', (native, self, args) => {
    const before = sockets.stateOf(self);
    const result: unknown = apply(native, self, args);
    if (before !== undefined && before < CLOSING) sockets.closing(self as WebSocket, args);
    return result;
  });
  return interceptor('websocket', patches);
}

type Protocols = readonly (string | undefined)[] | undefined;

interface Tracked {
  id: string;
  discarded: number;
}

interface BeforeSend {
  tracked: Tracked;
  state: number;
  /** Of texts, and of data that only the native may turn into one: the growth of the buffer tells the size. */
  buffered: number | undefined;
}

class Sockets {
  private readonly engine: DevtoolsEngine;
  /** Sockets that are not to be recorded are here with nothing. */
  private readonly tracked = new SafeWeakMap<WebSocket, Tracked | undefined>();
  private readonly readyState: (socket: unknown) => number;
  private readonly bufferedAmount: (socket: unknown) => number;
  private readonly url: (socket: unknown) => string;
  private readonly protocol: (socket: unknown) => string;
  private readonly extensions: (socket: unknown) => string;
  private readonly data: (event: unknown) => unknown;
  private readonly code: (event: unknown) => number;
  private readonly reason: (event: unknown) => string;
  private readonly wasClean: (event: unknown) => boolean;

  constructor(
    private readonly options: InterceptorOptions,
    target: Realm,
    private readonly patches: Patches,
  ) {
    this.engine = options.engine;
    const { prototype } = target.WebSocket;
    this.readyState = getterOf(prototype, 'readyState');
    this.bufferedAmount = getterOf(prototype, 'bufferedAmount');
    this.url = getterOf(prototype, 'url');
    this.protocol = getterOf(prototype, 'protocol');
    this.extensions = getterOf(prototype, 'extensions');
    this.data = getterOf(target.MessageEvent.prototype, 'data');
    this.code = getterOf(target.CloseEvent.prototype, 'code');
    this.reason = getterOf(target.CloseEvent.prototype, 'reason');
    this.wasClean = getterOf(target.CloseEvent.prototype, 'wasClean');
  }

  opened(socket: WebSocket, protocols: Protocols, earlier = false): Tracked | undefined {
    const url = this.url(socket);
    if (this.options.allows && !this.options.allows(url)) {
      this.tracked.set(socket, undefined);
      this.engine.note('excluded by the filter');
      return undefined;
    }
    const metadata: Record<string, unknown> = { source: 'websocket' };
    if (protocols) metadata['requestedProtocols'] = listed(protocols);
    if (earlier) metadata['coveredFrom'] = 'later than its opening';
    const state = earlier ? 'open' : 'connecting';
    const { id } = this.engine.recordConnection({ protocol: 'websocket', url, state, metadata });
    const tracked = { id, discarded: 0 };
    this.tracked.set(socket, tracked);
    this.listenTo(socket, id);
    return tracked;
  }

  stateOf(socket: unknown): number | undefined {
    try {
      return this.tracked.get(socket as WebSocket) ? this.readyState(socket) : undefined;
    } catch {
      return undefined;
    }
  }

  beforeSend(self: unknown, data: unknown): BeforeSend | undefined {
    try {
      const socket = self as WebSocket;
      const tracked = this.tracked.get(socket) ?? (this.tracked.has(socket) ? undefined : this.adopts(socket));
      if (!tracked) return undefined;
      const isBytes = typeof data !== 'string' && (bytesOf(data) !== undefined || sizeOfBlob(data) !== undefined);
      return { tracked, state: this.readyState(socket), buffered: isBytes ? undefined : this.bufferedAmount(socket) };
    } catch {
      return undefined;
    }
  }

  sent(socket: WebSocket, data: unknown, before: BeforeSend): void {
    try {
      const { tracked } = before;
      if (before.state !== OPEN) {
        // The platform drops what is sent while a socket closes, and says nothing.
        tracked.discarded++;
        this.engine.update(tracked.id, { metadata: { discardedSends: tracked.discarded } });
      } else if (before.buffered === undefined) {
        this.record(tracked.id, 'out', data);
      } else {
        const size = this.bufferedAmount(socket) - before.buffered;
        if (typeof data === 'string') this.text(tracked.id, 'out', data, sizeIfIts(data, size));
        else this.converted(tracked.id, data, size);
      }
    } catch {
      this.engine.note('recorder error');
    }
  }

  /** Something that the platform made a text of, as long as it says. */
  private converted(connectionId: string, data: unknown, size: number): void {
    const known = data === null || (typeof data !== 'object' && typeof data !== 'function' && typeof data !== 'symbol');
    const metadata = known ? { converted: typeof data } : { converted: typeof data, payload: 'not observed' };
    const payload = known ? `${data}` : '';
    this.engine.record({ connectionId, direction: 'out', payload, size, cut: !known, metadata });
  }

  closing(socket: WebSocket, args: unknown[]): void {
    try {
      const tracked = this.tracked.get(socket);
      if (!tracked) return;
      const metadata: Record<string, unknown> = { closedBy: 'page' };
      if (typeof at(args, 0) === 'number') metadata['askedCode'] = at(args, 0);
      if (typeof at(args, 1) === 'string') metadata['askedReason'] = at(args, 1);
      this.engine.update(tracked.id, { state: 'closing', metadata });
    } catch {
      this.engine.note('recorder error');
    }
  }

  /** A socket that is older than the recorder: it is covered from its next send on. */
  private adopts(socket: WebSocket): Tracked | undefined {
    this.url(socket);
    this.engine.note('socket opened before the recorder');
    return this.opened(socket, undefined, true);
  }

  private listenTo(socket: WebSocket, id: string): void {
    const { engine } = this;
    const on = (type: string, seen: (event: Event) => void) =>
      // Of the listeners of a socket, those that capture are told first in a WebKit, and could keep it from us.
      listen(
        socket,
        type,
        (event) => {
          if (!this.patches.active || !event.isTrusted) return;
          try {
            seen(event);
          } catch {
            engine.note('recorder error');
          }
        },
        true,
      );
    on('message', (event) => this.record(id, 'in', this.data(event)));
    on('open', () => {
      const metadata = { subprotocol: this.protocol(socket), extensions: this.extensions(socket) };
      engine.update(id, { state: 'open', metadata });
    });
    on('error', () => engine.update(id, { metadata: { error: true } }));
    on('close', (event) => {
      const metadata = { reason: this.reason(event), wasClean: this.wasClean(event), how: 'close' };
      engine.update(id, { state: 'closed', closeCode: this.code(event), metadata });
    });
  }

  private text(connectionId: string, direction: MessageDirection, payload: string, size?: number): void {
    this.engine.record({ connectionId, direction, protocol: 'websocket', payload, size });
  }

  private record(connectionId: string, direction: MessageDirection, data: unknown): void {
    if (typeof data === 'string') {
      this.text(connectionId, direction, data);
      return;
    }
    const protocol = 'websocket';
    const bytes = bytesOf(data);
    if (bytes) this.engine.record({ connectionId, direction, protocol, payload: bytes });
    else recordBlob(this.engine, data as Blob, { connectionId, direction, protocol });
  }
}

/** The growth of the buffer, unless no UTF-8 of that text has it: what an app puts around `send` may send otherwise. */
function sizeIfIts(text: string, growth: number): number {
  return growth >= text.length && growth <= 3 * text.length ? growth : encodedSize(text);
}

/** What a socket is made with, and the protocols that the platform will have read of it by then. */
function asked(args: unknown[]): { args: unknown[]; note: Protocols } {
  const protocols = at(args, 1);
  if (typeof protocols === 'string') return { args, note: [protocols] };
  if (!isObject(protocols)) return { args, note: undefined };
  const texts = ownList<string | undefined>();
  const standIn = listFor(protocols, (item, at) => {
    if (!isObject(item)) {
      if (typeof item !== 'symbol') texts[at] = `${item}`;
      return item;
    }
    return textFor(item, (text) => {
      texts[at] = text;
    });
  });
  if (standIn === protocols) return { args, note: undefined };
  const given = ownList();
  for (let i = 0; i < args.length; i++) given[i] = i === 1 ? standIn : args[i];
  return { args: given, note: texts };
}

/** Joined as in the header. */
function listed(texts: readonly (string | undefined)[]): string {
  let text = '';
  for (let i = 0; i < texts.length; i++) text += `${text && ', '}${texts[i]}`;
  return text;
}
