// Text of a body, chunk by chunk: characters that are split over chunks come whole with the later one.
import { byteLength, partOf, sliceText } from '../engine/payload.ts';
import { apply, getterOf, min, NativeBytes, NativeDecoder } from '../shared/natives.ts';

export interface ChunkDecoder {
  readonly isUtf8: boolean;
  /** The text of a chunk, or of its first `limit` bytes. */
  next(chunk: Uint8Array, limit: number): { text: string; cut: boolean };
  /** What stands for half a character at the very end. */
  rest(): string;
}

const { decode } = NativeDecoder.prototype;
const encodingOf = getterOf<string>(NativeDecoder.prototype, 'encoding');
const { set } = NativeBytes.prototype;

export function createChunkDecoder(charset: string): ChunkDecoder {
  const decoder = decoderFor(charset);
  return encodingOf(decoder) === 'utf-8' ? new Utf8Chunks() : new OtherChunks(decoder);
}

/** A label that nobody knows is treated as none. */
function decoderFor(charset: string): TextDecoder {
  try {
    return new NativeDecoder(charset);
  } catch {
    return new NativeDecoder();
  }
}

class OtherChunks implements ChunkDecoder {
  readonly isUtf8 = false;

  constructor(private readonly decoder: TextDecoder) {}

  next(chunk: Uint8Array): { text: string; cut: boolean } {
    return { text: apply(decode, this.decoder, [chunk, { stream: true }]), cut: false };
  }

  rest(): string {
    return apply(decode, this.decoder, []);
  }
}

const plain = new NativeDecoder('utf-8', { ignoreBOM: true });

/** Decodes no more than is kept: where UTF-8 goes on can be seen from its last three bytes. */
class Utf8Chunks implements ChunkDecoder {
  readonly isUtf8 = true;
  private carry = new NativeBytes(0);
  private started = false;

  next(chunk: Uint8Array, limit: number): { text: string; cut: boolean } {
    const length = byteLength(chunk);
    const taken = min(length, limit);
    const start = this.joined(taken < length ? partOf(chunk, 0, taken) : chunk);
    const open = unfinished(start);
    const text = this.text(open ? partOf(start, 0, byteLength(start) - open) : start);
    const end = taken < length ? partOf(chunk, length - min(length, 3), length) : start;
    const left = taken < length ? unfinished(end) : open;
    this.carry = new NativeBytes(partOf(end, byteLength(end) - left, byteLength(end)));
    return { text, cut: taken < length };
  }

  rest(): string {
    return byteLength(this.carry) ? this.text(this.carry) : '';
  }

  private text(bytes: Uint8Array): string {
    const text: string = apply(decode, plain, [bytes]);
    if (this.started || text === '') return text;
    this.started = true;
    return text[0] === '\ufeff' ? sliceText(text, 1) : text;
  }

  private joined(chunk: Uint8Array): Uint8Array {
    const before = byteLength(this.carry);
    if (before === 0) return chunk;
    const whole = new NativeBytes(before + byteLength(chunk));
    apply(set, whole, [this.carry]);
    apply(set, whole, [chunk, before]);
    return whole;
  }
}

/** How many bytes at the end are the start of a character whose rest is still to come. */
function unfinished(bytes: Uint8Array): number {
  const length = byteLength(bytes);
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    const needs = byte >= 0xf5 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
    return needs > back ? back : 0;
  }
  return 0;
}
