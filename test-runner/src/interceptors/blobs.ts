// Blobs: their size is known at once, the first of their bytes are read later; what is kept alive for that is bounded.
import type { DevtoolsEngine } from '../engine/engine.ts';
import type { MessageInput } from '../engine/events.ts';
import { apply, getterOf, NativeBuffer, probeOf, settle } from '../shared/natives.ts';

/** Bytes of blobs that live on until they are read. One alone may have more: only its start is read. */
const MAX_HELD = 16 * 1024 * 1024;
/** What an empty one costs the browser. */
const HANDLE = 1024;

const blobSize = getterOf<number>(globalThis.Blob?.prototype, 'size');
const blobType = getterOf<string>(globalThis.Blob?.prototype, 'type');
const { slice, arrayBuffer } = globalThis.Blob?.prototype ?? {};
let held = 0;

export const sizeOfBlob = probeOf<number>(globalThis.Blob?.prototype, 'size');

/** What comes behind its first bytes. */
export const blobAfter = (blob: Blob, start: number): Blob =>
  apply(slice as Blob['slice'], blob, [start, blobSize(blob), blobType(blob)]);

/** Records a message whose payload is a Blob. */
export function recordBlob(engine: DevtoolsEngine, blob: Blob, input: Omit<MessageInput, 'payload'>): void {
  const metadata = { ...input.metadata, kind: 'blob', blobType: blobType(blob) };
  const size = blobSize(blob);
  const row = engine.record({ ...input, payload: new NativeBuffer(0), size, metadata });
  if (size === 0) return;
  const cost = size + HANDLE;
  if ((held > 0 && held + cost > MAX_HELD) || !arrayBuffer) {
    engine.note('bytes of a blob');
    return;
  }
  const part = apply(slice, blob, [0, engine.payloadLimit()]);
  settle(
    apply(arrayBuffer, part, []),
    (buffer) => {
      held -= cost;
      engine.completePayload(row, buffer as ArrayBuffer);
    },
    () => {
      held -= cost;
      engine.note('bytes of a blob');
    },
  );
  held += cost;
}
