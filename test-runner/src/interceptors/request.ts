// What the platform reads of the arguments of a fetch. It is given stand-ins for what may run code of the app, which
// see what it reads while it reads it: nothing is asked for twice, or at another time.
import { byteLength, bytesOf, encodedSize } from '../engine/payload.ts';
import {
  apply,
  construct,
  create,
  type Fields,
  getOwnPropertyDescriptor,
  getterOf,
  isArray,
  NativeProxy,
  ownKeys,
  probeOf,
  record,
  SafeWeakMap,
  win,
} from '../shared/natives.ts';
import { isOneOf } from '../shared/words.ts';
import { sizeOfBlob } from './blobs.ts';
import type { Patches } from './patch.ts';
import { AbortWatch } from './promises.ts';
import { dictionaryFor, isObject, iteratorMethod, listFor, ownList, textFor } from './stand-ins.ts';
import type { Realm } from './types.ts';

const NativeURL = URL;
const NativeRequest = globalThis.Request;
const NativeResponse = globalThis.Response;
const { toUpperCase } = String.prototype;
const { iterator } = Symbol;
/** Stands for what is no text yet. */
const PENDING = Symbol();
const hasHeader = globalThis.Headers?.prototype.has;
const href = getterOf<string>(NativeURL.prototype, 'href');
const hrefOf = probeOf<string>(NativeURL.prototype, 'href');
const username = getterOf<string>(NativeURL.prototype, 'username');
const password = getterOf<string>(NativeURL.prototype, 'password');
const baseURI = getterOf<string>(globalThis.Node?.prototype, 'baseURI');
const requestUrl = getterOf<string>(NativeRequest?.prototype, 'url');
const requestMethod = getterOf<string>(NativeRequest?.prototype, 'method');
const requestSignal = getterOf<unknown>(NativeRequest?.prototype, 'signal');
const requestUsed = getterOf<boolean>(NativeRequest?.prototype, 'bodyUsed');
const isLocked = probeOf<boolean>(globalThis.ReadableStream?.prototype, 'locked');

const HAS = [globalThis.FormData?.prototype.has, globalThis.URLSearchParams?.prototype.has];

/** Methods that are written in capitals whatever the app wrote (Fetch, section 2.2.1). */
const NORMALISED = ' delete get head options post put ';
/** Options that the platform turns into text. */
const TEXTS = record({
  cache: true,
  credentials: true,
  duplex: true,
  integrity: true,
  method: true,
  mode: true,
  priority: true,
  redirect: true,
  referrer: true,
  referrerPolicy: true,
});
/** The option that the platform reads last: one before it was refused where it has not come so far. */
const LAST = lastOption();

interface KnownRequest {
  url: string;
  method: string;
  signal: unknown;
  /** Whether its body is used up, or read by somebody. */
  isUsed: boolean;
}

export class RequestReading {
  /** What the platform is to be called with. */
  readonly args: unknown[];
  /** The options, as far as they were read; methods and the like as texts. */
  readonly options: Fields = create(null);
  /** The request that was given instead of an address, as it was before the call. */
  readonly request: KnownRequest | undefined;
  watch: AbortWatch | undefined;
  /** Whether nothing was put in the place of what may run code of the app, or not before the platform alone. */
  isLook: boolean;
  /** Whether the body is a stream that somebody reads, or has read of. */
  isUsed = false;
  /** What is fetched, as a text; of an object of the app's only once it has given one. */
  private address: unknown;
  private last: PropertyKey | undefined = LAST;
  /** Objects of the app's that have yet to give a text. */
  private pending = 0;

  /** `byStandIns`, or else by a look at what is there, without what would run code of the app. */
  constructor(given: readonly unknown[], byStandIns: boolean) {
    this.isLook = !byStandIns;
    const input = given[0];
    const init = given[1];
    this.request = asRequest(input);
    this.address = this.request?.url ?? hrefOf(input) ?? input;
    this.args = ownList();
    for (let i = 0; i < given.length; i++) this.args[i] = given[i];
    if (!isObject(init)) this.watch = AbortWatch.of(this.request?.signal);
    else if (byStandIns) this.args[1] = this.seen(init);
    else this.look(init);
    if (byStandIns && isObject(this.address)) {
      this.args[0] = this.textOf(this.address, (text) => {
        this.address = text;
      });
    }
  }

  get method(): string {
    const given = this.options['method'];
    const method = typeof given === 'string' ? given : (this.request?.method ?? 'GET');
    return isOneOf(method, NORMALISED) ? apply(toUpperCase, method, []) : method;
  }

  get signal(): unknown {
    const { signal } = this.options;
    return signal === undefined ? this.request?.signal : signal;
  }

  /** Resolved; `false` where it is no address, or only the platform can tell. */
  get url(): string | false {
    return this.request?.url ?? resolved(this.address);
  }

  /** Kind and size of a body that is at hand. */
  get body(): { kind: string; size?: number } | undefined {
    const { body } = this.options;
    return body === undefined || body === null ? undefined : describe(body);
  }

  /** Whether the platform took everything for what it has to be, and no code of the app failed. */
  get isComplete(): boolean {
    return this.last === LAST && this.pending === 0;
  }

  private read(key: PropertyKey, value: unknown): unknown {
    if (typeof key !== 'string') return value;
    this.options[key] = value;
    if (key === 'signal') this.watch = AbortWatch.of(this.signal);
    if (key === 'body') this.isUsed = isUsedStream(value);
    return value;
  }

  private look(init: object): void {
    const keys = ownKeys(init);
    for (let i = 0; i < keys.length; i++) this.read(keys[i] as string, dataOf(init, keys[i] as string));
    this.watch ??= AbortWatch.of(this.signal);
    this.last = LAST;
  }

