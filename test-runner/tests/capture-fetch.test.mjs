// fetch in a real page: chunks as the app reads them, in every way of reading, and how each body ended.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CaptureLab, partsOf } from '../harness/capture.mjs';

let lab;
before(async () => {
  lab = await CaptureLab.start();
});
after(() => lab?.stop());

async function recorded(body, ...values) {
  const page = await lab.recorded();
  const result = await page.run(body, ...values);
  const records = await page.records();
  await page.close();
  return { result, records };
}

const payloads = ({ messages }) => messages.map(({ payload }) => payload);
const sizes = ({ messages }) => messages.map(({ size }) => size);
const joined = (connection) => Buffer.concat(payloads(connection).map((payload) => Buffer.from(payload)));

const emoji = Buffer.from('a😀b文c');
/** Characters are cut in the middle on purpose. */
const CUT = [emoji.subarray(0, 3), emoji.subarray(3, 4), emoji.subarray(4, 8), emoji.subarray(8)];

test('by a reader: a message a chunk, split characters whole, sizes of the wire (#69, F5)', async () => {
  const { result, records } = await recorded(
    `
    const r = await fetch(args[0]);
    const reader = r.body.getReader();
    const chunks = [];
    for (;;) { const { done, value } = await reader.read(); if (done) break; chunks.push(Array.from(value)); }
    return chunks;
  `,
    partsOf(CUT, 'text/plain; charset=UTF-8'),
  );
  assert.deepEqual(Buffer.from(result.flat()), emoji);
  const [connection] = records;
  assert.equal(payloads(connection).join(''), emoji.toString());
  assert.deepEqual(
    sizes(connection),
    result.map((chunk) => chunk.length),
  );
  assert.ok(result.length >= 3, 'the parts came as chunks');
  assert.ok(!payloads(connection).join('').includes('\ufffd'));
  const { protocol, state, metadata } = connection;
  assert.deepEqual(
    [protocol, state, metadata.how, metadata.status, metadata.bodyBytes],
    ['fetch-stream', 'closed', 'end', 200, emoji.length],
  );
  assert.equal(metadata.method, 'GET');
});

const WAYS = {
  'for await': 'for await (const chunk of r.body) void chunk;',
  'values()': 'const it = r.body.values(); while (!(await it.next()).done);',
  'a constructed reader': 'const q = new ReadableStreamDefaultReader(r.body); while (!(await q.read()).done);',
  'a byob reader': "const q = r.body.getReader({ mode: 'byob' }); while (!(await q.read(new Uint8Array(64))).done);",
  pipeTo: 'await r.body.pipeTo(new WritableStream());',
  'pipeTo with options':
    'await r.body.pipeTo(new WritableStream(), { preventClose: true, signal: new AbortController().signal });',
  pipeThrough: 'for await (const text of r.body.pipeThrough(new TextDecoderStream())) void text;',
  'pipeThrough a pair of its own':
    'const t = new TransformStream(); class Pair { get readable() { return t.readable } get writable() { return t.writable } }; const s = r.body.pipeThrough({ readable: t.readable, writable: t.writable }); for await (const c of s) void c;',
  tee: 'const [a, b] = r.body.tee(); await Promise.all([new Response(a).text(), (async () => { for await (const c of b) void c; })()]);',
  'clone, both read': 'const c = r.clone(); await Promise.all([r.text(), c.arrayBuffer()]);',
  'clone, one read': 'const c = r.clone(); await c.text();',
  'clone, one read by a reader': 'const c = r.clone(); for await (const x of c.body) void x; await r.text();',
  'new Response(body)': 'await new Response(r.body).text();',
  'new Response(body).body': 'for await (const c of new Response(r.body).body) void c;',
  'a reader that lets go':
    'const q = r.body.getReader(); await q.read(); q.releaseLock(); for await (const c of r.body) void c;',
  'text()': 'await r.text();',
  'json()': 'await r.json();',
  'arrayBuffer()': 'await r.arrayBuffer();',
  'bytes()': 'await (r.bytes ? r.bytes() : r.arrayBuffer());',
  'blob()': 'await r.blob(); await sleep(50);',
};

