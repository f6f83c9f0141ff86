// One response body on its way to the app: what of it was seen, as which kind of messages, and how it ended.
import type { DevtoolsEngine } from '../engine/engine.ts';
import type { EndReason } from '../engine/events.ts';
import { byteLength, bytesOf, encodedSize, partOf, sizeOfBuffer, textSize } from '../engine/payload.ts';
import { apply, indexOf, min, NativeDecoder } from '../shared/natives.ts';
import { blobAfter, recordBlob, sizeOfBlob } from './blobs.ts';
import type { BodyType } from './mime.ts';
import type { AbortWatch } from './promises.ts';
import { describe, isAbort } from './reasons.ts';
import { EventStreamParser, type ServerSentEvent } from './sse-parser.ts';
import { createChunkDecoder } from './text-chunks.ts';

const { decode } = NativeDecoder.prototype;
const { encode } = TextEncoder.prototype;
const encoder = new TextEncoder();
/** A byte order mark. */
const MARK = [0xef, 0xbb, 0xbf];

export class BodyTap {
  /** Bytes that were recorded; copies of a body deliver the same ones again. */
  seen = 0;
  /** Readers of this body that may still deliver. */
  branches = 1;
  /** Objects of the page through which it can be read; when all are gone nobody ever will. */
  holders = 0;
  ended = false;
  /** How much of a byte order mark it starts with. */
  private marked = 0;
  private readonly texts: ReturnType<typeof createChunkDecoder> | undefined;
  private readonly decoder: TextDecoder | undefined;
  private readonly parser: EventStreamParser | undefined;

  constructor(
    private readonly engine: DevtoolsEngine,
    readonly id: string,
    type: BodyType,
    readonly watch: AbortWatch | undefined,
  ) {
    if (type.kind === 'text') this.texts = createChunkDecoder(type.charset);
    if (type.kind !== 'events') return;
    this.decoder = new NativeDecoder();
    const received = ({ type, data, over, lastEventId, retry }: ServerSentEvent) => {
      const metadata = retry === undefined ? { lastEventId } : { lastEventId, retry };
      engine.record({
        connectionId: id,
        direction: 'in',
        protocol: 'eventsource',
        type,
        payload: data,
        size: over > 0 ? encodedSize(data) + over : undefined,
        cut: over > 0,
        metadata,
      });
    };
    this.parser = new EventStreamParser(received, engine.payloadLimit);
  }

  bytes(chunk: Uint8Array, size = byteLength(chunk)): void {
    for (let i = 0; i < size && this.isMark(chunk[i], this.seen + i); i++) this.marked++;
    this.seen += size;
    if (this.parser) this.parser.push(apply(decode, this.decoder, [chunk, { stream: true }]));
    else if (this.texts) this.record(this.texts.next(chunk, this.engine.payloadLimit()), size);
    else this.message(chunk, size);
  }

  private isMark(byte: unknown, at: number): boolean {
    return at < MARK.length && this.marked === at && byte === MARK[at];
  }

  /** Whether a text that the platform makes of it, which is of UTF-8 at all times, is what it says. */
  get isUtf8(): boolean {
    return this.texts?.isUtf8 !== false;
  }

  /**
   * The bytes of a text behind those that are `known`; nothing where it does not tell them. A byte order mark at the very
   * start of a body is in no text of it.
   */
  after(text: string, known: number, isStart: boolean): Uint8Array | undefined {
    const isCut = this.marked === this.seen && this.marked < MARK.length;
    if (isCut || indexOf(text, '\ufffd') >= 0) return undefined;
    const bytes: Uint8Array = apply(encode, encoder, [text]);
    const from = isStart && this.marked === MARK.length ? known - MARK.length : known;
    return partOf(bytes, min(from, byteLength(bytes)), byteLength(bytes));
  }

  /** The whole body as text, and its bytes. */
  text(text: string, size: number): void {
    this.seen += size;
    if (this.parser) this.parser.push(text);
    else if (size > 0) this.message(text, size);
  }

