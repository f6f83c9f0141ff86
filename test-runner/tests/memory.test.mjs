// What the recorder keeps alive: no more than it says, whatever the texts are parts of.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CaptureLab } from '../harness/capture.mjs';
import { load } from '../harness/module.mjs';

let lab;
before(async () => {
  lab = await CaptureLab.start();
});
after(() => lab.stop());

const MB = 1024 * 1024;

/** How much more memory a page with a channel takes after a program than before, in bytes. */
async function kept(program) {
  const page = await lab.recorded();
  await page.ask(`rec.connect(() => {});`);
  const used = async () => {
    for (let i = 0; i < 3; i++) await page.page.call('HeapProfiler.collectGarbage');
    const { usedSize } = await page.page.call('Runtime.getHeapUsage');
    return usedSize;
  };
  await page.run(
    `await fetch('data:,warm').then((r) => r.text()); const s = ws('/ws/echo'); await event(s, 'open'); s.close(); await event(s, 'close'); await sleep(150);`,
  );
  const first = await used();
  await page.run(`${program}\nawait sleep(300);`);
  const grown = (await used()) - first;
  const messages = await page.ask('return rec.engine.getMessages().length');
  await page.close();
  return { grown, messages };
}

test('addresses that hold whole documents', async () => {
  const { grown } = await kept(`
    for (let i = 0; i < 20; i++) await fetch('bogus:' + i + 'x'.repeat(2 << 20)).catch(() => {});
  `);
  assert.ok(grown < 5 * MB, `${grown}`);
});

test('short texts that are parts of long ones', async () => {
  const { grown, messages } = await kept(`
    const s = ws('/ws/echo');
    await event(s, 'open');
    for (let i = 0; i < 40; i++) s.send((i + 'y'.repeat(1 << 20) + i).replaceAll('y', 'z').slice(5, 41));
    s.close();
    await event(s, 'close');
  `);
  assert.ok(messages >= 40 && grown < 5 * MB, `${grown} ${messages}`);
});

test('names and ids of events that came in long chunks', async () => {
  const { grown, messages } = await kept(`
    const text = 'event: a-name-of-an-event\\nid: an-id-that-is-rather-long\\ndata: x\\n\\n:' + 'c'.repeat(1 << 20) + '\\n';
    const type = 'text/event-stream';
    const url = URL.createObjectURL(new Blob([text], { type }));
    for (let i = 0; i < 40; i++) for await (const chunk of (await fetch(url)).body) {}
  `);
  assert.ok(messages >= 40 && grown < 5 * MB, `${grown} ${messages}`);
});

test('an event stream without ends of lines', async () => {
  const { grown } = await kept(`
    const part = new Uint8Array(1 << 16).fill(120);
    const parts = [new TextEncoder().encode('data: '), ...Array(1_000).fill(part)];
    const r = await fetch(URL.createObjectURL(new Blob(parts, { type: 'text/event-stream' })));
    for await (const chunk of r.body) {}
    globalThis.held = r;
  `);
  assert.ok(grown < 5 * MB, `${grown}`);
});

test('of a long event the start is kept and its true size is told', async () => {
  const { EventStreamParser } = await load('interceptors/sse-parser.ts');
  const events = [];
  const parse = (text, size, limit = 10) => {
    events.length = 0;
    const parser = new EventStreamParser(
      (event) => events.push(event),
      () => limit,
    );
    for (let at = 0; at < text.length; at += size) parser.push(text.slice(at, at + size));
    return events.map(({ type, data, over }) => [type, data, over]);
  };
  const long = `data: ${'a'.repeat(200)}é\ndata: b\n\ndata: short\n\nevent: ${'t'.repeat(9)}\ndata\n\n`;
  for (let size = 1; size < long.length; size++) {
    assert.deepEqual(parse(long, size), [
      ['message', 'a'.repeat(10), 194],
      ['message', 'short', 0],
      ['t'.repeat(9), '', 0],
    ]);
  }
  const lines = Array.from({ length: 9 }, (_, i) => `data: ${i}`).join('\r\n');
  assert.deepEqual(parse(`${lines}\r\n\r\n`, 3), [['message', '0\n1\n2\n3\n4\n', 7]]);
  const before = performance.now();
  parse('x'.repeat(8 * MB), 1_000, MB);
  assert.ok(performance.now() - before < 2_000, 'each part is looked at once');
});

test('a channel that never comes has what is remembered of connections, and what was dropped is counted', async () => {
  const { createDevtoolsEngine } = await load('engine/engine.ts');
  const engine = createDevtoolsEngine({ forward: true });
  const url = 'http://host/';
  const first = engine.recordConnection({ protocol: 'websocket', url, state: 'open' }).id;
  for (let i = 0; i < 30_000; i++) {
    const { id } = engine.recordConnection({ protocol: 'fetch-stream', url });
    if (i % 2) engine.removeConnection(id);
    else engine.updateConnection(id, { state: 'closed' });
  }
  const records = [];
  engine.connect((batch) => void records.push(...batch.records.map((line) => JSON.parse(line))));
  engine.flush();
  const told = records.filter(({ kind }) => kind === 'connection');
  assert.ok(told.length <= 8_000 && told.length > 5_000, `${told.length}`);
  assert.equal(told[0].id, first, 'what lives is not dropped for what is over');
  const { notRecorded } = engine.getMetrics();
  assert.equal(told.length + notRecorded['connection beyond what the channel can wait for'], 30_001);
});
