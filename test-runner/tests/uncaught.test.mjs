// Errors that nobody caught, and pages that a test turns upside down.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { IMPORT, Runner } from '../harness/runner.mjs';

const runner = await Runner.start();
after(() => runner.stop());

const run = (code, options) => runner.run({ body: IMPORT + code }, options);
const told = ({ uncaught }) => uncaught.map(({ test, origin, error }) => [test, origin, error.message]);

test('each is named with the test that was running', async () => {
  const result = await run(`
    it('a', () => {});
    it('rejects', () => { Promise.reject(new Error('nobody waits')); });
    it('throws late', async () => { setTimeout(() => { throw new Error('in a timer'); }, 1); await new Promise((r) => setTimeout(r, 20)); });
    it('rejects a text', () => { Promise.reject('text'); });
    it('z', () => {});
    it('is the last', () => { Promise.reject(new Error('at the end')); });
  `);
  assert.deepEqual(told(result), [
    [1, 'rejection', 'nobody waits'],
    [2, 'error', 'in a timer'],
    [3, 'rejection', 'text'],
    [5, 'rejection', 'at the end'],
  ]);
  assert.equal(result.uncaught[0].error.frames[0].line, 5);
  assert.ok(Object.values(result.states).every((state) => state === 'passed'));
});

test('assertions on promises that nobody awaited', async () => {
  const result = await run(`
    it('is wrong', () => { expect(Promise.resolve(1)).resolves.toBe(2); });
    it('is right but not awaited', () => { expect(Promise.resolve(1)).resolves.toBe(1); });
    it('is late', async () => { (async () => { await 0; expect(1).toBe(2); })(); await 0; });
    it('never settles', { timeout: 50 }, () => { expect(new Promise(() => {})).resolves.toBe(1); });
    it('goes on', () => {});
  `);
  assert.deepEqual(Object.values(result.states), ['failed', 'failed', 'passed', 'failed', 'passed']);
  assert.match(result.error('is wrong').message, /expected 1 to be 2/);
  assert.match(result.error('is right but not awaited').message, /was not awaited/);
  assert.equal(result.error('never settles').kind, 'timeout');
  assert.deepEqual(told(result), [[2, 'unawaited', 'expected 1 to be 2 // Object.is equality']]);
});

test("the page's own handlers see them too", async () => {
  const html = `<!doctype html><body><script>
    globalThis.seen = [];
    addEventListener('error', (e) => { seen.push(e.message); e.stopImmediatePropagation(); }, true);
    addEventListener('unhandledrejection', (e) => { seen.push(e.reason.message); e.preventDefault(); });
    window.onerror = () => true;
  </script></body>`;
  const page = await runner.page(html);
  const result = await run(
    `it('a', async () => { setTimeout(() => { throw new Error('one'); }); Promise.reject(new Error('two')); await new Promise((r) => setTimeout(r, 20)); });`,
    { page },
  );
  assert.deepEqual(await page.evaluate('seen.slice().sort()'), ['Uncaught Error: one', 'two']);
  assert.equal(
    told(result).some(([, , message]) => message === 'two'),
    true,
  );
  await page.close();
});

test('between files nobody is blamed', async () => {
  const page = await runner.page();
  // Over before the file starts: the promise is settled by a timer that was set after the one that throws.
  await page.evaluate(
    "new Promise((r) => { setTimeout(() => { throw new Error('alone'); }); setTimeout(r, 1); })",
    true,
  );
  const result = await run("it('a', async () => { await new Promise((r) => setTimeout(r, 30)); });", { page });
  assert.equal(result.uncaught.length, 0);
  const events = page.batches.flatMap((text) => JSON.parse(text).events);
  assert.deepEqual(
    events.filter(({ type }) => type === 'uncaught').map(({ run, test }) => [run, test]),
    [[undefined, undefined]],
  );
  await page.close();
});

test('in a burst of tests the one is not guessed', async () => {
  const result = await run(
    `for (let i = 0; i < 1500; i++) it('t' + i, () => { if (i === 1400) Promise.reject(new Error('somewhere')); });`,
  );
  assert.equal(result.uncaught.length, 1);
  const [{ test: index, run: id }] = result.uncaught;
  assert.ok(index === undefined || index === 1400, `${index}`);
  assert.ok(id > 0);
  assert.equal(result.results.length, 1500);
});

test('what does not load is no error of the run', async () => {
  const result = await run(
    `it('a', async () => { const i = new Image(); document.body.append(i); i.src = 'http://127.0.0.1:1/x.png'; await new Promise((r) => { i.onerror = r; }); });`,
  );
  assert.deepEqual(told(result), []);
});

for (const [name, code] of [
  ['document.write', "document.write('<p>new</p>'); document.close();"],
  ['document.open', 'document.open(); document.write("<body>x</body>"); document.close();'],
  ['an empty document', 'document.documentElement.remove();'],
  ['another body', "document.body = document.createElement('body');"],
  ['globals removed', 'for (const key of Object.getOwnPropertyNames(window)) { try { delete window[key]; } catch {} }'],
  [
    'symbols removed',
    'for (const key of Object.getOwnPropertySymbols(window)) { try { delete window[key]; } catch {} }',
  ],
  ['frozen prototypes', 'Object.freeze(Object.prototype); Object.freeze(Array.prototype);'],
  ['a new location hash', "location.hash = 'x'; history.pushState(null, '', '/other');"],
]) {
  test(`the run survives ${name}`, async () => {
    const result = await run(`
      it('before', () => {});
      it('does it', () => { ${code} });
      it('compares', () => { expect({ a: 1 }).toEqual({ a: 2 }); });
      it('rejects', () => { (async () => { throw 'still told'; })(); });
      it('waits', { timeout: 50 }, () => (async () => {})().then(() => new ((async () => {})().constructor)(() => {})));
      it('mocks', () => { const f = vi.fn(); f(1); expect(f).toHaveBeenCalledWith(1); });
    `);
    assert.deepEqual(Object.values(result.states), ['passed', 'passed', 'failed', 'passed', 'failed', 'passed']);
    assert.match(result.error('compares').diff, /- {3}"a": 2/);
    assert.equal(result.error('waits').kind, 'timeout');
    assert.deepEqual(told(result), [[3, 'rejection', 'still told']]);
  });
}
