// What leaves the page: records as lines of JSON, in batches that a channel takes at its own pace. Recording never
// waits for it: what the channel cannot take in time loses first its long payloads, then its oldest records.
import { cancel, later, NativePromise, SafeMap, settle, type Timer, ticks, toJson } from '../shared/natives.ts';
import type { MessagePayload, TransportConnection } from './events.ts';
import { exportedMessage } from './export.ts';
import { copyOf, sizeOfBuffer } from './payload.ts';
import { RingBuffer } from './ring-buffer.ts';
import { messageOf, type Row } from './row.ts';
import type { rowLine } from './row-line.ts';
import { OVERDUE_MS } from './subscribers.ts';

/** A batch waits this long for more to come: one hop for many messages, and a person still calls it live. */
const BATCH_MS = 100;
/** A batch is closed when it has become this long: what a debugging channel takes in one message without stalling. */
const BATCH_CHARACTERS = 256 * 1024;
/** Long payloads that wait for the channel. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;
/** Messages that wait for the channel. */
const MAX_WAITING = 20_000;
/** Connections that wait for it: more than the registry knows. When they are so many, an eighth of them makes room. */
const MAX_CHANGED = 8_000;
/** A page that said it goes may do so for so long, in milliseconds; one that stays goes back to batches. */
const LEAVING_MS = 10_000;
const resolved = NativePromise.resolve();

/**
 * Lines of JSON: `{"kind":"coverage"|"connection"|"message"|"payload"|"gap"|"end", ...}`; `payload` is a message again, now
 * with its bytes, `coverage` says what of the document can be seen, and `end` that it is gone and this was all of it.
 */
export interface TransportBatch {
  records: string[];
  /** It has to leave at once: there may be no later time. */
  urgent: boolean;
}

/** Takes a batch; the next one comes when the promise is settled, or at once if there is none. */
export type BatchSink = (batch: TransportBatch) => unknown;

/** Writes a message in another way; nothing for one that has no other. */
export type RowWriter = typeof rowLine;

/** `removed`: it turned out to be none, an answer without a body or from an address that is not to be recorded. */
type ConnectionRecord = TransportConnection & { removed?: true };

/** The payload of a message that has left already. */
interface Late {
  row: Row;
  whole: MessagePayload;
}

export class Outbox {
  private rows = new RingBuffer<Row>(MAX_WAITING);
  private late = new RingBuffer<Late>(MAX_WAITING);
  private changed = new SafeMap<string, ConnectionRecord>();
  private sink: BatchSink | undefined;
  private writer: RowWriter | undefined;
  private busy = false;
  private timer: Timer | undefined;
  /** When the timer has struck at the latest. */
  private due = 0;
  private waitingBytes = 0;
  private lost = 0;
  /** Until when the page may be on its way out; 0 for one that stays. */
  private leaves = 0;
  private hurries = false;
  private ends = false;
  /** What was last said of the coverage, and whether that has left. */
  private covered = '';
  private tellsCoverage = false;

  constructor(
    private readonly session: string,
    /** Whether records are kept for a channel that is yet to come. */
    private readonly keeps: boolean,
    private readonly failed: (error: unknown) => void,
    /** A connection was dropped before it left. */
    private readonly dropped: () => void,
  ) {}

  /** Whether long payloads are wanted and have room. */
  get wantsWhole(): boolean {
    return (this.keeps || this.sink !== undefined) && this.waitingBytes < MAX_WAITING_BYTES;
  }

  private get collects(): boolean {
    return this.keeps || this.sink !== undefined;
  }

  connect(sink: BatchSink, writer?: RowWriter): () => void {
    this.sink = sink;
    this.writer = writer;
    this.busy = false;
    this.schedule(ticks());
    return () => {
      if (this.sink === sink) this.sink = undefined;
    };
  }

  /** `time` is now, here and below. */
  connection(connection: ConnectionRecord, time: number): void {
    if (!this.collects) return;
    this.changed.set(connection.id, connection);
    if (this.changed.size > MAX_CHANGED) this.makeRoom();
    this.schedule(time);
  }

  message(row: Row, time: number): void {
    if (!this.collects) {
      row.whole = undefined;
      return;
    }
    if (row.whole !== undefined) this.waitingBytes += lengthOf(row.whole);
    const evicted = this.rows.push(row);
    if (evicted) {
      this.lost++;
      this.letGo(evicted);
    }
    this.schedule(time);
  }

  /** The payload of a message that went without it. */
  payload(row: Row, whole: MessagePayload, time: number): void {
    if (!this.collects) return;
    this.waitingBytes += lengthOf(whole);
    const evicted = this.late.push({ row, whole });
    if (evicted) this.waitingBytes -= lengthOf(evicted.whole);
    this.schedule(time);
  }

  coverage(record: Record<string, unknown>): void {
    const line = lineOf({ kind: 'coverage', ...record });
    if (line === this.covered) return;
    this.covered = line;
    this.tellsCoverage = true;
    this.schedule(ticks());
  }

  clear(): void {
    this.rows.clear();
    this.late.clear();
    this.changed.clear();
    this.waitingBytes = 0;
  }

  /** Hands over everything that waits, whether or not the channel has asked for it. */
  flush(): void {
    while (this.sink && this.waits) this.hand(this.sink, true);
  }

