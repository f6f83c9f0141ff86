// What was thrown: by a command, or by the page and caught by nobody.

import { type Fields, listen, NativeError, now, record, win } from '../shared/natives';
import type { Dispatcher } from './dispatch';
import { describe, isError, type Shape, stackOf } from './remote';
import { columnOf, framesOf } from './stack';

let lastId = 0;
let ownScript = '';

/** CDP `Runtime.ExceptionDetails`; lines and columns count from 0. */
export function exceptionDetails(error: unknown, shape: Shape, contextId: number, inPromise: boolean): Fields {
  const frames = isError(error) ? framesOf(stackOf(error), ownScript) : [];
  const top = frames[0];
  return record({
    exceptionId: ++lastId,
    text: inPromise ? 'Uncaught (in promise)' : 'Uncaught',
    lineNumber: top ? top.lineNumber : 0,
    columnNumber: top ? top.columnNumber : 0,
    url: top && top.url !== '' ? top.url : undefined,
    stackTrace: frames.length > 0 ? record({ callFrames: frames }) : undefined,
    exception: describe(error, shape),
    executionContextId: contextId,
  });
}

/** The stack of whoever called us, without our own frames. */
export function callFrames(): Fields[] {
  return framesOf(new NativeError().stack, ownScript);
}

/** Reports errors and rejections that nobody caught. `report` keeps them while nobody listens. */
export function watchExceptions(
  dispatcher: Dispatcher,
  contextId: number,
  script: string,
  report: (send: () => void) => void,
): void {
  ownScript = script;
  const shape: Shape = { group: 'console', preview: true };

  function emit(make: () => Fields): void {
    const timestamp = now();
    try {
      const details = make();
      report(() => dispatcher.emit('Runtime.exceptionThrown', record({ timestamp, exceptionDetails: details })));
    } catch {
      // A value that cannot even be described; never the app's problem.
    }
  }

  listen(win, 'error', (event) => {
    const { error, message, filename, lineno, colno } = event as ErrorEvent;
    emit(() => {
      const details = exceptionDetails(error ?? message, shape, contextId, false);
      if (lineno) {
        details.url = filename;
        details.lineNumber = lineno - 1;
        details.columnNumber = columnOf(filename, lineno - 1, colno ? colno - 1 : 0);
      }
      if (error === undefined || error === null) details.text = message;
      return details;
    });
  });
  listen(win, 'unhandledrejection', (event) => {
    emit(() => exceptionDetails((event as PromiseRejectionEvent).reason, shape, contextId, true));
  });
}
