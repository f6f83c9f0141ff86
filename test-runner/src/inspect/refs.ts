// Short names of elements that stay the same for as long as an element is in the document.

interface Refs {
  next: number;
  names: WeakMap<Element, string>;
  elements: Map<string, WeakRef<Element>>;
}

/** Pages do not enumerate it, and every tool finds it again. */
const KEY = Symbol.for('devtools-test.refs');

function refs(): Refs {
  const holder = globalThis as unknown as Record<symbol, Refs | undefined>;
  const known = holder[KEY];
  if (known !== undefined) return known;
  const fresh: Refs = { next: 1, names: new WeakMap(), elements: new Map() };
  Object.defineProperty(globalThis, KEY, { value: fresh, enumerable: false, configurable: true });
  return fresh;
}

export function refOf(element: Element): string {
  const all = refs();
  const known = all.names.get(element);
  if (known !== undefined) return known;
  const name = `e${all.next}`;
  all.next += 1;
  all.names.set(element, name);
  all.elements.set(name, new WeakRef(element));
  return name;
}

/** The element of that name, if it is still in the document. */
export function elementOf(ref: string): Element | undefined {
  const element = refs().elements.get(ref)?.deref();
  return element?.isConnected ? element : undefined;
}

/** What a tool was asked to look at: a ref or a selector; without either the whole document. */
export function root(ref?: string, selector?: string): Element | undefined {
  if (ref !== undefined) return elementOf(ref);
  if (selector !== undefined) return document.querySelector(selector) ?? undefined;
  return document.documentElement;
}
