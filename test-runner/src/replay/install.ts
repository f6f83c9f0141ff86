// Leads WebSockets, event sources and fetches of the page to the replay server. They stay native objects that really
// connect; only what they say of their address is what the app asked for.
import { type Constructing, Patches } from '../interceptors/patch.ts';
import { follow, handOn } from '../interceptors/promises.ts';
import { isRefused } from '../interceptors/refused.ts';
import { dataOf, isStream, RequestReading } from '../interceptors/request.ts';
import type { Realm } from '../interceptors/types.ts';
import { apply, getterOf, own, SafeWeakMap, win } from '../shared/natives.ts';
import { Claims, type Kind } from './claim.ts';

const requestHeaders = getterOf<Headers>(globalThis.Request?.prototype, 'headers');
const requestCredentials = getterOf<string>(globalThis.Request?.prototype, 'credentials');

export function installReplay(place: string, target: Realm = win as Realm): void {
  const patches = new Patches();
  const claims = new Claims(place);
  /** What the app asked for, by what it got. */
  const addresses = new SafeWeakMap<object, string>();

  const redirecting = (kind: 'websocket' | 'eventsource') => (args: unknown[]) => {
    const { text, url } = resolved(args[0], kind, target);
    const played = url === undefined ? undefined : claims.claim(kind, 'GET', url);
    const rest: unknown[] = [];
    for (let i = 1; i < args.length; i++) rest[i - 1] = args[i];
    return { args: args.length ? [played ?? text, ...rest] : args, note: played === undefined ? undefined : url };
  };
  const remember: Constructing = (made, _, url) => {
    if (typeof url === 'string') addresses.set(made, url);
  };
  patches.constructing(target, 'WebSocket', remember, redirecting('websocket'));
  patches.constructing(target, 'EventSource', remember, redirecting('eventsource'));
  patches.method(target, 'fetch', (native, self, args) => {
    const asked = new RequestReading(args, false);
    const { url, method, signal } = asked;
    asked.watch?.end();
    const played = url && !isRefused(self, asked) ? claims.claim('fetch', method, url) : undefined;
    if (!url || played === undefined) return apply(native, self, args);
    const promise: Promise<unknown> = apply(native, self, [played, initOf(args, method, signal)]);
    return follow<Response>(
      promise,
      (response, resolve) => {
        addresses.set(response, url);
        handOn(response, resolve);
      },
      () => {},
      undefined,
    );
  });
  say(target, patches, addresses);
}

/** The address as text, taken from the app once, and as it will be asked for; none where the platform will refuse it. */
function resolved(address: unknown, kind: Kind, target: Realm): { text: unknown; url: string | undefined } {
  if (typeof address === 'symbol') return { text: address, url: undefined };
  const text = `${address as string}`;
  try {
    const url = new URL(text, target.document.baseURI);
    if (kind !== 'websocket') return { text, url: url.href };
    if (url.hash) return { text, url: undefined };
    return { text, url: url.href.replace(/^http/, 'ws') };
  } catch {
    return { text, url: undefined };
  }
}

/** The same request to another address; bodies that nobody will read stay where they are. */
function initOf([input, init]: unknown[], method: string, signal: unknown): RequestInit {
  const copy: Record<string, unknown> = typeof init === 'object' && init !== null ? { ...init } : {};
  if (typeof input === 'object' && input !== null) {
    try {
      copy['headers'] ??= requestHeaders(input);
      copy['credentials'] ??= requestCredentials(input);
      if (method !== 'GET' && method !== 'HEAD') copy['body'] ??= '';
    } catch {
      // A URL, or something that prints as one.
    }
  }
  copy['method'] = method;
  if (signal) copy['signal'] = signal;
  if (isStream(dataOf(init, 'body'))) copy['body'] = '';
  if (own(copy, 'mode') === 'same-origin') copy['mode'] = 'cors';
  return copy as RequestInit;
}

/** What is played says the address that the app knows. */
function say(target: Realm, patches: Patches, addresses: WeakMap<object, string>): void {
  const { origin } = target.location;
  const known = (self: unknown) => (typeof self === 'object' && self !== null ? addresses.get(self) : undefined);
  const url = (prototype: object | undefined) =>
    patches.getter(prototype, 'url', (native, self, args) => known(self) ?? apply(native, self, args));
  url(target.WebSocket?.prototype);
  url(target.EventSource?.prototype);
  url(target.Response?.prototype);
  patches.getter(target.Response?.prototype, 'type', (native, self, args) => {
    const type: unknown = apply(native, self, args);
    return type === 'cors' && known(self)?.startsWith(`${origin}/`) ? 'basic' : type;
  });
  patches.method(target.Response?.prototype, 'clone', (native, self, args) => {
    const copy = apply(native, self, args) as object;
    const address = known(self);
    if (address !== undefined) addresses.set(copy, address);
    return copy;
  });
  const from = getterOf<unknown>(target.Event?.prototype, 'target');
  patches.getter(target.MessageEvent?.prototype, 'origin', (native, self, args) => {
    const said: unknown = apply(native, self, args);
    const address = known(from(self));
    return address === undefined ? said : new URL(address).origin;
  });
}
