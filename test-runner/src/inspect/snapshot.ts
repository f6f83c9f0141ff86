// What a person who cannot see the page is told of it: roles, names and states, as an indented list.

import { computeAccessibleName, getRole, isInaccessible } from 'dom-accessibility-api';
import { refOf, root } from './refs';

/** A list of the page. */
export interface Snapshot {
  /** One element a line, two blanks deeper than the one it is in. */
  lines: string[];
  /** How many more there would be. */
  leftOut: number;
}

export interface SnapshotOptions {
  ref?: string;
  selector?: string;
  /** Characters in all. */
  maxChars: number;
}

const MAX_TEXT = 200;
/** Elements that are looked at, for a page with a list of a million rows. */
const MAX_ELEMENTS = 50_000;
/** Roles that only group: what is in them is shown in their place. */
const SILENT = new Set(['generic', 'none', 'presentation', 'group', 'document']);
const SKIPPED = new Set(['script', 'style', 'template', 'noscript', 'head', 'link', 'meta']);

/** `undefined` where there is no such element. */
export function snapshot(options: SnapshotOptions): Snapshot | undefined {
  const top = root(options.ref, options.selector);
  if (top === undefined) return undefined;
  const list = new List(options.maxChars);
  if (top === document.documentElement) list.line(0, `document ${quoted(document.title)} ${document.URL}`);
  list.element(top, top === document.documentElement ? 1 : 0);
  return { lines: list.lines, leftOut: list.leftOut };
}

class List {
  readonly lines: string[] = [];
  leftOut = 0;
  private looked = 0;

  constructor(private left: number) {}

  line(depth: number, text: string): void {
    const line = `${'  '.repeat(depth)}- ${text}`;
    this.left -= line.length + 1;
    if (this.left < 0) this.leftOut += 1;
    else this.lines.push(line);
  }

  element(element: Element, depth: number): void {
    this.looked += 1;
    if (this.looked > MAX_ELEMENTS) {
      this.leftOut += 1;
      return;
    }
    if (SKIPPED.has(element.localName) || isInaccessible(element, { isSubtreeInaccessible: hides })) return;
    const role = getRole(element) ?? (element.localName === 'iframe' ? 'iframe' : 'generic');
    if (SILENT.has(role)) {
      this.children(element, depth, undefined);
      return;
    }
    const name = computeAccessibleName(element).trim();
    this.line(
      depth,
      [role, name === '' ? '' : quoted(name), ...states(element, role), `[${refOf(element)}]`]
        .filter(Boolean)
        .join(' '),
    );
    this.children(element, depth + 1, name);
  }

  /** `said` is the text the line above has said already. */
  private children(element: Element, depth: number, said: string | undefined): void {
    for (const child of (element.shadowRoot ?? element).childNodes) {
      if (child instanceof Element) this.element(child, depth);
      else if (child instanceof Text) {
        const text = child.data.replace(/\s+/g, ' ').trim();
        if (text !== '' && said?.includes(text) !== true) this.line(depth, `text ${quoted(text)}`);
      }
    }
  }
}

/** The library asks this of each ancestor; ours are looked at one by one on the way down. */
function hides(element: Element): boolean {
  if (element.getAttribute('aria-hidden') === 'true' || (element as HTMLElement).hidden) return true;
  const style = getComputedStyle(element);
  return style.display === 'none' || style.visibility === 'hidden';
}

function quoted(text: string): string {
  return JSON.stringify(text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);
}

function states(element: Element, role: string): string[] {
  const found: string[] = [];
  const control = element as HTMLInputElement;
  if (role === 'heading') found.push(`level=${element.getAttribute('aria-level') ?? element.localName.slice(1)}`);
  if (control.disabled === true || element.getAttribute('aria-disabled') === 'true') found.push('disabled');
  for (const state of ['checked', 'expanded', 'pressed', 'selected', 'current', 'invalid', 'busy']) {
    const value = element.getAttribute(`aria-${state}`);
    if (value !== null && value !== 'false') found.push(value === 'true' ? state : `${state}=${value}`);
  }
  if (control.checked === true && !found.includes('checked')) found.push('checked');
  if (element instanceof HTMLOptionElement && element.selected && !found.includes('selected')) found.push('selected');
  if (element === document.activeElement && element !== document.body) found.push('focused');
  if (element instanceof HTMLAnchorElement && element.href !== '')
    found.push(`href=${quoted(element.getAttribute('href') ?? '')}`);
  if (
    typeof control.value === 'string' &&
    /textbox|searchbox|combobox|spinbutton|slider/.test(role) &&
    control.value !== ''
  ) {
    found.push(control.type === 'password' ? 'value=hidden' : `value=${quoted(control.value)}`);
  }
  return found;
}
