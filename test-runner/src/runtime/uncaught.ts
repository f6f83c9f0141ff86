// Errors that nobody caught. The page's own handlers still see every one of them.
import type { PageError, UncaughtOrigin } from '../wire.ts';
import { describeError } from './errors.ts';
import { read } from './text.ts';

export type OnUncaught = (origin: UncaughtOrigin, error: PageError) => void;

/** Returns a function that puts the listeners in place (again: `document.open()` takes them off). */
export function watchUncaught(onUncaught: OnUncaught, onNotice: (message: string) => void): () => void {
  const onError = (event: Event): void => {
    // Images and scripts that do not load come by here as well.
    if (!(event instanceof ErrorEvent)) return;
    if (event.error != null) onUncaught('error', describeError(event.error));
    else if (event.message.startsWith('ResizeObserver loop')) onNotice(event.message);
    else onUncaught('error', fromEvent(event));
  };
  const onRejection = (event: PromiseRejectionEvent): void => {
    const unawaited = read(event.reason, 'name') === 'AssertionError';
    onUncaught(unawaited ? 'unawaited' : 'rejection', describeError(event.reason));
  };
  let root: Element | null | undefined;
  return () => {
    // `document.open()` leaves another root element behind. Adding the same listener twice adds it once.
    if (root === document.documentElement) return;
    root = document.documentElement;
    window.addEventListener('error', onError, true);
    window.addEventListener('unhandledrejection', onRejection, true);
  };
}

function fromEvent(event: ErrorEvent): PageError {
  const error = describeError(new Error(event.message));
  delete error.frames;
  if (event.filename) {
    error.frames = [{ function: '', url: event.filename, line: event.lineno, column: event.colno }];
  }
  return error;
}
