// A page or a test that replaces built-ins must not change a result.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Runner } from '../harness/runner.mjs';

let runner;
let expected;
before(async () => {
  runner = await Runner.start();
  expected = outcome(await runner.run({ body: file('') }));
});
after(() => runner?.stop());

/** A file that goes through all of the runtime, written so that it asks nothing of what is replaced. */
const file = (sabotage) => `
const { describe, it, expect, vi, beforeEach, afterEach, beforeAll } = globalThis.__ait.vitest;
const Native = (async () => {})().constructor;
beforeAll(() => { ${sabotage} });
beforeEach(() => {});
afterEach(() => {});
it('passes', () => { expect(1).toBe(1); expect('abc').toContain('b'); expect([1, 2]).toContain(2); });
it('compares', () => { expect({ a: [1, { b: 2 }], d: null }).toEqual({ a: [1, { b: 2 }], d: null }); });
it('differs', () => { expect({ a: 1, b: 'x' }).toEqual({ a: 2, b: 'x' }); });
it('differs in text', () => { expect('one\\ntwo').toBe('one\\nthree'); });
it('waits', async () => { await 0; expect(await (async () => 5)()).toBe(5); });
it('resolves', async () => { await expect((async () => 1)()).resolves.toBe(1); });
it('rejects', async () => { await expect((async () => { throw { code: 'E1', message: 'no' }; })()).rejects.toMatchObject({ code: 'E1' }); });
it('throws', () => { throw { message: 'plain', code: 'X' }; });
it('is stuck', { timeout: 60 }, async () => { await new Native(() => {}); });
it('is retried', { retry: 1 }, (ctx) => { expect(ctx.task.result.retryCount).toBe(1); });
it('skips', (ctx) => { ctx.skip(true, 'why'); });
it('is soft', () => { expect.soft(1).toBe(2); expect.soft(1).toBe(3); });
it('counts', () => { expect.assertions(1); expect(1).toBe(1); });
it('expects any', () => { expect({ a: 1 }).toEqual(expect.objectContaining({ a: expect.any(Number) })); });
it('mocks', () => { const f = vi.fn((a) => a + 1); f(1); expect(f).toHaveBeenCalledWith(1); expect(f.mock.results[0].value).toBe(2); });
it.each([[1, 2], [3, 4]])('adds %i and %s', (a, b) => { expect(a + 1).toBe(b); });
it.fails('fails', () => { expect(1).toBe(2); });
it.todo('later');
describe('suite', () => { it('inner', () => {}); it.skip('left out', () => {}); });
it.concurrent('beside', async () => { await 0; });
`;

function outcome({ results, events, suiteErrors, uncaught, loadError }) {
  const last = events.at(-1).type;
  const tests = results.map(({ title, state, note, retries, errors = [] }) => ({
    title,
    state,
    note,
    retries,
    errors: errors.map(({ name, message, kind, code, diff }) => ({ name, message, kind, code, diff })),
  }));
  return { tests, last, suiteErrors, uncaught, loadError };
}

/** Vitest prints what has a `toJSON` as that says, and so it should. */
const withoutDiffs = (outcome) =>
  JSON.parse(JSON.stringify(outcome, (key, value) => (key === 'diff' ? undefined : value)));

const fail = '() => { throw "sabotage"; }';
const members = (owner, names) => names.split(' ').map((name) => [`${owner}.${name}`, `${owner}.${name} = ${fail};`]);

