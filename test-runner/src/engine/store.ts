// The messages: a ring of bounded length and bounded bytes, what is counted of them, and how they are found again.
import { apply } from '../shared/natives.ts';
import { MESSAGE_OVERHEAD, type SearchQuery, type TransportMessage } from './events.ts';
import { sizeOfBuffer } from './payload.ts';
import { type Counts, type Entry, noCounts } from './registry.ts';
import { RingBuffer } from './ring-buffer.ts';

const { toLowerCase, includes } = String.prototype;
const lower = (text: string): string => apply(toLowerCase, text, []);
const contains = (text: string, part: string): boolean => apply(includes, text, [part]);

export class MessageStore {
  private ring: RingBuffer<TransportMessage>;
  counts: Counts = noCounts();
  bytes = 0;

  constructor(
    capacity: number,
    private readonly byteBudget: number,
    private readonly entryOf: (connectionId: string) => Entry | undefined,
  ) {
    this.ring = new RingBuffer(capacity);
  }

  get length(): number {
    return this.ring.length;
  }

  add(message: TransportMessage, entry: Entry | undefined): void {
    tally(this.counts, message);
    if (entry) tally(entry.counts, message);
    const evicted = this.ring.push(message);
    if (evicted) this.dropped(evicted);
    this.bytes += costOf(message);
    while (this.bytes > this.byteBudget && this.ring.length > 1) this.dropped(this.ring.shift() as TransportMessage);
  }

  /** Gives a message its payload after it was added. */
  complete(message: TransportMessage, payload: ArrayBuffer): void {
    const oldest = this.ring.at(0);
    const kept = oldest !== undefined && oldest.n <= message.n;
    if (kept) this.bytes -= costOf(message);
    message.payload = payload;
    if (kept) this.bytes += costOf(message);
    if (sizeOfBuffer(payload) === message.size) delete message.truncated;
  }

  find(query: SearchQuery): TransportMessage[] {
    const text = query.text === undefined ? undefined : lower(query.text);
    const found: TransportMessage[] = [];
    for (let i = 0; i < this.ring.length; i++) {
      const message = this.ring.at(i) as TransportMessage;
      if (!this.matches(message, query)) continue;
      if (text !== undefined && !contains(lower(textOf(message)), text)) continue;
      found[found.length] = message;
    }
    return found;
  }

  clear(): void {
    this.ring.clear();
    this.counts = noCounts();
    this.bytes = 0;
  }

  private matches(message: TransportMessage, query: SearchQuery): boolean {
    const { connectionId, protocol, direction, urlIncludes, fromTimestamp, toTimestamp } = query;
    if (connectionId !== undefined && message.connectionId !== connectionId) return false;
    if (protocol !== undefined && message.protocol !== protocol) return false;
    if (direction !== undefined && message.direction !== direction) return false;
    if (fromTimestamp !== undefined && message.timestamp < fromTimestamp) return false;
    if (toTimestamp !== undefined && message.timestamp > toTimestamp) return false;
    if (urlIncludes === undefined) return true;
    return contains(this.entryOf(message.connectionId)?.connection.url ?? '', urlIncludes);
  }

  private dropped(message: TransportMessage): void {
    this.bytes -= costOf(message);
    this.counts.dropped++;
    const entry = this.entryOf(message.connectionId);
    if (entry) entry.counts.dropped++;
  }
}

function tally(counts: Counts, message: TransportMessage): void {
  counts.messages++;
  if (message.direction === 'in') counts.incoming++;
  else counts.outgoing++;
  counts.bytes += message.size;
  if (message.truncated) counts.truncated++;
}

const textOf = ({ payload, payloadPreview }: TransportMessage): string =>
  typeof payload === 'string' ? payload : payloadPreview;

/** Characters count as one byte: what most of them take. */
function costOf({ payload }: TransportMessage): number {
  return MESSAGE_OVERHEAD + (typeof payload === 'string' ? payload.length : sizeOfBuffer(payload));
}
