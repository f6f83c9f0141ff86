// A message as it leaves for the host: a list without names, since each character costs the page more on its way out of the
// browser than in all of the recorder. `src/run/rows.rs` makes a record of it again; `tests/wire-samples.ts` holds the two
// against each other.
import { quote, round, startsWith, toJson } from '../shared/natives.ts';
import type { MessagePayload, TransportProtocol } from './events.ts';
import { toBase64 } from './payload.ts';
import type { Row } from './row.ts';

const PROTOCOLS: Record<TransportProtocol, number> = { websocket: 0, 'fetch-stream': 1, eventsource: 2 };

/** What few messages have; `late` is the payload of a message that has left already. */
interface Rest {
  type?: string;
  truncated?: true;
  test?: unknown;
  metadata?: unknown;
  late?: true;
}

/**
 * `[n, connectionId, timestamp, wallTime, direction, protocol, size, payload, rest?]`: times in microseconds, 0 for `in` and 1
 * for `out`, the protocol by its place in the list above, bytes as `[base64]`. The id of a message is made of its number and
 * of its connection's; nothing for a connection whose id is none of ours.
 */
export function rowLine(
  session: string,
  row: Row,
  whole?: MessagePayload,
  complete?: boolean,
  late?: boolean,
): string | undefined {
  if (!startsWith(row.connectionId, `${session}-`)) return undefined;
  const payload = whole ?? row.payload;
  const body = typeof payload === 'string' ? quote(payload) : `["${toBase64(payload)}"]`;
  const truncated = row.truncated && !complete;
  const rare = truncated || late || row.type !== undefined || row.test !== undefined || row.metadata !== undefined;
  return (
    `[${row.n},${quote(row.connectionId)},${micros(row.timestamp)},${micros(row.wallTime)},` +
    `${row.direction === 'in' ? 0 : 1},${PROTOCOLS[row.protocol]},${row.size},${body}${rare ? restOf(row, truncated, late) : ''}]`
  );
}

function restOf(row: Row, truncated: boolean, late: boolean | undefined): string {
  const rest: Rest = {
    type: row.type,
    truncated: truncated || undefined,
    test: row.test,
    metadata: row.metadata,
    late,
  } as Rest;
  return `,${toJson(rest)}`;
}

const micros = (ms: number): number => round(ms * 1000);
