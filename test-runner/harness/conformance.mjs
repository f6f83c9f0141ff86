// Holds the recorder against the web platform tests: each page of a served checkout is run bare and recorded, in turns, and
// every test has to come out the same. What comes out otherwise is run again, since some tests do not agree with themselves.
// Usage: node harness/conformance.mjs <checkout> [--only part of a path]
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { built } from '../built.mjs';
import { Chrome, Page } from './chrome.mjs';

const FOLDERS = ['websockets', 'eventsource', 'fetch/api'];
const HTTP = 'http://web-platform.test:8000';
const HTTPS = 'https://web-platform.test:8443';
/** The names of the tests' servers need no entry in a hosts file; their certificates are made up. */
const FLAGS = [
  '--host-resolver-rules=MAP *.web-platform.test 127.0.0.1, MAP web-platform.test 127.0.0.1, MAP *.not-web-platform.test 127.0.0.1',
  '--ignore-certificate-errors',
];
const PAGE_MS = 12_000;
const AT_ONCE = 3;
const AGAIN = 4;
/** Stands in for `/resources/testharnessreport.js`, the place for what hands results on. */
const REPORT = `add_completion_callback((tests, { status }) => {
  window.__results = JSON.stringify([['', status], ...tests.map((test) => [test.name, test.status])]);
});`;

const [checkout] = process.argv.slice(2);
const only = process.argv[process.argv.indexOf('--only') + 1];
const wanted = process.argv.includes('--only') ? (only ?? '') : '';
if (!checkout || checkout.startsWith('--'))
  throw new Error('name the folder of a served checkout of web-platform-tests');

/** Pages of a folder, with their variants; those of workers, of HTTP/2 and for a person are left out. */
function pagesOf(folder) {
  return readdirSync(join(checkout, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return /^(resources|support|handlers)$/.test(entry.name) ? [] : pagesOf(path);
    if (!/\.(html|any\.js|window\.js)$/.test(path) || /\.h2\.|-manual/.test(path)) return [];
    const text = readFileSync(join(checkout, path), 'utf8');
    const global = /META: global=(.*)/.exec(text)?.[1] ?? 'window';
    if (path.endsWith('.html') ? !text.includes('testharness.js') : !/window|default/.test(global)) return [];
    const variants = [...text.matchAll(/(?:META: variant=|name="?variant"? content=")([^"\n]*)/g)].map(([, v]) =>
      v.trim(),
    );
    const all = variants.length ? variants : [''];
    return all.filter((variant) => !variant.includes('h2')).map((variant) => path.replace(/\.js$/, '.html') + variant);
  });
}

/** What each test of a page came to; nothing of a page that does not end. */
async function outcomes(chrome, path, first) {
  const { browserContextId } = await chrome.call('Target.createBrowserContext');
  const { targetId } = await chrome.call('Target.createTarget', { url: 'about:blank', browserContextId });
  const { sessionId } = await chrome.call('Target.attachToTarget', { targetId, flatten: true });
  const page = new Page(chrome, targetId, sessionId);
  const stop = page.listen(({ method, params: { requestId } }) => {
    if (method !== 'Fetch.requestPaused') return;
    const responseHeaders = [{ name: 'content-type', value: 'text/javascript' }];
    const body = Buffer.from(REPORT).toString('base64');
    page.call('Fetch.fulfillRequest', { requestId, responseCode: 200, responseHeaders, body }).catch(() => {});
  });
  try {
    await page.call('Page.enable');
    await page.call('Fetch.enable', { patterns: [{ urlPattern: '*/resources/testharnessreport.js' }] });
    if (first) await page.call('Page.addScriptToEvaluateOnNewDocument', { source: first });
    await page.call('Page.navigate', { url: `${/\.https\./.test(path) ? HTTPS : HTTP}/${path}` });
    for (const until = Date.now() + PAGE_MS; Date.now() < until; ) {
      const results = await page.evaluate('window.__results').catch(() => undefined);
      if (results) return new Map(JSON.parse(results));
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    return new Map();
  } finally {
    stop();
    await chrome.call('Target.disposeBrowserContext', { browserContextId }).catch(() => {});
  }
}

const [script] = built('interceptors');
const pages = FOLDERS.flatMap(pagesOf).filter((path) => path.includes(wanted));
const chrome = await Chrome.launch(FLAGS);
const differences = [];
/** Pages that came to nothing, bare too. */
const unended = [];
let tests = 0;

async function compare(path) {
  const bare = [await outcomes(chrome, path)];
  const recorded = [await outcomes(chrome, path, script)];
  const all = (runs, name) => runs.map((run) => run.get(name));
  // A run that did not end says nothing of a test that another one has seen.
  const known = (runs, name) => {
    const seen = all(runs, name).filter((result) => result !== undefined);
    return seen.length ? seen : [undefined];
  };
  const differ = () =>
    [...new Set([...bare[0].keys(), ...recorded[0].keys()])].filter(
      (name) => !all(recorded, name).some((result) => known(bare, name).includes(result)),
    );
  for (let again = 0; again < AGAIN && differ().length; again++) {
    bare.push(await outcomes(chrome, path));
    recorded.push(await outcomes(chrome, path, script));
  }
  if (!bare[0].size) unended.push(path);
  tests += Math.max(0, bare[0].size - 1);
  for (const name of differ())
    differences.push(`${path}: ${name || 'the page'}: ${all(bare, name)} bare, ${all(recorded, name)} recorded`);
}

let next = 0;
async function work() {
  while (next < pages.length) await compare(pages[next++]);
}
try {
  await Promise.all(Array.from({ length: AT_ONCE }, work));
} finally {
  await chrome.close();
}
for (const difference of differences) console.error(difference);
if (unended.length) console.log(`not compared, since they do not end in ${PAGE_MS / 1000} s: ${unended.join(', ')}`);
console.log(`${pages.length - unended.length} pages, ${tests} tests, ${differences.length} differences`);
if (differences.length || !tests) process.exitCode = 1;
