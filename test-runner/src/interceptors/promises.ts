// Watching promises of the platform without changing when they settle, with what, or who is told of a rejection.
import {
  apply,
  getterOf,
  listen,
  match,
  NativePromise,
  probeOf,
  SafeMap,
  settle,
  shielded,
  unlisten,
  win,
} from '../shared/natives.ts';

const anySignal = (globalThis.AbortSignal as { any?: unknown } | undefined)?.any as
  | ((list: unknown[]) => AbortSignal)
  | undefined;
const NativeSignal = globalThis.AbortSignal;
const signalAborted = probeOf<boolean>(NativeSignal?.prototype, 'aborted');
const signalReason = getterOf<unknown>(NativeSignal?.prototype, 'reason');

export const isAborted = (signal: unknown): boolean => signalAborted(signal) === true;
export const isSignal = (signal: unknown): boolean => signalAborted(signal) !== undefined;

/**
 * Whether an abort rejects what is under way at once and with the reason of the signal. A WebKit does so some time later,
 * with an error of its own. To try it out would take a request, which a policy of the page may forbid and report.
 */
const ABORTS_AT_ONCE = !match(/^Apple/, win.navigator?.vendor ?? '');

/**
 * Says when a request is aborted, at the very point at which the platform rejects its promises: after the listeners of
 * the signal, and before anything else. A signal that depends on the app's, made just before the request makes its own,
 * is told just before it.
 */
export class AbortWatch {
  private readonly waiting = new SafeMap<object, (reason: unknown) => void>();
  private readonly told = ({ isTrusted }: Event): void => {
    // In a WebKit this is the app's own signal, to which it may send events of its own.
    if (!isTrusted) return;
    const reason = signalReason(this.signal);
    const tells: ((reason: unknown) => void)[] = [];
    this.waiting.forEach((tell) => {
      tells[tells.length] = tell;
    });
    this.end();
    for (let i = 0; i < tells.length; i++) tells[i]?.(reason);
  };

  private constructor(private readonly signal: AbortSignal) {
    listen(signal, 'abort', this.told);
  }

  static of(signal: unknown): AbortWatch | undefined {
    if (!anySignal || !isSignal(signal)) return undefined;
    try {
      return new AbortWatch(ABORTS_AT_ONCE ? apply(anySignal, NativeSignal, [[signal]]) : (signal as AbortSignal));
    } catch {
      return undefined;
    }
  }

  add(told: (reason: unknown) => void): () => void {
    const key = {};
    this.waiting.set(key, told);
    return () => {
      this.waiting.delete(key);
    };
  }

  isReason(error: unknown): boolean {
    return isAborted(this.signal) && signalReason(this.signal) === error;
  }

  /** The request is over; a signal that lives on has nothing to tell any more. */
  end(): void {
    this.waiting.clear();
    unlisten(this.signal, 'abort', this.told);
  }
}

/**
 * A promise that settles as `promise` does, after `seen` or `failed` have looked at how. The native one would count as
 * handled once it is watched, and the app would never hear of a rejection that it ignores. `seen` hands the value on.
 */
export function follow<T>(
  promise: Promise<unknown>,
  seen: (value: T, resolve: (value: T) => void, reject: (error: unknown) => void) => void,
  failed: (error: unknown) => void,
  watch: AbortWatch | undefined,
): Promise<T> {
  return new NativePromise<T>((resolve, reject) => {
    const stop = ABORTS_AT_ONCE ? watch?.add(reject) : undefined;
    settle(
      promise,
      (value) => {
        stop?.();
        seen(value as T, resolve, reject);
      },
      (error) => {
        stop?.();
        failed(error);
        reject(error);
      },
    );
  });
}

/** Makes an object of the platform the value of a promise; whether it has a `then` was looked at when it became native. */
export function handOn<T>(value: T, resolve: (value: T) => void): void {
  if (typeof value === 'object' && value !== null) shielded(value, 'then', () => resolve(value));
  else resolve(value);
}
