// Takes secrets out before anything is kept: values of query parameters and of JSON fields, by name.
import { apply, create, isArray, NativeRegExp, ownKeys, parse, toJson } from '../shared/natives.ts';

export interface Redaction {
  /** Names of query parameters, in any case. */
  queryParams?: readonly string[];
  /** Names of JSON fields at any depth, in any case. */
  jsonFields?: readonly string[];
}

export interface Redactor {
  url(address: string): string;
  text(payload: string): string;
}

export const REDACTED = '[redacted]';

const { replace, toLowerCase } = String.prototype;
const { test } = RegExp.prototype;
const lower = (text: string): string => apply(toLowerCase, text, []);

export function createRedactor(rules: Redaction | undefined): Redactor | undefined {
  const params = alternatives(rules?.queryParams);
  const fields = alternatives(rules?.jsonFields);
  if (!params && !fields) return undefined;
  const inQuery = params && new NativeRegExp(`([?&#;](?:${params})=)[^&#;]*`, 'gi');
  const named = fields && new NativeRegExp(`"(?:${fields})"\\s*:`, 'i');
  // Text that is no whole JSON, or only the start of one: scalars are found by their looks.
  const scalar =
    fields &&
    new NativeRegExp(`("(?:${fields})"\\s*:\\s*)(?:"(?:[^"\\\\]|\\\\.)*"?|-?[\\d.eE+-]+|true|false|null)`, 'gi');
  const names: Record<string, true> = create(null);
  for (const name of rules?.jsonFields ?? []) names[lower(name)] = true;

  return {
    url: (address) => (inQuery ? apply(replace, address, [inQuery, `$1${REDACTED}`]) : address),
    text(payload) {
      if (!named || !scalar || !apply(test, named, [payload])) return payload;
      let value: unknown;
      try {
        value = parse(payload);
      } catch {
        return apply(replace, payload, [scalar, `$1"${REDACTED}"`]);
      }
      return toJson(without(value, names));
    },
  };
}

function alternatives(names: readonly string[] | undefined): string | undefined {
  return names?.length ? names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|') : undefined;
}

/** Changes a freshly parsed value in place. */
function without(value: unknown, names: Record<string, true>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const fields = value as Record<string, unknown>;
  const keys = isArray(value) ? value.length : ownKeys(value).length;
  const list = isArray(value) ? undefined : ownKeys(value);
  for (let i = 0; i < keys; i++) {
    const key = list ? (list[i] as string) : `${i}`;
    fields[key] = list && names[lower(key)] ? REDACTED : without(fields[key], names);
  }
  return value;
}
