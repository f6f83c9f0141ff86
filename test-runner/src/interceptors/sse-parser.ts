// Reads an event stream the way the platform does (HTML, section 9.2.6), in whatever parts it comes.
import { copyOf, cutText, encodedSize } from '../engine/payload.ts';
import { apply, max } from '../shared/natives.ts';
import { consistsOf, isDigit } from '../shared/words.ts';

export interface ServerSentEvent {
  type: string;
  data: string;
  /** Bytes of the data that are not kept. */
  over: number;
  lastEventId: string;
  retry: number | undefined;
}

/** What a line has beside its data. */
const FIELD = 'data: '.length;
const { indexOf, slice } = String.prototype;
const find = (text: string, part: string, from: number): number => apply(indexOf, text, [part, from]);
const cut = (text: string, from: number, to?: number): string => apply(slice, text, [from, to]);

/** The start of a text that comes in parts, and how many bytes there are beyond it. */
class Start {
  text = '';
  over = 0;

  add(part: string, limit: number): void {
    const room = this.over > 0 ? 0 : max(0, limit - this.text.length);
    const kept = cutText(part, room);
    this.text += kept;
    if (kept.length < part.length) this.over += encodedSize(cut(part, kept.length));
  }
}

export class EventStreamParser {
  /** The line that has not ended. */
  private rest = new Start();
  private type = '';
  private data: Start | undefined;
  private id = '';
  private retry: number | undefined;
  private afterCarriageReturn = false;

  /** Of lines and data no more is kept than the characters that `limit` allows. */
  constructor(
    private readonly dispatch: (event: ServerSentEvent) => void,
    private readonly limit: () => number,
  ) {}

  push(text: string): void {
    if (text === '') return;
    let from = this.afterCarriageReturn && text[0] === '\n' ? 1 : 0;
    this.afterCarriageReturn = false;
    let lf = find(text, '\n', from);
    let cr = find(text, '\r', from);
    while (lf >= 0 || cr >= 0) {
      const end = cr < 0 || (lf >= 0 && lf < cr) ? lf : cr;
      this.hold(cut(text, from, end));
      this.line();
      from = end + 1;
      if (end === cr) {
        if (from === text.length) this.afterCarriageReturn = true;
        else if (text[from] === '\n') from++;
        cr = find(text, '\r', from);
      }
      if (lf >= 0 && lf < from) lf = find(text, '\n', from);
    }
    this.hold(cut(text, from));
  }

  private hold(part: string): void {
    if (part !== '') this.rest.add(part, this.limit() + FIELD);
  }

  private line(): void {
    const { text: line, over } = this.rest;
    if (line === '') {
      this.end();
      return;
    }
    this.rest.text = '';
    this.rest.over = 0;
    const colon = find(line, ':', 0);
    if (colon === 0) return;
    const field = colon < 0 ? line : cut(line, 0, colon);
    const value = colon < 0 ? '' : cut(line, line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') this.add(value, over);
    else if (field === 'event') this.type = copyOf(value);
    else if (field === 'id' && find(value, '\0', 0) < 0) this.id = copyOf(value);
    else if (field === 'retry' && consistsOf(value, isDigit)) this.retry = +value;
  }

  private add(value: string, over: number): void {
    const limit = this.limit();
    if (this.data) this.data.add('\n', limit);
    else this.data = new Start();
    this.data.add(value, limit);
    this.data.over += over;
  }

  private end(): void {
    const { data, type, retry } = this;
    this.data = undefined;
    this.type = '';
    if (!data) return;
    this.retry = undefined;
    this.dispatch({ type: type || 'message', data: data.text, over: data.over, lastEventId: this.id, retry });
  }
}
