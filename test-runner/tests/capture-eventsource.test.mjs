// EventSource in a real page, and the recorder's own life: filters, redaction, once per window, uninstall.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CaptureLab, partsOf } from '../harness/capture.mjs';

let lab;
before(async () => {
  lab = await CaptureLab.start();
});
after(() => lab?.stop());

const events = (send, more = '') => `/events?send=${encodeURIComponent(send)}${more}`;

test('named events as the app subscribes, ids, reconnects, end (S1 to S6, #75, #76)', async () => {
  const page = await lab.recorded();
  const first =
    'retry: 10\nid: 1\ndata: plain\n\nevent: tick\nid: 2\ndata: named\n\nevent: unheard\ndata: lost\n\nevent: error\ndata: called error\n\n';
  const result = await page.run(
    `
    const log = [];
    const s = new EventSource(args[0]);
    for (const type of ['open', 'message', 'tick', 'error']) s.addEventListener(type, (e) => log.push(e.data === undefined ? type : type + ':' + e.data));
    s.addEventListener('tick', { handleEvent(e) { e.stopImmediatePropagation(); } });
    s.onmessage = () => {};
    await until(() => log.includes('message:again'));
    s.close();
    s.close();
    return log;
  `,
    events(first, `&cut&hold&then=${encodeURIComponent('data: again\n\n')}`),
  );
  assert.deepEqual(result, [
    'open',
    'message:plain',
    'tick:named',
    'error:called error',
    'error',
    'open',
    'message:again',
  ]);
  const [connection] = await page.records();
  const { state, reconnectCount, metadata, protocol } = connection;
  assert.deepEqual([protocol, state, reconnectCount, metadata.how], ['eventsource', 'closed', 1, 'close']);
  assert.deepEqual(
    [metadata.source, metadata.retry, metadata.lastEventId],
    ['eventsource', 'hidden by the platform', '2'],
  );
  assert.ok(metadata.reconnectMs >= 5);
  assert.deepEqual(
    connection.messages.map(({ type, payload, metadata }) => [type, payload, metadata.lastEventId]),
    [
      ['message', 'plain', '1'],
      ['tick', 'named', '2'],
      ['error', 'called error', '2'],
      ['message', 'again', '2'],
    ],
  );
  await page.close();
});

test('a source that the server ends for good', async () => {
  const page = await lab.recorded();
  await page.run(
    `const s = new EventSource(args[0]); await until(() => s.readyState === 2);`,
    events('id: 5\nretry: 5\ndata: x\n\n', '&gone'),
  );
  const [connection] = await page.records();
  assert.deepEqual([connection.state, connection.metadata.how], ['closed', 'error']);
  await page.close();
});

test('only what the filter lets through, secrets out before they are kept', async () => {
  const page = await lab.recorded(
    '/',
    `{ urlFilter: /parts|echo/, redact: { queryParams: ['token'], jsonFields: ['pin'] } }`,
  );
  await page.run(
    `
    const s = ws('/ws/echo?token=secret&a=1');
    await event(s, 'open');
    s.send('{"pin":"secret","b":2}');
    await event(s, 'message');
    const other = ws('/ws/parts');
    await (await fetch('/other')).text();
    const e = new EventSource('/events?send=');
    await (await fetch(args[0])).text();
  `,
    partsOf(['{"deep":{"pin":1234}}'], 'application/json', '&token=secret'),
  );
  const records = await page.records();
  assert.equal(records.length, 3);
  assert.ok(!JSON.stringify(records).match(/secret|1234/), JSON.stringify(records));
  const { notRecorded } = await page.ask('return rec.engine.getMetrics();');
  assert.equal(notRecorded['excluded by the filter'], 2);
  await page.close();
});

test('once per window, whichever copy comes second; only what was asked for is patched', async () => {
  const page = await lab.recorded('/', { capture: ['websocket'], capacity: 7 });
  const natives = await page.run(
    'return [String(fetch).includes("fetch"), String(EventSource).includes("EventSource")];',
  );
  assert.deepEqual(natives, [true, true]);
  await page.page.evaluate(lab.script);
  assert.equal(await page.ask('return rec.capacity;'), 7);
  const names = 'return Reflect.ownKeys(window).map(String).sort();';
  const bare = await lab.bare();
  assert.deepEqual(await page.run(names), await bare.run(names));
  await bare.close();
  await page.close();
});

