// What a test file may write, and what comes of it: Vitest's own words, in a page.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Runner } from '../harness/runner.mjs';

const runner = await Runner.start();
after(() => runner.stop());

const NAMES =
  'describe, it, test, suite, expect, vi, vitest, beforeAll, afterAll, beforeEach, afterEach, aroundEach, onTestFinished, onTestFailed, assert, should, chai, expectTypeOf, assertType, createExpect';
const run = (code, options) => runner.run({ code: `import { ${NAMES} } from 'vitest';\n${code}` }, options);

test('ways to declare', async () => {
  const { states, tests } = await run(`
    describe('d', () => {
      it.skip('skip', () => { throw 1; });
      it.todo('todo');
      it('no body');
      it.skipIf(true)('skipIf', () => {});
      it.runIf(true)('runIf', () => {});
      it.fails('fails', () => { throw new Error('x'); });
      it.fails('fails to fail', () => {});
      it.sequential('sequential', () => {});
      it.each([[1, 'a'], [2, 'b']])('each %i %s', (n, s) => { expect([n, s]).toHaveLength(2); });
      it.each\`a | b
        \${1} | \${2}\`('table $a $b', ({ a, b }) => { expect(a + 1).toBe(b); });
      it.for([[1, 2]])('for %i', ([a, b], { expect }) => { expect(a + 1).toBe(b); });
      it('repeats', { repeats: 2 }, () => {});
      const own = it.extend({ value: async ({}, use) => { await use(7); } });
      own('fixture', ({ value }) => { expect(value).toBe(7); });
    });
    describe.skip('s', () => { it('inside', () => {}); });
    describe.todo('t');
    describe.each([1, 2])('e%i', (n) => { it('inside', () => { expect(n).toBeGreaterThan(0); }); });
    describe.for([{ a: 1 }])('f $a', ({ a }) => { it('inside', () => { expect(a).toBe(1); }); });
    describe.sequential('seq', () => { it('inside', () => {}); });
    describe.shuffle('sh', () => { it('inside', () => {}); });
    describe.runIf(false)('no', () => { it('inside', () => {}); });
    suite('su', () => { test('inside', () => {}); });
  `);
  assert.deepEqual(states, {
    'd > skip': 'skipped',
    'd > todo': 'todo',
    'd > no body': 'todo',
    'd > skipIf': 'skipped',
    'd > runIf': 'passed',
    'd > fails': 'passed',
    'd > fails to fail': 'failed',
    'd > sequential': 'passed',
    'd > each 1 a': 'passed',
    'd > each 2 b': 'passed',
    'd > table 1 2': 'passed',
    'd > for 1': 'passed',
    'd > repeats': 'passed',
    'd > fixture': 'passed',
    's > inside': 'skipped',
    'e1 > inside': 'passed',
    'e2 > inside': 'passed',
    'f 1 > inside': 'passed',
    'seq > inside': 'passed',
    'sh > inside': 'passed',
    'no > inside': 'skipped',
    'su > inside': 'passed',
  });
  assert.deepEqual(
    tests.slice(0, 3).map(({ mode }) => mode),
    ['skip', 'todo', 'todo'],
  );
});

test('hooks run in order and hand back their clean-up', async () => {
  const { states, error } = await run(`
    const log = [];
    beforeAll(() => { log.push('ba'); return () => { log.push('ba-'); }; });
    afterAll(() => { log.push('aa'); });
    beforeEach((ctx) => { log.push('be ' + ctx.task.name); return () => { log.push('be-'); }; });
    afterEach(() => { log.push('ae'); });
    describe('in', () => {
      beforeEach(() => { log.push('be in'); });
      afterEach(() => { log.push('ae in'); });
      it('one', () => { onTestFinished(() => { log.push('finished'); }); log.push('one'); });
    });
    it('two', () => { throw new Error(log.join(',')); });
  `);
  assert.equal(states['in > one'], 'passed');
  assert.equal(error('two').message, 'ba,be one,be in,one,ae in,ae,be-,finished,be two');
});

