// A call of the mini-app's SDK, as its own code would make it.

import { type Described, describe } from './describe';

/** How such a call ended. */
export type SdkCall =
  | ({ ok: true } & Described)
  | { ok: false; missing: 'sdk' | 'function'; known: string[] }
  | { ok: false; error: { name: string; message: string; code?: string } };

const MAX_KNOWN = 60;
/** Milliseconds between two looks for the SDK. */
const LOOK_AGAIN = 20;
/** Some four seconds: beyond that something else holds the document up. */
const MAX_LOOKS = 200;

/** `name` may lead through objects of the SDK: `Storage.getItem`. */
export async function callSdk(name: string, args: unknown[]): Promise<SdkCall> {
  const sdk = await loaded();
  if (sdk === null || (typeof sdk !== 'object' && typeof sdk !== 'function')) {
    return { ok: false, missing: 'sdk', known: [] };
  }
  let owner: unknown;
  let found: unknown = sdk;
  for (const part of name.split('.')) {
    owner = found;
    found = (found as Record<string, unknown> | null | undefined)?.[part];
  }
  if (typeof found !== 'function') return { ok: false, missing: 'function', known: names(sdk) };
  try {
    return { ok: true, ...describe(await found.apply(owner, args)) };
  } catch (error) {
    return { ok: false, error: told(error) };
  }
}

/** The SDK, waited for while the document that brings it is still loading. */
async function loaded(): Promise<unknown> {
  const holder = globalThis as { __sdk?: unknown };
  for (let look = 0; look < MAX_LOOKS && holder.__sdk === undefined && document.readyState !== 'complete'; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN));
  }
  return holder.__sdk;
}

function names(sdk: object): string[] {
  const found = new Set<string>();
  for (let from: object | null = sdk; from !== null && from !== Object.prototype; from = Object.getPrototypeOf(from)) {
    for (const key of Object.getOwnPropertyNames(from)) found.add(key);
  }
  found.delete('constructor');
  return [...found].sort().slice(0, MAX_KNOWN);
}

function told(error: unknown): { name: string; message: string; code?: string } {
  if (!(error instanceof Error)) {
    const { type, value } = describe(error);
    return { name: type, message: typeof value === 'string' ? value : JSON.stringify(value) };
  }
  const code = (error as { code?: unknown }).code;
  const known = { name: error.name, message: error.message };
  return typeof code === 'string' || typeof code === 'number' ? { ...known, code: String(code) } : known;
}
