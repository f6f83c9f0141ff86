// Texts that may come from anywhere, made fit for the wire: bounded and valid Unicode.

/** At most `max` characters of `text`, with a note of how many were left out; lone surrogates become U+FFFD. */
export function bounded(text: string, max: number): string {
  if (text.length <= max) return wellFormed(text);
  const left = text.length - max;
  return `${wellFormed(text.slice(0, max))}… (${left} more characters)`;
}

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;
const SURROGATE = /[\uD800-\uDFFF]/;

export function wellFormed(text: string): string {
  return SURROGATE.test(text) ? text.replace(LONE_SURROGATE, '\uFFFD') : text;
}

/** Reads a property of anything; what throws counts as absent. */
export function read(value: unknown, key: string): unknown {
  try {
    return (value as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

/** The property as a text, or undefined. Numbers are texts too: an error's `code` often is one. */
export function readText(value: unknown, key: string): string | undefined {
  const text = read(value, key);
  if (typeof text === 'string') return text;
  return typeof text === 'number' ? `${text}` : undefined;
}
