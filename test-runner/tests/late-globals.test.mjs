// The build stops where the recorder would look for something in a page that runs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lateGlobals } from '../build-late-globals.mjs';

/** In a script that is called once, as the recorder is. */
const found = (code) => lateGlobals(`((options) => {\n${code}\n})({});`).map((line) => line.replace(/^\d+: /, ''));

const LATE = [
  'function f() { return new TextDecoder(); }',
  'const f = (x) => x instanceof TypeError;',
  'const f = () => { const TextDecoder = 1; return TextDecoder; }, g = () => TextDecoder;',
  'class A { decoder = new TextDecoder(); }',
  'class A { constructor() { this.text = String(1); } }',
  'const f = (a = Number(1)) => a;',
  'function f() { try { } catch { return Error; } }',
  'const win = globalThis; const f = () => win.origin;',
  'const win = globalThis; const f = () => { const { crypto } = win; return crypto; };',
  'function install(target) { return () => target.ReadableStream; }',
  'class A { f() { return this.target.Response; } }',
];

const FINE = [
  'const Decoder = TextDecoder; const f = () => new Decoder();',
  'const { crypto } = globalThis; const f = () => crypto;',
  'const f = (Error) => { const { a: String, ...Number } = Error; for (const Map of []) Map; return [String, Number]; };',
  'const f = () => { try { } catch (Error) { return Error; } };',
  'const f = () => { if (f) { var Set = 1; } return Set; };',
  'function f() { return g(); function g() { return undefined; } }',
  'function install(target) { const { Response } = target; return () => Response; }',
  'const win = globalThis; const f = () => win.location.href;',
  'class A { Map() { return { Set: this.Promise }; } static kind = String(1); }',
  'label: for (;;) { break label; }',
];

for (const code of LATE) test(`late: ${code}`, () => assert.equal(found(code).length, 1));
for (const code of FINE) test(`fine: ${code}`, () => assert.deepEqual(found(code), []));
