// Sizes, first parts and previews of payloads. Nothing here keeps hold of a buffer or text of the app that is longer
// than what is asked for.
import { apply, getPrototypeOf, getterOf, isView, match, min, NativeBytes, win } from '../shared/natives.ts';
import { codeAt } from '../shared/words.ts';
import { type MessagePayload, PREVIEW_CHARACTERS } from './events.ts';

const { encodeInto } = TextEncoder.prototype;
const { slice } = String.prototype;
const { fromCharCode } = String;
const { slice: sliceBuffer } = ArrayBuffer.prototype;
const { btoa } = win;
const bufferLength = getterOf<number>(ArrayBuffer.prototype, 'byteLength');
const typedPrototype = getPrototypeOf(Uint8Array.prototype);
const typedBuffer = getterOf<ArrayBufferLike>(typedPrototype, 'buffer');
const typedOffset = getterOf<number>(typedPrototype, 'byteOffset');
const typedLength = getterOf<number>(typedPrototype, 'byteLength');
const typedTag = getterOf<string | undefined>(typedPrototype, Symbol.toStringTag);
const viewBuffer = getterOf<ArrayBufferLike>(DataView.prototype, 'buffer');
const viewOffset = getterOf<number>(DataView.prototype, 'byteOffset');
const viewLength = getterOf<number>(DataView.prototype, 'byteLength');
const { set: setBytes, subarray } = Uint8Array.prototype;
const nativeBase64 = (Uint8Array.prototype as { toBase64?: () => string }).toBase64;

/** Texts are measured in parts of this many bytes, so that no text needs a copy of its own size. */
const SCRATCH_BYTES = 16 * 1024;
/**
 * Written so, an engine looks at many characters at once, and finds none far sooner than the platform counts bytes. What
 * finds something is seen in `RegExp.$1`, and keeps the text alive in `RegExp.input`: after a text that has some, the next
 * one is counted without a look, and so are long ones.
 */
const BEYOND_ASCII = /[\x80-\uffff]/;
const LONG = 64 * 1024;
let mayBeAscii = true;
const scratch = new Uint8Array(SCRATCH_BYTES);
const encoder = new TextEncoder();

export const sliceText = (text: string, from: number, to?: number): string => apply(slice, text, [from, to]);
export const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

/** Bytes of a text as UTF-8. Halves of a pair that stand alone count as what is sent for them, U+FFFD. */
export function textSize(text: string): number {
  if (mayBeAscii && text.length <= LONG && !match(BEYOND_ASCII, text)) return text.length;
  const size = encodedSize(text);
  mayBeAscii = size === text.length;
  return size;
}

/** The same within a call of the page's, in which no match may happen. */
export function encodedSize(text: string): number {
  let { read, written } = apply(encodeInto, encoder, [text, scratch]) as { read: number; written: number };
  let size = written;
  while (read < text.length) {
    const more = apply(encodeInto, encoder, [sliceText(text, read, read + SCRATCH_BYTES), scratch]);
    ({ written } = more);
    if (more.read === 0) break;
    // A pair that the part cut in two counts as one character of four bytes, not as two lone halves.
    const last = read + more.read;
    if (last < text.length && isHighSurrogate(codeAt(text, last - 1))) {
      read = last - 1;
      size += written - 3;
    } else {
      read = last;
      size += written;
    }
  }
  return size;
}

/** The start of a text, without half a character at its end. */
export function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return sliceText(text, 0, isHighSurrogate(codeAt(text, limit - 1)) ? limit - 1 : limit);
}

/** The start of a text as a text of its own: a slice would keep the whole alive. */
export function copyOfStart(text: string, limit: number): string {
  const start = cutText(text, limit);
  return start.length === text.length ? start : copyOf(start);
}

/** The same text, which may be a part of a longer one, as a text of its own. */
export function copyOf(text: string): string {
  const half = text.length >>> 1;
  const copy = sliceText(text, 0, half) + sliceText(text, half);
  // Two parts become one text, and let go of what they are parts of, when a character is asked for.
  codeAt(copy, 0);
  return copy;
}

/** The first 100 characters, or how many bytes there are. */
export function previewOf(payload: MessagePayload, size: number): string {
  if (typeof payload !== 'string') return `[binary ${size} bytes]`;
  if (payload.length <= PREVIEW_CHARACTERS) return payload;
  // A byte each: no pairs.
  if (payload.length === size) return sliceText(payload, 0, PREVIEW_CHARACTERS);
  let end = 0;
  for (let i = 0; i < PREVIEW_CHARACTERS && end < payload.length; i++) {
    const next = isHighSurrogate(codeAt(payload, end)) && end + 1 < payload.length ? codeAt(payload, end + 1) : 0;
    end += next >= 0xdc00 && next <= 0xdfff ? 2 : 1;
  }
  return sliceText(payload, 0, end);
}

/** The bytes of a buffer of any realm, of a shared one, or of a view; nothing for anything else, or a detached one. */
export function bytesOf(data: unknown): Uint8Array | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  try {
    if (isView(data)) {
      if (typedTag(data) !== undefined) return new NativeBytes(typedBuffer(data), typedOffset(data), typedLength(data));
      return new NativeBytes(viewBuffer(data), viewOffset(data), viewLength(data));
    }
    bufferLength(data);
    return new NativeBytes(data as ArrayBuffer);
  } catch {
    return undefined;
  }
}

export const byteLength = (bytes: Uint8Array): number => typedLength(bytes);
export const partOf = (bytes: Uint8Array, from: number, to: number): Uint8Array => apply(subarray, bytes, [from, to]);

/** A copy of the first bytes. */
export function copyBytes(bytes: Uint8Array, limit: number): ArrayBuffer {
  const length = typedLength(bytes);
  const copy = new NativeBytes(min(length, limit));
  apply(setBytes, copy, [length <= limit ? bytes : partOf(bytes, 0, limit)]);
  return typedBuffer(copy) as ArrayBuffer;
}

export const shorten = (buffer: ArrayBuffer, limit: number): ArrayBuffer =>
  bufferLength(buffer) <= limit ? buffer : apply(sliceBuffer, buffer, [0, limit]);

export const sizeOfBuffer = (buffer: ArrayBuffer): number => bufferLength(buffer);

export function toBase64(buffer: ArrayBuffer): string {
  const bytes = new NativeBytes(buffer);
  if (nativeBase64) return apply(nativeBase64, bytes, []);
  let text = '';
  for (let i = 0; i < bytes.length; i++) text += fromCharCode(bytes[i] as number);
  return apply(btoa, win, [text]);
}
