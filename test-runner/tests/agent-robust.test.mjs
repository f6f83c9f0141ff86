// The agent and the app: neither breaks the other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { relayForTests } from '../harness/relay.mjs';

const relay = await relayForTests();
let page;

async function attached(first) {
  const { page: own, leg } = await relay.attached(first);
  page = own;
  await leg.ask(1, 'Runtime.enable');
  return leg;
}

let id = 100;
const evaluate = async (leg, expression, more = {}) =>
  (await leg.ask(++id, 'Runtime.evaluate', { expression, returnByValue: true, ...more })).result;

/** Replaces, after the agent came, whatever an app may replace; `touched` names what is called all the same. */
const HOSTILE = `(() => {
  const NativePromise = Promise;
  const next = requestAnimationFrame;
  globalThis.twoFrames = () => new NativePromise((done) => next(() => next(done)));
  const { defineProperty, getOwnPropertyDescriptor, getOwnPropertyNames } = Object;
  const { apply } = Reflect;
  const list = [];
  const push = list.push.bind(list);
  globalThis.touched = list;
  const spoil = (name, owner, key) => {
    const found = getOwnPropertyDescriptor(owner, key);
    if (!found?.configurable) return;
    if (typeof found.value === 'function') {
      const native = found.value;
      defineProperty(owner, key, { ...found, value: function (...args) { push(name + '.' + key); return new.target ? new native(...args) : apply(native, this, args); } });
      if (native.prototype) globalThis[key] === undefined || (owner[key].prototype = native.prototype);
    } else if (found.get) {
      defineProperty(owner, key, { ...found, get() { push(name + '.' + key); return apply(found.get, this, []); } });
    }
  };
  const all = (name, owner, keys = getOwnPropertyNames(owner)) => { for (let i = 0; i < keys.length; i++) if (keys[i] !== 'constructor') spoil(name, owner, keys[i]); };
  for (const name of ['Array', 'String', 'RegExp', 'Number', 'Date', 'Promise', 'Map', 'Set', 'Error', 'MessageEvent', 'CloseEvent', 'EventTarget', 'Event', 'Node', 'Document', 'WebSocket', 'Response', 'ReadableStream', 'ReadableStreamDefaultReader', 'TextDecoder', 'AbortController', 'Function', 'HTMLScriptElement', 'CSSStyleDeclaration', 'Element'])
    all(name, globalThis[name].prototype);
  for (const name of ['Object', 'JSON', 'Math', 'Reflect', 'Array', 'Number', 'Date', 'Promise', 'String', 'Symbol']) all(name, globalThis[name]);
  all('window', globalThis, ['setTimeout', 'clearTimeout', 'fetch', 'WebSocket', 'eval', 'String', 'Promise', 'TypeError', 'EvalError', 'addEventListener', 'TextDecoder', 'AbortController', 'Blob']);
})();`;

test('whatever the app replaces, the agent works, and asks none of it', async () => {
  const leg = await attached();
  await leg.ask(2, 'Runtime.addBinding', { name: 'told' });
  await page.evaluate(HOSTILE);
  const clean = async (what) => {
    assert.deepEqual([...new Set(await page.evaluate('touched'))], [], what);
  };
  const before = await page.evaluate('touched.length');
  assert.equal(before, 0);
  assert.equal((await evaluate(leg, '1 + 1')).result.value, 2);
  assert.deepEqual((await evaluate(leg, '({ a: [1, { b: null }], c: undefined })')).result.value, {
    a: [1, { b: null }],
  });
  await clean('values');
  await leg.ask(3, 'Runtime.callFunctionOn', {
    functionDeclaration: 'function (a) { return a }',
    arguments: [{ value: 1 }],
  });
  const { result } = (await leg.ask(4, 'Runtime.evaluate', { expression: '[{ a: 1 }]', generatePreview: true })).result;
  await leg.ask(5, 'Runtime.getProperties', { objectId: result.objectId, ownProperties: true });
  await leg.ask(6, 'Runtime.releaseObject', { objectId: result.objectId });
  await clean('objects');
  assert.match((await evaluate(leg, 'null.x')).exceptionDetails.exception.description, /^TypeError: /);
  await leg.ask(7, 'Runtime.nothing');
  await clean('errors');
  await evaluate(leg, '(async () => 5)()', { awaitPromise: true });
  await clean('promises');
  leg.say('Relay.echo', { received: 0 });
  await leg.heard('Agent.echo');
  await page.evaluate(`told('one')`);
  await leg.heard('Runtime.bindingCalled');
  await clean('echo and bindings');
  leg.cut();
  const again = await relay.next(1);
  assert.equal((await evaluate(again, '2')).result.value, 2);
  await clean('another connection');
  relay.sockets = 'refuse';
  again.cut();
  await relay.until(() => relay.legs.at(-1).kind === 'stream');
  const stream = await relay.next(relay.legs.length - 1);
  assert.equal((await evaluate(stream, '3')).result.value, 3);
  stream.close(1000);
  await page.evaluate('twoFrames()', true);
  await clean('a stream');
});

