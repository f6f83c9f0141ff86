// The agent: a small CDP endpoint inside the page that the relay serves as `target.js`.
//
//   socket.ts     one connection, redialled        outbox.ts    nothing lost or sent twice
//   dispatch.ts   commands and replies             runtime.ts   page.ts   the domains
//   console.ts    exceptions.ts   what the page says by itself
//   scripts.ts    test scripts under an address of their own
//   remote.ts     values as CDP describes them     stack.ts     natives.ts

import { version } from '../../package.json';
import { defineProperty, each, type Fields, random, randomId, win } from '../shared/natives';
import { watchConsole } from './console';
import { createDispatcher } from './dispatch';
import { watchExceptions } from './exceptions';
import { addPage, address, title } from './page';
import { setOwnScript } from './remote';
import { addRuntime } from './runtime';
import { named, watchScripts } from './scripts';
import { connect, type Host } from './socket';

const MARK = Symbol.for('ait.agent');
const ID_KEY = 'ait-id';
/** Console messages and exceptions that are kept until somebody first listens. */
const MAX_EARLY = 200;

/** Tabs and reloads share an id; that is what the relay expects of it. */
function targetId(): string {
  try {
    const { sessionStorage } = win;
    const known = sessionStorage.getItem(ID_KEY);
    if (known) return known;
    const id = randomId();
    sessionStorage.setItem(ID_KEY, id);
    return id;
  } catch {
    // Storage is forbidden here; then a reload counts as another page.
    return randomId();
  }
}

/** `https://relay/at/<code>/target.js?x` to `wss://relay/at/<code>/`. */
function relayBase(script: string): string | undefined {
  const path = script.replace(/[?#].*$/, '');
  const end = path.lastIndexOf('target.js');
  return end < 0 || !/^https?:/.test(path) ? undefined : path.slice(0, end).replace(/^http/, 'ws');
}

/** A frame of the same origin shares the page's id; the page speaks for it. */
function isInsideAttached(): boolean {
  try {
    return win.parent !== win && MARK in win.parent;
  } catch {
    return false;
  }
}

function start(script: string, base: string): void {
  const id = targetId();
  const documentId = randomId();
  const contextId = 1 + ((random() * 0x3fffffff) | 0);
  let host: Host | undefined;
  let early: (() => void)[] | undefined = [];

  const dispatcher = createDispatcher((text, precious) => host?.send(named(text), precious));
  setOwnScript(script);

  // Before the first `Runtime.enable` nobody listens; a client that comes soon after hears what it missed.
  function report(send: () => void): void {
    if (!early) {
      if (runtime.enabled()) send();
    } else if (early.length < MAX_EARLY) {
      early[early.length] = send;
    }
  }
  const runtime = addRuntime(dispatcher, contextId, documentId, () => {
    const missed = early;
    early = undefined;
    if (missed) each(missed, (send) => send());
  });
  addPage(dispatcher, (url, words) => host?.tell('Agent.page', { url, title: words }));
  watchScripts();
  watchConsole(dispatcher, contextId, report);
  watchExceptions(dispatcher, contextId, script, report);

  const hello = (): Fields => ({
    doc: documentId,
    url: address(),
    title: title(),
    userAgent: win.navigator.userAgent,
    version,
    visible: win.document.visibilityState === 'visible',
  });
  host = connect(() => `${base}target/${id}?v=${version}`, hello, dispatcher.receive);
}

const script = (document.currentScript as HTMLScriptElement | null)?.src ?? '';
const base = relayBase(script);
if (base && !(MARK in win) && !isInsideAttached()) {
  defineProperty(win, MARK, { value: true });
  start(script, base);
}
