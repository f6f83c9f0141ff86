// Decides what of a payload stays in the page and what leaves it.
import type { MessageInput, MessagePayload } from './events.ts';
import { byteLength, bytesOf, copyBytes, copyOfStart, cutText, shorten, sizeOfBuffer, textSize } from './payload.ts';
import type { Redactor } from './redact.ts';

export interface Retained {
  payload: MessagePayload;
  size: number;
  truncated: boolean;
  /** More than `payload`, for whoever listens outside. */
  whole: MessagePayload | undefined;
  /** Whether that is all of it. */
  complete: boolean;
}

/** `prefix` is what stays, `longest` what leaves, both in bytes, or in characters of a text. */
export function retain(input: MessageInput, prefix: number, longest: number, redactor?: Redactor): Retained {
  const { payload } = input;
  return typeof payload === 'string'
    ? retainText(payload, input, prefix, longest, redactor)
    : retainBytes(payload, input, prefix, longest);
}

function retainText(
  payload: string,
  input: MessageInput,
  prefix: number,
  longest: number,
  redactor: Redactor | undefined,
): Retained {
  const text = redactor ? redactor.text(payload) : payload;
  const size = input.size ?? textSize(payload);
  const cut = input.cut === true;
  if (text.length <= prefix) return { payload: text, size, truncated: cut, whole: undefined, complete: false };
  const whole = longest > prefix ? cutText(text, longest) : undefined;
  const complete = whole?.length === text.length && !cut;
  return { payload: copyOfStart(text, prefix), size, truncated: true, whole, complete };
}

function retainBytes(
  payload: ArrayBuffer | ArrayBufferView,
  input: MessageInput,
  prefix: number,
  longest: number,
): Retained {
  const bytes = bytesOf(payload);
  const size = input.size ?? (bytes ? byteLength(bytes) : 0);
  const copy = bytes ? copyBytes(bytes, longest) : new ArrayBuffer(0);
  const kept = sizeOfBuffer(copy);
  return {
    payload: shorten(copy, prefix),
    size,
    truncated: kept < size || kept > prefix,
    whole: kept > prefix ? copy : undefined,
    complete: kept === size,
  };
}
