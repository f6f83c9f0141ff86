// Writes JSON without asking anyone: `JSON.stringify` of an object calls `toJSON`, which pages have put on
// `Array.prototype` and `Object.prototype`; of a text it calls nothing.

type Plain = string | number | boolean | undefined | null | readonly Plain[] | { readonly [key: string]: Plain };

export function toJson(value: unknown): string {
  return write(value as Plain);
}

function write(value: Plain): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'number':
      return Number.isFinite(value) ? `${value}` : '0';
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? writeArray(value) : writeObject(value as { [key: string]: Plain });
    default:
      return 'null';
  }
}

function writeArray(items: readonly Plain[]): string {
  let out = '[';
  for (let i = 0; i < items.length; i++) out += (i ? ',' : '') + write(items[i]);
  return `${out}]`;
}

function writeObject(object: { readonly [key: string]: Plain }): string {
  let out = '';
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (value !== undefined) out += `${out ? ',' : ''}${JSON.stringify(key)}:${write(value)}`;
  }
  return `{${out}}`;
}
