// Whatever a test throws, names or compares arrives: bounded, valid Unicode, valid JSON, and without breaking the file.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { IMPORT, Runner } from '../harness/runner.mjs';

const runner = await Runner.start();
after(() => runner.stop());

const run = (code, options) => runner.run({ body: IMPORT + code }, options);

const THROWN = [
  ['undefined', 'undefined'],
  ['null', 'null'],
  ['"a text"', 'a text'],
  ['0', '0'],
  ['10n', '10n'],
  ['Symbol("s")', 'Symbol(s)'],
  ['Object.create(null)', /./],
  ['{ message: "plain", code: "E7" }', 'plain'],
  ['{ a: 1 }', /"a": 1/],
  ['[1, 2]', /./],
  ['() => 1', /./],
  ['Object.defineProperty(new Error(), "message", { get() { throw 1; } })', /./],
  ['Object.defineProperty(new Error("m"), "name", { get() { throw 1; } })', 'm'],
  ['Object.defineProperty(new Error("m"), "stack", { get() { throw 1; } })', 'm'],
  ['Object.assign(new Error("m"), { stack: 5, name: 7, cause: Symbol() })', 'm'],
  ['new Proxy({}, { get() { throw 1; }, ownKeys() { throw 1; }, getPrototypeOf() { throw 1; } })', /./],
  ['new Proxy(new Error("behind"), {})', 'behind'],
  ['document.body', /body/i],
  ['window', /./],
  ['new DOMException("dom", "AbortError")', 'dom'],
  ['new Error("lone \\ud800 surrogate")', 'lone \ufffd surrogate'],
  ['new Error("nul \\0 char")', 'nul \0 char'],
  ['new Error("한글 🙂")', '한글 🙂'],
  ['new Error("")', ''],
];

test('anything can be thrown', async () => {
  const tests = THROWN.map(([value], i) => `it('t${i}', () => { throw (${value}); });`).join('\n');
  const { results, loadError } = await run(`${tests}\nit('goes on', () => {});`);
  assert.equal(loadError, undefined);
  assert.equal(results.at(-1).state, 'passed');
  for (const [i, [value, message]] of THROWN.entries()) {
    const { state, errors } = results[i];
    assert.equal(state, 'failed', value);
    if (typeof message === 'string') assert.equal(errors[0].message, message, value);
    else assert.match(errors[0].message, message, value);
    assert.equal(typeof errors[0].name, 'string');
  }
  assert.equal(results[7].errors[0].code, 'E7');
  assert.equal(results[19].errors[0].name, 'AbortError');
});

const COMPARED = [
  ['cycles', 'const a = { x: 1 }; a.self = a; const b = { x: 2 }; b.self = b; expect(a).toEqual(b);'],
  ['elements', "expect(document.createElement('p')).toEqual(document.createElement('b'));"],
  ['a window', 'expect(window).toEqual({});'],
  ['long texts', "expect('a'.repeat(5e6) + 'b' + 'c'.repeat(1e6)).toBe('a'.repeat(5e6) + 'x' + 'c'.repeat(1e6));"],
  ['long lists', 'expect(Array.from({ length: 1e5 }, (_, i) => i)).toEqual([1]);'],
  ['deep objects', 'let d = {}; for (let i = 0; i < 5000; i++) d = { d }; expect(d).toEqual({});'],
  ['many keys', "expect(Object.fromEntries(Array.from({ length: 2e4 }, (_, i) => ['k' + i, i]))).toEqual({});"],
  ['traps that throw', "expect(new Proxy({ a: 1 }, { get() { throw new Error('trap'); } })).toEqual({ a: 2 });"],
  ['getters that throw', "expect({ get a() { throw new Error('getter'); } }).toEqual({ a: 2 });"],
  ['lone surrogates', "expect('x\\ud800y').toBe('x\\udc00y');"],
  ['nul', "expect('\\0').toBe('\\0\\0');"],
  ['bigints and symbols', "expect([1n, Symbol('a')]).toEqual([2n, Symbol('b')]);"],
  ['maps and sets', 'expect(new Map([[{ a: 1 }, new Set([1])]])).toEqual(new Map([[{ a: 1 }, new Set([2])]]));'],
  ['a null prototype', 'expect(Object.assign(Object.create(null), { a: 1 })).toEqual({ a: 2 });'],
  ['toJSON that throws', "expect({ toJSON() { throw new Error('json'); }, a: 1 }).toEqual({ a: 2 });"],
];

