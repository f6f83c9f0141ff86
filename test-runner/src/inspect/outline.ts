// The document as indented markup, cut where it becomes long.

import { root } from './refs';

/** The document, as far as it was asked for. */
export interface Outline {
  html: string;
  /** Elements shown. */
  elements: number;
  /** Elements below `depth` or beyond `maxChars`. */
  leftOut: number;
}

export interface OutlineOptions {
  ref?: string;
  selector?: string;
  depth: number;
  maxChars: number;
}

const MAX_TEXT = 200;
const VOID = new Set([
  'area',
  'base',
  'br',
  'col',
  'embed',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'source',
  'track',
  'wbr',
]);

/** `undefined` where there is no such element. */
export function outline(options: OutlineOptions): Outline | undefined {
  const top = root(options.ref, options.selector);
  if (top === undefined) return undefined;
  const lines: string[] = [];
  let left = options.maxChars;
  let elements = 0;
  let leftOut = 0;

  function line(depth: number, text: string): boolean {
    const whole = `${'  '.repeat(depth)}${text}`;
    if (left < whole.length + 1) return false;
    left -= whole.length + 1;
    lines.push(whole);
    return true;
  }

  function walk(element: Element, depth: number): void {
    const { localName } = element;
    const inside = (element.shadowRoot ?? element).childNodes;
    const only = inside.length === 1 && inside[0] instanceof Text ? short(inside[0].data.trim()) : undefined;
    const open = `<${localName}${attributes(element)}>`;
    if (VOID.has(localName) || inside.length === 0) {
      if (line(depth, VOID.has(localName) ? open : `${open}</${localName}>`)) elements += 1;
      else leftOut += 1;
      return;
    }
    if (only !== undefined && !only.includes('\n')) {
      if (line(depth, `${open}${only}</${localName}>`)) elements += 1;
      else leftOut += 1;
      return;
    }
    if (depth >= options.depth || !line(depth, open)) {
      const below = element.querySelectorAll('*').length;
      if (depth >= options.depth && line(depth, `${open}…</${localName}> <!-- ${below} more -->`)) elements += 1;
      else leftOut += 1;
      leftOut += below;
      return;
    }
    elements += 1;
    for (const child of inside) {
      if (child instanceof Element) walk(child, depth + 1);
      else if (child instanceof Text && child.data.trim() !== '') line(depth + 1, short(child.data.trim()));
    }
    // An element that was opened is closed, whatever room there is.
    lines.push(`${'  '.repeat(depth)}</${localName}>`);
  }

  walk(top, 0);
  return { html: lines.join('\n'), elements, leftOut };
}

function attributes(element: Element): string {
  return [...element.attributes]
    .map(({ name, value }) => ` ${name}="${short(value).replaceAll('"', '&quot;')}"`)
    .join('');
}

function short(text: string): string {
  const flat = text.replace(/\s+/g, ' ');
  return flat.length > MAX_TEXT ? `${flat.slice(0, MAX_TEXT)}…` : flat;
}
