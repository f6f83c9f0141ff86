// The transport engine alone: ring, payloads, registry, redaction, exports, batches.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { load } from '../harness/module.mjs';

const { createDevtoolsEngine, RingBuffer, textSize, previewOf, copyOfStart, bytesOf, oneLine, createRedactor } =
  await load('engine/engine.ts', 'engine/ring-buffer.ts', 'engine/payload.ts', 'engine/export.ts', 'engine/redact.ts');

// The recorder's own timers do not keep Node waiting.
const waiting = setInterval(() => {}, 1_000);
after(() => clearInterval(waiting));

const ws = (engine, url = 'ws://host/a') => engine.recordConnection({ protocol: 'websocket', url, state: 'open' }).id;
const say = (engine, connectionId, payload, more = {}) =>
  engine.recordMessage({ connectionId, direction: 'in', protocol: 'websocket', payload, ...more });

test('a ring keeps the newest, in order, and counts what it dropped', () => {
  const ring = new RingBuffer(3);
  assert.equal(ring.push(1), undefined);
  for (const item of [2, 3, 4, 5]) ring.push(item);
  assert.deepEqual(ring.toArray(), [3, 4, 5]);
  assert.equal(ring.length, 3);
  assert.equal(ring.droppedCount, 2);
  assert.equal(ring.push(6), 3);
  ring.clear();
  assert.deepEqual([ring.toArray(), ring.length, ring.droppedCount], [[], 0, 0]);
  for (const capacity of [0, -1, 1.5, Number.NaN, Infinity, '3', undefined]) {
    assert.throws(() => new RingBuffer(capacity), RangeError, String(capacity));
  }
});

test('text is measured as UTF-8, whatever its length and its pairs', () => {
  const texts = ['', 'a', 'é', '文', '😀', '\ud83d', '\ude00\ud83d', 'a😀'.repeat(9_999), '文'.repeat(20_000)];
  texts.push(`${'x'.repeat(16_383)}😀${'y'.repeat(16_383)}😀`, `${'x'.repeat(16_383)}\ud83dz`, '\ud83d'.repeat(16_500));
  texts.push(
    ...[99, 100, 101].flatMap((length) =>
      ['a', 'é', '文', '😀', '\ud83d'].map((last) => 'a'.repeat(length - 1) + last),
    ),
  );
  for (const text of texts) assert.equal(textSize(text), Buffer.byteLength(text), JSON.stringify(text.slice(0, 20)));
});

test('a preview is 100 whole characters, or a number of bytes', () => {
  assert.equal(previewOf('a'.repeat(101), 101), 'a'.repeat(100));
  assert.equal(previewOf('😀'.repeat(101), 404), '😀'.repeat(100));
  assert.equal(previewOf(`${'a'.repeat(99)}😀b`, 104), `${'a'.repeat(99)}😀`);
  assert.equal(previewOf(new ArrayBuffer(7), 7), '[binary 7 bytes]');
  assert.equal(copyOfStart(`${'a'.repeat(9)}😀`, 10), 'a'.repeat(9));
});

test('bytes are found in views, buffers of other realms and shared ones, and in nothing else', async () => {
  const { runInNewContext } = await import('node:vm');
  const buffer = new Uint8Array([1, 2, 3, 4]).buffer;
  assert.deepEqual([...bytesOf(new Uint8Array(buffer, 1, 2))], [2, 3]);
  assert.deepEqual([...bytesOf(new DataView(buffer, 2))], [3, 4]);
  assert.deepEqual([...bytesOf(runInNewContext('new Uint8Array([9, 8]).buffer'))], [9, 8]);
  assert.deepEqual([...bytesOf(new Uint8Array(new SharedArrayBuffer(2)))], [0, 0]);
  for (const other of ['a', 1, null, undefined, {}, [1], { byteLength: 3 }]) assert.equal(bytesOf(other), undefined);
});

test('defaults, order, ids and both clocks', () => {
  const engine = createDevtoolsEngine();
  assert.equal(engine.capacity, 10_000);
  const id = ws(engine);
  const before = Date.now();
  const [first, second] = [say(engine, id, 'one'), say(engine, id, 'two', { type: 'tick', metadata: { a: 1 } })];
  assert.ok(first.id !== second.id && first.id.startsWith(engine.session) && second.n === first.n + 1);
  assert.ok(second.timestamp >= first.timestamp && first.wallTime >= before);
  const { getMessages } = engine;
  assert.deepEqual(getMessages(), [first, second]);
  assert.deepEqual([second.type, second.metadata, second.size], ['tick', { a: 1 }, 3]);
  assert.throws(() => createDevtoolsEngine({ capacity: 0 }), RangeError);
});

