// Reads the stack of an error in the two grammars that phones and browsers write: V8's and JavaScriptCore's.
import type { PageFrame } from '../wire.ts';
import { MAX_FRAMES, MAX_SHORT, MAX_STACK } from './limits.ts';
import { bounded } from './text.ts';

/** Scripts of the tool itself; their frames are of no use to anybody who reads a failure. */
const OWN_SCRIPT = /^ait-(runtime|agent|interceptors|dashboard):/;
/** `<where>:<line>:<column>` at the end; the greedy head takes every colon of an address. */
const POSITION = /^(.*):(\d+):(\d+)$/;

export function parseStack(stack: unknown): PageFrame[] {
  if (typeof stack !== 'string') return [];
  const frames: PageFrame[] = [];
  for (const line of stack.slice(0, MAX_STACK).split('\n')) {
    const frame = parseLine(line);
    if (!frame || OWN_SCRIPT.test(frame.url)) continue;
    frames.push({ ...frame, function: bounded(frame.function, MAX_SHORT), url: bounded(frame.url, MAX_SHORT) });
    if (frames.length === MAX_FRAMES) break;
  }
  return frames;
}

export function parseLine(text: string): PageFrame | undefined {
  const line = text.trim();
  if (line.startsWith('at ')) return parseV8(line.slice(3));
  // A message may hold an `@`; only a line that ends in a position, or names native code, is a frame.
  return parseJsc(line);
}

function parseV8(text: string): PageFrame | undefined {
  const call = text.replace(/^async /, '');
  if (call.endsWith(')')) {
    const open = openOf(call);
    if (open > 0) return at(call.slice(0, open - 1), call.slice(open + 1, -1));
  }
  return at('', call);
}

/** Where the parenthesis opens that the last character closes. Addresses may hold parentheses, in pairs or alone. */
function openOf(call: string): number {
  const lone = call.indexOf(' (');
  const alias = call.indexOf('] (');
  if (alias > 0) return alias + 2;
  return lone < 0 ? -1 : lone + 1;
}

function at(name: string, where: string): PageFrame | undefined {
  if (where.startsWith('eval at ')) return evaluated(name, where);
  // `<anonymous>`, `native` and `index 0` (of `Promise.all`) are no places.
  const position = POSITION.exec(where);
  return position ? frame(name, position) : undefined;
}

/** `eval at outer (http://host/a.js:1:2), <anonymous>:3:4`: the innermost script that has an address is what can be shown. */
function evaluated(name: string, where: string): PageFrame | undefined {
  const own = /, ([^,]*):(\d+):(\d+)$/.exec(where);
  if (own && own[1] !== '<anonymous>') return frame(name, own);
  const outer = /\(([^()]*:\d+:\d+)\)/.exec(where);
  const position = outer?.[1] && POSITION.exec(outer[1]);
  return position ? frame(name, position) : undefined;
}

function parseJsc(line: string): PageFrame | undefined {
  const position = POSITION.exec(line);
  if (!position) return undefined;
  // Function names of JavaScriptCore hold no `@`, but addresses do (`http://user@host/`): the first one parts them.
  const where = position[1] as string;
  const mark = where.indexOf('@');
  const name = mark < 0 || where.slice(0, mark).includes('/') ? '' : where.slice(0, mark);
  const url = name || mark === 0 ? where.slice(mark + 1) : where;
  if (!/^[a-z][a-z0-9+.-]*:/i.test(url)) return undefined;
  const known = /^(global|module|eval) code$/.test(name) ? '' : name.replace(/^async /, '');
  return { function: known, url, line: Number(position[2]), column: Number(position[3]) };
}

function frame(name: string, position: RegExpExecArray): PageFrame {
  return { function: name, url: position[1] as string, line: Number(position[2]), column: Number(position[3]) };
}
