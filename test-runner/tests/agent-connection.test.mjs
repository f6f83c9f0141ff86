// How the agent keeps its connection: dials, pauses, what it takes for a failure, and when it stops.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { relayForTests } from '../harness/relay.mjs';

const relay = await relayForTests();
let page;

/** Timers of the page that pass at once where they are long, and are kept in a list. */
const SHORT_TIMERS = `
  globalThis.pauses = [];
  const slow = setTimeout;
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (ms) => {
    if (ms >= 100) pauses.push(ms);
    return timeout(globalThis.ticking && ms === 2000 ? ms : Math.min(ms, 20));
  };`;

const kinds = () => relay.legs.map(({ kind }) => kind);

test('it says hello, and shows the ticket when it comes back', async () => {
  const { page: own, leg } = await relay.attached();
  page = own;
  const { params } = leg.messages[0];
  assert.equal(leg.messages[0].method, 'Agent.hello');
  assert.deepEqual(
    [params.title, params.visible, params.received, params.url],
    ['page', true, 0, `${relay.origin}/at/123456/page`],
  );
  assert.match(leg.path, /^\/at\/123456\/target\/[\da-f]{16}\?v=/);
  assert.equal(leg.ticket, '');
  leg.cut();
  const again = await relay.next(1);
  assert.equal(again.ticket, 'ticket');
  assert.ok(!again.path.includes('ticket'), 'an address ends up in logs');
  assert.equal(again.messages[0].params.doc, params.doc);
});

test('what was said while it was away comes once, in order, and commands count', async () => {
  const { page: own, leg } = await relay.attached();
  page = own;
  await leg.ask(1, 'Runtime.enable');
  await leg.ask(2, 'Runtime.addBinding', { name: 'told' });
  leg.cut();
  await page.evaluate(`for (let i = 0; i < 5; i++) told('t' + i)`);
  await relay.until(() => relay.legs[1]?.messages.length);
  assert.equal(relay.legs[1].messages[0].params.received, 2);
  // The relay has both replies and the event of enabling.
  relay.legs[1].say('Relay.welcome', { ticket: 'ticket', received: 3 });
  await relay.until(() => relay.legs[1].messages.length >= 6);
  assert.deepEqual(
    relay.legs[1].messages.slice(1).map(({ params }) => params.payload),
    ['t0', 't1', 't2', 't3', 't4'],
  );
});

test('it pauses longer from failure to failure, never twice the same, and not for ever', async () => {
  relay.sockets = 'refuse';
  relay.streams = 503;
  page = await relay.page(SHORT_TIMERS);
  await relay.until(() => relay.legs.length >= 10);
  const pauses = (await page.evaluate('pauses')).filter((ms) => ms !== 2000 && ms !== 1000).slice(0, 9);
  pauses.forEach((ms, index) => {
    const most = Math.min(400 * 2 ** index, 15_000);
    assert.ok(ms >= most / 2 && ms <= most, `${index}: ${ms}`);
  });
  assert.equal(new Set(pauses).size, pauses.length);
  assert.deepEqual(kinds().slice(0, 4), ['socket refuse', 'stream 503', 'socket refuse', 'stream 503']);
});

test('a dial that hangs is given up', async () => {
  relay.sockets = 'hang';
  page = await relay.page();
  await relay.until(() => relay.legs.length === 2);
  const waited = relay.legs[1].at - relay.legs[0].at;
  assert.ok(waited > 7_500 && waited < 12_000, `${waited}`);
  assert.equal(relay.legs[1].kind, 'stream');
});

test('an error without a close is a failure', async () => {
  // WebKit says no more than this of mixed content and of ports that it blocks.
  page = await relay.page(`
    const Native = WebSocket;
    globalThis.dials = 0;
    globalThis.WebSocket = function (address, protocols) {
      if (dials++ > 0) return new Native(address, protocols);
      const silent = new EventTarget();
      setTimeout(() => silent.dispatchEvent(new Event('error')), 5);
      return silent;
    };
    WebSocket.prototype = Native.prototype;`);
  await relay.until(() => relay.legs[0]?.messages.length);
  assert.deepEqual(kinds(), ['stream'], 'the next way is tried');
});