test('every way of reading records the same bytes', async (t) => {
  const body = JSON.stringify({ text: 'a😀b文c'.repeat(20) });
  const parts = [
    Buffer.from(body).subarray(0, 13),
    Buffer.from(body).subarray(13, 101),
    Buffer.from(body).subarray(101),
  ];
  for (const [name, code] of Object.entries(WAYS)) {
    await t.test(name, async () => {
      const { records } = await recorded(`const r = await fetch(args[0]); ${code}`, partsOf(parts, 'application/json'));
      const [connection] = records;
      assert.equal(records.length, 1);
      assert.equal(joined(connection).toString(), body);
      assert.equal(
        sizes(connection).reduce((a, b) => a + b),
        Buffer.byteLength(body),
      );
      assert.deepEqual([connection.state, connection.metadata.how], ['closed', 'end']);
    });
  }
});

test('other charsets and byte order marks', async () => {
  const utf16 = Buffer.from('\ufeffhé😀', 'utf16le');
  const { records } = await recorded(
    `for (const address of args) { const r = await fetch(address); for await (const c of r.body) void c; }`,
    partsOf([utf16.subarray(0, 5), utf16.subarray(5)], 'text/plain;charset=utf-16le'),
    partsOf([Buffer.from([0xe9, 0x80])], 'Text/HTML; Charset="windows-1252"'),
    partsOf([Buffer.from('\ufeffmark')], 'application/vnd.api+json'),
    partsOf([Buffer.from([0xff, 0x41, 0xe2, 0x82])], 'text/plain; charset=nonsense'),
    partsOf([Buffer.from('no text')], 'x-text/plain'),
    partsOf([Buffer.from([0xe9])], 'text/plain; charsets; charset=; charset = latin1 ;x=1'),
  );
  assert.deepEqual(
    records.map((r) =>
      payloads(r)
        .map((p) => (typeof p === 'string' ? p : 'binary'))
        .join(''),
    ),
    ['hé😀', 'é€', 'mark', '\ufffdA\ufffd', 'binary', 'é'],
  );
});

test('events over fetch are parsed as the platform does (#77, F11)', async () => {
  const stream =
    ': hello\nid: 1\nevent: tick\ndata: {"a":1}\n\ndata:two\r\ndata: lines\r\n\r\nretry: 250\rid\rdata\r\rdata: 😀\n\ndata: unfinished';
  const raw = Buffer.from(stream);
  const parts = [
    raw.subarray(0, 25),
    raw.subarray(25, 61),
    raw.subarray(61, 62),
    raw.subarray(62, 95),
    raw.subarray(95),
  ];
  const { result, records } = await recorded(
    `
    for (const read of ['body', 'text']) {
      const r = await fetch(args[0]);
      if (read === 'text') await r.text(); else for await (const c of r.body) void c;
    }
    const native = [];
    const s = new EventSource(args[0]);
    for (const type of ['tick', 'message']) s.addEventListener(type, (e) => native.push([e.type, e.data, e.lastEventId]));
    await event(s, 'error');
    s.close();
    return native;
  `,
    partsOf(parts, 'Text/Event-Stream'),
  );
  assert.equal(result.length, 4);
  for (const { protocol, metadata, messages } of records.slice(0, 2)) {
    assert.deepEqual([protocol, metadata.source, metadata.bodyBytes], ['eventsource', 'fetch', raw.length]);
    assert.deepEqual(
      messages.map(({ type, payload, metadata }) => [type, payload, metadata.lastEventId]),
      result,
    );
    assert.deepEqual(
      messages.map(({ metadata }) => metadata.retry),
      [undefined, undefined, 250, undefined],
    );
  }
});