test('a hook that fails is named', async () => {
  const { states, error, suiteErrors } = await run(`
    describe('each', () => { beforeEach(() => { throw new Error('no'); }); it('a', () => {}); });
    describe('after', () => { afterEach(() => { throw 'text'; }); it('a', () => {}); });
    describe('all', () => { beforeAll(() => { throw new Error('never'); }); it('a', () => {}); it('b', () => {}); });
    describe('end', () => { afterAll(() => { throw new Error('late'); }); it('a', () => {}); });
    describe('stuck', () => { beforeAll(() => new Promise(() => {}), 30); it('a', () => {}); });
    describe('stuck each', () => { beforeEach(() => new Promise(() => {}), 30); it('a', () => {}); });
    it('goes on', () => {});
  `);
  assert.deepEqual(states, {
    'each > a': 'failed',
    'after > a': 'failed',
    'all > a': 'skipped',
    'all > b': 'skipped',
    'end > a': 'passed',
    'stuck > a': 'skipped',
    'stuck each > a': 'failed',
    'goes on': 'passed',
  });
  assert.equal(error('each > a').hook, 'beforeEach');
  assert.deepEqual([error('after > a').hook, error('after > a').message], ['afterEach', 'text']);
  assert.deepEqual([error('stuck each > a').hook, error('stuck each > a').kind], ['beforeEach', 'timeout']);
  assert.deepEqual(
    suiteErrors.map(({ suite, error: { hook, kind } }) => [suite[0], hook, kind]),
    [
      ['all', 'beforeAll', 'error'],
      ['end', 'afterAll', 'error'],
      ['stuck', 'beforeAll', 'timeout'],
    ],
  );
});

test('the context of a test', async () => {
  const { states, results, events } = await run(`
    it('skip', (ctx) => { ctx.skip(true, 'why'); });
    it('skip not', (ctx) => { ctx.skip(false, 'why'); });
    it('task', ({ task }) => { expect(task.name).toBe('task'); expect(task.file.filepath).toBe('test.ait.test.ts'); });
    it('signal', { timeout: 30 }, ({ signal }) => new Promise(() => { signal.addEventListener('abort', () => { globalThis.aborted = true; }); }));
    it('was aborted', () => { expect(globalThis.aborted).toBe(true); });
    it('annotates', async ({ annotate }) => { await annotate('a word'); });
    it('failed', ({ onTestFailed }) => { onTestFailed(() => { globalThis.told = true; }); throw new Error('x'); });
    it('was told', () => { expect(globalThis.told).toBe(true); });
  `);
  assert.deepEqual(Object.values(states), 'skipped passed passed failed passed passed failed passed'.split(' '));
  assert.equal(results[0].note, 'why');
  assert.ok(events.some(({ type, message }) => type === 'notice' && message === 'annotates: a word'));
});

test('expect in all its forms', async () => {
  const { states, results } = await run(`
    it('soft', () => { expect.soft(1).toBe(2); expect.soft(1).toBe(3); });
    it('poll', async () => { let n = 0; await expect.poll(() => ++n, { interval: 1 }).toBe(3); });
    it('assertions', () => { expect.assertions(2); expect(1).toBe(1); });
    it('hasAssertions', () => { expect.hasAssertions(); });
    it('extend', () => { expect.extend({ toBeTwo: (v) => ({ pass: v === 2, message: () => 'not two' }) }); expect(2).toBeTwo(); expect(3).toBeTwo(); });
    it('testers', () => { class A { constructor(v) { this.v = v; } } expect.addEqualityTesters([(a, b) => a instanceof A && b instanceof A ? a.v % 10 === b.v % 10 : undefined]); expect(new A(1)).toEqual(new A(11)); });
    it('asymmetric', () => { expect({ a: 1, b: 'xy', c: [1, 2], d: 0.3 }).toEqual({ a: expect.any(Number), b: expect.stringContaining('x'), c: expect.arrayContaining([2]), d: expect.closeTo(0.1 + 0.2), }); });
    it('message', () => { expect(1, 'own words').toBe(2); });
    it('chai', () => { assert.equal(1, 1); should().equal(1, 1); expect(1).to.be.a('number'); chai.expect(1).to.equal(1); });
    it('types', () => { expectTypeOf(1).toBeNumber(); assertType(1); });
    it('inline snapshot', () => { expect({ a: 1 }).toMatchInlineSnapshot(\`{ "a": 1, }\`); });
    it('inline snapshot that differs', () => { expect({ a: 1 }).toMatchInlineSnapshot(\`
      {
        "a": 2,
      }
    \`); });
  `);
  const failed = Object.keys(states).filter((title) => states[title] === 'failed');
  const expected = [
    'soft',
    'assertions',
    'hasAssertions',
    'extend',
    'message',
    'inline snapshot',
    'inline snapshot that differs',
  ];
  assert.deepEqual(failed, expected);
  const errors = Object.fromEntries(results.map(({ title, errors = [] }) => [title, errors]));
  assert.equal(errors.soft.length, 2);
  assert.match(errors.message[0].message, /^own words: expected 1 to be 2/);
  for (const title of failed) assert.equal(errors[title][0].kind, 'assertion', title);
});

