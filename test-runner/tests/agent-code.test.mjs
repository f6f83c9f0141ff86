// How the agent runs code where the page's policy forbids eval, and what it does where no way is left.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { relayForTests } from '../harness/relay.mjs';

const relay = await relayForTests();
let page;

/** Reports of the page's policy, as its own scripts see them. */
const VIOLATIONS = `globalThis.violations = [];
  document.addEventListener('securitypolicyviolation', (event) => violations.push(event.effectiveDirective));`;

async function attached(policy, first = VIOLATIONS) {
  relay.policy = policy;
  const { page: own, leg } = await relay.attached(first);
  page = own;
  return leg;
}

let id = 100;
const evaluate = (leg, expression, more = {}) =>
  leg.ask(++id, 'Runtime.evaluate', { expression, returnByValue: true, ...more });

/** Plays the relay: serves the script that is asked for, as ours makes it, and tells where it is. */
async function serve(leg, command, script, inserted) {
  await relay.until(() => asked(leg, command) > 0);
  tell(leg, command, script, inserted);
}

const asked = (leg, command) =>
  leg.messages.filter(({ method, params }) => method === 'Agent.script' && params.id === command).length;

let names = 0;
function tell(leg, command, script, inserted = []) {
  const name = (++names).toString(16).padStart(32, '0');
  if (script !== undefined) relay.scripts.set(`${name}.js`, script.replaceAll('HOOK', `ait_${name}`));
  leg.say('Relay.script', { id: command, name, inserted });
}

const value = (code) => `try{HOOK.value((${code}))\n}catch(e){HOOK.thrown(e)}`;

test('with eval there are no scripts and no reports', async () => {
  const leg = await attached('');
  assert.equal((await evaluate(leg, '1 + 1')).result.result.value, 2);
  assert.equal(leg.messages.filter(({ method }) => method === 'Agent.script').length, 0);
});

test('a Trusted Types policy of its own lets eval through', async () => {
  const leg = await attached(`require-trusted-types-for 'script'`);
  assert.equal((await evaluate(leg, '1 + 1')).result.result.value, 2);
  const thrown = (await evaluate(leg, 'throw new RangeError("so")')).result.exceptionDetails;
  assert.match(thrown.exception.description, /^RangeError: so/);
  assert.deepEqual(await page.evaluate('violations'), ['require-trusted-types-for'], 'one look');
});

test('a policy that comes with an element of the page is noticed', async () => {
  const leg = await attached('');
  assert.equal((await evaluate(leg, '2')).result.result.value, 2);
  const meta = `document.head.insertAdjacentHTML('beforeend', '<meta http-equiv=content-security-policy content="script-src ${relay.origin}">')`;
  await page.evaluate(meta);
  leg.command(7, 'Runtime.evaluate', { expression: '3', returnByValue: true });
  await serve(leg, 7, value('3'));
  assert.equal((await leg.heard(7)).result.result.value, 3);
});

for (const policy of [`script-src 'nonce-n'`, `script-src RELAY`, `script-src 'nonce-n' 'strict-dynamic'`]) {
  test(`scripts of the relay stand in for eval: ${policy}`, async () => {
    const leg = await attached(policy.replace('RELAY', relay.origin));
    leg.command(1, 'Runtime.evaluate', { expression: 'document.title', returnByValue: true });
    await serve(leg, 1, value('document.title'));
    assert.equal((await leg.heard(1)).result.result.value, 'page');
    leg.command(2, 'Runtime.evaluate', { expression: 'Promise.resolve(5)', returnByValue: true, awaitPromise: true });
    await serve(leg, 2, value('Promise.resolve(5)'));
    assert.equal((await leg.heard(2)).result.result.value, 5);
    leg.command(3, 'Runtime.callFunctionOn', {
      functionDeclaration: 'function (a) { return this === window && a }',
      arguments: [{ value: 4 }],
      returnByValue: true,
    });
    await serve(leg, 3, value('function (a) { return this === window && a }'));
    assert.equal((await leg.heard(3)).result.result.value, 4);
    assert.ok((await page.evaluate('violations')).length <= 2, 'one look at eval, one at Trusted Types');
    assert.equal(await page.evaluate(`document.querySelectorAll('script').length`), 1, 'nothing stays behind');
    assert.deepEqual(
      await page.evaluate(`Object.getOwnPropertyNames(window).filter((name) => /^ait_/.test(name))`),
      [],
    );
  });
}