test('a polluted Object.prototype makes no difference', async () => {
  const leg = await attached();
  await page.evaluate(
    `Object.assign(Object.prototype, { get: 1, set: 2, value: 3, toJSON() { return 'polluted' }, id: 7, method: 'Page.reload', objectId: 'x', enumerable: true, then(done) { done('polluted') } })`,
  );
  assert.deepEqual((await evaluate(leg, '[1, { a: "b" }]')).result.value, [1, { a: 'b' }]);
  assert.equal((await leg.ask(30, 'Runtime.addBinding', { name: 'late' })).error, undefined);
  await page.evaluate(`late('x')`);
  assert.equal((await leg.heard('Runtime.bindingCalled')).params.payload, 'x');
  await leg.ask(31, 'Runtime.callFunctionOn', { functionDeclaration: 'function () { return 1 }' });
});

test('nothing of the agent is in the way of the app', async () => {
  await relay.chrome.call('Target.getTargets');
  const names = `Object.getOwnPropertyNames(window).filter((name) => !known.has(name))`;
  const leg = await attached(`globalThis.known = new Set(['known', 'errors', ...Object.getOwnPropertyNames(window)]);
    globalThis.errors = [];
    addEventListener('error', (event) => errors.push(event.message));
    addEventListener('unhandledrejection', (event) => errors.push(String(event.reason)));`);
  assert.deepEqual(await page.evaluate(names), []);
  assert.deepEqual(await page.evaluate('Object.keys(window).filter((name) => !known.has(name))'), []);
  // What cannot be described, thrown and logged; what hates being looked at.
  await page.evaluate(`
    const hater = new Proxy({}, { get() { throw new Error('get') }, ownKeys() { throw new Error('keys') }, getPrototypeOf() { throw new Error('proto') }, getOwnPropertyDescriptor() { throw new Error('own') }, has() { throw new Error('has') } });
    console.log(hater, { get a() { throw new Error('getter') } }, Object.create(null), document.all, Symbol('s'), 1n, -0);
    console.table([hater]); console.dir(hater); console.assert(false, hater); console.count(hater === 1 ? '' : 'c');
    setTimeout(() => { throw hater });
    setTimeout(() => { throw { toString() { throw new Error('toString') } } });
    Promise.reject(hater);
    const error = new Error('odd');
    Object.defineProperty(error, 'stack', { get() { throw new Error('stack') } });
    Object.defineProperty(error, 'message', { get() { throw new Error('message') } });
    setTimeout(() => { throw error });
    console.error(error);
    0`);
  for (const [number, message] of [
    'no json',
    '{"id":50}',
    '{"id":null,"method":"Runtime.enable"}',
    '[]',
    'null',
    '{"id":51,"method":"Runtime.evaluate","params":null}',
    '{"id":52,"method":"Runtime.evaluate","params":{"expression":7}}',
    '{"id":53,"method":"Runtime.getProperties","params":{"objectId":{}}}',
    '{"id":54,"method":"Runtime.callFunctionOn","params":{"functionDeclaration":"function(a){return a}","arguments":[null,7,{"unserializableValue":9}]}}',
    '{"id":55,"method":"Page.navigate","params":{"url":{}}}',
    '{"id":56,"method":"__proto__"}',
    '{"id":57,"method":"Runtime.addBinding","params":{"name":"__proto__"}}',
    '{"method":"Relay.script"}',
    '{"method":"Relay.script","params":{"id":1,"name":7}}',
    '{"method":"Relay.nothing","params":[]}',
    '{"method":"Relay.echo","params":{"received":"x"}}',
  ].entries()) {
    leg.send(message);
    void number;
  }
  for (const wrong of [51, 52, 53, 55, 56]) assert.ok((await leg.heard(wrong)).error, `${wrong}`);
  await leg.heard(54);
  assert.equal((await evaluate(leg, '6 * 7')).result.value, 42, 'it is still there');
  await leg.ask(60, 'Runtime.evaluate', {
    expression: 'new Promise((done) => setTimeout(done, 50))',
    awaitPromise: true,
  });
  const errors = await page.evaluate('errors.map(String)');
  assert.equal(errors.length, 4, `the app's own, and none of ours: ${errors}`);
});