test('filters and search', () => {
  const engine = createDevtoolsEngine({ capacity: 50 });
  const a = ws(engine, 'ws://host/a?x=1');
  const b = engine.recordConnection({ protocol: 'eventsource', url: 'http://host/b' }).id;
  say(engine, a, 'Hello World', { timestamp: 5 });
  say(engine, a, 'out', { direction: 'out', timestamp: 6 });
  say(engine, b, 'HELLO again', { protocol: 'eventsource', timestamp: 7 });
  say(engine, a, new Uint8Array([1, 2, 3]), { timestamp: 8 });
  const times = (query) => engine.search(query).map((message) => message.timestamp);
  assert.deepEqual(times({}), [5, 6, 7, 8]);
  assert.deepEqual(times({ connectionId: a }), [5, 6, 8]);
  assert.deepEqual(times({ protocol: 'eventsource' }), [7]);
  assert.deepEqual(times({ direction: 'out' }), [6]);
  assert.deepEqual(times({ urlIncludes: '/a' }), [5, 6, 8]);
  assert.deepEqual(times({ fromTimestamp: 6, toTimestamp: 7 }), [6, 7]);
  assert.deepEqual(times({ text: 'hello' }), [5, 7]);
  assert.deepEqual(times({ text: 'HELLO', connectionId: b }), [7]);
  assert.deepEqual(times({ text: '3 bytes' }), [8]);
  assert.deepEqual(times({ text: 'no.*such' }), []);
  say(engine, 'nobody', 'orphan', { timestamp: 9 });
  assert.deepEqual(times({ urlIncludes: 'host', fromTimestamp: 9 }), []);
});

test('counts stay right when messages make room, by number and by bytes', () => {
  const engine = createDevtoolsEngine({ capacity: 3, byteBudget: 1_000_000 });
  const [a, b] = [ws(engine), ws(engine, 'ws://host/b')];
  for (let i = 0; i < 5; i++) say(engine, a, 'abcd', { direction: i % 2 ? 'out' : 'in' });
  say(engine, b, 'é');
  const all = engine.getMetrics();
  assert.deepEqual(
    [all.messageCount, all.incomingCount, all.outgoingCount, all.droppedMessageCount, all.totalBytes],
    [6, 4, 2, 3, 22],
  );
  assert.equal(all.retainedMessageCount, 3);
  const one = engine.getMetrics(a);
  assert.deepEqual([one.messageCount, one.droppedMessageCount, one.retainedMessageCount], [5, 3, 2]);
  assert.equal(engine.getMetrics('nobody').messageCount, 0);

  const small = createDevtoolsEngine({ byteBudget: 10_000 });
  const id = ws(small);
  for (let i = 0; i < 100; i++) say(small, id, new Uint8Array(700));
  const { retainedBytes, retainedMessageCount, droppedMessageCount, messageCount } = small.getMetrics();
  assert.ok(retainedBytes <= 10_000 && retainedMessageCount >= 9, `${retainedBytes} ${retainedMessageCount}`);
  assert.equal(retainedMessageCount + droppedMessageCount, messageCount);
});

test('of a long payload the start stays, and the true size', () => {
  const engine = createDevtoolsEngine();
  const id = ws(engine);
  const text = say(engine, id, 'x'.repeat(5_000));
  assert.deepEqual([text.payload.length, text.size, text.truncated], [1024, 5000, true]);
  const app = new Uint8Array(2_000).fill(7);
  const bytes = say(engine, id, app);
  app.fill(0);
  assert.deepEqual([bytes.payload.byteLength, bytes.size, bytes.truncated], [1024, 2000, true]);
  assert.ok(new Uint8Array(bytes.payload).every((byte) => byte === 7));
  assert.equal(bytes.payloadPreview, '[binary 2000 bytes]');
  assert.equal(engine.getMetrics().truncatedMessageCount, 2);
});

