// Decides what of a payload stays in the page and what leaves it.
import { min } from '../shared/natives.ts';
import type { MessageInput } from './events.ts';
import { byteLength, bytesOf, copyBytes, copyOfStart, cutText, shorten, textSize } from './payload.ts';
import type { Redactor } from './redact.ts';
import type { Row } from './row.ts';

const nothing = new ArrayBuffer(0);

/** `prefix` is what stays, `longest` what leaves, both in bytes, or in characters of a text. */
export function retain(row: Row, input: MessageInput, prefix: number, longest: number, redactor?: Redactor): void {
  const { payload } = input;
  if (typeof payload === 'string') retainText(row, payload, input, prefix, longest, redactor);
  else retainBytes(row, payload, input.size, prefix, longest);
}

function retainText(
  row: Row,
  payload: string,
  input: MessageInput,
  prefix: number,
  longest: number,
  redactor: Redactor | undefined,
): void {
  const text = redactor ? redactor.text(payload) : payload;
  const cut = input.cut === true;
  row.size = input.size ?? textSize(payload);
  row.truncated = cut || text.length > prefix;
  if (text.length <= prefix) {
    row.payload = text;
    row.held = text.length;
    return;
  }
  row.payload = copyOfStart(text, prefix);
  row.held = prefix;
  if (longest <= prefix) return;
  row.whole = cutText(text, longest);
  row.complete = row.whole.length === text.length && !cut;
}

function retainBytes(
  row: Row,
  payload: ArrayBuffer | ArrayBufferView,
  givenSize: number | undefined,
  prefix: number,
  longest: number,
): void {
  const bytes = bytesOf(payload);
  const length = bytes ? byteLength(bytes) : 0;
  row.size = givenSize ?? length;
  const copy = bytes && length > 0 ? copyBytes(bytes, longest) : nothing;
  const kept = min(length, longest);
  row.payload = shorten(copy, prefix);
  row.held = min(kept, prefix);
  row.truncated = kept < row.size || kept > prefix;
  if (kept > prefix) row.whole = copy;
  row.complete = kept === row.size;
}