test('nothing is ever executed twice', async () => {
  const leg = await attached('globalThis.runs = 0');
  for (const expression of [
    'runs++; throw new Error("x")',
    'runs++; ({',
    '{ runs++ }',
    'runs++, Promise.reject(1)',
    'runs++; ({ then(a, b) { b(2) } })',
  ]) {
    await page.evaluate('runs = 0');
    await evaluate(leg, expression, { awaitPromise: true });
    assert.equal(await page.evaluate('runs'), expression.endsWith('({') ? 0 : 1, expression);
  }
});

test('exceptions carry id, text and place', async () => {
  const leg = await attached();
  const details = (await evaluate(leg, '\n\n  null.x')).exceptionDetails;
  assert.deepEqual([details.text, details.lineNumber, details.columnNumber], ['Uncaught', 2, 7]);
  const inPromise = (await evaluate(leg, `(async () => { throw new RangeError('later') })()`, { awaitPromise: true }))
    .exceptionDetails;
  assert.equal(inPromise.text, 'Uncaught (in promise)');
  assert.ok(inPromise.exceptionId > details.exceptionId);
  relay.scripts.set('boom.js', '\n\n  throw new TypeError("in a file")');
  await page.evaluate(
    `document.body.append(Object.assign(document.createElement('script'), { src: '${relay.origin}/boom.js' }))`,
  );
  const event = (await leg.heard('Runtime.exceptionThrown')).params;
  const { text, lineNumber, columnNumber, url, exception, exceptionId } = event.exceptionDetails;
  assert.deepEqual([text, lineNumber, columnNumber, url], ['Uncaught', 2, 8, `${relay.origin}/boom.js`]);
  assert.match(exception.description, /^TypeError: in a file\n {4}at /);
  assert.ok(exceptionId > 0 && Math.abs(event.timestamp - Date.now()) < 60_000);
});

test('reload and navigate answer before they do it, and another document says so', async () => {
  const leg = await attached();
  const { doc } = leg.messages[0].params;
  await leg.ask(40, 'Page.reload');
  await leg.heard('Agent.leaving');
  const second = await relay.next(1);
  assert.notEqual(second.messages[0].params.doc, doc);
  assert.equal(second.path, leg.path, 'the same page, another document');
  await second.ask(41, 'Page.navigate', { url: `${relay.origin}/at/123456/other#a` });
  const third = await relay.next(2);
  assert.match(third.messages[0].params.url, /\/other#a$/);
  // To the same document with another hash the browser would only scroll.
  await third.ask(42, 'Page.navigate', { url: `${relay.origin}/at/123456/other#b` });
  const fourth = await relay.next(3);
  assert.notEqual(fourth.messages[0].params.doc, third.messages[0].params.doc);
});

test('a frame of the same origin leaves the page its place', async () => {
  relay.head =
    '<script>addEventListener("load", () => { if (parent === self) document.body.append(Object.assign(document.createElement("iframe"), { src: "other" })) })</script>';
  await attached();
  await page.evaluate(
    `new Promise((done) => { const look = () => frames[0]?.document.readyState === 'complete' && frames[0].location.pathname.endsWith('other') ? setTimeout(done, 300) : setTimeout(look, 20); look(); })`,
    true,
  );
  assert.equal(relay.legs.length, 1);
});

test('a recorder that comes before it sees nothing of it', async () => {
  relay.records = true;
  const leg = await attached();
  relay.sockets = 'refuse';
  leg.cut();
  await relay.until(() => relay.legs.at(-1).kind === 'stream');
  const stream = await relay.next(relay.legs.length - 1);
  await stream.ask(2, 'Runtime.evaluate', { expression: '1' });
  const recorded = `WebSocket.prototype.close[Symbol.for('devtools-test.capture')].engine.getConnections().map(({ url }) => url)`;
  assert.deepEqual(await page.evaluate(recorded), []);
  // And all of the app.
  await page.evaluate(`fetch('/mine').then((response) => response.text())`, true);
  assert.deepEqual(await page.evaluate(recorded), [`${relay.origin}/mine`]);
});
