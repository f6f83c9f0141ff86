// What reaches the host: in which order, when, and of which size and shape.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { IMPORT, Runner, summary } from '../harness/runner.mjs';

const runner = await Runner.start();
after(() => runner.stop());

const run = (code, options) => runner.run({ body: IMPORT + code }, options);

/** Resolves with the events once `seen` says so; the page may never come to rest again. */
function until(page, seen) {
  const events = page.batches.flatMap((batch) => JSON.parse(batch).events);
  return new Promise((resolve) => {
    const check = () => seen(events) && resolve(events);
    page.listen(({ method, params }) => {
      if (method !== 'Runtime.bindingCalled') return;
      events.push(...JSON.parse(params.payload).events);
      check();
    });
    check();
  });
}

test('a test that loops for ever was announced', async () => {
  const page = await runner.page();
  await runner.start(page, { body: `${IMPORT}it('ends', () => {}); it('loops', () => { for (;;); });` });
  const events = await until(page, (all) => all.some(({ type, test }) => type === 'testStart' && test === 1));
  assert.equal(events.find(({ type }) => type === 'testEnd').test, 0);
  await page.close();
});

for (const [name, code, expected] of [
  ['the load phase', 'for (;;);', { phase: 'load' }],
  [
    'a beforeAll',
    "describe('s', () => { beforeAll(() => { for (;;); }); it('a', () => {}); });",
    { phase: 'beforeAll', suite: ['s'] },
  ],
  [
    'an afterAll',
    "describe('s', () => { afterAll(() => { for (;;); }); it('a', () => {}); });",
    { phase: 'afterAll', suite: ['s'] },
  ],
]) {
  test(`${name} that loops for ever was announced`, async () => {
    const page = await runner.page();
    // The evaluate of the load phase never comes back.
    runner.start(page, { body: IMPORT + code }).catch(() => {});
    await until(page, (all) =>
      all.some(
        ({ type, phase, suite }) =>
          type === 'phase' && phase === expected.phase && String(suite ?? '') === String(expected.suite ?? ''),
      ),
    );
    await page.close();
  });
}

test('batches are numbered without a gap, and bounded', async () => {
  const page = await runner.page();
  await run(`for (let i = 0; i < 300; i++) it('t' + i, () => { throw new Error('x'.repeat(20_000)); });`, { page });
  let next = 0;
  for (const text of page.batches) {
    const { doc, seq, events } = JSON.parse(text);
    assert.equal(seq, next);
    assert.equal(doc, page.info.doc);
    assert.ok(text.length <= 600 * 1024, `${text.length}`);
    next += events.length;
  }
  await page.close();
});

test('results leave while a test still runs', async () => {
  const page = await runner.page();
  const code = `it('a', () => {}); it('b', async () => { setTimeout(() => { globalThis.late = true; Promise.reject(new Error('meanwhile')); }, 1); await new Promise(() => {}); });`;
  await runner.start(page, { body: IMPORT + code }, { testTimeout: 20_000 });
  const events = await until(page, (all) => all.some(({ type }) => type === 'uncaught'));
  assert.ok(events.some(({ type, test }) => type === 'testEnd' && test === 0));
  assert.deepEqual(
    events.filter(({ type }) => type === 'uncaught').map(({ test, error }) => [test, error.message]),
    [[1, 'meanwhile']],
  );
  await page.close();
});

test('without a binding events wait for it', async () => {
  const page = await runner.page('<!doctype html><body></body>');
  await page.close();
  const bare = await runner.chrome.page(runner.origin);
  await bare.evaluate(runner.runtime);
  await bare.evaluate(`${IMPORT}globalThis.ended = new Promise((resolve) => { globalThis.resolveEnd = resolve; });
    __ait.run({ run: 1, file: 'a', testTimeout: 100, hookTimeout: 100, allowOnly: true, skip: [] }, async () => {
      it('a', () => {}); afterAll(() => { setTimeout(resolveEnd, 20); });
    })`);
  await bare.evaluate('ended', true);
  const texts = [];
  bare.listen(({ method, params }) => method === 'Runtime.bindingCalled' && texts.push(params.payload));
  await bare.call('Runtime.addBinding', { name: '__ait_emit' });
  await bare.evaluate('__ait.flush()');
  const events = texts.flatMap((text) => JSON.parse(text).events);
  assert.deepEqual([events[0].type, events.at(-1).type, JSON.parse(texts[0]).seq], ['phase', 'fileEnd', 0]);
  await bare.close();
});

test('a failing test waits for the host only where it is asked to, and for a second at most', async () => {
  const code =
    "afterEach(() => { tidied = true; }); let tidied = false; it('fails', () => { throw new Error('no'); }); it('next', () => { if (!tidied) throw 1; });";
  const body = `const { afterEach, it } = globalThis.__ait.vitest; ${code}`;
  const free = await runner.run({ body });
  assert.ok(!free.events.some(({ type }) => type === 'testFailing'));
  const held = await runner.run({ body }, { request: { holdFailing: true } });
  assert.deepEqual(held.states, free.states);
  const [end] = held.events.filter(({ type }) => type === 'testEnd');
  assert.ok(end.ms < 500, `its wait is not its own: ${end.ms}`);
  const { ms } = held.events.at(-1);
  assert.ok(ms >= 1000 && ms < 3000, `nobody let it go on: ${ms}`);

  const page = await runner.page();
  await runner.start(page, { body }, { holdFailing: true });
  const [failing] = (await until(page, (all) => all.some(({ type }) => type === 'testFailing'))).slice(-1);
  await page.evaluate(`__ait.goOn(${failing.run}, ${failing.test})`);
  const over = (await until(page, (all) => all.some(({ type }) => type === 'fileEnd'))).at(-1);
  assert.ok(over.ms < 1000, `it went on at once: ${over.ms}`);
  await page.close();
});