test('what such a script throws has name, message and place, and no address of the relay', async () => {
  const leg = await attached(`script-src 'nonce-n'`);
  leg.command(1, 'Runtime.evaluate', { expression: 'x' });
  await serve(leg, 1, `try{\nfoo.bar\n}catch(e){HOOK.thrown(e)}`);
  const details = (await leg.heard(1)).result.exceptionDetails;
  assert.match(details.exception.description, /^ReferenceError: foo is not defined\n {4}at <anonymous>:2:1$/);
  assert.deepEqual([details.lineNumber, details.columnNumber, details.text], [1, 0, 'Uncaught']);
  assert.ok(!JSON.stringify(leg.messages.slice(1)).includes('/bundle/'));
  // What does not parse, and what throws past the hook.
  leg.command(2, 'Runtime.evaluate', { expression: '(' });
  await serve(leg, 2, '(');
  assert.match((await leg.heard(2)).result.exceptionDetails.exception.description, /^SyntaxError: /);
  leg.command(3, 'Runtime.evaluate', { expression: 'x' });
  await serve(leg, 3, 'function f() {}\nthrow 7;');
  assert.equal((await leg.heard(3)).result.exceptionDetails.exception.value, 7);
  // Its own name wins.
  leg.command(4, 'Runtime.evaluate', { expression: 'x\n//# sourceURL=ait-test://1/a.js' });
  await serve(leg, 4, 'try{\nfoo.bar\n//# sourceURL=ait-test://1/a.js\n}catch(e){HOOK.thrown(e)}');
  assert.equal((await leg.heard(4)).result.exceptionDetails.url, 'ait-test://1/a.js');
});

test('places are those of the source, whatever was put into it', async () => {
  const leg = await attached(`script-src 'nonce-n'`);
  const hook = 'ait_'.length + 32 + '.value(('.length;
  for (const [command, [source, script, inserted, column]] of [
    [
      'a; null.b',
      'try{var a; HOOK.value((null.b))\n}catch(e){HOOK.thrown(e)}',
      [
        [0, 0, 4],
        [0, 11, hook],
        [0, 17 + hook, 2],
      ],
      12,
    ],
    [
      '  null.b',
      'try{  HOOK.value((null.b))\n}catch(e){HOOK.thrown(e)}',
      [
        [0, 0, 4],
        [0, 6, hook],
      ],
      7,
    ],
    ['null.b', 'HOOK.value((null.b))', [[0, 0, hook]], 5],
    [
      'f(\nnull.b)',
      'try{HOOK.value((String(\nnull.b)))\n}catch(e){HOOK.thrown(e)}',
      [
        [0, 0, 4],
        [0, 4, hook],
      ],
      5,
    ],
  ].entries()) {
    leg.command(200 + command, 'Runtime.evaluate', { expression: source });
    await serve(leg, 200 + command, script, inserted);
    const { columnNumber, exception } = (await leg.heard(200 + command)).result.exceptionDetails;
    assert.equal(columnNumber, column, source);
    assert.match(exception.description, new RegExp(`:${column + 1}$`));
  }
});

