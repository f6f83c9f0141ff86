// The agent: a small CDP endpoint inside the page that the relay serves as `target.js`.
//
//   connection.ts one link at a time, redialled (websocket.ts, event-stream.ts)   outbox.ts nothing lost or sent twice
//   dispatch.ts   commands and replies             runtime.ts   page.ts   the domains
//   console.ts    exceptions.ts   what the page says by itself
//   ladder.ts     how code is run: eval, trusted.ts, scripts.ts (elements), verbs.ts (no eval at all)
//   badge.ts      the sign in a corner
//   remote.ts     values as CDP describes them     stack.ts     natives.ts

import { version } from '../../package.json';
import { defineProperty, each, type Fields, lastIndexOf, random, randomId, slice, win } from '../shared/natives';
import { createBadge, type Sign } from './badge';
import { connect, type Host, IN_USE, REJECTED, REPLACED } from './connection';
import { watchConsole } from './console';
import { createDispatcher } from './dispatch';
import { watchExceptions } from './exceptions';
import { createLadder } from './ladder';
import { addPage, address, isVisible, title } from './page';
import { setOwnScript } from './remote';
import { addRuntime } from './runtime';
import { named, watchScripts } from './scripts';

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
  const end = lastIndexOf(path, 'target.js');
  return end < 0 || !/^https?:/.test(path) ? undefined : slice(path, 0, end).replace(/^http/, 'ws');
}

/** Where the relay serves scripts: `wss://relay/at/<code>/` to `https://relay/`. */
function scriptsBase(base: string): string {
  return base.replace(/^ws/, 'http').replace(/\/at\/[^/]*\/$/, '/');
}

/** What a person is told by the end of a connection: not that another tab or page has taken its place. */
function signOf(code: number | undefined): Sign {
  if (code === REJECTED) return 'expired';
  return code === REPLACED || code === IN_USE ? 'none' : 'disconnected';
}

/** A frame of the same origin shares the page's id; the page speaks for it. */
function isInsideAttached(): boolean {
  try {
    return win.parent !== win && MARK in win.parent;
  } catch {
    return false;
  }
}

function start(script: string, base: string, nonce: string): void {
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
  const ladder = createLadder((command) => host?.tell('Agent.script', { id: command }));
  const runtime = addRuntime(dispatcher, contextId, documentId, ladder, () => {
    const missed = early;
    early = undefined;
    if (missed) each(missed, (send) => send());
  });
  addPage(dispatcher, (url, words) => host?.tell('Agent.page', { url, title: words }));
  watchScripts(scriptsBase(base), nonce);
  watchConsole(dispatcher, contextId, report);
  watchExceptions(dispatcher, contextId, script, report);

  const hello = (): Fields => ({
    doc: documentId,
    url: address(),
    title: title(),
    userAgent: win.navigator.userAgent,
    version,
    visible: isVisible(),
  });
  const { receive } = dispatcher;
  const badge = createBadge();
  // The mark keeps our connection out of the records of a chobitsu that is in the page, too.
  host = connect(() => `${base}target/${id}?v=${version}&__chobitsu-hide__=true`, {
    hello,
    receive,
    connected() {
      ladder.onConnected();
      badge('connected');
    },
    lost: (code) => badge(signOf(code)),
    script: ladder.onScript,
  });
}

// A page that allows scripts by nonce hides it from all but the script's own element.
const { src: script, nonce } = (document.currentScript as HTMLScriptElement | null) ?? { src: '', nonce: '' };
const base = relayBase(script);
if (base && !(MARK in win) && !isInsideAttached()) {
  defineProperty(win, MARK, { value: true });
  start(script, base, nonce ?? '');
}
