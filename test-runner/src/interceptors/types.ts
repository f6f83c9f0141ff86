// What an interceptor is given and what it gives back.
import type { DevtoolsEngine } from '../engine/engine.ts';

export type Realm = Window & typeof globalThis;

export interface InterceptorOptions {
  engine: DevtoolsEngine;
  /** The window whose natives are patched. */
  target?: Realm;
  /** Addresses that are not recorded at all are those for which this is false. */
  allows?: (url: string) => boolean;
  /** What a later install in the same window is to be answered with. */
  owner?: () => unknown;
}

export interface Interceptor {
  name: string;
  /** Puts the originals back where ours still stand; what the app has wrapped only passes through from then on. */
  uninstall(): void;
}