test('states only go on, and the registry is bounded', () => {
  const engine = createDevtoolsEngine();
  const id = ws(engine);
  engine.updateConnection(id, { state: 'closing', metadata: { a: 1 } });
  engine.updateConnection(id, { state: 'open' });
  assert.equal(engine.getConnections()[0].state, 'closing');
  const closed = engine.updateConnection(id, { state: 'closed', closeCode: 1000, metadata: { b: 2 } });
  engine.updateConnection(id, { state: 'open', closeCode: 4000 });
  const after = engine.getConnections()[0];
  assert.deepEqual(after, closed);
  assert.deepEqual([after.metadata, after.closeCode], [{ a: 1, b: 2 }, 1000]);
  assert.equal(engine.updateConnection('nobody', { state: 'open' }), undefined);
  for (let i = 0; i < 3_000; i++) engine.updateConnection(ws(engine, `ws://host/${i}`), { state: 'closed' });
  const metrics = engine.getMetrics();
  assert.equal(engine.getConnections().length, 1_000);
  assert.deepEqual([metrics.connectionCount, metrics.droppedConnectionCount], [3_001, 2_001]);
});

test('what lives is not forgotten for what is over, and only for more that lives than is remembered', () => {
  const engine = createDevtoolsEngine();
  const id = ws(engine, 'ws://host/ws');
  const removed = () => engine.removeConnection(ws(engine, 'ws://host/none'));
  for (let i = 0; i < 9_000; i++) i % 3 ? removed() : engine.updateConnection(ws(engine), { state: 'closed' });
  say(engine, id, 'late');
  engine.updateConnection(id, { state: 'closed', closeCode: 4001 });
  const first = engine.getConnections().find((connection) => connection.id === id);
  assert.deepEqual([first.state, first.closeCode], ['closed', 4001]);
  assert.deepEqual(
    engine.getMessages({ urlIncludes: '/ws' }).map(({ payload }) => payload),
    ['late'],
  );
  assert.deepEqual(engine.getMetrics().notRecorded, {});
  const live = Array.from({ length: 4_100 }, (_, i) => ws(engine, `ws://host/open/${i}`));
  const left = engine.getConnections().filter(({ state }) => state === 'open');
  assert.deepEqual(
    left.map((connection) => connection.id),
    live.slice(100),
  );
  const { droppedConnectionCount, notRecorded } = engine.getMetrics();
  assert.equal(droppedConnectionCount, 2_001 + 100);
  assert.deepEqual(notRecorded, { 'end of a connection among more than 4000 at once': 100 });
});

test('a socket that comes back after a break counts as reconnected, others do not', () => {
  const engine = createDevtoolsEngine();
  const dial = (url) => engine.recordConnection({ protocol: 'websocket', url });
  const end = (connection, closeCode) => engine.updateConnection(connection.id, { state: 'closed', closeCode });
  end(dial('ws://host/s?token=1'), 1006);
  const second = dial('ws://host/s?token=2');
  assert.equal(second.reconnectCount, 1);
  assert.equal(dial('ws://host/s').reconnectCount, 0, 'beside another');
  end(second, 1012);
  assert.equal(dial('ws://host/s').reconnectCount, 2);
  end(dial('ws://host/t'), 1000);
  assert.equal(dial('ws://host/t').reconnectCount, 0, 'closed on purpose');
});

test('clear keeps what lives', () => {
  const engine = createDevtoolsEngine();
  const [live, over] = [ws(engine), ws(engine, 'ws://host/over')];
  engine.updateConnection(over, { state: 'closed' });
  say(engine, live, 'a');
  engine.clear();
  assert.deepEqual(engine.getMessages(), []);
  assert.deepEqual(
    engine.getConnections().map(({ id }) => id),
    [live],
  );
  say(engine, live, 'b');
  assert.equal(engine.getMetrics(live).messageCount, 1);
  assert.equal(engine.getMessages({ urlIncludes: 'host' }).length, 1);
});

