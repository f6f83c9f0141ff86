// What can be known of a fetch from its arguments without touching anything that the app could notice.
import { byteLength, bytesOf, textSize } from '../engine/payload.ts';
import { apply, getOwnPropertyDescriptor, getterOf, match, win } from '../shared/natives.ts';
import { sizeOfBlob } from './blobs.ts';
import { isFetchable } from './refused.ts';

export interface RequestFacts {
  /** Resolved; empty where only the platform can tell. */
  url: string;
  method: string;
  signal: unknown;
  /** Kind and size of a body that is at hand. */
  body: { kind: string; size?: number } | undefined;
  /** Whether the body of the request that was given is used up. */
  used: boolean;
  /** Whether the address is one at all, and of a kind that is fetched; where only the platform can tell it is taken to be. */
  fetchable: boolean;
}

const NativeURL = URL;
const NativeRequest = globalThis.Request;
const { toUpperCase } = String.prototype;
const href = getterOf<string>(NativeURL.prototype, 'href');
const username = getterOf<string>(NativeURL.prototype, 'username');
const password = getterOf<string>(NativeURL.prototype, 'password');
const baseURI = getterOf<string>(globalThis.Node?.prototype, 'baseURI');
const requestUrl = getterOf<string>(NativeRequest?.prototype, 'url');
const requestMethod = getterOf<string>(NativeRequest?.prototype, 'method');
const requestSignal = getterOf<unknown>(NativeRequest?.prototype, 'signal');
const requestUsed = getterOf<boolean>(NativeRequest?.prototype, 'bodyUsed');

/** Methods that are written in capitals whatever the app wrote (Fetch, section 2.2.1). */
const NORMALISED = /^(?:delete|get|head|options|post|put)$/i;

export function factsOf(args: unknown[]): RequestFacts {
  const input = args[0];
  const init = args[1];
  const request = asRequest(input);
  const given = dataOf(init, 'method');
  const method = typeof given === 'string' ? given : (request?.method ?? 'GET');
  const content = dataOf(init, 'body');
  const url = request?.url ?? resolved(input);
  const signal = dataOf(init, 'signal') ?? request?.signal;
  const known = match(NORMALISED, method) ? (apply(toUpperCase, method, []) as string) : method;
  return {
    url: typeof url === 'string' ? url : '',
    method: known,
    signal,
    body: content === undefined || content === null ? undefined : describe(content),
    used: request?.used === true,
    fetchable: typeof url === 'string' ? isFetchable(url) : url === undefined,
  };
}

/** The value of an own property, if reading it cannot be noticed. */
export function dataOf(object: unknown, key: string): unknown {
  if (typeof object !== 'object' || object === null) return undefined;
  return getOwnPropertyDescriptor(object, key)?.value;
}

interface KnownRequest {
  url: string;
  method: string;
  signal: unknown;
  used: boolean;
}

function asRequest(input: unknown): KnownRequest | undefined {
  if (typeof input !== 'object' || input === null) return undefined;
  try {
    return {
      url: requestUrl(input),
      method: requestMethod(input),
      signal: requestSignal(input),
      used: requestUsed(input),
    };
  } catch {
    return undefined;
  }
}

/** The address, `false` where it is none that can be fetched, or nothing where only the platform can tell. */
function resolved(input: unknown): string | false | undefined {
  let text: string;
  if (typeof input === 'string') text = input;
  else if (typeof input === 'symbol') return false;
  else if (typeof input === 'object' && input !== null) {
    try {
      text = href(input);
    } catch {
      return undefined;
    }
  } else text = `${input as number}`;
  try {
    const url = new NativeURL(text, baseURI(win.document));
    return username(url) || password(url) ? false : href(url);
  } catch {
    return false;
  }
}

function describe(content: unknown): { kind: string; size?: number } {
  if (typeof content === 'string') return { kind: 'text', size: textSize(content) };
  const bytes = bytesOf(content);
  if (bytes) return { kind: 'bytes', size: byteLength(bytes) };
  const size = sizeOfBlob(content);
  return size === undefined ? { kind: 'other' } : { kind: 'blob', size };
}
