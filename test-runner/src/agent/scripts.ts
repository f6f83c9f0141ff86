// Scripts that an element runs, from an address: what `eval` is not good for, or not allowed.
//
// The addresses mean nothing to anybody else. Whatever the page sends with one in it (stacks above all) leaves with the
// script's name in its place.

import {
  apply,
  create,
  defineProperty,
  type Fields,
  getterOf,
  indexOf,
  later,
  listen,
  match,
  NativeError,
  record,
  setterOf,
  slice,
  startsWith,
  unlisten,
  win,
} from '../shared/natives';
import { type Inserted, setInserted } from './stack';
import { trustedAddress } from './trusted';

const NAME_AT_END = /\n\/\/# sourceURL=(\S+)\s*$/;
/** The beginning of a text, where that is an address of a script. */
const BLOB = /^blob:[^\s"'\\]*?\/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/;
const SERVED = /^[^\s"'\\]*?\/[\da-f]{32}\.js/;
/** Longest address of ours: a host name has at most 253 characters. */
const MAX_ADDRESS = 400;
/** What stands for the address of a script without a name, as V8 writes it. */
const NAMELESS = '<anonymous>';
/** A report of the page's policy comes about when the element's `error` does. */
const VIOLATION_WITHIN = 100;

const { document } = win;
const NativeBlob = win.Blob;
const { createObjectURL, revokeObjectURL } = win.URL;
const headOf = getterOf<HTMLElement | null>(Document.prototype, 'head');
const rootOf = getterOf<HTMLElement>(Document.prototype, 'documentElement');
const createElement = Document.prototype.createElement;
const appendChild = Node.prototype.appendChild;
const removeChild = Node.prototype.removeChild;
const setCrossOrigin = setterOf(HTMLScriptElement.prototype, 'crossOrigin');
const setNonce = setterOf(HTMLElement.prototype, 'nonce');
const setSource = setterOf(HTMLScriptElement.prototype, 'src');

/** How a script ended. */
export type Outcome =
  /** It ran. */
  | { ran: true; value: unknown; thrown: { error: unknown } | undefined }
  /** It did not, and did nothing: the page's policy forbids it, or it could not be fetched. */
  | { ran: false; forbidden: boolean };

interface Running {
  address: string;
  name: string;
  value: unknown;
  thrown: { error: unknown } | undefined;
}

/** Names by address. The relay's begin with `servedAt`. */
const names: Record<string, string> = create(null);
let blobs = false;
let servedAt = '';
let nonce = '';
let running: Running | undefined;

/** The name that a source gives itself. */
export function nameOf(source: string): string | undefined {
  return match(NAME_AT_END, slice(source, -1000))?.[1];
}

/** Has to be called before anybody else listens: what a script throws is the answer to a command, as in Chrome. */
export function watchScripts(relay: string, agentNonce: string): void {
  servedAt = `${relay}bundle/`;
  nonce = agentNonce;
  listen(
    win,
    'error',
    (event) => {
      const { filename, error, message } = event as ErrorEvent;
      if (!running || (filename !== running.address && filename !== running.name)) return;
      running.thrown ??= { error: error ?? new NativeError(message) };
      event.stopImmediatePropagation();
    },
    true,
  );
}

/** Runs a script from an address of the page's own, once. It has no value. */
export function runBlob(source: string, name: string, end: (outcome: Outcome) => void): void {
  let address: string;
  try {
    // Without a charset it would be read in that of the document.
    address = apply(createObjectURL, win.URL, [
      new NativeBlob([source], { type: 'text/javascript;charset=utf-8' }),
    ]) as string;
  } catch {
    end({ ran: false, forbidden: true });
    return;
  }
  blobs = true;
  insert(address, name, (outcome) => {
    apply(revokeObjectURL, win.URL, [address]);
    end(outcome);
  });
}

/** Runs the script that the relay serves under `ticket`, once; it hands over its value and what it throws. */
export function runServed(ticket: string, source: string, inserted: Inserted, end: (outcome: Outcome) => void): void {
  const hook = `ait_${ticket}`;
  const value = (result: unknown) => {
    if (running) running.value = result;
  };
  const thrown = (error: unknown) => {
    if (running) running.thrown = { error };
  };
  defineProperty(win, hook, record({ value: { value, thrown }, configurable: true }));
  const address = `${servedAt}${ticket}.js`;
  const name = nameOf(source) ?? NAMELESS;
  setInserted(address, inserted);
  // Some engines tell the name, some the address.
  if (name !== NAMELESS) setInserted(name, inserted);
  insert(address, name, (outcome) => {
    delete (win as unknown as Fields)[hook];
    end(outcome);
  });
}

function insert(address: string, name: string, end: (outcome: Outcome) => void): void {
  const mine: Running = { address, name, value: undefined, thrown: undefined };
  let forbidden = false;
  const onViolation = (event: Event) => {
    const { blockedURI, disposition } = event as SecurityPolicyViolationEvent;
    // Some engines tell the whole address, some its origin.
    const ours = blockedURI === 'blob' || (blockedURI !== '' && startsWith(address, blockedURI));
    if (disposition === 'enforce' && ours) forbidden = true;
  };
  const over = (outcome: () => Outcome) => {
    running = undefined;
    unlisten(document, 'securitypolicyviolation', onViolation);
    end(outcome());
  };
  try {
    const element = apply(createElement, document, ['script']) as HTMLScriptElement;
    listen(document, 'securitypolicyviolation', onViolation);
    listen(element, 'load', () => over(() => ({ ran: true, value: mine.value, thrown: mine.thrown })));
    listen(element, 'error', () => {
      later(() => over(() => ({ ran: false, forbidden })), VIOLATION_WITHIN);
    });
    // So that errors in it are told, and not just that there was one.
    setCrossOrigin(element, 'anonymous');
    if (nonce) setNonce(element, nonce);
    setSource(element, trustedAddress(address));
    names[address] = name;
    running = mine;
    // It is on its way as soon as it is in the document; tests need not see it there.
    const parent = headOf(document) ?? rootOf(document);
    apply(appendChild, parent, [element]);
    apply(removeChild, parent, [element]);
  } catch {
    // Trusted Types are required and no policy may be made, or the document has no element left.
    over(() => ({ ran: false, forbidden: true }));
  }
}

/** A message with names in place of addresses. */
export function named(message: string): string {
  let text = message;
  if (blobs) text = replaced(text, 'blob:', BLOB);
  return servedAt ? replaced(text, servedAt, SERVED) : text;
}

/** Replaces addresses that begin so and, from there, look like `whole`. */
function replaced(text: string, start: string, whole: RegExp): string {
  let result = '';
  let done = 0;
  for (let at = indexOf(text, start); at >= 0; at = indexOf(text, start, at + 1)) {
    const address = match(whole, slice(text, at, at + MAX_ADDRESS))?.[0];
    const name = address === undefined ? undefined : names[address];
    if (address === undefined || name === undefined) continue;
    result += slice(text, done, at) + name;
    done = at + address.length;
  }
  return done === 0 ? text : result + slice(text, done);
}
