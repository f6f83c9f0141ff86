// Blobs: their size is known at once, their bytes are read later, a bounded part of them and a few at a time.
import type { DevtoolsEngine } from '../engine/engine.ts';
import type { MessageInput } from '../engine/events.ts';
import { apply, getterOf, NativePromise, settle } from '../shared/natives.ts';

/** Blobs that are read at the same time: what they hold is in memory twice meanwhile. */
const MAX_READING = 16;

const blobSize = getterOf<number>(globalThis.Blob?.prototype, 'size');
const blobType = getterOf<string>(globalThis.Blob?.prototype, 'type');
const { slice, arrayBuffer } = globalThis.Blob?.prototype ?? {};
let reading = 0;

export function sizeOfBlob(data: unknown): number | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  try {
    return blobSize(data);
  } catch {
    return undefined;
  }
}

/** Records a message whose payload is a Blob. */
export function recordBlob(engine: DevtoolsEngine, blob: Blob, input: Omit<MessageInput, 'payload'>): void {
  const metadata = { ...input.metadata, kind: 'blob', blobType: blobType(blob) };
  const size = blobSize(blob);
  const row = engine.record({ ...input, payload: new ArrayBuffer(0), size, metadata });
  if (size === 0) return;
  if (reading >= MAX_READING || !arrayBuffer) {
    engine.note('bytes of a blob');
    return;
  }
  reading++;
  const part = apply(slice, blob, [0, engine.payloadLimit()]);
  const bytes: Promise<unknown> = apply(arrayBuffer, part, []);
  if (!(bytes instanceof NativePromise)) return;
  settle(
    bytes,
    (buffer) => {
      reading--;
      engine.completePayload(row, buffer as ArrayBuffer);
    },
    () => {
      reading--;
      engine.note('bytes of a blob');
    },
  );
}
