// Whether the platform refuses a fetch before anything is sent. Its promise is rejected then when the caller gets it,
// and nothing but that promise will do: one of ours would be rejected a turn later. A promise does not say whether it
// is rejected, so this has to be known from the arguments, as far as that cannot be noticed.
import {
  apply,
  construct,
  create,
  type Fields,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  getterOf,
  isArray,
  match,
  ownKeys,
  win,
} from '../shared/natives.ts';
import { isAborted, isSignal } from './promises.ts';
import { dataOf, type RequestFacts } from './request.ts';

const NativeRequest = globalThis.Request;
const objectPrototype = Object.prototype;
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
const FORBIDDEN_METHOD = /^(?:connect|trace|track)$/i;
const FORBIDDEN_IN_VALUE = /[\0\r\n]|[^\0-\xff]/;
const FETCHABLE = /^(?:https?|data|blob|file|filesystem|[a-z-]*-extension|capacitor|ionic|app):/;
/** Members whose values are checked against lists that differ from one platform to the next: it is asked. */
const ASKED = ['mode', 'credentials', 'cache', 'redirect', 'referrer', 'referrerPolicy', 'priority', 'duplex'];
const windowOf = getterOf<unknown>(win, 'self');

export function isRefused(self: unknown, args: readonly unknown[], facts: RequestFacts): boolean {
  const init = args[1];
  if (args.length === 0 || !facts.fetchable || !isWindow(self)) return true;
  if (init !== undefined && init !== null && typeof init !== 'object' && typeof init !== 'function') return true;
  if (isAborted(facts.signal) || !isSignalOrNone(dataOf(init, 'signal'))) return true;
  const { method } = facts;
  if (!match(TOKEN, method) || match(FORBIDDEN_METHOD, method)) return true;
  const body = dataOf(init, 'body');
  const empty = body === undefined || body === null;
  if (empty ? facts.used : method === 'GET' || method === 'HEAD') return true;
  return hasBadHeader(dataOf(init, 'headers')) || !isAccepted(init, facts.url) || isElsewhere(init, facts.url);
}

/** Addresses of schemes that no platform fetches; a blob that another origin made. */
export function isFetchable(url: string): boolean {
  if (!match(FETCHABLE, url)) return false;
  return !match(/^blob:/, url) || startsWith(url, `blob:${win.origin}/`) || startsWith(url, 'blob:null/');
}

function isWindow(self: unknown): boolean {
  if (self === undefined || self === null || self === win) return true;
  try {
    return windowOf(self) !== undefined;
  } catch {
    return false;
  }
}

const isSignalOrNone = (signal: unknown): boolean => signal === undefined || signal === null || isSignal(signal);

/** Of a plain object only: reading other forms a second time could be noticed. */
function hasBadHeader(headers: unknown): boolean {
  if (typeof headers !== 'object' || headers === null || isArray(headers)) return false;
  if (getPrototypeOf(headers) !== objectPrototype) return false;
  const names = ownKeys(headers);
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    const value = getOwnPropertyDescriptor(headers, name)?.value as unknown;
    if (!match(TOKEN, name)) return true;
    if (typeof value === 'string' && match(FORBIDDEN_IN_VALUE, apply(trim, value, []))) return true;
  }
  return false;
}

function isAccepted(init: unknown, url: string): boolean {
  const copy: Fields = create(null);
  let any = false;
  for (let i = 0; i < ASKED.length; i++) {
    const value = dataOf(init, ASKED[i] as string);
    if (value === undefined || value === null || typeof value === 'object' || typeof value === 'function') continue;
    copy[ASKED[i] as string] = value;
    any = true;
  }
  if (!any) return true;
  try {
    construct(NativeRequest, [url, copy]);
    return true;
  } catch {
    return false;
  }
}

function isElsewhere(init: unknown, url: string): boolean {
  return dataOf(init, 'mode') === 'same-origin' && !startsWith(url, `${win.origin}/`) && !match(/^(?:data|blob):/, url);
}

const { trim, startsWith: starts } = String.prototype;
const startsWith = (text: string, part: string): boolean => apply(starts, text, [part]);
