// The link where the network lets no WebSocket through: a stream of server-sent events down, one POST after the other up.
//
// Both go to the socket's own address. The first line of a request says what it is, `open <ticket>` or
// `send <key> <number>`, so that nothing secret stands in an address and no request needs to be asked for first (CORS);
// messages follow, one a line. The relay takes each numbered batch once, however often the browser sends it.

import { apply, each, getterOf, indexOf, later, own, parse, settle, slice, startsWith, win } from '../shared/natives';
import { type Link, type LinkOwner, natives } from './link';

/** Characters in one request, unless a single message is longer. */
const BATCH = 256 << 10;
/** Bytes that a browser lets outlive the page; a character takes up to three. */
const KEPT = 20_000;
/** A browser that leaves a page ends its requests before it says that it leaves: what is to be said then still goes up. */
const PARTING_MS = 100;
const UNAUTHORIZED = 401;
/** The close code that stands for it. */
const REJECTED = 4401;

const DATA = 'data: ';
const CLOSE = 'event: close\ndata: ';
const KEY = '{"method":"Relay.stream"';

const { AbortController: NativeAbort, TextDecoder: NativeDecoder } = win;
const nativeFetch = natives?.fetch ?? win.fetch;
const nativeAbort = NativeAbort.prototype.abort;
const nativeDecode = NativeDecoder.prototype.decode;
const getReader = ReadableStream.prototype.getReader;
const read = ReadableStreamDefaultReader.prototype.read;
const statusOf = getterOf<number>(Response.prototype, 'status');
const bodyOf = getterOf<ReadableStream | null>(Response.prototype, 'body');
const signalOf = getterOf<AbortSignal>(NativeAbort.prototype, 'signal');

export function dialStream(address: string, ticket: string, owner: LinkOwner): Link {
  const abort = new NativeAbort();
  const signal = signalOf(abort);
  const decoder = new NativeDecoder();
  let over = false;
  let key = '';
  /** Number of the next batch. */
  let next = 0;
  let busy = false;
  /** The page is being left: what is said now is said at once, or never. */
  let leaving = false;
  let waiting: string[] = [];

  function stop(): void {
    over = true;
    try {
      apply(nativeAbort, abort, []);
    } catch {
      // It was over already.
    }
  }

  function end(code?: number): void {
    if (over) return;
    stop();
    owner.closed(code);
  }

  function part(): void {
    later(() => end(), PARTING_MS);
  }

  function post(body: string, answered: (response: unknown) => void): void {
    const options = { method: 'POST', body, signal, cache: 'no-store', keepalive: key !== '' && body.length < KEPT };
    const asked = apply(nativeFetch, win, [`http${slice(address, 2)}`, options]) as Promise<Response>;
    settle(
      asked,
      (response) => {
        if (over) return;
        const status = statusOf(response);
        if (status === 200 || status === 204) answered(response);
        else end(status === UNAUTHORIZED ? REJECTED : undefined);
      },
      part,
    );
  }

  function take(event: string): void {
    if (startsWith(event, CLOSE)) {
      const code = own(parse(slice(event, CLOSE.length)), 'code');
      end(typeof code === 'number' ? code : undefined);
    } else if (startsWith(event, DATA)) {
      const text = slice(event, DATA.length);
      if (!startsWith(text, KEY)) {
        owner.message(text);
      } else {
        key = `${own(own(parse(text), 'params'), 'key')}`;
        flush();
      }
    }
  }

  const feed = eventsOf((event) => {
    if (!over) take(event);
  });

  function pull(reader: ReadableStreamDefaultReader): void {
    settle(
      apply(read, reader, []) as Promise<unknown>,
      (result) => {
        if (over) return;
        if (own(result, 'done') === true) {
          part();
          return;
        }
        feed(apply(nativeDecode, decoder, [own(result, 'value'), { stream: true }]) as string);
        if (!over) pull(reader);
      },
      part,
    );
  }

  function flush(): void {
    if (over || (busy && !leaving) || key === '' || waiting.length === 0) return;
    const room = leaving ? KEPT : BATCH;
    let body = `send ${key} ${next++}`;
    const rest: string[] = [];
    each(waiting, (text, index) => {
      if (rest.length === 0 && (index === 0 || body.length + text.length < room)) body += `\n${text}`;
      else rest[rest.length] = text;
    });
    waiting = rest;
    busy = true;
    post(body, () => {
      busy = false;
      flush();
    });
    if (leaving) flush();
  }

  post(`open ${ticket}\n${owner.hello()}`, (response) => {
    const body = bodyOf(response);
    if (body) pull(apply(getReader, body, []) as ReadableStreamDefaultReader);
    else end();
  });
  return {
    send(text) {
      waiting[waiting.length] = text;
      // What is said in one go leaves in one request.
      if (leaving) flush();
      else if (waiting.length === 1) later(flush, 0);
    },
    leave() {
      leaving = true;
      flush();
    },
    close: stop,
  };
}

/** Finds the events in the pieces of a stream; `found` is given each without the blank line behind it. */
export function eventsOf(found: (event: string) => void): (piece: string) => void {
  let held = '';
  return (piece) => {
    let start = 0;
    // The two line breaks may have come apart.
    if (held !== '' && held[held.length - 1] === '\n' && piece[0] === '\n') {
      found(slice(held, 0, -1));
      held = '';
      start = 1;
    }
    // Only what is new is searched: a message of 100 MB comes in thousands of pieces.
    for (let at = indexOf(piece, '\n\n', start); at >= 0; at = indexOf(piece, '\n\n', start)) {
      found(held + slice(piece, start, at));
      held = '';
      start = at + 2;
    }
    held += slice(piece, start);
  };
}