const SABOTAGE = [
  ['JSON.stringify that lies', 'JSON.stringify = () => "lie";'],
  ['JSON', 'JSON = undefined;'],
  ...members('JSON', 'parse stringify'),
  ['Promise.prototype.then that never calls', 'Promise.prototype.then = function () { return this; };'],
  ...members('Promise.prototype', 'then catch finally'),
  ...members('Promise', 'all allSettled race resolve reject'),
  ['Promise', 'Promise = class {};'],
  ['setTimeout that never calls', 'setTimeout = () => 1;'],
  ['setTimeout that calls at once', 'setTimeout = (f) => f();'],
  ['all timers', `clearTimeout = setTimeout = setInterval = queueMicrotask = requestAnimationFrame = ${fail};`],
  ['Date', 'Date = class { static now() { return NaN; } };'],
  ['Date.now', 'Date.now = () => NaN;'],
  ['performance.now', 'performance.now = () => NaN; Performance.prototype.now = () => NaN;'],
  ...members(
    'Array.prototype',
    'map filter forEach push pop shift unshift slice splice some every find findIndex indexOf includes join concat reduce flatMap sort reverse at keys entries fill',
  ),
  ['Array.prototype.map that lies', 'Array.prototype.map = () => [];'],
  ['Array.isArray', 'Array.isArray = () => false; Array.from = () => [];'],
  ...members(
    'String.prototype',
    'replace replaceAll split slice includes startsWith endsWith match matchAll trim indexOf repeat padEnd toLowerCase charCodeAt',
  ),
  ...members('Map.prototype', 'get set has delete forEach clear'),
  ...members('Set.prototype', 'add has delete forEach'),
  ...members('WeakMap.prototype', 'get set has'),
  ['Map and Set', 'Map = Set = WeakMap = WeakSet = undefined;'],
  ...members(
    'Object',
    'keys entries values assign defineProperty getPrototypeOf getOwnPropertyDescriptor getOwnPropertyNames create is freeze fromEntries hasOwn',
  ),
  ...members('Object.prototype', 'hasOwnProperty toString'),
  ...members('Reflect', 'get apply has ownKeys getPrototypeOf'),
  ...members('Function.prototype', 'call apply bind toString'),
  ...members('RegExp.prototype', 'test'),
  ...members('Math', 'max min floor'),
  ...members('Number', 'isFinite isNaN isInteger'),
  ['Error', 'Error = TypeError = AggregateError = undefined;'],
  ['Proxy and Reflect', 'Proxy = Reflect = undefined;'],
  ['AbortController', 'AbortController = MessageChannel = undefined;'],
  ['Symbol.for', `Symbol.for = ${fail};`],
  ['toJSON on everything', 'Object.prototype.toJSON = Array.prototype.toJSON = () => "lie";'],
  ['enumerable members on everything', 'Object.prototype.extra = 1; Array.prototype.more = function () {};'],
  ['the binding', 'delete globalThis.__ait_emit; globalThis.__ait_emit = () => {};'],
  ['addEventListener', `EventTarget.prototype.addEventListener = EventTarget.prototype.removeEventListener = ${fail};`],
];

function same(name, seen) {
  if (name.startsWith('toJSON')) assert.deepEqual(withoutDiffs(seen), withoutDiffs(expected));
  else assert.deepEqual(seen, expected);
}

/** These replace what identity is judged by, or what makes other windows: before injection there is no way around them. */
const ONLY_IN_TESTS = new Set([
  'Map and Set',
  'Error',
  'Proxy and Reflect',
  'AbortController',
  'Symbol.for',
  'Date',
  'addEventListener',
  'the binding',
]);

test('nothing replaced', () => {
  const states = expected.tests.map(({ title, state }) => `${title}: ${state}`);
  assert.deepEqual(states, [
    'passes: passed',
    'compares: passed',
    'differs: failed',
    'differs in text: failed',
    'waits: passed',
    'resolves: passed',
    'rejects: passed',
    'throws: failed',
    'is stuck: failed',
    'is retried: passed',
    'skips: skipped',
    'is soft: failed',
    'counts: passed',
    'expects any: passed',
    'mocks: passed',
    'adds 1 and 2: passed',
    'adds 3 and 4: passed',
    'fails: passed',
    'later: todo',
    'suite > inner: passed',
    'suite > left out: skipped',
    'beside: passed',
  ]);
  assert.equal(expected.tests.find(({ title }) => title === 'is stuck').errors[0].kind, 'timeout');
});

describe('replaced in a test', () => {
  for (const [name, code] of SABOTAGE) {
    test(name, async () => {
      same(name, outcome(await runner.run({ body: file(code) })));
    });
  }
});

describe('replaced before the runtime comes', () => {
  for (const [name, code] of SABOTAGE) {
    if (ONLY_IN_TESTS.has(name)) continue;
    test(name, async () => {
      const html = `<!doctype html><head><script>${code}</script></head><body></body>`;
      same(name, outcome(await runner.run({ body: file('') }, { html })));
    });
  }
});
