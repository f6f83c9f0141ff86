// Takes the records out of the page to the host, as pieces of one text of lines: one piece at a time, each answered before
// the next one leaves, so that whatever else the page has to say waits for one piece at most. Pieces grow and shrink with
// the time the way takes.
import { joined, max, min, NativePromise, ticks } from '../shared/natives.ts';
import { codeAt } from '../shared/words.ts';
import { pieceOf } from '../wire.ts';
import type { TransportBatch } from './outbox.ts';
import { isHighSurrogate, sliceText } from './payload.ts';

/** Characters of a piece: a slow phone sends the shortest in a blink, a debugging channel the longest without stalling. */
const SHORTEST = 4 * 1024;
const FIRST = 64 * 1024;
const LONGEST = 256 * 1024;
const LINE_END = 10;
/** A piece that was answered sooner than this may be followed by a longer one, in milliseconds. */
const QUICK_MS = 50;
/** One that took longer makes the next one shorter. */
const SLOW_MS = 250;

export class HostChannel {
  /** What has been handed over and has not left. */
  private text = '';
  private at = 0;
  private seq = 0;
  private limit = FIRST;
  private sent = 0;
  private underWay = false;
  /** The host waits for nothing else: slow answers, whose reason may be another one, are no reason for short pieces. */
  hurries = false;
  private done: (() => void) | undefined;

  constructor(
    private readonly doc: string,
    private readonly send: (text: string) => void,
  ) {}

  /** Records that have not been confirmed; those of the piece that is under way count as one. */
  get waiting(): number {
    let lines = this.underWay ? 1 : 0;
    for (let i = this.at; i < this.text.length; i++) if (codeAt(this.text, i) === LINE_END) lines++;
    return lines;
  }

  take = (batch: TransportBatch): unknown => {
    this.text = sliceText(this.text, this.at) + joined(batch.records, '\n');
    this.at = 0;
    if (batch.urgent) {
      while (this.at < this.text.length) this.next();
      return undefined;
    }
    this.next();
    return new NativePromise<void>((resolve) => {
      this.done = resolve;
    });
  };

  /** The host has the piece of that number. */
  took(seq: number): void {
    if (!this.underWay || seq !== this.seq - 1) return;
    this.underWay = false;
    const ms = ticks() - this.sent;
    if (ms < QUICK_MS && this.limit < LONGEST) this.limit *= 2;
    if (ms > SLOW_MS && this.limit > SHORTEST && !this.hurries) this.limit /= 2;
    if (this.at < this.text.length) {
      this.next();
      return;
    }
    const { done } = this;
    this.done = undefined;
    done?.();
  }

  private next(): void {
    const from = this.at;
    let to = from + (this.hurries ? max(this.limit, FIRST) : this.limit);
    // No character is cut in two.
    if (to < this.text.length && isHighSurrogate(codeAt(this.text, to - 1))) to--;
    this.at = min(to, this.text.length);
    this.underWay = true;
    this.sent = ticks();
    this.send(pieceOf(this.doc, this.seq++, sliceText(this.text, from, this.at)));
  }
}