test('uninstall restores what is ours, leaves what is not, and stops recording (#70, #71, R1 to R3)', async () => {
  const page = await lab.bare();
  await page.run(`
    window.before = [WebSocket, fetch, EventSource, Response.prototype.text, Object.getOwnPropertyDescriptor(Response.prototype, 'body').get, ReadableStream.prototype[Symbol.asyncIterator]];
  `);
  await page.page.evaluate(lab.script);
  const result = await page.ask(`
    const ours = fetch;
    const theirs = window.fetch = (...args) => ours(...args);
    const s = ws('/ws/echo');
    await event(s, 'open');
    s.send('recorded');
    await event(s, 'message');
    rec.uninstall();
    s.send('not any more');
    await event(s, 'message');
    await (await fetch('/late')).text();
    const after = [WebSocket, before[1], EventSource, Response.prototype.text, Object.getOwnPropertyDescriptor(Response.prototype, 'body').get, ReadableStream.prototype[Symbol.asyncIterator]];
    const again = String(WebSocket.prototype.close[Symbol.for('devtools-test.capture')]);
    return {
      same: after.map((value, i) => value === before[i]), kept: window.fetch === theirs, installed: rec.installed, again,
      constructors: [WebSocket.prototype.constructor === WebSocket, Response.prototype.constructor === Response],
      urls: rec.engine.getConnections().map((c) => c.url), payloads: rec.engine.getMessages().map((m) => m.payload),
    };
  `);
  assert.deepEqual(result.same, Array(6).fill(true));
  assert.deepEqual([result.kept, result.installed, result.again], [true, false, 'undefined']);
  assert.deepEqual(result.constructors, [true, true]);
  assert.deepEqual(result.payloads, ['recorded', 'recorded']);
  assert.equal(result.urls.length, 1);
  await page.page.evaluate(lab.script);
  const fresh = await page.ask(`
    await (await fetch('/again')).text();
    return [rec.engine.getConnections().length, rec.engine.getMessages().length];
  `);
  assert.deepEqual(fresh, [1, 1]);
  await page.close();
});

test('one record a call when the page wraps fetch too, before and after (O-27, #52, R3)', async () => {
  const page = await lab.bare();
  await page.run(`const native = fetch; window.fetch = function fetch(...args) { return native.apply(this, args); };`);
  await page.page.evaluate(lab.script);
  await page.run(`
    const inner = fetch;
    window.fetch = async (...args) => { const r = await inner(...args); r.clone().text(); return r; };
    await (await fetch('/x')).text();
    await sleep(50);
  `);
  const records = await page.records();
  assert.deepEqual([records.length, records[0].messages.length], [1, 1]);
  await page.close();
});

test('what a script in the head does is recorded, and a tool that asks for the natives is not (O-25, O-26)', async () => {
  const code = `const s = new WebSocket('ws://' + location.host + '/ws/echo?hello=hi'); fetch('/early').then((r) => r.text());`;
  const page = await lab.recorded(`/?head=${encodeURIComponent(code)}`);
  await page.ask(`
    await until(() => rec.engine.getMessages().length >= 2);
    const { WebSocket: Native, send, close } = rec.natives;
    const own = new Native('ws://' + location.host + '/ws/echo?own');
    await event(own, 'open');
    Reflect.apply(send, own, ['not ours to record']);
    await event(own, 'message');
    Reflect.apply(close, own, []);
    await (await Reflect.apply(rec.natives.fetch, window, ['/own'])).text();
  `);
  const records = await page.records();
  assert.deepEqual(
    records.map(({ url }) => new URL(url).pathname),
    ['/ws/echo', '/early'],
  );
  assert.ok(!JSON.stringify(records).includes('not ours'));
  await page.close();
});

test('batches leave by themselves, and what waits leaves when the page goes', async () => {
  const page = await lab.recorded('/', { forward: true });
  const batches = [];
  page.page.listen(({ method, params }) => {
    if (method === 'Runtime.bindingCalled' && params.name === 'out') batches.push(...JSON.parse(params.payload));
  });
  await page.page.call('Runtime.addBinding', { name: 'out' });
  await page.ask(`
    const out = window.out;
    window.sink = ({ records }) => out(JSON.stringify(records.map((line) => JSON.parse(line))));
    rec.connect(sink);
    const s = ws('/ws/echo?hello=' + 'x'.repeat(3000));
    await event(s, 'message');
  `);
  const message = (await waitFor(batches, ({ kind }) => kind === 'message')).payload;
  assert.equal(message.length, 3000);
  // A binding cannot be called while the page goes; its storage can.
  await page.ask(`rec.connect(({ records }) => sessionStorage.setItem('last', JSON.stringify(records)));`);
  const loaded = page.page.once('Page.loadEventFired');
  await page.page.call('Page.navigate', { url: `${lab.site.origin}/next` });
  await loaded;
  const last = JSON.parse(await page.run(`return sessionStorage.getItem('last');`)).map((line) => JSON.parse(line));
  assert.deepEqual([last[0].state, last[0].metadata.how], ['closed', 'unload']);
  await page.close();
});

async function waitFor(list, test) {
  for (let i = 0; i < 500; i++) {
    const found = list.find(test);
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`it never came; what did: ${JSON.stringify(list).slice(0, 2_000)}`);
}
