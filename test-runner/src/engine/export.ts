// Messages as text: a JSON object or a readable line each.
import { apply, toJson } from '../shared/natives.ts';
import { codeAt } from '../shared/words.ts';
import type { TransportMessage } from './events.ts';
import { sizeOfBuffer, sliceText, toBase64 } from './payload.ts';

const { toFixed, toString: numberToString } = Number.prototype;

/** A message as it is written: bytes as base64. */
export function exportedMessage(message: TransportMessage): object {
  const { payload } = message;
  if (typeof payload === 'string') return message;
  const written = { type: 'array-buffer', byteLength: sizeOfBuffer(payload), base64: toBase64(payload) };
  return { ...message, payload: written };
}

/** One JSON object a line. A message that cannot be written says so in its place. */
export function jsonLines(messages: readonly TransportMessage[]): string {
  let text = '';
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i] as TransportMessage;
    if (i > 0) text += '\n';
    try {
      text += toJson(exportedMessage(message));
    } catch (error) {
      text += toJson({ id: message.id, connectionId: message.connectionId, error: `${error}` });
    }
  }
  return text;
}

/** `12.345 IN [websocket] tick - {"a":1}`, a line each whatever the payload holds. */
export function logLines(messages: readonly TransportMessage[]): string {
  let text = '';
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i] as TransportMessage;
    const time = apply(toFixed, message.timestamp, [3]);
    const direction = message.direction === 'in' ? 'IN' : 'OUT';
    const type = oneLine(message.type ?? 'message');
    text += `${i > 0 ? '\n' : ''}${time} ${direction} [${message.protocol}] ${type} - ${oneLine(message.payloadPreview)}`;
  }
  return text;
}

/** Control characters, line ends and marks that turn the direction of writing are written as escapes. */
export function oneLine(text: string): string {
  let safe = '';
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const code = codeAt(text, i);
    if (!isUnsafe(code)) continue;
    safe += sliceText(text, from, i) + escaped(code);
    from = i + 1;
  }
  return from === 0 ? text : safe + sliceText(text, from);
}

function isUnsafe(code: number): boolean {
  return (
    code < 0x20 ||
    (code >= 0x7f && code <= 0x9f) ||
    (code >= 0x2028 && code <= 0x202e) ||
    (code >= 0x2066 && code <= 0x2069)
  );
}

function escaped(code: number): string {
  if (code === 0x0a) return '\\n';
  if (code === 0x0d) return '\\r';
  if (code === 0x09) return '\\t';
  const digits: string = apply(numberToString, code, [16]);
  return `\\u${sliceText('0000', digits.length)}${digits}`;
}