test('an aborted run says nothing more, and the next one can start', async () => {
  const page = await runner.page();
  const stuck = await runner.start(page, {
    body: `${IMPORT}it('stuck', async () => { await new Promise((r) => { globalThis.go = r; }); }); it('next', () => {});`,
  });
  await until(page, (all) => all.some(({ type }) => type === 'testStart'));
  await page.evaluate(`__ait.abort(${stuck.run})`);
  await page.evaluate('globalThis.go(); globalThis.nextRan = false;');
  const { states } = await run("it('a', () => {});", { page });
  assert.deepEqual(states, { a: 'passed' });
  assert.ok(
    !page.batches.some((text) => JSON.parse(text).events.some((e) => e.run === stuck.run && e.type === 'testEnd')),
  );
  await page.close();
});

test('a dozen stuck runs leave room for the next one', async () => {
  const page = await runner.page();
  for (let i = 0; i < 12; i++) {
    const stuck = await runner.start(
      page,
      { body: `${IMPORT}it('stuck', () => new Promise(() => {}));` },
      { testTimeout: 60_000 },
    );
    await until(page, (all) => all.some(({ type, run }) => type === 'testStart' && run === stuck.run));
    await page.evaluate(`__ait.abort(${stuck.run})`);
  }
  const { states } = await run("beforeEach(() => {}); it('a', async () => { await 0; });", { page });
  assert.deepEqual(states, { a: 'passed' });
  await page.close();
});

test('the runtime is there once', async () => {
  const page = await runner.page();
  const first = await page.evaluate('__ait.mark = 1, __ait.info()');
  const again = await page.evaluate(runner.runtime);
  assert.deepEqual(again, first);
  const names = await page.evaluate("Object.keys(globalThis).includes('__ait')");
  assert.equal(names, false);
  assert.equal(await page.evaluate("'use strict'; try { globalThis.__ait = 1 } catch (e) { e.name }"), 'TypeError');
  assert.equal(first.title, 'page');
  await page.close();
});

test('two files one after the other', async () => {
  const page = await runner.page();
  const one = await run("beforeEach(() => { globalThis.n = (globalThis.n ?? 0) + 1; }); it('a', () => {});", { page });
  const two = await run("it('b', () => { expect(globalThis.n).toBe(1); });", { page });
  assert.deepEqual([one.states, two.states], [{ a: 'passed' }, { b: 'passed' }]);
  await page.close();
});

test('what is left out', async () => {
  const code =
    "describe('s', () => { beforeAll(() => { globalThis.ran = true; }); it('one', () => {}); it('two', () => {}); }); it('three', () => { expect(globalThis.ran).toBe(undefined); });";
  const modes = ({ tests }) => tests.map(({ mode }) => mode);
  const byName = await run(code, { request: { namePattern: '^three$' } });
  assert.deepEqual([modes(byName), byName.states], [['filtered', 'filtered', 'run'], { three: 'passed' }]);
  for (const namePattern of ['s two', 's > two']) {
    const byTitle = await run(code, { request: { namePattern } });
    assert.deepEqual([modes(byTitle), byTitle.states], [['filtered', 'run', 'filtered'], { 's > two': 'passed' }]);
  }
  const rest = await run(code, { request: { skip: [0, 1] } });
  assert.deepEqual([modes(rest), rest.states], [['filtered', 'filtered', 'run'], { three: 'passed' }]);
  const between = await run(code, { request: { skip: [0, 2] } });
  assert.deepEqual([modes(between), between.states], [['filtered', 'run', 'filtered'], { 's > two': 'passed' }]);
  const only = await run("it.only('a', () => {}); it('b', () => { throw 1; });");
  assert.deepEqual([only.states, only.events[1].only], [{ a: 'passed', b: 'skipped' }, true]);
});

test('files that cannot run', async () => {
  const only = await run("it.only('a', () => {});", { request: { allowOnly: false } });
  assert.match(only.loadError.message, /^This file uses `\.only`/);
  assert.deepEqual(only.states, {});
  assert.equal((await run('')).loadError.message, 'No test suite found in file test.ait.test.ts');
  const thrown = await run("it('a', () => {}); await 0; throw new TypeError('at the top');");
  assert.deepEqual([thrown.loadError.name, thrown.loadError.message, thrown.states], ['TypeError', 'at the top', {}]);
  assert.equal(thrown.loadError.frames[0].line, 3);
  assert.equal((await run("describe('d', () => { throw new Error('in d'); });")).loadError.message, 'in d');
  assert.equal(
    (await run("describe('d', async () => { await 0; throw new Error('in d'); });")).loadError.message,
    'in d',
  );
  assert.match((await run("describe('d', () => {});")).suiteErrors[0].error.message, /^No test found in suite d/);
  assert.equal((await run("it('a', () => {});", { request: { namePattern: '(' } })).loadError.name, 'SyntaxError');
});

test('limits are told', async () => {
  const { events } = await run(
    "it('a', () => {}); it('b', { timeout: 0 }, () => {}); it('c', () => {}, 12.5); it('d', { timeout: Infinity }, () => {});",
  );
  const limits = events.filter(({ type }) => type === 'testStart').map(({ limit }) => limit);
  assert.deepEqual(limits, [2000, 0, 13, 0]);
});

test('summary', () => {
  assert.deepEqual(summary([]).states, {});
});