test('a constructor that throws is a failure', async () => {
  relay.policy = `connect-src ${relay.origin.replace('http', 'ws')}1`;
  page = await relay.page(`
    globalThis.dials = 0;
    const Native = WebSocket;
    globalThis.WebSocket = new Proxy(Native, { construct() { dials++; throw new DOMException('no', 'SecurityError'); } });`);
  await page.evaluate(
    `new Promise((done) => { const look = () => dials > 1 ? done() : setTimeout(look, 20); look(); })`,
    true,
  );
  assert.deepEqual(kinds(), []);
});

for (const [code, why] of [
  [1000, 'the session is over'],
  [4401, 'the code is wrong'],
  [4408, 'another connection took over'],
  [4409, 'another page is in use'],
]) {
  test(`after ${code} it stays quiet: ${why}`, async () => {
    page = await relay.page(SHORT_TIMERS);
    await relay.until(() => relay.legs[0]?.messages.length);
    relay.legs[0].close(code);
    await relay.until(() => relay.legs[0].gone);
    const quiet = `new Promise((done) => slow(done, 300))`;
    await page.evaluate(
      `dispatchEvent(new Event('online')); document.dispatchEvent(new Event('visibilitychange')); ${quiet}`,
      true,
    );
    assert.equal(relay.legs.length, 1);
  });
}

test('a wrong code ends a stream as it ends a socket', async () => {
  relay.sockets = 'refuse';
  relay.streams = 401;
  page = await relay.page(SHORT_TIMERS);
  await relay.until(() => relay.legs.length === 2);
  await page.evaluate(`dispatchEvent(new Event('online')); new Promise((done) => slow(done, 300))`, true);
  assert.deepEqual(kinds(), ['socket refuse', 'stream 401']);
});

test('codes of networks are no reason to stop', async () => {
  await relay.page();
  for (const [number, code] of [1001, 1011, 4000].entries()) (await relay.next(number)).close(code);
  await relay.next(3);
});

/** A page that would wait for seconds: its dials were refused a few times. */
async function waiting() {
  relay.sockets = 'refuse';
  relay.streams = 503;
  // Long pauses, as after many failures; timers below a second pass.
  page = await relay.page(`
    const slow = setTimeout;
  const timeout = AbortSignal.timeout.bind(AbortSignal);
    AbortSignal.timeout = (ms) => timeout(ms > 100 && ms < 1000 ? 3_600_000 : ms);`);
  await relay.until(() => relay.legs.length === 1);
  relay.sockets = 'accept';
  await page.evaluate('new Promise((done) => slow(done, 50))', true);
  assert.equal(relay.legs.length, 1);
}

for (const [what, wake] of [
  ['the network is back', `dispatchEvent(new Event('online'))`],
  ['the page is visible again', `document.dispatchEvent(new Event('visibilitychange'))`],
  [
    'the page is back from the back-forward cache',
    `dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`,
  ],
]) {
  test(`it dials at once when ${what}`, async () => {
    await waiting();
    await page.evaluate(wake);
    await relay.until(() => relay.legs.length === 2);
  });
}

test('it dials at once when the clock has jumped: the page slept', async () => {
  relay.sockets = 'refuse';
  relay.streams = 503;
  page = await relay.page(`
    const slow = setTimeout;
  const timeout = AbortSignal.timeout.bind(AbortSignal);
    AbortSignal.timeout = (ms) => timeout(ms > 100 && ms < 1000 ? 3_600_000 : ms);
    const native = Date.now;
    globalThis.jump = 0;
    Date.now = () => native() + jump;`);
  await relay.until(() => relay.legs.length === 1);
  relay.sockets = 'accept';
  await page.evaluate('jump = 60_000');
  const began = performance.now();
  await relay.until(() => relay.legs.length === 2);
  assert.ok(performance.now() - began < 4_000, 'at the next tick');
});