  /** The page may be gone after any of its tasks from now on: none of them ends before what it recorded has left. */
  leave(): void {
    this.leaves = ticks() + LEAVING_MS;
    this.flush();
  }

  /** The same with a last word, from which whoever hears it knows that nothing is missing. */
  end(): void {
    this.ends = true;
    this.leave();
  }

  /** The same, unless the channel is still busy. */
  next(): void {
    if (this.sink && !this.busy && this.waits) this.turn(this.sink);
  }

  get waiting(): number {
    return this.rows.length + this.late.length;
  }

  private get waits(): boolean {
    return this.waiting > 0 || this.changed.size > 0 || this.lost > 0 || this.tellsCoverage || this.ends;
  }

  /** The oldest go, and what lives only where there is nothing else. */
  private makeRoom(): void {
    let left = MAX_CHANGED / 8;
    const drop = (what: (connection: ConnectionRecord) => boolean) =>
      this.changed.forEach((connection, id) => {
        if (left === 0 || !what(connection)) return;
        this.changed.delete(id);
        left--;
        this.dropped();
      });
    drop((connection) => connection.removed === true || connection.state === 'closed');
    drop(() => true);
  }

  private letGo(row: Row): void {
    if (row.whole !== undefined) this.waitingBytes -= lengthOf(row.whole);
    row.whole = undefined;
  }

  private schedule(time: number, wait = BATCH_MS): void {
    if (this.leaves) {
      this.hurry(time);
      return;
    }
    if (time < this.due || this.busy || !this.sink) return;
    cancel(this.timer);
    this.due = time + wait + OVERDUE_MS;
    this.timer = later(() => {
      this.due = 0;
      if (this.sink && !this.busy) this.turn(this.sink);
    }, wait);
  }

  private hurry(time: number): void {
    if (this.hurries) return;
    if (time > this.leaves) {
      this.leaves = 0;
      this.schedule(time);
      return;
    }
    this.hurries = true;
    const flush = () => {
      this.hurries = false;
      this.flush();
    };
    settle(resolved, flush, flush);
  }

  private turn(sink: BatchSink): void {
    const taken = this.hand(sink, false);
    const more = () => {
      if (this.sink !== sink) return;
      this.busy = false;
      if (this.waits) this.schedule(ticks(), this.waiting ? 0 : BATCH_MS);
    };
    let waits = typeof taken === 'object' && taken !== null;
    try {
      if (waits) settle(taken as Promise<unknown>, more, more);
    } catch {
      // No promise: there is nothing to wait for.
      waits = false;
    }
    if (waits) this.busy = true;
    else more();
  }

  private hand(sink: BatchSink, urgent: boolean): unknown {
    cancel(this.timer);
    this.due = 0;
    try {
      return sink({ records: this.take(), urgent });
    } catch (error) {
      this.failed(error);
      return undefined;
    }
  }

  private take(): string[] {
    const records: string[] = [];
    if (this.tellsCoverage) records[records.length] = this.covered;
    this.tellsCoverage = false;
    this.changed.forEach((connection) => {
      records[records.length] = lineOf({ kind: 'connection', ...connection });
    });
    this.changed.clear();
    if (this.lost) records[records.length] = lineOf({ kind: 'gap', messages: this.lost });
    this.lost = 0;
    let length = 0;
    while (this.rows.length && length < BATCH_CHARACTERS) {
      const row = this.rows.shift() as Row;
      length += this.write(records, row, row.whole, row.complete, false);
      // What an app sends may be a part of a long text. It is made one of its own here, since the app waits for none of this.
      if (row.direction === 'out' && typeof row.payload === 'string') row.payload = copyOf(row.payload);
      this.letGo(row);
    }
    while (this.late.length && length < BATCH_CHARACTERS) {
      const { row, whole } = this.late.shift() as Late;
      this.waitingBytes -= lengthOf(whole);
      length += this.write(records, row, whole, lengthOf(whole) === row.size, true);
    }
    if (this.ends && this.waiting === 0) {
      records[records.length] = lineOf({ kind: 'end' });
      this.ends = false;
    }
    return records;
  }

  private write(
    records: string[],
    row: Row,
    whole: MessagePayload | undefined,
    complete: boolean,
    late: boolean,
  ): number {
    const line = this.written(row, whole, complete, late);
    records[records.length] = line;
    return line.length;
  }

  private written(row: Row, whole: MessagePayload | undefined, complete: boolean, late: boolean): string {
    const { session, writer } = this;
    try {
      const line = writer?.(session, row, whole, complete, late);
      if (line !== undefined) return line;
    } catch {
      // What it holds has no JSON; the record says so.
    }
    return lineOf({ kind: late ? 'payload' : 'message', ...exportedMessage(messageOf(session, row, whole, complete)) });
  }
}

/** Metadata may hold what has no JSON; then the record says so. */
function lineOf(record: Record<string, unknown>): string {
  try {
    return toJson(record);
  } catch (error) {
    return toJson({ kind: record['kind'], id: record['id'], error: `${error}` });
  }
}

const lengthOf = (payload: MessagePayload): number =>
  typeof payload === 'string' ? payload.length : sizeOfBuffer(payload);
