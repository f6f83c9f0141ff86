// How the recorder of a window is found by whoever comes later. Our patched functions have it under a key that no other
// object has and no list of keys shows. It is read from them, and nothing that stands in a window is ever called.
import { get, own, standing } from './natives.ts';

export const KEY: PropertyKey = Symbol.for('devtools-test.capture');
/** What the recorder is known by: a mock may have something under every key. */
export const BRAND = 'recorder of devtools-test, 1';

/** Any of them may have been replaced by the app, hardly all. */
const PLACES: [string, string][] = [
  ['WebSocket', 'close'],
  ['Response', 'clone'],
  ['EventSource', 'close'],
  ['WebSocket', 'send'],
  ['Response', 'text'],
  ['ReadableStreamDefaultReader', 'read'],
  ['WebSocket', ''],
  ['EventSource', ''],
  ['fetch', ''],
  ['Worker', ''],
  ['SharedWorker', ''],
];

/** What owns the patches that stand in a window, whichever copy of this code put them there. */
export function ownerOf(target: object): unknown {
  for (let i = 0; i < PLACES.length; i++) {
    const [name, method] = PLACES[i] as [string, string];
    try {
      const outer = standing(target, name);
      const place = method === '' ? outer : standing(standing(outer, 'prototype'), method);
      const found: unknown = typeof place === 'function' ? get(place, KEY) : undefined;
      if (own(found, 'brand') === BRAND) return found;
    } catch {
      // A window of another origin, or a trap of the app's own.
    }
  }
  return undefined;
}
