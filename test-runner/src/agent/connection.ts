// The connection to the relay: one live link at most, redialled with care, silent after a terminal answer.

import {
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
  startsWith,
  type Timer,
  toJson,
  win,
} from '../shared/natives';
import { dialStream } from './event-stream';
import type { Link } from './link';
import { createOutbox } from './outbox';
import { isVisible } from './page';
import { dialSocket } from './websocket';

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
/** Dials by the way that has worked in this document, before the other is tried. */
const FAITHFUL = 3;
/** Close codes after which there is nothing to dial for. */
const DONE = 1000;
export const REJECTED = 4401;
export const REPLACED = 4408;
export const IN_USE = 4409;
const TERMINAL: Fields = { [DONE]: true, [REJECTED]: true, [REPLACED]: true, [IN_USE]: true };

const RELAY_PREFIX = '{"method":"Relay.';

export interface Host {
  /** Sends a message to the debugger; kept while there is no connection. */
  send(text: string, precious: boolean): void;
  /** Says something to the relay itself; lost while there is no connection. */
  tell(method: string, params: Fields): void;
}

/** What the connection asks and tells the rest of the agent. */
export interface Owner {
  /** The first message of each connection. */
  hello(): Fields;
  /** A command. */
  receive(text: string): void;
  /** The connection is up: the first one, or the next. */
  connected(): void;
  /** It is not any more, or it is refused for good, with this code. */
  lost(code: number | undefined): void;
  /** Where a script waits that was asked for. */
  script(params: unknown): void;
}

/** Dials and keeps dialling. */
export function connect(address: () => string, owner: Owner): Host {
  const outbox = createOutbox();
  let link: Link | undefined;
  let open = false;
  let stopped = false;
  /** Dials in a row that the relay did not welcome. */
  let misses = 0;
  /** The same, forgotten when the page wakes up: how long to pause. */
  let failures = 0;
  let streams = false;
  let socketsWork = false;
  let received = 0;
  let ticket = '';
  let dialled = 0;
  let heard = 0;
  let lastTick = now();
  let redial: Timer | undefined;

  function write(text: string): void {
    // A link that is closing drops what it is given; the outbox still has it.
    if (link) link.send(text);
  }

  function words(method: string, params: Fields): string {
    return `{"method":"${method}","params":${toJson(params)}}`;
  }

  function tell(method: string, params: Fields): void {
    if (open) write(words(method, params));
  }

  function dial(): void {
    cancel(redial);
    drop();
    if (stopped) return;
    dialled = now();
    let mine: Link | undefined;
    const current = () => mine !== undefined && link === mine;
    try {
      mine = (streams ? dialStream : dialSocket)(address(), ticket, {
        hello() {
          const fields = owner.hello();
          fields.received = received;
          return words('Agent.hello', fields);
        },
        message(text) {
          if (!current()) return;
          try {
            onMessage(text);
          } catch {
            // Whatever it was, the app must not hear of it.
          }
        },
        closed(code) {
          if (!current()) return;
          stopped = code !== undefined && TERMINAL[code] === true;
          if (open || stopped) owner.lost(code);
          fail();
        },
      });
      link = mine;
    } catch {
      // The page's policy, or mixed content.
      fail();
    }
  }

  function drop(): void {
    const old = link;
    link = undefined;
    open = false;
    old?.close();
  }

  function fail(): void {
    const wasOpen = open;
    drop();
    if (stopped) return;
    if (!wasOpen) {
      misses++;
      // Networks that let no WebSocket through do not say so.
      if (streams || misses >= (socketsWork ? FAITHFUL : 1)) streams = !streams;
    }
    const pause = FIRST_PAUSE * 2 ** min(failures, 10);
    failures++;
    cancel(redial);
    redial = later(dial, min(pause, LONGEST_PAUSE) * (0.5 + random() / 2));
  }

  function onMessage(text: unknown): void {
    heard = now();
    if (typeof text !== 'string') return;
    if (!startsWith(text, RELAY_PREFIX)) {
      received++;
      owner.receive(text);
      return;
    }
    const message = parse(text) as unknown;
    const params = own(message, 'params');
    const count = own(params, 'received');
    if (own(message, 'method') === 'Relay.welcome') {
      ticket = `${own(params, 'ticket')}`;
      welcomed(typeof count === 'number' ? count : 0);
    } else if (own(message, 'method') === 'Relay.echo') {
      if (typeof count === 'number') outbox.confirm(count);
      tell('Agent.echo', { received, visible: isVisible() });
    } else if (own(message, 'method') === 'Relay.script') {
      owner.script(params);
    }
  }

  function welcomed(count: number): void {
    failures = 0;
    misses = 0;
    if (!streams) socketsWork = true;
    open = true;
    const { first, texts, dropped } = outbox.resume(count);
    if (first - 1 > count || dropped > 0) {
      tell('Agent.skipped', { received: max(first - 1, count), dropped });
    }
    each(texts, write);
    owner.connected();
  }

  /** The page woke up, or its network came back. */
  function wake(): void {
    failures = 0;
    // Another network may let WebSockets through.
    if (!open && socketsWork) streams = false;
    const time = now();
    if (!link || (!open && time - dialled > TICK)) dial();
    else heard = min(heard, time - SILENCE_LIMIT + SILENCE_AFTER_SLEEP);
  }

  function tick(): void {
    later(tick, TICK);
    const time = now();
    const slept = time - lastTick > SLEPT || time < lastTick;
    lastTick = time;
    if (slept) wake();
    else if (link && !open && time - dialled > DIAL_LIMIT) fail();
    else if (open && time - heard > SILENCE_LIMIT) {
      owner.lost(undefined);
      dial();
    }
  }

  listen(win.document, 'visibilitychange', () => {
    const visible = isVisible();
    tell('Agent.visibility', { visible });
    if (visible) wake();
  });
  // A phone that is locked is suspended some time after it was hidden; some engines say when.
  listen(win.document, 'freeze', () => tell('Agent.frozen', {}));
  listen(win.document, 'resume', wake);
  listen(win, 'online', wake);
  listen(win, 'pagehide', (event) => {
    // What the page itself dispatches under that name says nothing of where it goes.
    if (!event.isTrusted) return;
    tell('Agent.leaving', {});
    link?.leave();
  });
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