test('exports are a line a message, whatever is in it', () => {
  const engine = createDevtoolsEngine();
  const id = ws(engine);
  say(engine, id, 'one\ntwo\u2028\u202e\u0007\ud83d', { timestamp: 12.3456 });
  say(engine, id, new Uint8Array([0, 255]), { direction: 'out', timestamp: 13, type: 'a\nb' });
  const cyclic = {};
  cyclic.self = cyclic;
  say(engine, id, 'cyclic', { timestamp: 14, metadata: cyclic });
  assert.deepEqual(engine.exportLog().split('\n'), [
    '12.346 IN [websocket] message - one\\ntwo\\u2028\\u202e\\u0007\ud83d',
    '13.000 OUT [websocket] a\\nb - [binary 2 bytes]',
    '14.000 IN [websocket] message - cyclic',
  ]);
  const lines = engine
    .exportJsonl()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(lines[0].payload, 'one\ntwo\u2028\u202e\u0007\ufffd');
  assert.deepEqual(lines[1].payload, { type: 'array-buffer', byteLength: 2, base64: 'AP8=' });
  assert.equal(lines[2].connectionId, id);
  assert.match(lines[2].error, /RangeError/);
  assert.equal(engine.exportJsonl({ direction: 'out' }).split('\n').length, 1);
  assert.equal(oneLine('plain'), 'plain');
});

test('redaction comes before anything is kept', () => {
  const engine = createDevtoolsEngine({ redact: { queryParams: ['token'], jsonFields: ['password', 'pin'] } });
  const id = ws(engine, 'ws://host/a?Token=secret&b=1#token=secret');
  assert.equal(engine.getConnections()[0].url, 'ws://host/a?Token=[redacted]&b=1#token=[redacted]');
  const payload = { user: 'a', nested: [{ Password: 'secret', pin: { deep: 'secret' } }], password: ['secret'] };
  say(engine, id, JSON.stringify(payload));
  say(engine, id, '{"password": "sec\\"ret", "pin": 12345, "a": 1} trailing secret-free');
  say(engine, id, '{"a": 1, "password": "secr');
  say(engine, id, 'the password is not a field');
  const [first, second, third, fourth] = engine.getMessages().map((message) => message.payload);
  const hidden = '[redacted]';
  assert.deepEqual(JSON.parse(first), { user: 'a', nested: [{ Password: hidden, pin: hidden }], password: hidden });
  assert.equal(second, '{"password": "[redacted]", "pin": "[redacted]", "a": 1} trailing secret-free');
  assert.equal(third, '{"a": 1, "password": "[redacted]"');
  assert.equal(fourth, 'the password is not a field');
  assert.equal(createRedactor({}), undefined);
});

test('subscribers are told once for many changes, with a number that grows', async () => {
  const engine = createDevtoolsEngine();
  const id = ws(engine);
  const told = [];
  const stop = engine.subscribe((version) => told.push(version));
  const later = new Promise((resolve) => engine.subscribe(resolve));
  for (let i = 0; i < 500; i++) say(engine, id, 'a');
  assert.deepEqual(told, []);
  await later;
  assert.deepEqual(told, [501]);
  stop();
});

test('subscribers are told at most once a frame for as long as changes go on', async () => {
  const engine = createDevtoolsEngine();
  const id = ws(engine);
  const told = [];
  const stop = engine.subscribe(() => told.push(performance.now()));
  const from = performance.now();
  while (told.length < 5) {
    say(engine, id, 'a');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  stop();
  // A timer may be a millisecond early.
  assert.ok(told.at(-1) - from >= 5 * 15, told.join(' '));
  assert.ok(engine.getMetrics().messageCount > 5);
});

test('messages after a number are found without a look at those before', () => {
  const engine = createDevtoolsEngine({ capacity: 10 });
  const id = ws(engine);
  for (let i = 1; i <= 25; i++) say(engine, id, `${i}`);
  const after = (n) => engine.search({ after: n }).map(({ payload }) => Number(payload));
  assert.deepEqual(after(22), [23, 24, 25]);
  assert.deepEqual(after(0).length, 10);
  assert.deepEqual([after(25), after(99)], [[], []]);
  engine.clear();
  say(engine, id, '26');
  assert.deepEqual([after(25), after(26)], [[26], []]);
});

test('the wall clock goes as fast as the clock of the document', () => {
  const engine = createDevtoolsEngine();
  const id = ws(engine);
  const [first, second] = [say(engine, id, 'a'), say(engine, id, 'b')];
  const apart = second.wallTime - first.wallTime - (second.timestamp - first.timestamp);
  assert.ok(Math.abs(apart) < 0.01 && Math.abs(first.wallTime - Date.now()) < 1_000, `${apart}`);
});