  /**
   * A proxy for nothing: one for the options themselves would look at them once more. The platform only reads; a bound
   * function or a proxy of somebody else's looks like the platform, and may do more than that.
   */
  private seen(init: object): object {
    this.last = undefined;
    const read = (key: PropertyKey, value: unknown) => {
      this.last = key;
      if (!isObject(value)) return this.read(key, value);
      if (key === 'headers' && !isHeaders(value)) return isArray(value) ? this.pairs(value) : this.named(value);
      if (TEXTS[key as string] === true || (key === 'body' && !isBody(value)))
        return this.textOf(value, (text) => this.read(key, text));
      return this.read(key, value);
    };
    return dictionaryFor(init, read, () => {
      this.isLook = true;
    });
  }

  /** Headers by name, or in the form of an iterable of the app's. */
  private named(headers: object): object {
    const names: Fields = create(null);
    this.read('headers', names);
    return dictionaryFor(headers, (key, value) => {
      if (key === iterator && typeof value === 'function') return this.pairs(headers, value);
      return typeof key === 'string' ? part(names, key, value) : value;
    });
  }

  /** Headers as a list of pairs; or, where it is known, the method that iterates it. */
  private pairs(list: object, method?: unknown): unknown {
    const pairs = ownList();
    this.read('headers', pairs);
    const read = (value: unknown, at: number): unknown => {
      const pair = ownList();
      pairs[at] = pair;
      if (!isObject(value)) return value;
      const standIn = listFor(value, (text, index) => part(pair, index, text));
      if (standIn === value) pairs[at] = undefined;
      return standIn;
    };
    return method ? iteratorMethod(list, method, read) : listFor(list, read);
  }

  /** An object that turns into the text that `input` turns into, when it is asked to. */
  private textOf(input: object, turned: (text: string) => void): object {
    this.pending++;
    return textFor(input, (text) => {
      this.pending--;
      turned(text);
    });
  }
}

/** Notes the name or value of a header, as text, and gives what the platform is to make the text of. */
function part(parts: unknown[] | Fields, key: PropertyKey, value: unknown): unknown {
  const noted = parts as Record<PropertyKey, unknown>;
  if (!isObject(value)) {
    noted[key] = typeof value === 'symbol' ? value : `${value}`;
    return value;
  }
  noted[key] = PENDING;
  return textFor(value, (text) => {
    noted[key] = text;
  });
}

function isHeaders(value: object): boolean {
  try {
    return apply(hasHeader as Headers['has'], value as Headers, ['a']) !== undefined;
  } catch {
    return false;
  }
}

/** Whether a body is one of the platform's kinds; any other object is turned into text. */
function isBody(value: object): boolean {
  return isStream(value) || bytesOf(value) !== undefined || sizeOfBlob(value) !== undefined || isForm(value);
}

function isForm(value: object): boolean {
  for (let i = 0; i < HAS.length; i++) {
    try {
      if (HAS[i]) return apply(HAS[i] as FormData['has'], value as FormData, ['']) !== undefined;
    } catch {
      // None of this kind.
    }
  }
  return false;
}

/** The value of an own property, if reading it cannot be noticed. */
export function dataOf(object: unknown, key: string): unknown {
  if (typeof object !== 'object' || object === null) return undefined;
  return getOwnPropertyDescriptor(object, key)?.value;
}

export const lockedStream = (stream: unknown): boolean => isLocked(stream) === true;
export const isStream = (object: unknown): boolean => isLocked(object) !== undefined;

/** Whether a stream cannot be sent any more. Whether it has been read of is said to those who make a body of it. */
function isUsedStream(stream: unknown): boolean {
  if (!isStream(stream) || lockedStream(stream)) return isStream(stream);
  try {
    construct(NativeResponse, [stream]);
    return false;
  } catch {
    return true;
  }
}

/** Streams of requests that the app has asked for. One that nobody asks for is not to come into being. */
const streams = new SafeWeakMap<object, unknown>();

export function patchRequest(target: Realm, patches: Patches): void {
  patches.getter(target.Request?.prototype, 'body', (native, self, args) => {
    const stream: unknown = apply(native, self, args);
    if (isStream(stream)) streams.set(self as object, stream);
    return stream;
  });
}

function asRequest(input: unknown): KnownRequest | undefined {
  if (typeof input !== 'object' || input === null) return undefined;
  try {
    return {
      url: requestUrl(input),
      method: requestMethod(input),
      signal: requestSignal(input),
      isUsed: requestUsed(input) || lockedStream(streams.get(input)),
    };
  } catch {
    return undefined;
  }
}

function resolved(input: unknown): string | false {
  if (typeof input === 'symbol' || isObject(input)) return false;
  try {
    const url = new NativeURL(`${input as string}`, baseURI(win.document));
    return username(url) || password(url) ? false : href(url);
  } catch {
    return false;
  }
}

function describe(content: unknown): { kind: string; size?: number } {
  if (typeof content === 'string') return { kind: 'text', size: encodedSize(content) };
  const bytes = bytesOf(content);
  if (bytes) return { kind: 'bytes', size: byteLength(bytes) };
  const size = sizeOfBlob(content);
  return size === undefined ? { kind: 'other' } : { kind: 'blob', size };
}

function lastOption(): PropertyKey | undefined {
  let last: PropertyKey | undefined;
  const options = new NativeProxy(
    {},
    {
      get: (_, key) => {
        last = key;
      },
    },
  );
  try {
    construct(NativeRequest, ['/', options]);
  } catch {
    // The address may be of no use here; the options have been read by then.
  }
  return last;
}
