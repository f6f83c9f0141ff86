// What the page exchanged, as the stream tells it. Twin of src/dashboard/timeline.rs.

/** Number, connection, whether the page sent it, type, size in bytes, preview, test, time. */
export type Row = [number, number, boolean, string, number, string, number | null, number];

export interface Connection {
  n: number;
  protocol: string;
  url: string;
  /** `removed` for one that turned out to be none. */
  state: string;
}

export interface TimelinePatch {
  /** Number of the first message that is kept. */
  first: number;
  total: number;
  /** Messages that were lost on the way. */
  lost: number;
  /** Documents whose last messages may be missing. */
  cutShort: number;
  connections: Connection[];
  tests: string[];
  messages: Row[];
}

/** What is kept of a payload. */
export interface Payload {
  text: string;
  /** `text` is base64. */
  binary: boolean;
  cut: boolean;
}

export interface Choice {
  protocol: string;
  /** Number of a connection, or nothing. */
  connection: string;
  direction: string;
  /** Number of a test, or nothing. */
  test: string;
}

export class Messages {
  rows: Row[] = [];
  connections: Connection[] = [];
  tests: string[] = [];
  /** Messages that are not kept any more. */
  first = 0;
  total = 0;
  lost = 0;
  cutShort = 0;
  /** Grows with everything that comes. */
  version = 0;

  apply(patch: TimelinePatch): void {
    this.version++;
    this.first = patch.first;
    this.total = patch.total;
    this.lost = patch.lost;
    this.cutShort = patch.cutShort;
    for (const connection of patch.connections) this.connections[connection.n] = connection;
    this.tests.push(...patch.tests);
    const last = this.rows.at(-1)?.[0];
    // A reader that was slow has missed some, and what it has is not kept any more.
    if (last !== undefined && patch.messages[0] && patch.messages[0][0] !== last + 1) this.rows = [];
    for (const row of patch.messages) this.rows.push(row);
    const oldest = this.rows[0]?.[0] ?? this.first;
    if (oldest < this.first) this.rows = this.rows.slice(this.first - oldest);
  }

  clear(): void {
    Object.assign(this, new Messages(), { version: this.version + 1 });
  }

  /** The connections that are some. */
  listed(): Connection[] {
    return this.connections.filter((connection) => connection.state !== 'removed');
  }

  get(n: number): Row | undefined {
    return this.rows[n - (this.rows[0]?.[0] ?? 0)];
  }
}

/** Whether a row is one of those that were asked for. */
export function isWanted(row: Row, messages: Messages, choice: Choice): boolean {
  const [, connection, out, , , , test] = row;
  return (
    (choice.connection === '' || connection === Number(choice.connection)) &&
    (choice.protocol === '' || messages.connections[connection]?.protocol === choice.protocol) &&
    (choice.direction === '' || out === (choice.direction === 'out')) &&
    (choice.test === '' || test === Number(choice.test))
  );
}

/** `512 B`, `3.4 KiB` */
export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  const units = ['KiB', 'MiB', 'GiB'];
  let value = size / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** `14:03:07.482`, by the clock of the page. */
export function timeOfDay(wall: number): string {
  const at = new Date(wall);
  const two = (value: number) => String(value).padStart(2, '0');
  const seconds = `${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, '0')}`;
  return `${two(at.getHours())}:${two(at.getMinutes())}:${seconds}`;
}

/** A payload as a person reads it: JSON with its structure, bytes in rows of sixteen. */
export function readable(payload: Payload): string {
  if (payload.binary) return hexDump(payload.text);
  if (payload.cut || !/^\s*[[{]/.test(payload.text)) return payload.text;
  try {
    JSON.parse(payload.text);
  } catch {
    return payload.text;
  }
  return indented(payload.text);
}

/** JSON in lines. Values stay as they were written: a long number would be another one once it was read. */
function indented(json: string): string {
  let text = '';
  let depth = 0;
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{[]\s*[}\]]|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    if (token === '}' || token === ']') text += `\n${'  '.repeat(--depth)}`;
    text += /^[{[]\s+[}\]]$/.test(token) ? token[0] + token.slice(-1) : token;
    if (token === '{' || token === '[') text += `\n${'  '.repeat(++depth)}`;
    else if (token === ',') text += `\n${'  '.repeat(depth)}`;
    else if (token === ':') text += ' ';
  }
  return text;
}

function hexDump(base64: string): string {
  const text = atob(base64.slice(0, base64.length - (base64.length % 4)));
  const lines: string[] = [];
  for (let at = 0; at < text.length; at += 16) {
    const part = text.slice(at, at + 16);
    const hex = [...part].map((byte) => byte.charCodeAt(0).toString(16).padStart(2, '0')).join(' ');
    const ascii = part.replace(/[^\x20-\x7e]/g, '.');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${ascii}`);
  }
  return lines.join('\n');
}
