// From anything that can be thrown to a `PageError`: reads it once, guarded, and prints no more than is shown.
import type { ErrorKind, PageError } from '../wire.ts';
import { parseStack } from './frames.ts';
import {
  DIFF_CONTEXT,
  MAX_CAUSES,
  MAX_DIFF,
  MAX_DIFF_INPUT,
  MAX_MESSAGE,
  MAX_PARTS,
  MAX_SHORT,
  MAX_VALUE,
} from './limits.ts';
import { bounded, read, readText } from './text.ts';

/** Vitest's own ways to compare and to print, handed over by the place where it describes an error. */
export interface Printer {
  diff(actual: unknown, expected: unknown, options?: unknown): string | undefined;
  print(value: unknown, options?: unknown): string;
  options?: unknown;
}

/** Something that cannot work in a page, or that this runner does not have. */
export class UnsupportedError extends Error {
  override name = 'UnsupportedError';
}

/** A thrown value that is no object, with the hook it came from. */
class HookValue {
  constructor(
    readonly value: unknown,
    readonly hook: string,
  ) {}
}

const hooks = new WeakMap<object, string>();
const described = new WeakSet<object>();
let printer: Printer | undefined;

/** Remembers which hook an error came from; returns what has to be thrown in its place. */
export function fromHook(error: unknown, hook: string): unknown {
  const parts = Array.isArray(error) ? error : [error];
  for (const part of parts) {
    if (typeof part !== 'object' && typeof part !== 'function') continue;
    if (part !== null && !hooks.has(part)) hooks.set(part, hook);
  }
  return typeof error === 'object' && error !== null ? error : new HookValue(error, hook);
}

/** What Vitest calls instead of its `processError`; the result is what it keeps in `task.result.errors`. */
export function processError(error: unknown, vitest: Printer): PageError {
  printer = vitest;
  const page = describeError(error);
  if (read(error, '__vitest_test_syntax_error__')) {
    Object.defineProperty(page, '__vitest_test_syntax_error__', { value: true });
  }
  return page;
}

