// The sign that a debugger is connected: what it shows, when it goes, and what the page notices of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { relayForTests } from '../harness/relay.mjs';

const relay = await relayForTests();
let page;

const ID = '__ait_debug_indicator';
/** Opens the shadow root to this test, and lets a second pass in 50 ms where `fast` is set. */
const OPEN = `
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) {
    const root = attach.call(this, options);
    if (this.id === '${ID}') { globalThis.mode = options.mode; globalThis.root = root; }
    return root;
  };
  const slow = setTimeout;
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (ms) => timeout(globalThis.fast && ms >= 400 ? ms / 20 : ms);`;

async function attached(first = OPEN) {
  const { page: own, leg } = await relay.attached(first);
  page = own;
  await until(`document.getElementById('${ID}')`);
  return leg;
}

/** Waits in the page until the expression is true, and gives its value. */
function until(expression) {
  return page.evaluate(
    `new Promise((done, fail) => {
      const end = performance.now() + 8000;
      const look = () => { const found = ${expression}; if (found) done(typeof found === 'object' ? true : found); else if (performance.now() > end) fail(new Error('never')); else requestAnimationFrame(look); };
      look();
    })`,
    true,
  );
}

const state = () => page.evaluate(`document.getElementById('${ID}')?.dataset.state ?? 'none'`);
const text = () => page.evaluate('root.textContent');

test('it comes with the connection, red, in the words of the page, and beats', async () => {
  await attached();
  assert.equal(await state(), 'attached');
  assert.equal(await text(), 'Debugger connected');
  assert.equal(await page.evaluate('mode'), 'closed');
  const dot = `getComputedStyle(root.querySelector('span'))`;
  assert.equal(await page.evaluate(`${dot}.backgroundColor`), 'rgb(229, 72, 77)');
  await until(`${dot}.opacity < 1`);
  await until(`${dot}.opacity == 1`);
});

test('it speaks Korean to a Korean', async () => {
  await attached(`${OPEN} Object.defineProperty(navigator, 'language', { get: () => 'ko-KR' });`);
  assert.equal(await text(), '디버거 연결됨');
});

test('a break turns it grey, a reconnect red again, and there is one of it', async () => {
  const leg = await attached();
  relay.sockets = 'refuse';
  relay.streams = 503;
  leg.cut();
  await until(`document.getElementById('${ID}').dataset.state === 'disconnected'`);
  assert.equal(await text(), 'Debugger disconnected');
  relay.sockets = 'accept';
  await page.evaluate(`dispatchEvent(new Event('online'))`);
  await relay.until(() => relay.legs.length > 1 && relay.legs.at(-1).messages.length);
  await relay.next(relay.legs.length - 1);
  await until(`document.getElementById('${ID}')?.dataset.state === 'attached'`);
  assert.equal(await page.evaluate(`document.querySelectorAll('#${ID}').length`), 1);
});

