// The engine: the one place where anything that was recorded is kept. It knows nothing of pages; interceptors tell it
// what happened, everyone else asks it. Its methods are bound: they may be taken apart.
import { max, now, ownOnly, randomId, SafeMap, ticks } from '../shared/natives.ts';
import type {
  ConnectionInput,
  ConnectionUpdate,
  MessageFilter,
  MessageInput,
  SearchQuery,
  TransportConnection,
  TransportMessage,
  TransportMetrics,
} from './events.ts';
import * as defaults from './events.ts';
import { jsonLines, logLines } from './export.ts';
import { type BatchSink, Outbox, type RowWriter } from './outbox.ts';
import { shorten } from './payload.ts';
import { createRedactor, type Redaction, type Redactor } from './redact.ts';
import { copyOf, MAX_LIVE, noCounts, Registry } from './registry.ts';
import { retain } from './retain.ts';
import { messageOf, type Row } from './row.ts';
import { MessageStore } from './store.ts';
import { Subscribers } from './subscribers.ts';

export interface EngineOptions {
  /** Messages that are kept. */
  capacity?: number;
  /** Bytes that are kept of all of them. */
  byteBudget?: number;
  /** Bytes (or characters of a text) that are kept of one payload. */
  payloadPrefix?: number;
  /** The same of what leaves the page. */
  maxPayload?: number;
  redact?: Redaction;
  /** Keep batches for a channel that is yet to be connected. */
  forward?: boolean;
  /** Names the running test; asked once a message. */
  currentTest?: (() => unknown) | undefined;
}

export type DevtoolsEngine = Engine;

/** The wall clock may be set, and the other one may stand still while a phone sleeps: how long that may go unnoticed. */
const CLOCK_MS = 1_000;

export function createDevtoolsEngine(options: EngineOptions = {}): DevtoolsEngine {
  return new Engine(options);
}

class Engine {
  readonly capacity: number;
  /** Starts every id of this document. */
  readonly session = randomId();
  private readonly prefix: number;
  private readonly maxPayload: number;
  private readonly redactor: Redactor | undefined;
  private readonly registry = new Registry(() => this.note(`end of a connection among more than ${MAX_LIVE} at once`));
  private readonly store: MessageStore;
  private readonly outbox: Outbox;
  private readonly subscribers = new Subscribers(() => this.note('subscriber error'));
  /** Names the running test; asked once a message. */
  currentTest: (() => unknown) | undefined;
  private notRecorded = new SafeMap<string, number>();
  private connections = 0;
  private messages = 0;
  /** What the wall clock is ahead of the document's, and when that is found out again. */
  private origin = 0;
  private nextAsked = 0;

  constructor(options: EngineOptions) {
    this.currentTest = options.currentTest;
    this.capacity = options.capacity ?? defaults.DEFAULT_CAPACITY;
    this.prefix = options.payloadPrefix ?? defaults.DEFAULT_PAYLOAD_PREFIX;
    this.maxPayload = options.maxPayload ?? defaults.DEFAULT_MAX_PAYLOAD;
    this.redactor = createRedactor(options.redact);
    const byteBudget = options.byteBudget ?? defaults.DEFAULT_BYTE_BUDGET;
    this.store = new MessageStore(this.capacity, byteBudget, (id) => this.registry.get(id));
    this.outbox = new Outbox(
      this.session,
      options.forward === true,
      () => this.note('channel error'),
      () => this.note('connection beyond what the channel can wait for'),
    );
  }

  recordConnection = (given: ConnectionInput): TransportConnection => {
    const input = ownOnly(given);
    const id = input.id ?? `${this.session}-c${++this.connections}`;
    if (this.registry.get(id)) return this.updateConnection(id, input) as TransportConnection;
    const url = this.redactor ? this.redactor.url(input.url) : input.url;
    const time = ticks();
    const { connection } = this.registry.add(ownOnly({ ...input, url }), id, time);
    this.outbox.connection(connection, time);
    this.subscribers.changed(time);
    return copyOf(connection);
  };

  /** Merges metadata; states only go on. Nothing for an id that is not known, or no more. */
  updateConnection = (id: string, given: ConnectionUpdate): TransportConnection | undefined => {
    const connection = this.update(id, given);
    return connection && copyOf(connection);
  };

  /** The same for whoever keeps nothing of it: the connection itself. */
  update = (id: string, given: ConnectionUpdate): Readonly<TransportConnection> | undefined => {
    const connection = this.registry.get(id)?.connection;
    if (!connection) return undefined;
    const update = ownOnly(given);
    const { url } = update;
    const redacted = this.redactor && url !== undefined ? ownOnly({ ...update, url: this.redactor.url(url) }) : update;
    const time = ticks();
    this.registry.update(connection, redacted, time);
    this.outbox.connection(connection, time);
    this.subscribers.changed(time);
    return connection;
  };

  recordMessage = (input: MessageInput): TransportMessage => messageOf(this.session, this.record(input));

