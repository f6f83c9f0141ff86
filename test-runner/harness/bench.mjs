// What the recorder costs: each load in a bare page, in a recorded one, and in one whose records leave whole for a host,
// taking turns in one run, in another order each round. Time is that of the renderer's main thread, from the kernel, until
// the last record has left; the clock on the wall says little on a shared machine. A cost is the median of what each round
// took more than its bare page, and comes with its standard error: a bare page itself takes half as much again in some rounds.
// Usage: node harness/bench.mjs [--rounds N] [--only part of a load's name]
import { readdirSync, readFileSync } from 'node:fs';
import { CaptureLab } from './capture.mjs';

const option = (name) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined);
const ROUNDS = Number(option('--rounds') ?? 9);
const ONLY = option('--only');
const KINDS = ['bare', 'recorded', 'delivered'];
const MB = 1024 * 1024;

/** An app that hears of a message looks at it. */
const READ = `let n = 0, length = 0;
  const all = (count) => new Promise((done) => { s.onmessage = ({ data }) => { length += data.length; if (++n === count) done(); }; });
  await all`;

/** What runs in the page: [name, unit, how many units, program]. */
const LOADS = [
  ['WebSocket in, 200 B', 'message', 20_000, socketIn(20_000, 200)],
  ['WebSocket in, 4 KiB', 'message', 8_000, socketIn(8_000, 4096)],
  ['WebSocket send, 200 B', 'message', 20_000, socketOut(20_000, 200)],
  ['EventSource, 100 B', 'event', 30_000, events(30_000)],
  [
    'fetch, reader loop',
    'MB',
    128,
    body(
      128,
      'application/octet-stream',
      'const q = r.body.getReader(); for (;;) { const { done } = await q.read(); if (done) break; }',
    ),
  ],
  ['fetch, arrayBuffer()', 'MB', 64, body(64, 'application/octet-stream', 'await r.arrayBuffer();')],
  [
    'fetch, pipeThrough(TextDecoderStream)',
    'MB',
    32,
    body(32, 'text/plain', 'for await (const c of r.body.pipeThrough(new TextDecoderStream())) void c;'),
  ],
  ['fetch, small bodies', 'request', 3000, 'for (let i = 0; i < 3000; i++) await (await fetch("/")).text();'],
];

function socketIn(count, size) {
  return `const s = ws('/ws/flood?count=${count}&size=${size}'); ${READ}(${count}); s.close();`;
}

function socketOut(count, size) {
  return `const s = ws('/ws/last?count=${count}'); await event(s, 'open'); const text = 'x'.repeat(${size});
    const last = event(s, 'message'); for (let i = 0; i < ${count}; i++) s.send(text); await last; s.close();`;
}

function events(count) {
  return `const s = new EventSource('/many?count=${count}'); ${READ}(${count}); s.close();`;
}

function body(mb, type, read) {
  return `const r = await fetch('/big?bytes=${mb * MB}&type=${encodeURIComponent(type)}'); ${read}`;
}

/** Nanoseconds that the main threads of all renderers of this Chrome have run. */
function mainThreads(root) {
  let total = 0;
  for (const pid of descendants(root)) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=renderer')) continue;
      total += Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // It has ended meanwhile.
    }
  }
  return total;
}

function residentMb(root) {
  let most = 0;
  for (const pid of descendants(root)) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=renderer')) continue;
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      most = Math.max(most, Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // It has ended meanwhile.
    }
  }
  return most;
}

function descendants(root) {
  const parents = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // It has ended meanwhile.
    }
  }
  const found = [root];
  for (const parent of found) for (const [pid, of] of parents) if (of === parent) found.push(pid);
  return found;
}

const lab = await CaptureLab.start();
const root = lab.chrome.child.pid;

async function measured(kind, program) {
  const page = await lab[kind]();
  const before = mainThreads(root);
  await page.run(program);
  if (kind === 'delivered') await page.drained();
  const cpu = (mainThreads(root) - before) / 1e3;
  await page.close();
  return cpu;
}

function shuffled(list) {
  return list
    .map((item) => [Math.random(), item])
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/** Of the median: that of the mean times 1.25. */
function errorOf(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const spread = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  return 1.25 * Math.sqrt(spread / values.length);
}

console.log('| load | bare, µs CPU | recorded | delivered |\n|---|---|---|---|');
for (const [name, unit, units, program] of LOADS.filter(([name]) => !ONLY || name.includes(ONLY))) {
  const took = { bare: [], recorded: [], delivered: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const kind of shuffled(KINDS)) took[kind].push((await measured(kind, program)) / units);
  }
  const bare = median(took.bare);
  const more = (kind) => {
    const differences = took[kind].map((cpu, round) => cpu - took.bare[round]);
    const cost = median(differences);
    return `${cost < 0 ? '' : '+'}${cost.toFixed(2)} ± ${errorOf(differences).toFixed(2)} µs, ${((cost / bare) * 100).toFixed(0)} %`;
  };
  console.log(`| ${name}, per ${unit} | ${bare.toFixed(2)} | ${more('recorded')} | ${more('delivered')} |`);
}

/** A long body that is read slowly: what it makes the page hold, and the server send. */
async function slow(kind) {
  const page = await lab[kind]();
  const path = `/big?bytes=${500 * MB}&slow=${kind}`;
  await page.run(
    `globalThis.reading = (async () => { const q = (await fetch(args[0])).body.getReader();
       for (;;) { const { done } = await q.read(); if (done) break; await sleep(100); } })();`,
    path,
  );
  const sizes = [];
  for (let second = 0; second < 8; second++) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    sizes.push(Math.round(residentMb(root)));
  }
  const pulled = Math.round((lab.site.written.get(path) ?? 0) / MB);
  await page.close();
  return { sizes, pulled };
}

if (!ONLY) {
  console.log('\n| 500 MB, a chunk each 100 ms | MB resident, each second | MB pulled |\n|---|---|---|');
  for (const kind of KINDS) {
    const { sizes, pulled } = await slow(kind);
    console.log(`| ${kind} | ${sizes.join(' ')} | ${pulled} |`);
  }
}

const page = await lab.recorded();
const each = await page.ask(`
  const { id } = rec.engine.recordConnection({ protocol: 'websocket', url: 'ws://x/' });
  const payload = 'x'.repeat(200); let best = Infinity;
  for (let round = 0; round < 40; round++) {
    const from = performance.now();
    for (let i = 0; i < 10_000; i++) rec.engine.recordMessage({ connectionId: id, direction: 'in', payload });
    best = Math.min(best, performance.now() - from);
  }
  return best / 10;
`);
console.log(`\n\`recordMessage\` of 200 B: ${each.toFixed(2)} µs`);
await lab.stop();
