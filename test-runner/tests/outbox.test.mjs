// What leaves the page: batches at the pace of the channel, without loss that is not told.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { load } from '../harness/module.mjs';

const { createDevtoolsEngine, HostChannel, rowLine, samples } = await load(
  'engine/engine.ts',
  'engine/host-channel.ts',
  'engine/row-line.ts',
  '../tests/wire-samples.ts',
);
// The recorder's own timers do not keep Node waiting.
const waiting = setInterval(() => {}, 1_000);
after(() => clearInterval(waiting));

const open = (engine) => engine.recordConnection({ protocol: 'websocket', url: 'ws://host/', state: 'open' }).id;
const say = (engine, connectionId, payload) => engine.recordMessage({ connectionId, direction: 'in', payload });

function collector() {
  const batches = [];
  const sink = ({ records }) => {
    batches.push(records.map((line) => JSON.parse(line)));
  };
  return { batches, sink, all: () => batches.flat() };
}

test('what came before the channel is sent too, connections first, whole payloads', () => {
  const engine = createDevtoolsEngine({ forward: true, maxPayload: 4_000 });
  const id = open(engine);
  say(engine, id, 'x'.repeat(3_000));
  say(engine, id, new Uint8Array(2_000).fill(1));
  say(engine, id, 'y'.repeat(5_000));
  const { all, sink } = collector();
  engine.connect(sink);
  engine.flush();
  const [connection, text, bytes, cut] = all();
  assert.deepEqual([connection.kind, connection.id, connection.state], ['connection', id, 'open']);
  assert.deepEqual([text.kind, text.payload.length, text.truncated], ['message', 3000, undefined]);
  assert.deepEqual([bytes.payload.byteLength, bytes.truncated], [2000, undefined]);
  assert.equal(Buffer.from(bytes.payload.base64, 'base64').compare(Buffer.alloc(2_000, 1)), 0);
  assert.deepEqual([cut.payload.length, cut.size, cut.truncated], [4000, 5000, true]);
  assert.equal(engine.getMessages()[0].payload.length, 1024);
});

test('without a channel nothing is held', () => {
  const engine = createDevtoolsEngine();
  say(engine, open(engine), 'x'.repeat(3_000));
  const { all, sink } = collector();
  engine.connect(sink);
  engine.flush();
  assert.deepEqual(all(), []);
});

test('the next batch waits until the channel has taken the last', async () => {
  const engine = createDevtoolsEngine();
  const id = open(engine);
  const batches = [];
  let took;
  let called = new Promise((resolve) => {
    took = resolve;
  });
  let release;
  engine.connect(({ records }) => {
    batches.push(records.length);
    took();
    return new Promise((resolve) => {
      release = resolve;
    });
  });
  say(engine, id, 'one');
  await called;
  assert.deepEqual(batches, [1]);
  called = new Promise((resolve) => {
    took = resolve;
  });
  say(engine, id, 'two');
  say(engine, id, 'three');
  const idle = await Promise.race([called, new Promise((resolve) => setTimeout(resolve, 250, 'idle'))]);
  assert.equal(idle, 'idle');
  release();
  await called;
  assert.deepEqual(batches, [1, 2]);
});

test('a channel that is behind costs long payloads, then the oldest messages, and both are said', () => {
  const engine = createDevtoolsEngine({ forward: true });
  const id = open(engine);
  for (let i = 0; i < 12; i++) say(engine, id, 'x'.repeat(1024 * 1024));
  for (let i = 0; i < 20_000; i++) say(engine, id, 'small');
  const { all, sink } = collector();
  engine.connect(sink);
  engine.flush();
  const messages = all().filter(({ kind }) => kind === 'message');
  assert.deepEqual(
    all().filter(({ kind }) => kind === 'gap'),
    [{ kind: 'gap', messages: 12 }],
  );
  assert.equal(messages.length, 20_000);

  const other = createDevtoolsEngine({ forward: true });
  const second = open(other);
  for (let i = 0; i < 12; i++) say(other, second, 'x'.repeat(1024 * 1024));
  const later = collector();
  other.connect(later.sink);
  other.flush();
  const lengths = later
    .all()
    .filter(({ kind }) => kind === 'message')
    .map(({ payload }) => payload.length);
  assert.deepEqual(lengths, [...Array(8).fill(1024 * 1024), ...Array(4).fill(1024)]);
  assert.ok(later.batches.length > 5, 'in batches of bounded length');
});

test('a channel that throws does no harm, and is counted', () => {
  const engine = createDevtoolsEngine({ forward: true });
  const id = open(engine);
  const cyclic = {};
  cyclic.self = cyclic;
  engine.updateConnection(id, { metadata: cyclic });
  say(engine, id, 'a');
  engine.connect(() => {
    throw new Error('gone');
  });
  engine.flush();
  assert.deepEqual(engine.getMetrics().notRecorded, { 'channel error': 1 });
});

