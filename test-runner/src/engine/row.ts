// A message as it is kept: what cannot be known later, and nothing that can be made of it when somebody looks. Every field
// is there, so that nothing an app puts on the prototype of all objects is taken for one.
import { ownOnly } from '../shared/natives.ts';
import type { MessageDirection, MessagePayload, Metadata, TransportMessage, TransportProtocol } from './events.ts';
import { previewOf } from './payload.ts';

export interface Row {
  n: number;
  connectionId: string;
  timestamp: number;
  wallTime: number;
  direction: MessageDirection;
  protocol: TransportProtocol;
  type: string | undefined;
  size: number;
  /** What stays in the page. */
  payload: MessagePayload;
  /** Its bytes, or characters of a text: what most of them take is a byte. */
  held: number;
  truncated: boolean;
  /** More than `payload`, until it has left. */
  whole: MessagePayload | undefined;
  /** Whether that is all of it. */
  complete: boolean;
  test: unknown;
  metadata: Metadata | undefined;
}

/** The message of a row; `whole` is more of its payload than the row keeps, `complete` if that is all of it. */
export function messageOf(session: string, row: Row, whole?: MessagePayload, complete = false): TransportMessage {
  const payload = whole ?? row.payload;
  const message: TransportMessage = ownOnly({
    id: `${session}-m${row.n}`,
    connectionId: row.connectionId,
    n: row.n,
    timestamp: row.timestamp,
    wallTime: row.wallTime,
    direction: row.direction,
    protocol: row.protocol,
    size: row.size,
    payload,
    payloadPreview: previewOf(row.payload, row.size),
    metadata: row.metadata ?? {},
  });
  if (row.type !== undefined) message.type = row.type;
  if (row.truncated && !complete) message.truncated = true;
  if (row.test !== undefined) message.test = row.test;
  return message;
}
