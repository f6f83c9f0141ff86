// What a Content-Type says about a body.
import { indexOf, lowerCase, slice, startsWith } from '../shared/natives.ts';
import { endsWith, isOneOf, trim } from '../shared/words.ts';

export type BodyKind = 'events' | 'text' | 'binary';

/** Second halves of types that are text, whatever the first half. */
const TEXTS =
  ' json xml javascript ecmascript x-javascript x-www-form-urlencoded x-ndjson ndjson jsonl graphql sql yaml x-yaml toml ';

export interface BodyType {
  kind: BodyKind;
  charset: string;
}

export function bodyType(contentType: string): BodyType {
  const header = lowerCase(contentType);
  const essence = trim(upTo(header, ';,'));
  // Events are UTF-8 whatever the header says.
  if (essence === 'text/event-stream') return { kind: 'events', charset: 'utf-8' };
  if (!isText(essence)) return { kind: 'binary', charset: 'utf-8' };
  return { kind: 'text', charset: charsetOf(header) ?? 'utf-8' };
}

function isText(essence: string): boolean {
  const slash = indexOf(essence, '/');
  const sub = slice(essence, slash + 1);
  if (slash < 1 || sub === '') return false;
  if (slice(essence, 0, slash) === 'text' || isOneOf(sub, TEXTS)) return true;
  return endsWith(sub, '+json') || endsWith(sub, '+xml') || endsWith(sub, '+yaml');
}

function charsetOf(header: string): string | undefined {
  for (let from = indexOf(header, ';'); from >= 0; from = indexOf(header, ';', from + 1)) {
    const parameter = slice(header, from + 1);
    const equals = indexOf(parameter, '=');
    if (equals < 0 || trim(slice(parameter, 0, equals)) !== 'charset') continue;
    const value = trim(slice(parameter, equals + 1));
    const charset = upTo(startsWith(value, '"') ? slice(value, 1) : value, '"; \t');
    if (charset !== '') return charset;
  }
  return undefined;
}

/** The start of a text, up to any of some characters. */
function upTo(text: string, ends: string): string {
  let end = 0;
  while (end < text.length && indexOf(ends, slice(text, end, end + 1)) < 0) end++;
  return slice(text, 0, end);
}