test('vi', async () => {
  const { states, results } = await run(`
    it('fn and spies', () => { const o = { f: () => 1 }; const s = vi.spyOn(o, 'f').mockReturnValue(2); expect(o.f()).toBe(2); s.mockRestore(); expect(o.f()).toBe(1); expect(vi.isMockFunction(vi.fn())).toBe(true); });
    it('mocks are cleared between tests', () => {});
    it('fake timers', async () => {
      vi.useFakeTimers({ now: 0 });
      let n = 0;
      setTimeout(() => n++, 60_000);
      vi.advanceTimersByTime(60_000);
      expect(n).toBe(1);
      expect(Date.now()).toBe(60_000);
      const late = new Promise((resolve) => setTimeout(resolve, 5_000));
      await vi.advanceTimersByTimeAsync(5_000);
      await late;
    });
    it('fake timers left on do not stop the runner', () => { expect(vi.isFakeTimers()).toBe(true); vi.useRealTimers(); });
    it('a limit is kept under fake timers', { timeout: 50 }, async () => { vi.useFakeTimers(); await new Promise(() => {}); });
    it('system time', () => { vi.useRealTimers(); vi.setSystemTime(new Date('2020-01-02')); expect(new Date().getFullYear()).toBe(2020); vi.useRealTimers(); });
    it('globals', () => { vi.stubGlobal('nobody', 1); expect(nobody).toBe(1); vi.unstubAllGlobals(); expect(typeof nobody).toBe('undefined'); });
    it('waits', async () => { let n = 0; await vi.waitFor(() => { if (++n < 3) throw new Error('not yet'); }, { interval: 1 }); expect(await vi.waitUntil(() => ++n > 5 && n, { interval: 1 })).toBe(6); });
    it('hoisted', () => { expect(vi.hoisted(() => 3)).toBe(3); expect(vitest).toBe(vi); });
    it('mock', () => { vi.mock('./x'); });
    it('importActual', async () => { await vi.importActual('./x'); });
    it('stubEnv', () => { vi.stubEnv('A', 'b'); });
    it('snapshot', () => { expect(1).toMatchSnapshot(); });
    it('unknown', () => { expect(1).toBeFabulous(); });
  `);
  const failed = results.filter(({ state }) => state === 'failed');
  assert.deepEqual(
    failed.map(({ title, errors }) => [title, errors[0].kind]),
    [
      ['a limit is kept under fake timers', 'timeout'],
      ...['mock', 'importActual', 'stubEnv', 'snapshot', 'unknown'].map((title) => [title, 'unsupported']),
    ],
  );
  assert.match(failed[1].errors[0].message, /^vi\.mock\(\) cannot work in a page: /);
  assert.equal(states['fn and spies'], 'passed');
});

test('a module that is to be mocked fails the file with the sentence', async () => {
  const { loadError } = await run(`vi.mock('./dep'); it('a', () => {});`);
  assert.equal(loadError.kind, 'unsupported');
});

test('retries and attempts', async () => {
  const { events, results } = await run(`
    let n = 0;
    it('third time', { retry: 3 }, () => { n++; if (n < 3) throw new Error('no ' + n); });
    it('repeated', { repeats: 1 }, () => {});
  `);
  const attempts = events.filter(({ type }) => type === 'testStart').map(({ test, attempt }) => [test, attempt]);
  assert.deepEqual(attempts, [
    [0, 0],
    [0, 1],
    [0, 2],
    [1, 0],
    [1, 1],
  ]);
  assert.deepEqual([results[0].state, results[0].retries], ['passed', 2]);
  assert.deepEqual(
    results[0].errors.map(({ message }) => message),
    ['no 1', 'no 2'],
  );
});

test('concurrent tests of a suite run side by side', async () => {
  const { states, events } = await run(`
    let meet;
    const met = new Promise((resolve) => { meet = resolve; });
    describe.concurrent('c', () => {
      it('waits for the other', async () => { await met; });
      it('is the other', () => { meet(); });
    });
  `);
  assert.deepEqual(Object.values(states), ['passed', 'passed']);
  assert.deepEqual(
    events.filter(({ type }) => type.startsWith('test')).map(({ type, test }) => `${type} ${test}`),
    ['testStart 0', 'testStart 1', 'testEnd 1', 'testEnd 0'],
  );
});
