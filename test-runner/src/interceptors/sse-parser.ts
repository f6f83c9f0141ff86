// Reads an event stream the way the platform does (HTML, section 9.2.6), in whatever parts it comes.
import { apply } from '../shared/natives.ts';
import { consistsOf, isDigit } from '../shared/words.ts';

export interface ServerSentEvent {
  type: string;
  data: string;
  lastEventId: string;
  retry: number | undefined;
}

const { indexOf, slice } = String.prototype;
const find = (text: string, part: string, from: number): number => apply(indexOf, text, [part, from]);
const cut = (text: string, from: number, to?: number): string => apply(slice, text, [from, to]);

export class EventStreamParser {
  private rest = '';
  private type = '';
  private data = '';
  private id = '';
  private retry: number | undefined;
  private afterCarriageReturn = false;

  constructor(private readonly dispatch: (event: ServerSentEvent) => void) {}

  push(part: string): void {
    let text = part;
    if (text === '') return;
    if (this.afterCarriageReturn && text[0] === '\n') text = cut(text, 1);
    this.afterCarriageReturn = false;
    text = this.rest + text;
    let from = 0;
    // Nothing before the end of what was left over can end a line: it was searched already.
    let lf = find(text, '\n', this.rest.length);
    let cr = find(text, '\r', this.rest.length);
    while (lf >= 0 || cr >= 0) {
      const end = cr < 0 || (lf >= 0 && lf < cr) ? lf : cr;
      this.line(cut(text, from, end));
      from = end + 1;
      if (end === cr) {
        if (from === text.length) this.afterCarriageReturn = true;
        else if (text[from] === '\n') from++;
        cr = find(text, '\r', from);
      }
      if (lf >= 0 && lf < from) lf = find(text, '\n', from);
    }
    this.rest = cut(text, from);
  }

  private line(line: string): void {
    if (line === '') {
      this.end();
      return;
    }
    const colon = find(line, ':', 0);
    if (colon === 0) return;
    const field = colon < 0 ? line : cut(line, 0, colon);
    const value = colon < 0 ? '' : cut(line, line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') this.data += `${value}\n`;
    else if (field === 'event') this.type = value;
    else if (field === 'id' && find(value, '\0', 0) < 0) this.id = value;
    else if (field === 'retry' && consistsOf(value, isDigit)) this.retry = +value;
  }

  private end(): void {
    const { data, type, retry } = this;
    this.data = '';
    this.type = '';
    if (data === '') return;
    this.retry = undefined;
    this.dispatch({ type: type || 'message', data: cut(data, 0, -1), lastEventId: this.id, retry });
  }
}