test('anything can be compared', async () => {
  const tests = COMPARED.map(([name, code]) => `it('${name}', () => { ${code} });`).join('\n');
  const page = await runner.page();
  const { results, loadError } = await run(`${tests}\nit('goes on', () => {});`, {
    page,
    request: { testTimeout: 20_000 },
  });
  assert.equal(loadError, undefined);
  assert.equal(results.at(-1).state, 'passed');
  for (const { title, state, errors } of results.slice(0, -1)) {
    assert.equal(state, 'failed', title);
    assert.ok(JSON.stringify(errors).length < 200_000, title);
  }
  for (const text of page.batches) assert.ok(text.isWellFormed() && text.length < 600_000);
  const long = results.find(({ title }) => title === 'long texts').errors[0];
  assert.match(long.diff, /a+b/);
  assert.match(long.diff, /a+x/);
  await page.close();
});

test('titles of any kind', async () => {
  const { tests } = await run(`
    it('x'.repeat(1e6), () => {});
    it('lone \\ud800', () => {});
    it('nul \\0 and " and \\\\ and \\n', () => {});
    it('', () => {});
    it(Symbol('s'), () => {});
    it(function named() {}, () => {});
    it('a > b', () => {});
    it.each([['%', { a: 1 }, 3n, null]])('%s %% %o %d %j', () => {});
  `);
  const titles = tests.map(({ path }) => path[0]);
  assert.ok(titles[0].length < 1_100);
  assert.deepEqual(titles.slice(1, 7), [
    'lone \ufffd',
    'nul \0 and " and \\ and \n',
    '',
    'Symbol(s)',
    'named',
    'a > b',
  ]);
});

test('what an error carries', async () => {
  const { results, error } = await run(`
    it('causes', () => { throw new Error('a', { cause: new TypeError('b', { cause: new Error('c', { cause: new Error('d', { cause: new Error('e') }) }) }) }); });
    it('is its own cause', () => { const e = new Error('a'); e.cause = e; throw e; });
    it('many at once', () => { throw new AggregateError([new Error('one'), 'two'], 'both'); });
    it('code', () => { throw Object.assign(new Error('m'), { code: 42 }); });
    it('frames', () => { (function inner() { throw new Error('m'); })(); });
    it('async frames', async () => { const f = async () => { await 0; throw new Error('m'); }; await f(); });
    it('looks like a frame', () => { throw new Error('m\\n    at evil (http://evil/x.js:1:2)'); });
    it('diff', () => { expect({ a: 1, b: [1, 2] }).toEqual({ a: 1, b: [1, 3] }); });
    it('soft and many', () => { for (let i = 0; i < 100; i++) expect.soft(i).toBe(-1); });
  `);
  assert.equal(error('causes').cause.name, 'TypeError');
  assert.equal(error('causes').cause.cause.cause.message, 'd');
  assert.equal(error('causes').cause.cause.cause.cause, undefined);
  assert.equal(error('is its own cause').message, 'a');
  assert.deepEqual(
    results[2].errors.map(({ message }) => message),
    ['one', 'two'],
  );
  assert.equal(error('code').code, '42');
  assert.equal(error('frames').frames[0].function, 'inner');
  assert.deepEqual(
    [error('frames').frames[0].line, error('frames').frames[0].url.startsWith('ait-test://')],
    [8, true],
  );
  assert.deepEqual(
    error('async frames').frames.map(({ line }) => line),
    [9, 9],
  );
  assert.ok(error('looks like a frame').frames.every(({ url }) => url.startsWith('ait-test:')));
  assert.equal(
    error('diff').diff,
    '- Expected\n+ Received\n\n  {\n    "a": 1,\n    "b": [\n      1,\n-     3,\n+     2,\n    ],\n  }',
  );
  assert.match(error('diff').expected, /3/);
  assert.match(error('diff').actual, /2/);
  assert.equal(results.at(-1).errors.length, 20);
});