test('ends: broken, aborted while reading, aborted before, cancelled, refused, no body (#40, #41, F8, F12)', async () => {
  const { result, records } = await recorded(
    `
    const log = [];
    const tried = async (name, task) => { try { await task(); log.push([name, 'ok']); } catch (e) { log.push([name, e.name]); } };
    await tried('broken', async () => { const r = await fetch(args[0] + '&break'); await r.text(); });
    const a = new AbortController();
    await tried('reading', async () => { const r = await fetch(args[0] + '&hold', { signal: a.signal }); const q = r.body.getReader(); await q.read(); setTimeout(() => a.abort(), 20); await q.read(); });
    const b = new AbortController();
    await tried('waiting', async () => { setTimeout(() => b.abort(), 20); await fetch('/hang', { signal: b.signal }); });
    const c = new AbortController();
    await tried('unread', async () => { await fetch(args[0] + '&hold&x', { signal: c.signal }); c.abort(); });
    await tried('cancelled', async () => { const r = await fetch(args[0] + '&hold&y'); await r.body.cancel(); });
    await tried('left', async () => { const r = await fetch(args[0] + '&hold&z'); for await (const x of r.body) break; });
    await tried('early', () => fetch('/early', { signal: AbortSignal.abort() }));
    await tried('cors', () => fetch('http://127.0.0.1:1/'));
    await tried('refused', () => fetch('http://user:secret@host/'));
    await tried('none', () => fetch('/status?code=204'));
    await tried('head', () => fetch('/head', { method: 'HEAD' }));
    return log;
  `,
    partsOf(['hello']),
  );
  assert.deepEqual(
    result.map(([, outcome]) => outcome),
    ['TypeError', 'AbortError', 'AbortError', 'ok', 'ok', 'ok', 'AbortError', 'TypeError', 'TypeError', 'ok', 'ok'],
  );
  assert.deepEqual(
    records.map(({ metadata }) => metadata.how),
    ['error', 'abort', 'abort', 'abort', 'cancel', 'cancel', 'error', 'error', 'error'],
  );
  assert.ok(records.every(({ state }) => state === 'closed'));
  assert.ok(!JSON.stringify(records).includes('secret'));
  await lab.site.until(() =>
    ['hold&x', 'hold&y', 'hold&z'].every((end) =>
      lab.site.ends.some(({ path, how }) => path.endsWith(end) && how === 'gone'),
    ),
  );
});

test('addresses and what was asked for (#67, F7)', async () => {
  const { records } = await recorded(`
    history.replaceState(null, '', '/dir/page');
    await (await fetch('other?x=1', { method: 'post', body: 'four' })).text();
    await (await fetch(new URL('/url', location.href))).text();
    await (await fetch(new Request('/request', { method: 'PUT', body: new Uint8Array(3) }))).text();
    await (await fetch('/redirect?to=/target')).text();
    let n = 0;
    await (await fetch({ toString() { n++; return '/object'; } })).text();
    if (n !== 1) throw new Error('converted ' + n + ' times');
    await (await fetch('data:text/plain,hello')).text();
  `);
  assert.deepEqual(
    records.map(({ url, metadata }) => [url.replace(lab.site.origin, ''), metadata.method]),
    [
      ['/dir/other?x=1', 'POST'],
      ['/url', 'GET'],
      ['/request', 'PUT'],
      ['/target', 'GET'],
      ['/object', 'GET'],
      ['data:text/plain,hello', 'GET'],
    ],
  );
  assert.deepEqual(records[0].metadata.requestBody, { kind: 'text', size: 4 });
  assert.deepEqual([records[3].metadata.redirected, records[1].metadata.redirected], [true, false]);
});

test('a body that nobody reads is not pulled; cancel and abort reach the server (#32, #37, #39, F3)', async () => {
  const page = await lab.recorded();
  const path = '/big?bytes=400000000&unread';
  await page.run(`window.r = await fetch(args[0]); await sleep(500);`, path);
  const pulled = lab.site.written.get(path);
  assert.ok(pulled < 40_000_000, `${pulled} bytes were pulled`);
  await page.run('await r.body.cancel();');
  await lab.site.until(() => lab.site.ends.some((end) => end.path === path && end.how === 'gone'));
  const [connection] = await page.records();
  assert.deepEqual([connection.metadata.how, connection.messages], ['cancel', []]);
  await page.close();
});