test('it goes by itself when the session ends, and comes back with the next', async () => {
  const leg = await attached();
  await page.evaluate('fast = true');
  leg.close(1000);
  await until(`!document.getElementById('${ID}')`);
  await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`);
  await relay.next(1);
  await until(`document.getElementById('${ID}')?.dataset.state === 'attached'`);
});

test('it says why where a person can do something, and nothing where another page has its place', async () => {
  page = await relay.page(OPEN);
  await relay.until(() => relay.legs[0]?.messages.length);
  relay.legs[0].close(4401);
  await until(`globalThis.root`);
  assert.equal(await text(), 'Code expired: scan again');
  for (const code of [4408, 4409]) {
    await relay.reset();
    const leg = await attached();
    leg.close(code);
    await until(`!document.getElementById('${ID}')`);
  }
});

test("a tap takes it away and is the app's all the same", async () => {
  relay.head = '<style>body { margin: 0; height: 100vh }</style>';
  const leg = await attached(
    `${OPEN} globalThis.taps = []; addEventListener('click', (event) => taps.push(event.target.tagName));`,
  );
  const { x, y } = await page.evaluate(
    `(({ left, top }) => ({ x: left + 5, y: top + 5 }))(root.firstChild.getBoundingClientRect())`,
  );
  assert.equal(await page.evaluate(`document.elementFromPoint(${x}, ${y}).tagName`), 'BODY');
  const tap = async (at) => {
    for (const type of ['mousePressed', 'mouseReleased'])
      await page.call('Input.dispatchMouseEvent', { type, x: at.x, y: at.y, button: 'left', clickCount: 1 });
  };
  await tap({ x: x + 300, y: y + 200 });
  assert.equal(await state(), 'attached');
  await tap({ x, y });
  assert.equal(await state(), 'none');
  assert.deepEqual(await page.evaluate('taps'), ['BODY', 'BODY']);
  // It does not come back to say goodbye.
  leg.close(1000);
  await relay.until(() => leg.gone);
  assert.equal(await state(), 'none');
});

test('native calls under way are named with their age, three of them, and nothing else of them', async () => {
  await attached();
  await page.evaluate(`globalThis.__ait_bridge = { pending: Object.fromEntries(
    [['openCamera', 2], ['getUser', 61], ['old', 130], ['https://secret.test/?at=123456', 1], ['a', 0], ['b', 0]].map(
      ([method, age], index) => ['x' + index, { method, startedAt: Date.now() - age * 1000, args: ['secret'] }])) }; 0`);
  await until(`root.textContent.includes('openCamera')`);
  assert.match(await text(), /^Debugger connectedopenCamera [23] s\ngetUser 6[12] s\n… [12] s\n\+2$/);
  await page.evaluate(`globalThis.__ait_bridge = { get pending() { throw new Error('mine') } }; 0`);
  await until(`root.textContent === 'Debugger connected'`);
});

test('the page does not notice it', async () => {
  // Styles of the app that would hit it, and a policy against styles.
  relay.head = '<style>html > div, div, span { display: none !important; color: lime !important }</style>';
  relay.policy = `style-src 'unsafe-inline' ; default-src * 'unsafe-inline' 'unsafe-eval'`;
  await attached(`${OPEN}
    globalThis.shifts = [];
    new PerformanceObserver((list) => shifts.push(...list.getEntries())).observe({ type: 'layout-shift', buffered: true });
    globalThis.violations = [];
    document.addEventListener('securitypolicyviolation', (event) => violations.push(event.effectiveDirective));`);
  assert.equal(await page.evaluate(`getComputedStyle(document.getElementById('${ID}')).position`), 'fixed');
  assert.deepEqual(await page.evaluate('[shifts.length, violations, document.body.children.length]'), [0, [], 0]);
  assert.deepEqual(await page.evaluate(`[scrollX, scrollY, document.documentElement.scrollWidth > innerWidth]`), [
    0,
    0,
    false,
  ]);
  assert.equal(await page.evaluate('document.getAnimations().length'), 0);
  assert.equal(await page.evaluate(`document.body.innerText + document.documentElement.innerText`), '');
  const { nodes } = await page.call('Accessibility.getFullAXTree');
  assert.ok(!nodes.some(({ name }) => /Debugger/.test(name?.value ?? '')));
  assert.equal(await page.evaluate(`document.getElementById('${ID}').shadowRoot`), null);
});

test('a policy that forbids styles does not mean it', async () => {
  relay.policy = `style-src 'none'`;
  await attached(`${OPEN}
    globalThis.violations = [];
    document.addEventListener('securitypolicyviolation', (event) => violations.push(event.effectiveDirective));`);
  assert.equal(await page.evaluate(`getComputedStyle(root.firstChild).color`), 'rgb(255, 255, 255)');
  assert.deepEqual(await page.evaluate('violations'), []);
});

test('it is gone before the page goes into the back-forward cache', async () => {
  await attached();
  await page.evaluate(`dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))`);
  assert.equal(await state(), 'none');
});
