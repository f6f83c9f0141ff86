// WebSocket in a real page: what is recorded is what happened. Numbers are those of section 2 of the reference.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CaptureLab } from '../harness/capture.mjs';

let lab;
before(async () => {
  lab = await CaptureLab.start();
});
after(() => lab?.stop());

const recorded = async (body, ...values) => {
  const page = await lab.recorded();
  const result = await page.run(body, ...values);
  return { page, result, records: await page.records() };
};

test('life of a socket: subprotocol, both directions, code, reason, cleanliness', async () => {
  const { page, result, records } = await recorded(`
    const s = ws('/ws/echo?hello=hi&a=1', ['chat', 'other']);
    const log = [];
    for (const type of ['open', 'message', 'close']) s.addEventListener(type, (e) => log.push([type, s.readyState]));
    await event(s, 'message');
    s.send('ping 😀');
    await event(s, 'message');
    s.close(4001, 'enough');
    await event(s, 'close');
    return { log, protocol: s.protocol };
  `);
  assert.equal(result.protocol, 'chat');
  const [connection] = records;
  assert.equal(connection.url, `${lab.site.origin.replace('http', 'ws')}/ws/echo?hello=hi&a=1`);
  assert.deepEqual([connection.state, connection.closeCode], ['closed', 4001]);
  assert.ok(connection.closedAt >= connection.openedAt);
  const { metadata } = connection;
  assert.deepEqual(
    [metadata.subprotocol, metadata.requestedProtocols, metadata.reason, metadata.wasClean, metadata.closedBy],
    ['chat', 'chat, other', 'enough', true, 'page'],
  );
  assert.deepEqual([metadata.askedCode, metadata.askedReason], [4001, 'enough']);
  const seen = connection.messages.map(({ direction, payload, size }) => [direction, payload, size]);
  assert.deepEqual(seen, [
    ['in', 'hi', 2],
    ['out', 'ping 😀', 9],
    ['in', 'ping 😀', 9],
  ]);
  await page.close();
});

test('binary both ways: buffers, views of a part, blobs with their bytes a moment later', async () => {
  const { page, records } = await recorded(`
    const s = ws('/ws/echo');
    await event(s, 'open');
    s.send(new Uint8Array([1, 2, 3, 4]).subarray(1, 3));
    s.send(new Uint8Array([5, 6]).buffer);
    s.send(new DataView(new Uint8Array([7, 8, 9]).buffer, 2));
    s.send(new Blob(['blob!'], { type: 'text/x' }));
    let n = 0;
    await new Promise((resolve) => s.addEventListener('message', () => ++n === 4 && resolve()));
    s.binaryType = 'arraybuffer';
    s.send(new Uint8Array([10]));
    await event(s, 'message');
    await sleep(50);
  `);
  const seen = records[0].messages.map(({ direction, payload, size }) => [direction, payload, size]);
  const blob = [...Buffer.from('blob!')];
  const of = (direction) => seen.filter(([d]) => d === direction).map(([, payload, size]) => [payload, size]);
  const expected = [
    [[2, 3], 2],
    [[5, 6], 2],
    [[9], 1],
    [blob, 5],
    [[10], 1],
  ];
  assert.deepEqual(of('out'), expected);
  assert.deepEqual(of('in'), expected);
  const kinds = records[0].messages.map(({ metadata }) => metadata.kind);
  assert.equal(kinds.filter((kind) => kind === 'blob').length, 5);
  await page.close();
});