  /** The same for whoever does not look at the message. */
  record = (given: MessageInput): Row => {
    const input = ownOnly(given);
    const entry = this.registry.get(input.connectionId);
    const timestamp = ticks();
    const row: Row = {
      n: ++this.messages,
      connectionId: input.connectionId,
      timestamp: input.timestamp ?? timestamp,
      wallTime: this.wallTime(timestamp),
      direction: input.direction,
      protocol: input.protocol ?? entry?.connection.protocol ?? 'websocket',
      type: input.type,
      size: 0,
      payload: '',
      held: 0,
      truncated: false,
      whole: undefined,
      complete: false,
      test: this.currentTest?.(),
      metadata: input.metadata,
    };
    retain(row, input, this.prefix, this.payloadLimit(), this.redactor);
    this.store.add(row, entry);
    this.outbox.message(row, timestamp);
    this.subscribers.changed(timestamp);
    return row;
  };

  getConnections = (): TransportConnection[] => this.registry.list();
  getMessages = (filter: MessageFilter = {}): TransportMessage[] => this.find(filter);
  /** `text` is sought in text payloads and in the previews of others; case makes no difference. */
  search = (query: SearchQuery): TransportMessage[] => this.find(query);
  exportJsonl = (filter: MessageFilter = {}): string => jsonLines(this.find(filter));
  exportLog = (filter: MessageFilter = {}): string => logLines(this.find(filter));

  /** The number of the last message: `n` of the next one is higher. */
  recorded = (): number => this.messages;

  /** Of everything, or of one connection. */
  getMetrics = (connectionId?: string): TransportMetrics => {
    const { registry, store } = this;
    const all = connectionId === undefined;
    const one = all ? undefined : registry.get(connectionId);
    const counts = all ? store.counts : (one?.counts ?? noCounts());
    const lives = one !== undefined && one.connection.state !== 'closed';
    return {
      activeConnectionCount: all ? registry.active() : lives ? 1 : 0,
      connectionCount: all ? registry.total : one ? 1 : 0,
      messageCount: counts.messages,
      incomingCount: counts.incoming,
      outgoingCount: counts.outgoing,
      droppedMessageCount: counts.dropped,
      totalBytes: counts.bytes,
      truncatedMessageCount: counts.truncated,
      retainedMessageCount: all ? store.length : store.find({ connectionId }).length,
      retainedBytes: store.bytes,
      droppedConnectionCount: registry.dropped,
      notRecorded: this.notSeen(),
    };
  };

  /** Forgets everything but the connections that live. */
  clear = (): void => {
    this.store.clear();
    this.registry.clear();
    this.notRecorded.clear();
    this.subscribers.changed(ticks());
  };

  /** Forgets a connection that turned out to be none. Who replays the others needs to know that it was there. */
  removeConnection = (id: string): void => {
    const time = ticks();
    const connection = this.registry.remove(id);
    if (connection) this.outbox.connection({ ...connection, removed: true }, time);
    this.subscribers.changed(time);
  };

  /** The payload of a message that came later than the message: the bytes of a Blob. */
  completePayload = (row: Row, bytes: ArrayBuffer): void => {
    const whole = shorten(bytes, this.payloadLimit());
    this.store.complete(row, shorten(whole, this.prefix));
    const time = ticks();
    this.outbox.payload(row, whole, time);
    this.subscribers.changed(time);
  };

  /** How much of a payload is of use: less while the channel out of the page is behind. */
  payloadLimit = (): number => (this.outbox.wantsWhole ? max(this.maxPayload, this.prefix) : this.prefix);

  /** Counts something that is not recorded. */
  note = (reason: string): void => {
    this.notRecorded.set(reason, (this.notRecorded.get(reason) ?? 0) + 1);
  };

  /** Tells of changes, with a number that grows, at most once a frame. */
  subscribe = (listener: (version: number) => void): (() => void) => this.subscribers.add(listener);

  /** Sends records out of the page, in batches, from now on or from the start if `forward` was asked for. */
  connect = (sink: BatchSink, writer?: RowWriter): (() => void) => this.outbox.connect(sink, writer);

  /** Hands over what waits, now. */
  flush = (): void => this.outbox.flush();

  /** The page may go at any time from now on. */
  leave = (): void => this.outbox.leave();

  /** It goes now. */
  end = (): void => this.outbox.end();

  /** Hands over what waits, as far as the channel is ready to take it. */
  next = (): void => this.outbox.next();

  /** Messages that wait for the channel. */
  waiting = (): number => this.outbox.waiting;

  /** Says out of the page what of it is seen, where that has changed. */
  recordCoverage = (coverage: object): void => {
    this.outbox.coverage({ session: this.session, ...coverage, notRecorded: this.notSeen() });
  };

  private find(query: SearchQuery): TransportMessage[] {
    const rows = this.store.find(query);
    const messages: TransportMessage[] = [];
    for (let i = 0; i < rows.length; i++) messages[i] = messageOf(this.session, rows[i] as Row);
    return messages;
  }

  /** The wall clock is asked now and then only; between, the other clock tells how much later it is. */
  private wallTime(timestamp: number): number {
    if (timestamp >= this.nextAsked) {
      this.nextAsked = timestamp + CLOCK_MS;
      this.origin = now() - timestamp;
    }
    return this.origin + timestamp;
  }

  private notSeen(): Record<string, number> {
    const counts: Record<string, number> = {};
    this.notRecorded.forEach((times, reason) => {
      counts[reason] = times;
    });
    return counts;
  }
}
