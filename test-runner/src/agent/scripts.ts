// Test scripts under an address of their own.
//
// JavaScriptCore does not heed `//# sourceURL` in stacks: frames of evaluated text have neither address nor position. There
// a test script runs as a script element from a `blob:` address, and whatever the page sends with that address in it (stacks
// above all) leaves with the script's name in its place.

import { apply, indirectEval, listen, match, NativeError, own, win } from '../shared/natives';

/** Only what our host sends: its value is of no interest, so that an element may run it, which gives none. */
const NAME_AT_END = /\n\/\/# sourceURL=(ait-test:\S+)\s*$/;
const PROBE = 'ait-agent://probe';

const { document } = win;
const NativeBlob = win.Blob;
const { createObjectURL, revokeObjectURL } = win.URL;
const createElement = Document.prototype.createElement;
const appendChild = Node.prototype.appendChild;
const removeChild = Node.prototype.removeChild;

/** What the page's policy lets scripts in by, where the agent itself came in by it. */
const nonce = (document.currentScript as HTMLScriptElement | null)?.nonce;

const addresses: string[] = [];
const names: string[] = [];
let running: { address: string; thrown?: { error: unknown } } | undefined;
let heedsNames: boolean | undefined;

/** The name of a test script that has to run by `runScript` for its stacks to be of use. */
export function nameOf(source: string): string | undefined {
  const name = match(NAME_AT_END, source.slice(-1000))?.[1];
  if (!name) return undefined;
  heedsNames ??= doesEngineHeedNames();
  return heedsNames ? undefined : name;
}

function doesEngineHeedNames(): boolean {
  try {
    return `${own(indirectEval(`new Error()\n//# sourceURL=${PROBE}`), 'stack')}`.indexOf(PROBE) >= 0;
  } catch {
    // The page's policy forbids eval; the command itself will say so.
    return true;
  }
}

/** Has to be called before anybody else listens: what a script throws is the answer to a command, as in Chrome. */
export function watchScripts(): void {
  listen(
    win,
    'error',
    (event) => {
      if (!running || (event as ErrorEvent).filename !== running.address) return;
      running.thrown ??= { error: (event as ErrorEvent).error ?? new NativeError((event as ErrorEvent).message) };
      event.stopImmediatePropagation();
    },
    true,
  );
}

/** Runs a script once. Exactly one of the two is called; `refused`: the page does not let it run. */
export function runScript(
  source: string,
  name: string,
  ran: (thrown: { error: unknown } | undefined) => void,
  refused: () => void,
): void {
  let address = '';
  const parent = document.head ?? document.documentElement;
  try {
    // Without a charset it would be read in that of the document.
    address = apply(createObjectURL, win.URL, [
      new NativeBlob([source], { type: 'text/javascript;charset=utf-8' }),
    ]) as string;
    const element = apply(createElement, document, ['script']) as HTMLScriptElement;
    const mine = { address } as NonNullable<typeof running>;
    const end = (then: () => void) => {
      running = undefined;
      apply(revokeObjectURL, win.URL, [address]);
      then();
    };
    listen(element, 'load', () => end(() => ran(mine.thrown)));
    listen(element, 'error', () => end(refused));
    if (nonce) element.nonce = nonce;
    element.src = address;
    addresses[addresses.length] = address;
    names[names.length] = name;
    running = mine;
    // It is on its way as soon as it is in the document; tests need not see it there.
    apply(appendChild, parent, [element]);
    apply(removeChild, parent, [element]);
  } catch {
    running = undefined;
    refused();
  }
}

/** A message with names in place of addresses. */
export function named(message: string): string {
  if (addresses.length === 0 || message.indexOf('blob:') < 0) return message;
  let text = message;
  for (let i = 0; i < addresses.length; i++) text = replaced(text, addresses[i] as string, names[i] as string);
  return text;
}

function replaced(text: string, old: string, fresh: string): string {
  let result = '';
  let start = 0;
  for (let at = text.indexOf(old); at >= 0; at = text.indexOf(old, start)) {
    result += text.slice(start, at) + fresh;
    start = at + old.length;
  }
  return start === 0 ? text : result + text.slice(start);
}
