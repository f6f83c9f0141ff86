// Whether the platform refuses a fetch before anything is sent. Its promise is rejected then when the caller gets it,
// and nothing but that promise will do: one of ours would be rejected a turn later. A promise does not say whether it
// is rejected, so this has to be known from what the platform has read of the arguments.
import {
  apply,
  at,
  construct,
  create,
  type Fields,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  getterOf,
  indexOf,
  isArray,
  ownKeys,
  record,
  startsWith,
  win,
} from '../shared/natives.ts';
import { consistsOf, endsWith, isDigit, isLetter, isOneOf, schemeOf, trim } from '../shared/words.ts';
import { isAborted, isSignal } from './promises.ts';
import { isStream, type RequestReading } from './request.ts';

const { fromCharCode } = String;
const NativeRequest = globalThis.Request;
const NativeStream = globalThis.ReadableStream;
/** What a name may have beside letters and digits (RFC 9110, section 5.6.2). */
const IN_TOKENS = "!#$%&'*+.^_`|~-";
const FORBIDDEN_METHODS = ' connect trace track ';
const FETCHABLE = ' http https data blob file filesystem capacitor ionic app ';
/** Options of which each platform takes others: it is asked. */
const ASKED = [
  'keepalive',
  'mode',
  'credentials',
  'cache',
  'redirect',
  'referrer',
  'referrerPolicy',
  'priority',
  'duplex',
];
const ownOrigin = getOwnPropertyDescriptor(win, 'origin')?.get;
/** A page that has a variable of that name has it in the place of the platform's. */
const origin: string = ownOrigin ? apply(ownOrigin, win, []) : win.location.origin;
const windowOf = getterOf<unknown>(win, 'self');

/** After the call, by what the platform has read. */
export function isRefused(self: unknown, reading: RequestReading): boolean {
  const { args, method, signal, options, request, url } = reading;
  if (args.length === 0 || !isThisWindow(self) || !reading.isComplete || !url || !isFetchable(url)) return true;
  const init = at(args, 1);
  if (!isNone(init) && typeof init !== 'object' && typeof init !== 'function') return true;
  if (isAborted(signal) || !isSignalOrNone(options['signal']) || !isNone(options['window']) || reading.isUsed)
    return true;
  if (!isToken(method) || isOneOf(method, FORBIDDEN_METHODS)) return true;
  const { body, headers } = options;
  if (isNone(body) ? request?.isUsed : method === 'GET' || method === 'HEAD') return true;
  return hasBadHeader(headers) || !isAccepted(options, method, url) || isElsewhere(options, url);
}

const isNone = (value: unknown): boolean => value === undefined || value === null;
const isSignalOrNone = (signal: unknown): boolean => isNone(signal) || isSignal(signal);

/** Addresses of schemes that no platform fetches; files and blobs of others. */
function isFetchable(url: string): boolean {
  const scheme = schemeOf(url);
  if (scheme === 'file') return schemeOf(win.location.href) === 'file';
  if (scheme === 'blob') return startsWith(url, `blob:${origin}/`);
  return isOneOf(scheme, FETCHABLE) || endsWith(scheme, '-extension');
}

const isThisWindow = (self: unknown): boolean => self === undefined || self === null || self === win;

/** Of a window that is gone it cannot be told any more. */
export function isOtherWindow(self: unknown): boolean {
  if (isThisWindow(self)) return false;
  try {
    return windowOf(self) !== undefined;
  } catch {
    return false;
  }
}

/** Of what was seen by name or as pairs. */
function hasBadHeader(headers: unknown): boolean {
  if (typeof headers !== 'object' || headers === null) return false;
  const isList = isArray(headers);
  if (!isList && getPrototypeOf(headers) !== null) return false;
  const names = ownKeys(headers);
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    const value = getOwnPropertyDescriptor(headers, name)?.value as unknown;
    if (isList ? isArray(value) && isBadPair(value) : isBad(name, value)) return true;
  }
  return false;
}

const isBadPair = (pair: readonly unknown[]): boolean =>
  pair.length !== 2 || isBad(getOwnPropertyDescriptor(pair, '0')?.value, getOwnPropertyDescriptor(pair, '1')?.value);

/** What is no text yet has failed to become one. */
const isBad = (name: unknown, value: unknown): boolean =>
  typeof name === 'symbol' ||
  typeof value === 'symbol' ||
  (typeof name === 'string' && !isToken(name)) ||
  (typeof value === 'string' && !isValue(trim(value)));

const isToken = (name: string): boolean =>
  consistsOf(name, (code) => isLetter(code) || isDigit(code) || indexOf(IN_TOKENS, fromCharCode(code)) >= 0);

const isValue = (value: string): boolean =>
  value === '' || consistsOf(value, (code) => code <= 0xff && code !== 0 && code !== 0x0a && code !== 0x0d);

function isAccepted(options: Fields, method: string, url: string): boolean {
  const copy: Fields = create(null);
  let any = false;
  for (let i = 0; i < ASKED.length; i++) {
    const value = options[ASKED[i] as string];
    if (value === undefined) continue;
    copy[ASKED[i] as string] = value;
    any = true;
  }
  if (isStream(options['body'])) {
    copy['body'] = construct(NativeStream, [record({}), record({})]);
    any = true;
  }
  if (!any) return true;
  copy['method'] = method;
  try {
    construct(NativeRequest, [url, copy]);
    return true;
  } catch {
    return false;
  }
}

function isElsewhere(options: Fields, url: string): boolean {
  return options['mode'] === 'same-origin' && !startsWith(url, `${origin}/`) && !isOneOf(schemeOf(url), ' data blob ');
}
