// A page with the recorder and one without it come to the same log, program by program.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CaptureLab } from '../harness/capture.mjs';
import { known, programs } from './neutrality-programs.mjs';

let lab;
before(async () => {
  lab = await CaptureLab.start();
});
after(() => lab?.stop());

/** Runs programs one after the other in one page, each with what it left unhandled. */
const RUN = `
  const AsyncFunction = (async () => {}).constructor;
  const base = location.origin.replace('http', 'ws');
  const text = (v) => { try { return typeof v === 'string' ? v : typeof v === 'object' ? JSON.stringify(v) : String(v); } catch { return typeof v; } };
  const part = (s) => '&part=' + encodeURIComponent(btoa(typeof s === 'string' ? unescape(encodeURIComponent(s)) : String.fromCharCode(...s)));
  let lines;
  const log = (...values) => { lines.push(values.map(text).join(' ').replaceAll(location.origin, 'ORIGIN')); };
  addEventListener('unhandledrejection', (e) => { e.preventDefault(); log('unhandled', e.reason?.name ?? e.reason, e.reason?.message); });
  addEventListener('rejectionhandled', (e) => log('handled late'));
  addEventListener('error', (e) => { e.preventDefault(); log('error', e.message); });
  const tools = {
    log, base, sleep, event, ws,
    parts: (s, type = 'text/plain') => '/parts?type=' + encodeURIComponent(type) + part(s),
    hold: (s) => '/parts?hold&type=text/plain' + part(s),
    wasm: new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]),
    opened: async () => { const s = ws('/ws/echo'); await event(s, 'open'); return s; },
    soon: (why) => { const a = new AbortController(); setTimeout(() => a.abort(new DOMException(why, 'AbortError')), 60); return a.signal; },
    settled: async (p) => { await Promise.race([p.then(() => {}, () => {}), sleep(1000)]); await sleep(5); },
    used: async (fetch) => { const r = new Request('/', { method: 'POST', body: 'x' }); await r.text(); return fetch(r); },
    twice: async (name) => { const r = await fetch(tools.parts('x')); await r.text(); return r[name](); },
    locked: async (name) => { const r = await fetch(tools.parts('x')); r.body.getReader(); return name === 'cancel' ? r.body.cancel() : r[name](); },
  };
  const all = [];
  for (const program of args[0]) {
    lines = [];
    try { await new AsyncFunction(...Object.keys(tools), program)(...Object.values(tools)); } catch (e) { log('failed', e.name, e.message); }
    await sleep(15);
    all.push(lines);
  }
  return all;
`;

/** The logs of both pages, program by program. */
async function both(list) {
  const logs = [];
  for (const kind of ['bare', 'recorded']) {
    const page = await lab[kind]();
    const all = [];
    // In parts: one call to the page has a deadline.
    for (let at = 0; at < list.length; at += 25) all.push(...(await page.run(RUN, list.slice(at, at + 25))));
    logs.push(all);
    await page.close();
  }
  return list.map((program, i) => ({ program, bare: logs[0][i], recorded: logs[1][i] }));
}

test(`${programs.length} small programs cannot tell that they are recorded`, async (t) => {
  assert.ok(programs.length >= 150);
  for (const { program, bare, recorded } of await both(programs)) {
    await t.test(program.slice(0, 100), () => assert.deepEqual(recorded, bare));
  }
});

test('the programs see enough to be worth something', async () => {
  const page = await lab.recorded();
  const logs = [];
  for (let at = 0; at < programs.length; at += 25) logs.push(...(await page.run(RUN, programs.slice(at, at + 25))));
  assert.ok(logs.filter((lines) => lines.length > 0).length > programs.length - 15);
  assert.deepEqual(
    logs.flat().filter((line) => line.startsWith('failed ')),
    [],
  );
  await page.close();
});

test('what is known to differ still does', async (t) => {
  for (const { program, bare, recorded } of await both(known)) {
    await t.test(program.slice(0, 100), () => assert.notDeepEqual(recorded, bare));
  }
});
