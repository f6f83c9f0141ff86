// Time and turns of the page, taken before any test can replace them.
import { later } from '../shared/natives.ts';

const performanceNow = performance.now.bind(performance);

/** Milliseconds on a clock that neither fake timers nor the page can turn. */
export const now = (): number => performanceNow();

export function after(ms: number, callback: () => void): void {
  later(callback, ms);
}

const channel = new MessageChannel();
const post = channel.port2.postMessage.bind(channel.port2) as (message: number) => void;
const waiting: (() => void)[] = [];
channel.port1.onmessage = () => {
  waiting.shift()?.();
};

/** Calls back in a task of its own, after the current one and its microtasks. */
export function afterTask(callback: () => void): void {
  waiting.push(callback);
  post(0);
}

/** One turn of the event loop. */
export const nextTask = (): Promise<void> => new Promise((resolve) => afterTask(resolve));