test('commands keep their order behind a script that takes time', async () => {
  const leg = await attached(`script-src 'nonce-n'`);
  leg.command(1, 'Runtime.evaluate', { expression: 'globalThis.log = [1]' });
  leg.command(2, 'Runtime.evaluate', { expression: 'log.push(2)' });
  leg.command(3, 'Runtime.nothing');
  await relay.until(() => asked(leg, 1));
  assert.equal(asked(leg, 2), 0);
  tell(leg, 1, value('globalThis.log = [1]'));
  await serve(leg, 2, value('log.push(2)'));
  await leg.heard(3);
  assert.deepEqual(
    leg.messages.filter(({ id }) => id).map(({ id }) => id),
    [1, 2, 3],
  );
  assert.deepEqual(await page.evaluate('log'), [1, 2]);
});

test('a script that cannot be fetched is asked for again, and runs once; then the command fails', async () => {
  const leg = await attached(`script-src 'nonce-n'`);
  leg.command(1, 'Runtime.evaluate', { expression: 'x', returnByValue: true });
  await serve(leg, 1, undefined);
  await relay.until(() => asked(leg, 1) === 2);
  tell(leg, 1, value('globalThis.runs = (globalThis.runs ?? 0) + 1'));
  assert.equal((await leg.heard(1)).result.result.value, 1);
  leg.command(2, 'Runtime.evaluate', { expression: 'x' });
  for (let time = 1; time <= 3; time++) {
    await relay.until(() => asked(leg, 2) === time);
    tell(leg, 2, undefined);
  }
  assert.match((await leg.heard(2)).error.message, /could not be fetched/);
  // The way is still there.
  leg.command(3, 'Runtime.evaluate', { expression: 'x', returnByValue: true });
  await serve(leg, 3, value('runs'));
  assert.equal((await leg.heard(3)).result.result.value, 1);
});

test('a connection that breaks meanwhile costs nothing', async () => {
  const leg = await attached(`script-src 'nonce-n'`);
  leg.command(1, 'Runtime.evaluate', { expression: 'x', returnByValue: true });
  await relay.until(() => asked(leg, 1));
  leg.cut();
  const again = await relay.next(1);
  await serve(again, 1, value('"still"'));
  assert.equal((await again.heard(1)).result.result.value, 'still');
});

test('where no way is left, simple things still work and the rest is told in a sentence', async () => {
  const leg = await attached(
    `script-src 'nonce-n' 'unsafe-hashes'; require-trusted-types-for 'script'; trusted-types app`,
  );
  leg.command(1, 'Runtime.evaluate', { expression: '(() => 1)()' });
  await serve(leg, 1, value('1'));
  const { exceptionDetails } = (await leg.heard(1)).result;
  assert.match(exceptionDetails.exception.description, /^EvalError: The page's content security policy forbids eval/);
  await page.evaluate(
    `globalThis.app = { list: [{ 'a b': (...args) => [app.list[0] === globalThis.last, ...args] }], get self() { return this } }; 0`,
  );
  const results = {
    'document.title': 'page',
    ' document . title ; ': 'page',
    'app.list.length': 1,
    'app.self.list["length"]': 1,
    "document['title']": 'page',
    '[1, {"a": 2}]': [1, { a: 2 }],
    '"text"': 'text',
    null: null,
    'app.list[0]["a b"](1, "), (", {"b": [null]})': [false, 1, '), (', { b: [null] }],
    'String("x").length': 1,
    'Math.max(1, 2)': 2,
    'decodeURIComponent("%41")': 'A',
  };
  for (const [expression, expected] of Object.entries(results)) {
    const { result } = await evaluate(leg, expression);
    assert.deepEqual(result.result?.value, expected, expression);
    assert.equal(result.exceptionDetails, undefined, expression);
  }
  for (const [expression, expected] of Object.entries({
    'nothing.at.all': /^ReferenceError: nothing is not defined/,
    'app.nothing.more': /^TypeError: /,
    'app.nothing()': /^TypeError: app.nothing is not a function/,
    'a + b': /^EvalError: /,
    'f(x)': /^EvalError: /,
    'f(': /^EvalError: /,
    'let x = 1': /^EvalError: /,
    '': /^EvalError: /,
  })) {
    const { result } = await evaluate(leg, expression);
    assert.match(result.exceptionDetails.exception.description, expected, expression);
  }
});