test('a connection that is silent is dead, whatever the socket says', async () => {
  const { page: own } = await relay.attached(`
    const native = Date.now;
    globalThis.jump = 0;
    Date.now = () => native() + jump;`);
  page = own;
  // Time passes in steps that are no sleep.
  const step = `new Promise((done) => { let n = 0; const more = () => { jump += 7_000; if (++n < 4) setTimeout(more, 2_100); else done(); }; more(); })`;
  await page.evaluate(step, true);
  await relay.until(() => relay.legs.length === 2);
});

test('after sleep a connection gets a moment to prove itself', async () => {
  const { page: own, leg } = await relay.attached(`
    const native = Date.now;
    globalThis.jump = 0;
    Date.now = () => native() + jump;`);
  page = own;
  await page.evaluate('jump = 60_000');
  leg.say('Relay.echo', { received: 0 });
  await leg.heard('Agent.echo');
  const timer = setInterval(() => leg.say('Relay.echo', { received: 0 }), 1_000);
  await page.evaluate('new Promise((done) => setTimeout(done, 9_000))', true);
  clearInterval(timer);
  assert.equal(relay.legs.length, 1, 'it has proven itself');
});

test('where no WebSocket comes through a stream does, and it stays', async () => {
  relay.sockets = 'refuse';
  page = await relay.page();
  const leg = await relay.next(1);
  assert.deepEqual(kinds(), ['socket refuse', 'stream']);
  assert.match(leg.path, /^\/at\/123456\/target\/[\da-f]{16}\?v=/);
  const { result } = await leg.ask(1, 'Runtime.evaluate', { expression: '1 + 1', returnByValue: true });
  assert.equal(result.result.value, 2);
  leg.cut();
  const again = await relay.next(2);
  assert.deepEqual([again.kind, again.ticket], ['stream', 'ticket'], 'no detour by a socket');
  // Many messages, one request at a time.
  await again.ask(2, 'Runtime.addBinding', { name: 'told' });
  await page.evaluate(`for (let i = 0; i < 300; i++) setTimeout(told, i, 't' + i)`);
  const payloads = () =>
    again.messages.filter(({ method }) => method === 'Runtime.bindingCalled').map(({ params }) => params.payload);
  await relay.until(() => payloads().length >= 300);
  assert.deepEqual(
    payloads(),
    Array.from({ length: 300 }, (_, index) => `t${index}`),
  );
  assert.deepEqual(
    again.posts,
    again.posts.map((_, index) => `send ${again.key} ${index}`),
  );
});

test('a network where WebSockets worked is trusted for some dials', async () => {
  const { page: own, leg } = await relay.attached(SHORT_TIMERS);
  page = own;
  relay.sockets = 'refuse';
  leg.cut();
  await relay.until(() => relay.legs.length === 5);
  assert.deepEqual(kinds(), ['socket', 'socket refuse', 'socket refuse', 'socket refuse', 'stream']);
});

test('pages say what they are', async () => {
  const { page: own, leg } = await relay.attached();
  page = own;
  await page.evaluate(`document.title = 'moved'; history.pushState(null, '', '?a=1')`);
  await leg.heard('Agent.page');
  const told = leg.messages.find(({ method }) => method === 'Agent.page').params;
  assert.deepEqual([told.title, told.url], ['moved', `${relay.origin}/at/123456/page?a=1`]);
  leg.say('Relay.echo', { received: 0 });
  assert.deepEqual((await leg.heard('Agent.echo')).params, { received: 0, visible: true });
  await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
  assert.deepEqual((await leg.heard('Agent.visibility')).params, { visible: true });
  // A headless Chrome freezes no page.
  await page.evaluate(`document.dispatchEvent(new Event('freeze'))`);
  await leg.heard('Agent.frozen');
  // One of the page's own making does not leave it.
  await page.evaluate(`dispatchEvent(new PageTransitionEvent('pagehide'))`);
  await leg.ask(9, 'Runtime.evaluate', { expression: '1' });
  assert.ok(!leg.messages.some(({ method }) => method === 'Agent.leaving'));
  await page.call('Page.navigate', { url: 'about:blank' });
  await leg.heard('Agent.leaving');
});