  blob(blob: Blob, size: number): void {
    this.seen += size;
    if (size > 0) recordBlob(this.engine, blob, { connectionId: this.id, direction: 'in', protocol: 'fetch-stream' });
  }

  /** The first end counts: what is aborted also fails. */
  end(how: EndReason, error?: unknown, more?: Record<string, unknown>): void {
    if (this.ended) return;
    this.ended = true;
    this.watch?.end();
    const rest = how === 'end' ? this.texts?.rest() : undefined;
    if (rest) this.record({ text: rest, cut: false }, 0);
    const metadata: Record<string, unknown> = { how, bodyBytes: this.seen, ...more };
    if (error !== undefined) metadata['error'] = describe(error, this.watch);
    this.engine.update(this.id, { state: 'closed', metadata });
  }

  private record({ text, cut }: { text: string; cut: boolean }, size: number): void {
    this.engine.record({
      connectionId: this.id,
      direction: 'in',
      protocol: 'fetch-stream',
      payload: text,
      size,
      cut,
    });
  }

  private message(payload: string | Uint8Array, size: number): void {
    this.engine.record({ connectionId: this.id, direction: 'in', protocol: 'fetch-stream', payload, size });
  }
}

/** One way to a body: the body itself, or one of its copies, which deliver the same bytes at their own pace. */
export class Branch {
  private offset: number;
  private live = true;

  constructor(readonly tap: BodyTap) {
    this.offset = tap.seen;
  }

  /** The stream or response has been split in two. */
  split(): Branch {
    const copy = new Branch(this.tap);
    copy.offset = this.offset;
    this.tap.branches++;
    return copy;
  }

  chunk(value: unknown): void {
    const { tap } = this;
    const bytes = bytesOf(value);
    if (!bytes || tap.ended) return;
    const from = this.offset;
    const size = byteLength(bytes);
    this.offset += size;
    if (this.offset <= tap.seen) return;
    if (from < tap.seen) tap.bytes(partOf(bytes, min(tap.seen - from, size), size));
    else tap.bytes(bytes, size);
  }

  /** The whole body at once, in one of the forms in which it can be had; and the text that the app gets of its bytes. */
  whole(value: unknown, text?: string): void {
    const { tap } = this;
    if (tap.ended) return;
    const size = sizeOfBlob(value);
    /** Bytes at the start that another copy has delivered already. */
    const known = tap.seen - this.offset;
    if (typeof value === 'string') {
      this.wholeText(value, known);
      return;
    }
    if (size !== undefined) {
      tap.blob(known > 0 ? blobAfter(value as Blob, known) : (value as Blob), size - known);
    } else if (text !== undefined && tap.seen === 0 && tap.isUtf8) {
      tap.text(text, sizeOfBuffer(value as ArrayBuffer));
    } else {
      this.chunk(value);
    }
    tap.end('end');
  }

  private wholeText(text: string, known: number): void {
    const { tap } = this;
    if (known > 0) {
      const rest = tap.after(text, known, this.offset === 0);
      // Where it does not tell the bytes, the copies that deliver them go on doing so.
      if (rest) tap.bytes(rest);
      if (rest) tap.end('end');
      else this.leave('end');
      return;
    }
    // What was sent may have been more or less than the text.
    tap.text(text, textSize(text));
    tap.end('end', undefined, { sizeOf: 'the text' });
  }

  /** A reader says that there is no more: of a branch that was cancelled it says so at once. */
  ended(): void {
    if (this.live) this.tap.end('end');
  }

  failed(error: unknown): void {
    this.tap.end(isAbort(error) ? 'abort' : 'error', error);
  }

  cancelled(): void {
    this.leave('cancel');
  }

  private leave(how: EndReason): void {
    if (!this.live) return;
    this.live = false;
    if (--this.tap.branches === 0) this.tap.end(how);
  }
}