test('blobs that come faster than they are read: small ones all have their bytes, of large ones so many as is bounded', async () => {
  const { page, result, records } = await recorded(`
    const s = ws('/ws/echo');
    await event(s, 'open');
    for (let i = 0; i < 300; i++) s.send(new Blob([String(i)]));
    let n = 0;
    await new Promise((resolve) => s.addEventListener('message', () => ++n === 300 && resolve()));
    const { engine } = WebSocket.prototype.close[Symbol.for('devtools-test.capture')];
    const lost = () => engine.getMetrics().notRecorded['bytes of a blob'] ?? 0;
    const before = lost();
    const large = new Blob([new Uint8Array(10 << 20)]);
    for (let i = 0; i < 3; i++) s.send(large);
    const during = lost();
    await sleep(300);
    return { before, during };
  `);
  const sent = records[0].messages.filter(({ direction }) => direction === 'out').slice(0, 300);
  const texts = sent.map(({ payload }) => String.fromCharCode(...payload));
  assert.deepEqual(
    texts,
    texts.map((_, i) => String(i)),
  );
  assert.deepEqual(result, { before: 0, during: 2 });
  await page.close();
});

test('what the server got is what was recorded as sent, byte for byte (#9 to #11, W3, W6)', async () => {
  const { page, result, records } = await recorded(
    `
    const s = ws('/ws/echo?check');
    await event(s, 'open');
    let conversions = 0;
    s.send('text'); s.send(''); s.send(42); s.send(null); s.send(undefined); s.send(true); s.send('\\ud800x');
    s.send({ toString() { conversions++; return 'once'; } });
    const errors = [];
    for (const call of [() => s.send(), () => WebSocket.prototype.send.call({}, 'x'), () => s.send(Symbol())])
      try { call(); } catch (e) { errors.push(e.name + ': ' + e.message); }
    s.send('end');
    return { conversions, errors };
  `,
  );
  await lab.site.until(() => lab.site.sockets.at(-1).received.some(({ data }) => data.toString() === 'end'));
  const got = lab.site.sockets.at(-1).received.map(({ data }) => data.toString());
  assert.equal(result.conversions, 1);
  assert.equal(result.errors.length, 3);
  const out = (await page.records())[0].messages.filter(({ direction }) => direction === 'out');
  assert.deepEqual(got, ['text', '', '42', 'null', 'undefined', 'true', '\ufffdx', 'once', 'end']);
  assert.deepEqual(
    out.map(({ size }) => size),
    got.map((text) => Buffer.byteLength(text)),
  );
  const observed = out.filter(({ metadata }) => metadata.payload !== 'not observed');
  assert.deepEqual(
    observed.map(({ payload }) => payload.replace('\ud800', '\ufffd')),
    got.filter((text) => text !== 'once'),
  );
  assert.equal(records.length, 1);
  await page.close();
});

test('sends that never leave are no messages (#21, #22, W4)', async () => {
  const { page, result, records } = await recorded(`
    const s = ws('/ws/echo');
    let error;
    try { s.send('too early'); } catch (e) { error = [e.name, e.code, e instanceof DOMException]; }
    await event(s, 'open');
    s.close();
    s.send('closing');
    const buffered = s.bufferedAmount;
    await event(s, 'close');
    s.send('closed');
    return { error, buffered };
  `);
  assert.deepEqual(result.error, ['InvalidStateError', 11, true]);
  assert.equal(result.buffered, 7);
  assert.deepEqual(records[0].messages, []);
  assert.equal(records[0].metadata.discardedSends, 2);
  assert.equal(records[0].closeCode, 1005);
  await page.close();
});

test('ends of every kind: refused, dropped, closed by the server (#23 to #25)', async () => {
  const { page, records } = await recorded(`
    const refused = ws('/ws/refuse');
    await event(refused, 'close');
    const dropped = ws('/ws/echo');
    await event(dropped, 'open');
    dropped.send('drop');
    await event(dropped, 'close');
    const server = ws('/ws/echo');
    await event(server, 'open');
    server.send('close:1012:restart');
    await event(server, 'close');
  `);
  const ends = records.map(({ closeCode, metadata, reconnectCount }) => [
    closeCode,
    metadata.wasClean,
    metadata.reason,
    metadata.error ?? false,
    reconnectCount,
  ]);
  assert.deepEqual(ends, [
    [1006, false, '', true, 0],
    [1006, false, '', false, 0],
    [1012, true, 'restart', false, 1],
  ]);
  await page.close();
});

