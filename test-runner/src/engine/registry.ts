// The connections: what state they are in, what was counted for each, and how many are remembered.
import { apply, ownKeys, ownOnly, record, SafeMap, SafeSet } from '../shared/natives.ts';
import type { ConnectionInput, ConnectionState, ConnectionUpdate, Metadata, TransportConnection } from './events.ts';
import { sliceText } from './payload.ts';
import { RingBuffer } from './ring-buffer.ts';

/** Finished connections that are remembered: a page that polls makes thousands. */
const MAX_CLOSED = 1_000;
/** Unfinished ones: bodies that nobody reads never finish. */
export const MAX_LIVE = 4_000;
/** A socket that opens this soon after one to the same place broke counts as its successor. */
const RECONNECT_MS = 60_000;
/** Places whose last break is remembered. */
const MAX_BREAKS = 500;

const RANK: Record<ConnectionState, number> = { connecting: 0, open: 1, closing: 2, closed: 3 };

export interface Counts {
  messages: number;
  incoming: number;
  outgoing: number;
  bytes: number;
  dropped: number;
  truncated: number;
}

export interface Entry {
  connection: TransportConnection;
  counts: Counts;
}

export const noCounts = (): Counts => ({
  messages: 0,
  incoming: 0,
  outgoing: 0,
  bytes: 0,
  dropped: 0,
  truncated: 0,
});

export class Registry {
  private entries = new SafeMap<string, Entry>();
  /** In the order in which they came. */
  private live = new SafeSet<string>();
  private closed = new RingBuffer<string>(MAX_CLOSED);
  private breaks = new SafeMap<string, { at: number; reconnects: number }>();
  total = 0;
  dropped = 0;

  /** `forgotten` hears of one that lived. */
  constructor(private readonly forgotten: (connection: TransportConnection) => void) {}

  add(input: ConnectionInput, id: string, time: number): Entry {
    const connection: TransportConnection = ownOnly({
      id,
      protocol: input.protocol,
      url: input.url,
      state: input.state ?? 'connecting',
      openedAt: input.openedAt ?? time,
      reconnectCount: input.reconnectCount ?? this.reconnectsOf(input, time),
      metadata: copied(input.metadata),
    });
    const entry = { connection, counts: noCounts() };
    this.entries.set(id, entry);
    this.total++;
    this.live.add(id);
    if (connection.state === 'closed') this.finish(connection, time);
    if (this.live.size > MAX_LIVE) this.forgetOldest();
    return entry;
  }

  get(id: string): Entry | undefined {
    return this.entries.get(id);
  }

  /** States only go on; a closed connection stays closed. An EventSource may go back to connecting. */
  update(connection: TransportConnection, update: ConnectionUpdate, time: number): void {
    const wasClosed = connection.state === 'closed';
    if (update.url !== undefined) connection.url = update.url;
    if (update.protocol !== undefined) connection.protocol = update.protocol;
    if (update.reconnectCount !== undefined) connection.reconnectCount = update.reconnectCount;
    merge(connection.metadata, update.metadata);
    if (wasClosed) return;
    if (update.closeCode !== undefined) connection.closeCode = update.closeCode;
    const { state } = update;
    if (state === undefined) return;
    if (RANK[state] < RANK[connection.state] && connection.protocol !== 'eventsource') return;
    connection.state = state;
    if (state === 'closed') this.finish(connection, update.closedAt ?? time);
  }

  /** Forgets one that turned out to be none. */
  remove(id: string): TransportConnection | undefined {
    const entry = this.entries.get(id);
    if (!entry) return undefined;
    this.entries.delete(id);
    this.live.delete(id);
    this.total--;
    return entry.connection;
  }

  list(): TransportConnection[] {
    const list: TransportConnection[] = [];
    this.entries.forEach(({ connection }) => {
      list[list.length] = copyOf(connection);
    });
    return list;
  }

  active(): number {
    let count = 0;
    this.entries.forEach(({ connection }) => {
      if (connection.state !== 'closed') count++;
    });
    return count;
  }

  /** Forgets what is over; what lives goes on, with its counts at nothing. */
  clear(): void {
    const before = this.entries;
    this.entries = new SafeMap();
    this.live.clear();
    this.closed.clear();
    this.breaks = new SafeMap();
    this.total = 0;
    this.dropped = 0;
    before.forEach((entry, id) => {
      if (entry.connection.state === 'closed') return;
      entry.counts = noCounts();
      this.entries.set(id, entry);
      this.live.add(id);
      this.total++;
    });
  }

  private finish(connection: TransportConnection, time: number): void {
    connection.closedAt = time;
    this.live.delete(connection.id);
    const evicted = this.closed.push(connection.id);
    if (evicted !== undefined) this.drop(evicted);
    // 1000 is said by whoever had enough; nobody reconnects after it.
    if (connection.protocol !== 'websocket' || connection.closeCode === 1000) return;
    if (this.breaks.size >= MAX_BREAKS) this.breaks.clear();
    this.breaks.set(placeOf(connection.url), { at: time, reconnects: connection.reconnectCount + 1 });
  }

  private forgetOldest(): void {
    const id = apply(next, this.live.values(), []).value as string;
    const { connection } = this.entries.get(id) as Entry;
    this.live.delete(id);
    this.drop(id);
    this.forgotten(connection);
  }

  private drop(id: string): void {
    if (this.entries.delete(id)) this.dropped++;
  }

  private reconnectsOf(input: ConnectionInput, time: number): number {
    if (input.protocol !== 'websocket') return 0;
    const broken = this.breaks.get(placeOf(input.url));
    if (!broken) return 0;
    this.breaks.delete(placeOf(input.url));
    return time - broken.at <= RECONNECT_MS ? broken.reconnects : 0;
  }
}

const { next } = Object.getPrototypeOf(new Set().values()) as Iterator<string>;

/** Tokens in queries change from one dial to the next; the place stays. */
function placeOf(url: string): string {
  for (let i = 0; i < url.length; i++) if (url[i] === '?' || url[i] === '#') return sliceText(url, 0, i);
  return url;
}

function copied(metadata: Metadata | undefined): Metadata {
  return record(metadata ?? {});
}

function merge(into: Metadata, from: Metadata | undefined): void {
  if (!from) return;
  const keys = ownKeys(from);
  for (let i = 0; i < keys.length; i++) into[keys[i] as string] = from[keys[i] as string];
}

export function copyOf(connection: TransportConnection): TransportConnection {
  return { ...connection, metadata: { ...connection.metadata } };
}
