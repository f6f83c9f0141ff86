// The messages: a ring of bounded length and bounded bytes, what is counted of them, and how they are found again.
import { apply, max } from '../shared/natives.ts';
import { MESSAGE_OVERHEAD, type SearchQuery } from './events.ts';
import { previewOf, sizeOfBuffer } from './payload.ts';
import { type Counts, type Entry, noCounts } from './registry.ts';
import { RingBuffer } from './ring-buffer.ts';
import type { Row } from './row.ts';

const { toLowerCase, includes } = String.prototype;
const lower = (text: string): string => apply(toLowerCase, text, []);
const contains = (text: string, part: string): boolean => apply(includes, text, [part]);

export class MessageStore {
  private ring: RingBuffer<Row>;
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

  add(row: Row, entry: Entry | undefined): void {
    tally(this.counts, row);
    if (entry) tally(entry.counts, row);
    const evicted = this.ring.push(row);
    if (evicted) this.dropped(evicted);
    this.bytes += costOf(row);
    while (this.bytes > this.byteBudget && this.ring.length > 1) this.dropped(this.ring.shift() as Row);
  }

  /** Gives a message its payload after it was added. */
  complete(row: Row, payload: ArrayBuffer): void {
    const oldest = this.ring.at(0);
    const kept = oldest !== undefined && oldest.n <= row.n;
    if (kept) this.bytes -= costOf(row);
    row.payload = payload;
    row.held = sizeOfBuffer(payload);
    if (kept) this.bytes += costOf(row);
    row.truncated = row.held !== row.size;
  }

  find(query: SearchQuery): Row[] {
    const text = query.text === undefined ? undefined : lower(query.text);
    const found: Row[] = [];
    // Numbers follow each other.
    const skipped = (query.after ?? 0) + 1 - (this.ring.at(0)?.n ?? 0);
    for (let i = max(0, skipped); i < this.ring.length; i++) {
      const row = this.ring.at(i) as Row;
      if (!this.matches(row, query)) continue;
      if (text !== undefined && !contains(lower(textOf(row)), text)) continue;
      found[found.length] = row;
    }
    return found;
  }

  clear(): void {
    this.ring.clear();
    this.counts = noCounts();
    this.bytes = 0;
  }

  private matches(row: Row, query: SearchQuery): boolean {
    const { connectionId, protocol, direction, urlIncludes, fromTimestamp, toTimestamp } = query;
    if (connectionId !== undefined && row.connectionId !== connectionId) return false;
    if (protocol !== undefined && row.protocol !== protocol) return false;
    if (direction !== undefined && row.direction !== direction) return false;
    if (fromTimestamp !== undefined && row.timestamp < fromTimestamp) return false;
    if (toTimestamp !== undefined && row.timestamp > toTimestamp) return false;
    if (urlIncludes === undefined) return true;
    return contains(this.entryOf(row.connectionId)?.connection.url ?? '', urlIncludes);
  }

  private dropped(row: Row): void {
    this.bytes -= costOf(row);
    this.counts.dropped++;
    const entry = this.entryOf(row.connectionId);
    if (entry) entry.counts.dropped++;
  }
}

function tally(counts: Counts, row: Row): void {
  counts.messages++;
  if (row.direction === 'in') counts.incoming++;
  else counts.outgoing++;
  counts.bytes += row.size;
  if (row.truncated) counts.truncated++;
}

const textOf = ({ payload, size }: Row): string => (typeof payload === 'string' ? payload : previewOf(payload, size));

const costOf = ({ held }: Row): number => MESSAGE_OVERHEAD + held;
