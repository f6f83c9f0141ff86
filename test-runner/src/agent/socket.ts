// The connection to the relay: one live socket at most, redialled with care, silent after a terminal answer.

import type { CaptureRuntime } from '../engine/install';
import { ownerOf } from '../interceptors/patch';
import type { Realm } from '../interceptors/types';
import {
  apply,
  cancel,
  each,
  type Fields,
  later,
  listen,
  max,
  min,
  now,
  own,
  parse,
  random,
  toJson,
  win,
} from '../shared/natives';
import { createOutbox } from './outbox';

/** A dial that is not through by then is given up (a zombie after a change of network never fails by itself). */
const DIAL_LIMIT = 8_000;
/** Pause before the second dial; doubles each time up to the longest. */
const FIRST_PAUSE = 400;
const LONGEST_PAUSE = 15_000;
/** The relay speaks every 5 s; after this much silence the connection is dead whatever the socket says. */
const SILENCE_LIMIT = 20_000;
/** What is left of it when the page comes back from sleep: one word of the relay and some time on the way. */
const SILENCE_AFTER_SLEEP = 7_000;
/** How often the clock is looked at, and a gap between two looks that means that the page slept. */
const TICK = 2_000;
const SLEPT = 10_000;
/** Close codes after which there is nothing to dial for: done, wrong code, replaced, another page in use. */
const TERMINAL: Fields = { 1000: true, 4401: true, 4408: true, 4409: true };

const RELAY_PREFIX = '{"method":"Relay.';

// A recorder that came before us keeps what it found; our own traffic goes past it.
const natives = (ownerOf(win as Realm) as CaptureRuntime | undefined)?.natives;
const NativeSocket = natives?.WebSocket ?? win.WebSocket;
const nativeSend = natives?.send ?? NativeSocket.prototype.send;
const nativeClose = natives?.close ?? NativeSocket.prototype.close;

export interface Host {
  /** Sends a message to the debugger; kept while there is no connection. */
  send(text: string, precious: boolean): void;
  /** Says something to the relay itself; lost while there is no connection. */
  tell(method: string, params: Fields): void;
}

/** Dials and keeps dialling. `hello` gives the first message of each connection, `receive` takes each command. */
export function connect(address: () => string, hello: () => Fields, receive: (text: string) => void): Host {
  const outbox = createOutbox();
  let socket: WebSocket | undefined;
  let open = false;
  let stopped = false;
  let failures = 0;
  let received = 0;
  let ticket = '';
  let dialled = 0;
  let heard = 0;
  let lastTick = now();
  let redial = 0;

  function write(text: string): void {
    // A socket that is closing drops what it is given; the outbox still has it.
    if (socket) apply(nativeSend, socket, [text]);
  }

  function tell(method: string, params: Fields): void {
    if (socket && (open || method === 'Agent.hello')) write(`{"method":"${method}","params":${toJson(params)}}`);
  }

  function dial(): void {
    cancel(redial);
    drop();
    if (stopped) return;
    dialled = now();
    let dialling: WebSocket;
    try {
      // The ticket rides in a header: an address ends up in logs.
      dialling = new NativeSocket(address(), ticket ? ['ait.agent', `ait.ticket.${ticket}`] : ['ait.agent']);
    } catch {
      fail();
      return;
    }
    socket = dialling;
    const current = () => socket === dialling;
    listen(dialling, 'open', () => {
      if (!current()) return;
      const fields = hello();
      fields.received = received;
      tell('Agent.hello', fields);
    });
    listen(dialling, 'message', (event) => {
      if (current()) onMessage((event as MessageEvent).data);
    });
    listen(dialling, 'close', (event) => {
      if (!current()) return;
      stopped = TERMINAL[(event as CloseEvent).code] === true;
      fail();
    });
    // WebKit reports mixed content and blocked ports with `error` alone.
    listen(dialling, 'error', () => {
      if (current()) later(() => current() && fail(), 0);
    });
  }

  function drop(): void {
    const old = socket;
    socket = undefined;
    open = false;
    try {
      if (old) apply(nativeClose, old, []);
    } catch {
      // It was closed already.
    }
  }

  function fail(): void {
    drop();
    if (stopped) return;
    const pause = FIRST_PAUSE * 2 ** min(failures, 10);
    failures++;
    cancel(redial);
    redial = later(dial, min(pause, LONGEST_PAUSE) * (0.5 + random() / 2));
  }

  function onMessage(text: unknown): void {
    heard = now();
    if (typeof text !== 'string') return;
    if (text.lastIndexOf(RELAY_PREFIX, 0) !== 0) {
      received++;
      receive(text);
      return;
    }
    const message = parse(text) as unknown;
    const params = own(message, 'params');
    const count = own(params, 'received');
    if (own(message, 'method') === 'Relay.welcome') {
      ticket = `${own(params, 'ticket')}`;
      failures = 0;
      open = true;
      resume(typeof count === 'number' ? count : 0);
    } else if (own(message, 'method') === 'Relay.echo') {
      if (typeof count === 'number') outbox.confirm(count);
      tell('Agent.echo', { received, visible: win.document.visibilityState === 'visible' });
    }
  }

  function resume(count: number): void {
    const { first, texts, dropped } = outbox.resume(count);
    if (first - 1 > count || dropped > 0) {
      tell('Agent.skipped', { received: max(first - 1, count), dropped });
    }
    each(texts, write);
  }

  /** The page woke up, or its network came back. */
  function wake(): void {
    failures = 0;
    const time = now();
    if (!socket || (!open && time - dialled > TICK)) dial();
    else heard = min(heard, time - SILENCE_LIMIT + SILENCE_AFTER_SLEEP);
  }

  function tick(): void {
    later(tick, TICK);
    const time = now();
    const slept = time - lastTick > SLEPT || time < lastTick;
    lastTick = time;
    if (slept) wake();
    else if (socket && !open && time - dialled > DIAL_LIMIT) fail();
    else if (open && time - heard > SILENCE_LIMIT) dial();
  }

  listen(win.document, 'visibilitychange', () => {
    const visible = win.document.visibilityState === 'visible';
    tell('Agent.visibility', { visible });
    if (visible) wake();
  });
  listen(win, 'online', wake);
  listen(win, 'pagehide', () => tell('Agent.leaving', {}));
  listen(win, 'pageshow', (event) => {
    if (!(event as PageTransitionEvent).persisted) return;
    // Back from the back-forward cache: whoever took our place has left.
    stopped = false;
    dial();
  });
  later(tick, TICK);
  dial();

  return {
    send(text, precious) {
      outbox.add(text, precious);
      if (open) write(text);
    },
    tell,
  };
}
