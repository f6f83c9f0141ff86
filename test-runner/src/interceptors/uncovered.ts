// What the interceptors of a document cannot see, counted where it can be: workers, frames, what was there before.
import type { DevtoolsEngine } from '../engine/engine.ts';
import { apply, getterOf, win } from '../shared/natives.ts';
import { interceptor, Patches } from './patch.ts';
import type { Interceptor, InterceptorOptions, Realm } from './types.ts';

export function countUncovered(options: InterceptorOptions): Interceptor {
  const { engine } = options;
  const target = options.target ?? (win as Realm);
  const patches = new Patches(options.owner);
  patches.constructing(target, 'Worker', () => engine.note('worker'));
  patches.constructing(target, 'SharedWorker', () => engine.note('shared worker'));
  earlierRequests(engine, target);
  return interceptor('uncovered', patches);
}

const initiator = getterOf<string>(globalThis.PerformanceResourceTiming?.prototype, 'initiatorType');

/** Requests of scripts that had been answered when the recorder came. */
function earlierRequests(engine: DevtoolsEngine, target: Realm): void {
  try {
    const { performance } = target;
    const entries = apply(performance.getEntriesByType, performance, ['resource']) as PerformanceEntry[];
    for (let i = 0; i < entries.length; i++) {
      if (initiator(entries[i]) === 'fetch') engine.note('request before the recorder');
    }
  } catch {
    // No such list here: then nothing is known of them.
  }
}

const windowLength = getterOf<number | undefined>(win, 'length');

/** Frames have natives of their own; how many there are now. */
export function frameCount(target: Realm): number {
  return windowLength(target) ?? 0;
}
