// What is said of errors, and of the reasons of aborts, without running code of the app or asking a proxy of its.
import { apply, getPrototypeOf, NativeError, probeOf } from '../shared/natives.ts';
import type { AbortWatch } from './promises.ts';
import { dataOf } from './request.ts';

const exceptionName = probeOf<string>(globalThis.DOMException?.prototype, 'name');
const exceptionMessage = probeOf<string>(globalThis.DOMException?.prototype, 'message');
const { isError } = NativeError as { isError?: (value: unknown) => boolean };
const KINDS: [prototype: object, name: string][] = [
  [TypeError.prototype, 'TypeError'],
  [RangeError.prototype, 'RangeError'],
  [SyntaxError.prototype, 'SyntaxError'],
];

export const isAbort = (error: unknown): boolean => exceptionName(error) === 'AbortError';

/** `watch` is of the request that failed: the reason of its signal may be anything of the app's. */
export function describe(error: unknown, watch: AbortWatch | undefined): string {
  if (typeof error === 'string') return error;
  const name = exceptionName(error);
  if (name !== undefined) return said(name, exceptionMessage(error));
  const isKnown = isError ? apply(isError, NativeError, [error]) : typeof error === 'object' && !watch?.isReason(error);
  if (!isKnown) return typeof error;
  return said(dataOf(error, 'name') ?? kindOf(error as object), dataOf(error, 'message'));
}

function said(name: unknown, message: unknown): string {
  const title = typeof name === 'string' && name ? name : 'Error';
  return typeof message === 'string' && message ? `${title}: ${message}` : title;
}

function kindOf(error: object): string {
  const prototype = getPrototypeOf(error);
  for (let i = 0; i < KINDS.length; i++) {
    const [known, name] = KINDS[i] as [object, string];
    if (known === prototype) return name;
  }
  return 'Error';
}
