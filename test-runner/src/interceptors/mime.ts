// What a Content-Type says about a body.
import { apply, match } from '../shared/natives.ts';

export type BodyKind = 'events' | 'text' | 'binary';

const { toLowerCase, trim } = String.prototype;
const ESSENCE = /^[^;,]*/;
const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]+)/i;
const TEXT =
  /^(text\/.+|.+\/(json|xml|javascript|ecmascript|x-javascript|x-www-form-urlencoded|x-ndjson|ndjson|jsonl|graphql|sql|yaml|x-yaml|toml)|.+\+(json|xml|yaml))$/;

export interface BodyType {
  kind: BodyKind;
  charset: string;
}

export function bodyType(contentType: string): BodyType {
  const essence: string = apply(toLowerCase, apply(trim, match(ESSENCE, contentType)?.[0] ?? '', []), []);
  // Events are UTF-8 whatever the header says.
  if (essence === 'text/event-stream') return { kind: 'events', charset: 'utf-8' };
  if (!match(TEXT, essence)) return { kind: 'binary', charset: 'utf-8' };
  return { kind: 'text', charset: apply(toLowerCase, match(CHARSET, contentType)?.[1] ?? 'utf-8', []) };
}