export function describeError(thrown: unknown): PageError {
  const hooked = thrown instanceof HookValue;
  const error = hooked ? thrown.value : thrown;
  // Vitest may hand in what it was given before (an error of a soft assertion).
  if (typeof error === 'object' && error !== null && described.has(error)) return error as PageError;
  const page = describe(error, 0);
  const hook = hooked ? thrown.hook : isObject(error) ? hooks.get(error) : undefined;
  if (hook) page.hook = hook;
  described.add(page);
  return page;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function describe(error: unknown, depth: number): PageError {
  if (!isObject(error)) return { name: 'Error', message: bounded(print(error), MAX_MESSAGE), kind: 'error' };
  const name = readText(error, 'name') || 'Error';
  const message = readText(error, 'message');
  const page: PageError = {
    name: bounded(typeof error === 'function' ? 'Error' : name, MAX_SHORT),
    message: bounded(message ?? print(error), MAX_MESSAGE) + parts(error),
    kind: kindOf(error, name, message ?? ''),
  };
  if (page.kind === 'unsupported') page.message = explain(page.message);
  if (page.kind === 'timeout') page.message = withOption(page.message);
  const code = readText(error, 'code');
  if (code !== undefined) page.code = bounded(code, MAX_SHORT);
  compare(error, page);
  const frames = parseStack(withoutMessage(read(error, 'stack'), message));
  if (frames.length) page.frames = frames;
  const cause = read(error, 'cause');
  if (cause !== undefined && cause !== null && depth < MAX_CAUSES) page.cause = describe(cause, depth + 1);
  return page;
}

/** V8 writes the message above the frames; its lines may look like frames. */
function withoutMessage(stack: unknown, message: string | undefined): unknown {
  if (typeof stack !== 'string' || !message) return stack;
  const at = stack.slice(0, MAX_SHORT + message.length).indexOf(message);
  return at < 0 ? stack : stack.slice(at + message.length);
}

/** The errors inside an `AggregateError`, as lines of its message. */
function parts(error: object): string {
  const errors = read(error, 'errors');
  if (!(error instanceof AggregateError) || !Array.isArray(errors) || errors.length === 0) return '';
  const lines = errors.slice(0, MAX_PARTS).map((part, i) => {
    const text = readText(part, 'message') ?? print(part);
    return `\n  [${i + 1}] ${readText(part, 'name') ?? 'Error'}: ${bounded(text, MAX_SHORT)}`;
  });
  const left = errors.length - lines.length;
  return lines.join('') + (left > 0 ? `\n  and ${left} more` : '');
}

const UNKNOWN_MATCHER = 'Invalid Chai property: ';
/** Beginnings of what Vitest throws as a plain `Error` although it speaks of assertions. */
const ASSERTIONS = [
  'expected number of assertions to be ',
  'expected any number of assertion',
  'Expect test to fail',
  'Promise returned by `expect',
  'expect.poll(',
  'Snapshot `',
];

function kindOf(error: object, name: string, message: string): ErrorKind {
  if (error instanceof UnsupportedError || message.startsWith(UNKNOWN_MATCHER)) return 'unsupported';
  if (name === 'TestTimeoutError' || name === 'HookTimeoutError') return 'timeout';
  if (/^AroundHook/.test(name) && message.includes('timed out after')) return 'timeout';
  if (name === 'AssertionError') return 'assertion';
  const compared = Object.hasOwn(error, 'actual') && Object.hasOwn(error, 'expected');
  return compared || ASSERTIONS.some((start) => message.startsWith(start)) ? 'assertion' : 'error';
}

/** Vitest names its own settings where a limit struck; here the limits are options of the command line. */
const withOption = (message: string): string =>
  message
    .replace('configure it globally with "testTimeout"', 'set that of all tests with --test-timeout')
    .replace('configure it globally with "hookTimeout"', 'set that of all hooks with --hook-timeout');

/** `Invalid Chai property: toBee. Did you mean "toBe"?` */
function explain(message: string): string {
  const found = /^Invalid Chai property: ([^\s.]+)\.?(.*)$/s.exec(message);
  return found ? `The matcher "${found[1]}" is not supported by this runner.${found[2]}` : message;
}

function compare(error: object, page: PageError): void {
  const expected = read(error, 'expected');
  const actual = read(error, 'actual');
  const show = read(error, 'showDiff');
  if (!printer || !(show || (show === undefined && expected !== undefined && actual !== undefined))) return;
  const [a, b] = aroundDifference(actual, expected);
  const own = read(error, 'diffOptions');
  const options = Object.assign({}, printer.options, isObject(own) ? own : undefined);
  try {
    const diff = printer.diff(a, b, options);
    if (diff) page.diff = bounded(diff, MAX_DIFF);
  } catch (cause) {
    page.diff = `(no diff: ${bounded(readText(cause, 'message') ?? 'the values cannot be read', MAX_SHORT)})`;
  }
  page.expected = bounded(print(b), MAX_VALUE);
  page.actual = bounded(print(a), MAX_VALUE);
}

/** Two very long texts are cut to the part around their first difference. */
function aroundDifference(actual: unknown, expected: unknown): [unknown, unknown] {
  if (typeof actual !== 'string' || typeof expected !== 'string') return [actual, expected];
  if (actual.length <= MAX_DIFF_INPUT && expected.length <= MAX_DIFF_INPUT) return [actual, expected];
  let first = 0;
  while (first < actual.length && actual[first] === expected[first]) first++;
  const start = Math.max(0, first - DIFF_CONTEXT);
  return [cut(actual, start), cut(expected, start)];
}

function cut(text: string, start: number): string {
  const end = start + MAX_DIFF_INPUT / 2;
  const left = text.length - end;
  return (start ? `(${start} characters) …` : '') + text.slice(start, end) + (left > 0 ? `… (${left} characters)` : '');
}

/** Any value as a text, whatever its traps and getters do. */
export function print(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    if (printer) return printer.print(value, printer.options);
    return typeof value === 'object' && value !== null ? Object.prototype.toString.call(value) : String(value);
  } catch {
    return `(a value of type ${typeof value} that cannot be printed)`;
  }
}
