// A value of the page as JSON, with words in place of what JSON has no form for.

/** What became of a value. */
export interface Described {
  /** `string`, `Array`, `Promise` ...: the name of its constructor, or its primitive type. */
  type: string;
  /** The value, or what can be said of it. */
  value: unknown;
  /** Whether `value` is all of it: nothing was replaced by words, and nothing left out. */
  exact: boolean;
}

const MAX_DEPTH = 12;
/** Entries of one object or array; a page has lists of millions. */
const MAX_ENTRIES = 1_000;
/** Values in all. */
const MAX_VALUES = 20_000;
/** Characters of one text. */
const MAX_TEXT = 100_000;

export function describe(value: unknown): Described {
  const walk = new Walk();
  const described = walk.value(value, 0);
  return { type: typeOf(value), value: described, exact: walk.exact };
}

/** The name of a value's kind, for people. Never throws, whatever getters and proxies the page has. */
function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'object' && typeof value !== 'function') return typeof value;
  try {
    const name = value.constructor?.name;
    return typeof name === 'string' && name !== '' ? name : typeof value;
  } catch {
    return typeof value;
  }
}

class Walk {
  exact = true;
  private values = 0;
  private readonly above: object[] = [];

  value(value: unknown, depth: number): unknown {
    this.values += 1;
    if (value === null || typeof value === 'boolean') return value;
    if (typeof value === 'string') return this.text(value);
    if (typeof value === 'number')
      return Number.isFinite(value) && !Object.is(value, -0) ? value : this.words(number(value));
    if (typeof value === 'bigint') return this.words(`${value}n`);
    if (typeof value === 'symbol') return this.words(value.toString());
    if (typeof value === 'undefined') return depth === 0 ? this.words('undefined') : undefined;
    if (typeof value === 'function') return this.words(`function ${value.name || '(anonymous)'}`);
    if (this.above.includes(value)) return this.words('circular');
    if (depth >= MAX_DEPTH || this.values > MAX_VALUES) return this.words(`${typeOf(value)}, left out`);
    this.above.push(value);
    try {
      return this.object(value, depth);
    } catch (error) {
      return this.words(`${typeOf(value)} that cannot be read: ${String(error)}`);
    } finally {
      this.above.pop();
    }
  }

  private object(value: object, depth: number): unknown {
    if (value instanceof Error) return this.words(value.stack?.includes(value.message) ? value.stack : `${value}`);
    if (value instanceof Date) return this.words(Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString());
    if (value instanceof RegExp) return this.words(`${value}`);
    if (value instanceof Promise) return this.words('Promise');
    if (value instanceof Element) return this.words(element(value));
    if (value instanceof Node) return this.words(`${value.nodeName}`);
    if (value instanceof Map) return this.inexact({ Map: this.list([...value.entries()], depth) });
    if (value instanceof Set) return this.inexact({ Set: this.list([...value], depth) });
    if (value instanceof ArrayBuffer) return this.words(`ArrayBuffer(${value.byteLength})`);
    if (ArrayBuffer.isView(value)) return this.words(`${typeOf(value)}(${value.byteLength} bytes)`);
    if (value === globalThis) return this.words('window');
    if (Array.isArray(value)) return this.list(value, depth);
    const toJson = (value as { toJSON?: unknown }).toJSON;
    if (typeof toJson === 'function') return this.inexact(this.value(toJson.call(value), depth + 1));
    return this.fields(value, depth);
  }

  private list(items: unknown[], depth: number): unknown[] {
    const some = items.slice(0, MAX_ENTRIES).map((item) => {
      const described = this.value(item, depth + 1);
      return described === undefined ? this.words('undefined') : described;
    });
    if (items.length > MAX_ENTRIES) some.push(this.words(`${items.length - MAX_ENTRIES} more`));
    return some;
  }

  private fields(value: object, depth: number): unknown {
    const keys = Object.keys(value);
    const fields: Record<string, unknown> = Object.create(null);
    for (const key of keys.slice(0, MAX_ENTRIES)) {
      let field: unknown;
      try {
        field = (value as Record<string, unknown>)[key];
      } catch (error) {
        field = this.words(`throws ${String(error)}`);
      }
      fields[key] = this.value(field, depth + 1);
    }
    if (keys.length > MAX_ENTRIES) fields['…'] = this.words(`${keys.length - MAX_ENTRIES} more`);
    if (keys.length === 0 && typeOf(value) !== 'Object') return this.words(typeOf(value));
    return fields;
  }

  private text(text: string): string {
    if (text.length <= MAX_TEXT) return text;
    this.exact = false;
    return `${text.slice(0, MAX_TEXT)}… (${text.length - MAX_TEXT} more characters)`;
  }

  private words(words: string): string {
    this.exact = false;
    return `[${words}]`;
  }

  private inexact<T>(value: T): T {
    this.exact = false;
    return value;
  }
}

const number = (value: number): string => (Object.is(value, -0) ? '-0' : String(value));

function element(value: Element): string {
  const id = value.id === '' ? '' : `#${value.id}`;
  const classes = [...value.classList].map((name) => `.${name}`).join('');
  return `<${value.localName}${id}${classes}>`;
}