test('a body that nobody can read any more is abandoned', async () => {
  const page = await lab.recorded();
  await page.run(`await fetch(args[0]);`, partsOf(['x'], 'text/plain', '&hold'));
  await page.page.call('HeapProfiler.collectGarbage');
  await page.until(`list[0].state === 'closed'`);
  assert.equal((await page.records())[0].metadata.how, 'abandoned');
  await page.close();
});

test('what cannot be seen is said', async () => {
  const page = await lab.recorded();
  await page.run(
    `
    const r = await fetch(args[0]);
    await r.body.pipeTo(new WritableStream(), { preventCancel: true });
    const form = await fetch(args[1]);
    await form.formData();
    const sent = await fetch(args[0]);
    await fetch('/', { method: 'POST', body: sent.body, duplex: 'half' }).catch(() => {});
    await fetch(location.origin.replace('127.0.0.1', 'localhost') + '/', { mode: 'no-cors' });
    new Worker(URL.createObjectURL(new Blob([''])));
    document.body.append(document.createElement('iframe'));
  `,
    partsOf(['x']),
    partsOf(['a=1'], 'application/x-www-form-urlencoded'),
  );
  const records = await page.records();
  assert.deepEqual(
    records
      .filter(({ metadata }) => metadata.method === 'GET')
      .map(({ metadata, messages }) => [metadata.how, messages.length]),
    Array(4).fill(['unobserved', 0]),
  );
  const { metrics, coverage } = await page.ask(
    'return { metrics: rec.engine.getMetrics(), coverage: rec.coverage() };',
  );
  assert.deepEqual(metrics.notRecorded, {
    'body piped out of sight': 1,
    'body read as form data': 1,
    'body sent on': 1,
    'opaque response': 1,
    worker: 1,
  });
  assert.deepEqual([coverage.frames, coverage.beforeContent], [1, true]);
  await page.close();
});

test('methods that are called on what is of another kind are none of a body', async () => {
  const { result, records } = await recorded(
    `
    const r = await fetch(args[0]);
    const it = r.body.values();
    const tried = [it.next.call(r), it.return.call(r.body), ReadableStream.prototype.cancel.call(it)];
    const seen = await Promise.all(tried.map((p) => p.catch((e) => e.name)));
    for await (const c of it) seen.push(c.length);
    return seen;
  `,
    partsOf(['hello']),
  );
  assert.deepEqual(result, ['TypeError', 'TypeError', 'TypeError', 5]);
  assert.equal(records[0].metadata.how, 'end');
});

test('what stands around the platform and looks like it gets the options that the app gave, and is recorded', async () => {
  const around = `(input, init) => {
    const { method, ...rest } = init;
    if ('signal' in rest) throw new Error('a signal from nowhere');
    init.cache = 'no-store';
    return real('/', { cache: init.cache, headers: { 'x-more': '1', ...rest.headers } })
      .then(() => new Response(JSON.stringify([input, method, rest, Object.keys(init), init instanceof Given])));
  }`;
  for (const wrap of ['f.bind(window)', 'new Proxy(real, { apply: (_, self, args) => f(...args) })']) {
    const page = await lab.bare();
    await page.run(`const real = window.fetch.bind(window); window.Given = class { method = 'POST'; body = 'b'; headers = { 'x-own': '2' }; };
      const f = ${around}; window.fetch = ${wrap};`);
    await page.page.evaluate(lab.scriptWith({}));
    const seen = await page.run(`const init = new Given(); const text = await (await fetch('/asked', init)).text();
      return [...JSON.parse(text), init.cache];`);
    const options = { body: 'b', headers: { 'x-own': '2' } };
    const keys = ['method', 'body', 'headers', 'cache'];
    assert.deepEqual(seen, ['/asked', 'POST', options, keys, true, 'no-store'], wrap);
    const [connection] = await page.records();
    assert.deepEqual([connection.metadata.method, connection.messages.length], ['POST', 1], wrap);
    await page.close();
  }
});