test('a removed connection and a late payload are records of their own', () => {
  const engine = createDevtoolsEngine({ forward: true });
  const { batches, all, sink } = collector();
  engine.connect(sink);
  const [gone, id] = [open(engine), open(engine)];
  engine.flush();
  batches.length = 0;
  engine.removeConnection(gone);
  const row = engine.record({ connectionId: id, direction: 'in', payload: new ArrayBuffer(0), size: 3 });
  assert.equal(engine.getMessages()[0].truncated, true);
  engine.completePayload(row, new Uint8Array([1, 2, 3]).buffer);
  const [message] = engine.getMessages();
  assert.deepEqual([message.truncated, message.payload.byteLength], [undefined, 3]);
  engine.flush();
  const { kind, id: removedId, url, removed } = all()[0];
  assert.deepEqual([kind, removedId, url, removed], ['connection', gone, engine.getConnections()[0].url, true]);
  assert.equal(engine.getConnections().length, 1);
  const payload = all().find(({ kind }) => kind === 'payload');
  assert.deepEqual([payload.id, payload.payload.base64], [message.id, 'AQID']);
});

test('the host is sent lists, and makes of them what the page itself would write', () => {
  for (const { line, record } of samples.rows) {
    const { payload, type, truncated, metadata, test: running } = record;
    const row = {
      ...record,
      payload: typeof payload === 'string' ? payload : Uint8Array.from(Buffer.from(payload.base64, 'base64')).buffer,
      ...{ type, test: running, truncated: truncated === true, whole: undefined, complete: false },
      metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
    };
    assert.equal(rowLine('s', row, undefined, false, record.kind === 'payload' || undefined), line);
  }
});

test('what has no list is sent as a record: other ids, metadata without JSON', () => {
  const engine = createDevtoolsEngine({ forward: true });
  const cyclic = {};
  cyclic.self = cyclic;
  engine.recordConnection({ id: 'mine', protocol: 'websocket', url: 'ws://host/' });
  say(engine, 'mine', 'a');
  engine.recordMessage({ connectionId: open(engine), direction: 'in', payload: 'b', metadata: cyclic });
  const { all, sink } = collector();
  engine.connect(sink, rowLine);
  engine.flush();
  const [other, without] = all().slice(-2);
  assert.deepEqual([other.kind, other.connectionId, other.payload], ['message', 'mine', 'a']);
  assert.match(without.error, /RangeError/);
});

test('pieces are sent one at a time, cut between characters, and make up what was recorded', async () => {
  const engine = createDevtoolsEngine({ forward: true });
  const id = open(engine);
  const texts = Array.from({ length: 40 }, (_, i) => '\u{1f600}a\n"'.repeat(i * 150));
  for (const text of texts) say(engine, id, text);
  const sent = [];
  const channel = new HostChannel('doc', (piece) => sent.push(piece));
  engine.connect(channel.take, rowLine);
  engine.next();
  for (let seq = 0; seq < sent.length; seq++) {
    assert.equal(sent.length, seq + 1, 'the next one waits for an answer');
    channel.took(seq);
    await null;
    engine.next();
  }
  assert.ok(sent.length > 3);
  const parts = sent.map((piece, seq) => {
    const head = `doc ${seq}\n`;
    assert.ok(piece.startsWith(head) && piece.isWellFormed());
    return piece.slice(head.length);
  });
  const lines = parts
    .join('')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.slice(1).map((row) => row[7]),
    texts,
  );
  assert.equal(channel.waiting + engine.waiting(), 0);
});

test('slow answers make pieces shorter, unless nothing else is waited for', async () => {
  const sent = [];
  const channel = new HostChannel('doc', (piece) => sent.push(piece.length));
  channel.take({ records: ['x'.repeat(400_000)] });
  const answerLate = async () => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    channel.took(sent.length - 1);
  };
  await answerLate();
  await answerLate();
  channel.hurries = true;
  await answerLate();
  await answerLate();
  channel.hurries = false;
  await answerLate();
  const kib = sent.map((length) => Math.round(length / 1024));
  assert.deepEqual(kib, [64, 32, 16, 64, 64, 8]);
});

test('what waits when a page goes leaves at once and whole, whatever the channel waits for, and then a last word', () => {
  for (const busy of [false, true]) {
    const engine = createDevtoolsEngine({ forward: true });
    const id = open(engine);
    const sent = [];
    const channel = new HostChannel('doc', (piece) => sent.push(piece.slice(piece.indexOf('\n') + 1)));
    engine.connect(channel.take, rowLine);
    if (busy) say(engine, id, 'first');
    if (busy) engine.next();
    for (let i = 0; i < 30; i++) say(engine, id, `${i} `.padEnd(10_000, 'x'));
    engine.end();
    const lines = sent.join('').trimEnd().split('\n');
    const records = lines.map((line) => JSON.parse(line));
    assert.equal(records.filter(Array.isArray).length, busy ? 31 : 30);
    assert.deepEqual(records.at(-1), { kind: 'end' });
  }
});

test('a page on its way out keeps nothing back beyond a task, and one that stays says its last word no more', async () => {
  const engine = createDevtoolsEngine({ forward: true });
  const id = open(engine);
  const { batches, all, sink } = collector();
  engine.connect(sink);
  engine.leave();
  for (let i = 0; i < 3; i++) say(engine, id, 'parting');
  const before = batches.length;
  await null;
  assert.equal(batches.length, before + 1);
  assert.deepEqual(
    all().map(({ kind }) => kind),
    ['connection', 'message', 'message', 'message'],
  );
});
