// The console: reports every call and then lets the native one do its work.

import {
  apply,
  create,
  defineProperty,
  type Fields,
  getOwnPropertyDescriptor,
  now,
  ownKeys,
  record,
  toText,
  win,
} from '../shared/natives';
import type { Dispatcher } from './dispatch';
import { callFrames } from './exceptions';
import { CONSOLE_GROUP, describe, type Shape } from './remote';

/** Method of `console` to type of `Runtime.consoleAPICalled`. */
const TYPES: Record<string, string> = {
  log: 'log',
  debug: 'debug',
  info: 'info',
  error: 'error',
  warn: 'warning',
  dir: 'dir',
  dirxml: 'dirxml',
  table: 'table',
  trace: 'trace',
  clear: 'clear',
  group: 'startGroup',
  groupCollapsed: 'startGroupCollapsed',
  groupEnd: 'endGroup',
  assert: 'assert',
  count: 'count',
  countReset: 'debug',
  profile: 'profile',
  profileEnd: 'profileEnd',
  time: '',
  timeLog: 'log',
  timeEnd: 'timeEnd',
};

type Args = unknown[];

/** Wraps the console's methods. `report` keeps messages while nobody listens. */
export function watchConsole(dispatcher: Dispatcher, contextId: number, report: (send: () => void) => void): void {
  const { console } = win;
  const shape: Shape = { group: CONSOLE_GROUP, preview: true };
  const counts: Record<string, number> = create(null);
  const timers: Record<string, number> = create(null);
  let busy = false;

  function label(args: Args): string {
    return args.length === 0 || args[0] === undefined ? 'default' : toText(args[0]);
  }

  /** What the method shows, or nothing where it shows nothing. */
  function shown(method: string, args: Args): Args | undefined {
    switch (method) {
      case 'assert':
        return args[0] ? undefined : rest(args, ['Assertion failed']);
      case 'count': {
        const name = label(args);
        counts[name] = (counts[name] ?? 0) + 1;
        return [`${name}: ${counts[name]}`];
      }
      case 'countReset':
        delete counts[label(args)];
        return undefined;
      case 'time':
        timers[label(args)] ??= now();
        return undefined;
      case 'timeLog':
      case 'timeEnd': {
        const name = label(args);
        const began = timers[name];
        if (began === undefined) return undefined;
        if (method === 'timeEnd') delete timers[name];
        return rest(args, [`${name}: ${now() - began} ms`], true);
      }
      default:
        return args;
    }
  }

  function note(method: string, args: Args): void {
    const list = shown(method, args);
    if (!list) return;
    const described: Fields[] = [];
    for (let i = 0; i < list.length; i++) described[i] = describe(list[i], shape);
    const params = record({
      type: TYPES[method],
      args: described,
      executionContextId: contextId,
      timestamp: now(),
      stackTrace: record({ callFrames: callFrames() }),
    });
    report(() => dispatcher.emit('Runtime.consoleAPICalled', params));
  }

  const methods = ownKeys(TYPES) as string[];
  for (let i = 0; i < methods.length; i++) {
    const method = methods[i] as string;
    const found = getOwnPropertyDescriptor(console, method);
    const native: unknown = found?.value;
    if (typeof native !== 'function' || !found?.configurable) continue;
    const hook = function (this: unknown, ...args: Args): unknown {
      // A getter that logs while it is being described must not come round again.
      if (!busy) {
        busy = true;
        try {
          note(method, args);
        } catch {
          // Nothing of ours may reach the app.
        }
        busy = false;
      }
      return apply(native, this, args);
    };
    defineProperty(hook, 'name', { value: method, configurable: true });
    defineProperty(console, method, {
      value: hook,
      configurable: true,
      writable: true,
      enumerable: found.enumerable ?? true,
    });
  }
}

/** `first`, then the arguments after the first. */
function rest(args: Args, first: Args, plain = false): Args {
  if (args.length <= 1) return first;
  const list: Args = plain ? first : [];
  for (let i = 1; i < args.length; i++) list[list.length] = args[i];
  return list;
}
