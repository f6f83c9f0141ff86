// What needs no `eval`: JSON, reading a property by its path, and calling a function by its path with JSON arguments, as
// in `document.title`, `location.reload()` or `app.items[0].open("now", {"fast": true})`.

import {
  apply,
  type Fields,
  match,
  NativeEvalError,
  NativeReferenceError,
  NativeTypeError,
  parse,
  slice,
} from '../shared/natives';

const WORD = /^\s*([\p{ID_Start}$_][\p{ID_Continue}$]*)/u;
const PROPERTY = /^\s*\.\s*([\p{ID_Start}$_][\p{ID_Continue}$]*)/u;
const INDEX = /^\s*\[\s*(\d+|"(?:[^"\\]|\\.)*"|'[^'\\]*')\s*\]/;
const OPEN = /^\s*\(/;
/** One piece of a list of JSON values: a text, a bracket, or anything else up to the next of these. */
const PIECE = /^(?:"(?:[^"\\]|\\.)*"|[()[\]{}]|[^"()[\]{}]+)/;
const END = /^\s*;?\s*$/;

type Step = { key: string } | { args: unknown[] };

/** Carries out what `source` says if it is as simple as that, else throws an `EvalError` with these words. */
export function carryOut(source: string, forbidden: string): unknown {
  const literal = jsonOf(source);
  if (literal) return literal.value;
  const steps = stepsOf(source);
  if (!steps) throw new NativeEvalError(forbidden);
  let self: unknown;
  let value: unknown = globalThis;
  let name = '';
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i] as Step;
    if ('args' in step) {
      if (typeof value !== 'function') throw new NativeTypeError(`${name} is not a function`);
      value = apply(value, self, step.args);
      self = undefined;
    } else {
      name = i === 0 ? step.key : `${name}.${step.key}`;
      if (i === 0 && !(step.key in globalThis)) throw new NativeReferenceError(`${name} is not defined`);
      self = value;
      value = (value as Fields)[step.key];
    }
  }
  return value;
}

function jsonOf(text: string): { value: unknown } | undefined {
  try {
    return { value: parse(text) };
  } catch {
    return undefined;
  }
}

function stepsOf(source: string): Step[] | undefined {
  let rest = source;
  function take(pattern: RegExp): string | undefined {
    const found = match(pattern, rest);
    if (found) rest = slice(rest, found[0].length);
    return found ? (found[1] ?? found[0]) : undefined;
  }
  const first = take(WORD);
  if (first === undefined) return undefined;
  const steps: Step[] = [{ key: first }];
  while (take(END) === undefined) {
    const property = take(PROPERTY);
    const index = property === undefined ? take(INDEX) : undefined;
    if (property !== undefined) {
      steps[steps.length] = { key: property };
    } else if (index !== undefined) {
      steps[steps.length] = { key: keyOf(index) };
    } else {
      const args = take(OPEN) === undefined ? undefined : jsonOf(`[${takeArguments(take)}]`);
      if (!args) return undefined;
      steps[steps.length] = { args: args.value as unknown[] };
    }
  }
  return steps;
}

function keyOf(index: string): string {
  if (index[0] === "'") return slice(index, 1, -1);
  return index[0] === '"' ? (parse(index) as string) : index;
}

/** The text up to the bracket that closes the call. */
function takeArguments(take: (pattern: RegExp) => string | undefined): string {
  let text = '';
  let depth = 1;
  for (let piece = take(PIECE); piece !== undefined; piece = take(PIECE)) {
    if (piece === '(') depth++;
    if (piece === ')' && --depth === 0) return text;
    text += piece;
  }
  // It is closed nowhere, and so no JSON.
  return '(';
}