test('messages in parts, with a ping in the middle, come as one', async () => {
  const { page, records } = await recorded(`const s = ws('/ws/parts'); await event(s, 'message');`);
  assert.deepEqual(
    records[0].messages.map(({ payload, size }) => [payload, size]),
    [['a😀文', 8]],
  );
  await page.close();
});

test('first to see: the app stops an event, throws, or closes in it (W15)', async () => {
  const { page, result, records } = await recorded(`
    const errors = [];
    window.addEventListener('error', (e) => { errors.push(e.message); e.preventDefault(); });
    const s = ws('/ws/echo?hello=one&hello=two');
    s.onmessage = (e) => { e.stopImmediatePropagation(); throw new Error('app'); };
    s.dispatchEvent(new MessageEvent('message', { data: 'made up' }));
    await event(s, 'open');
    await until(() => errors.length === 3);
    s.close();
    await event(s, 'close');
    return errors;
  `);
  assert.deepEqual(result, Array(3).fill('Uncaught Error: app'));
  assert.deepEqual(
    records[0].messages.map(({ payload }) => payload),
    ['one', 'two'],
  );
  await page.close();
});

test('subclasses, prototype calls, several sockets at a time (W1, W2)', async () => {
  const { page, result, records } = await recorded(`
    class Mine extends WebSocket {
      constructor(url) { super(url); this.mine = true; }
      send(data) { super.send('<' + data + '>'); }
    }
    const base = location.origin.replace('http', 'ws');
    const a = new Mine(base + '/ws/echo?a'), b = ws('/ws/echo?b');
    await Promise.all([event(a, 'open'), event(b, 'open')]);
    a.send('x');
    WebSocket.prototype.send.call(b, 'y');
    await Promise.all([event(a, 'message'), event(b, 'message')]);
    const made = Reflect.construct(WebSocket, [base + '/ws/echo?c'], function Other() {});
    return [a instanceof Mine, a instanceof WebSocket, a.mine, a.constructor === Mine, b.constructor === WebSocket, made instanceof WebSocket];
  `);
  assert.deepEqual(result, [true, true, true, true, true, false]);
  assert.deepEqual(
    records.map(({ url }) => url.slice(-1)),
    ['a', 'b', 'c'],
  );
  assert.deepEqual(
    records[0].messages.map(({ payload }) => payload),
    ['<x>', '<x>'],
  );
  await page.close();
});

test('a long session: whole sizes, bounded memory, honest counts (#31)', async () => {
  const page = await lab.recorded('/', { capacity: 100 });
  await page.run(`
    const s = ws('/ws/echo');
    await event(s, 'open');
    let n = 0;
    const all = new Promise((resolve) => s.addEventListener('message', () => ++n === 500 && resolve()));
    for (let i = 0; i < 500; i++) s.send('x'.repeat(2000));
    await all;
  `);
  const metrics = await page.ask('return rec.engine.getMetrics();');
  assert.deepEqual(
    [
      metrics.messageCount,
      metrics.incomingCount,
      metrics.droppedMessageCount,
      metrics.totalBytes,
      metrics.retainedMessageCount,
    ],
    [1000, 500, 900, 2_000_000, 100],
  );
  assert.equal(metrics.truncatedMessageCount, 1000);
  assert.ok(metrics.retainedBytes < 100 * 1400);
  await page.close();
});

test('a socket that is older than the recorder is counted, and covered from its next send (O-26)', async () => {
  const page = await lab.bare();
  await page.run(`window.s = ws('/ws/echo'); await event(s, 'open');`);
  await page.page.evaluate(lab.script);
  await page.run(`s.send('now'); await event(s, 'message');`);
  const [connection] = await page.records();
  assert.deepEqual(
    connection.messages.map(({ payload }) => payload),
    ['now', 'now'],
  );
  assert.equal(connection.metadata.coveredFrom, 'later than its opening');
  const { notRecorded } = await page.ask('return rec.engine.getMetrics();');
  assert.equal(notRecorded['socket opened before the recorder'], 1);
  await page.close();
});
