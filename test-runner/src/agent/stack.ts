// Stacks in the grammars of V8 and of JavaScriptCore.

import {
  create,
  each,
  type Fields,
  indexOf,
  lastIndexOf,
  match,
  max,
  record,
  slice,
  startsWith,
} from '../shared/natives';

/** The name our own script gives itself, so that its frames can be left out. */
export const OWN_URL = 'ait-agent://';
/** More frames than anybody reads. */
const MAX_FRAMES = 50;

const V8_FRAME = /^\s*at (?:(?:async )?(.*?) \()?(?:async )?(.*?):(\d+):(\d+)\)*$/;
const JSC_FRAME = /^(?:([^@]*)@)?(.*?)(?::(\d+)(?::(\d+))?)?$/;

/** CDP `Runtime.CallFrame`s (lines and columns from 0), innermost first, without our own. */
export function framesOf(stack: unknown, ownScript: string): Fields[] {
  const frames: Fields[] = [];
  if (typeof stack !== 'string') return frames;
  const v8 = match(/^\s*at /m, stack) !== null;
  let start = 0;
  while (start < stack.length && frames.length < MAX_FRAMES) {
    let end = indexOf(stack, '\n', start);
    if (end < 0) end = stack.length;
    const frame = v8 ? v8Frame(slice(stack, start, end)) : jscFrame(slice(stack, start, end));
    start = end + 1;
    if (frame && !isOwn(frame.url as string, ownScript)) frames[frames.length] = frame;
  }
  return frames;
}

function isOwn(url: string, ownScript: string): boolean {
  return startsWith(url, OWN_URL) || (ownScript !== '' && url === ownScript);
}

function v8Frame(line: string): Fields | undefined {
  const found = match(V8_FRAME, line);
  if (!found) return undefined;
  let url = found[2] ?? '';
  // `eval (eval at f (URL:1:2), <anonymous>` : where it stands in the evaluated text is what counts.
  const comma = lastIndexOf(url, ', ');
  if (startsWith(url, 'eval at ') && comma >= 0) url = slice(url, comma + 2);
  return frame(found[1] ?? '', url === '<anonymous>' ? '' : url, found[3], found[4]);
}

function jscFrame(line: string): Fields | undefined {
  const found = match(JSC_FRAME, line);
  if (line === '' || !found || found[2] === '[native code]') return undefined;
  return frame(found[1] ?? '', found[2] ?? '', found[3], found[4]);
}

function frame(functionName: string, url: string, line: string | undefined, column: string | undefined): Fields {
  const lineNumber = line ? +line - 1 : 0;
  const columnNumber = columnOf(url, lineNumber, column ? +column - 1 : 0);
  return record({ functionName, scriptId: '', url, lineNumber, columnNumber });
}

/** What the relay put into a script: line, column and length of each piece, from the first to the last. */
export type Inserted = readonly (readonly [line: number, column: number, length: number])[];

const inserted: Record<string, Inserted> = create(null);

/** Stacks that name this address or name are told as if nothing had been put in. */
export function setInserted(url: string, pieces: Inserted): void {
  inserted[url] = pieces;
}

/** The column in the source, of a place in what an element ran (both from 0). */
export function columnOf(url: string, line: number, column: number): number {
  const pieces = inserted[url];
  if (!pieces) return column;
  let result = column;
  // From the last on: each is told by where it stands in the whole.
  for (let i = pieces.length - 1; i >= 0; i--) {
    const [at, start, length] = pieces[i] as Inserted[number];
    if (at === line && start < result) result = max(start, result - length);
  }
  return result;
}

/** The frames as V8 writes them, for the description of an error. */
export function printFrames(frames: Fields[]): string {
  let text = '';
  each(frames, ({ functionName, url, lineNumber, columnNumber }) => {
    const place = `${url || '<anonymous>'}:${(lineNumber as number) + 1}:${(columnNumber as number) + 1}`;
    text += functionName ? `\n    at ${functionName} (${place})` : `\n    at ${place}`;
  });
  return text;
}
