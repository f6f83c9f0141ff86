// Runs test files in a page the way the host does: binding, runtime, then one evaluate a file; events come by the binding.
import { createServer } from 'node:http';
import { build } from 'esbuild';
import { built } from '../built.mjs';
import { Chrome } from './chrome.mjs';

/** A file that takes longer is stuck. */
const FILE_MS = Number(process.env.FILE_MS ?? 30_000);

/** The text of the async function around one test file: `source` is a path, or `{ code }`. */
async function bundleTest(source) {
  const from =
    source.code === undefined ? { entryPoints: [source] } : { stdin: { contents: source.code, loader: 'ts' } };
  const result = await build({
    ...from,
    bundle: true,
    write: false,
    format: 'esm',
    target: ['es2022', 'safari16'],
    charset: 'utf8',
    loader: { '.css': 'empty' },
    logLevel: 'silent',
    plugins: [
      {
        name: 'vitest',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /^vitest$/ }, () => ({ path: 'vitest', namespace: 'vitest' }));
          onLoad({ filter: /./, namespace: 'vitest' }, () => ({
            contents: 'module.exports = globalThis.__ait.vitest',
          }));
        },
      },
    ],
  });
  return result.outputFiles[0].text.replace(/^export (default |\{[^}]*\};?)/gm, '');
}

/** What the import of `vitest` becomes in a bundle. */
export const IMPORT =
  'const { describe, it, expect, vi, beforeAll, afterAll, beforeEach } = globalThis.__ait.vitest;\n';

const DEFAULTS = { testTimeout: 2_000, hookTimeout: 2_000, allowOnly: true, skipBefore: 0 };

/** One Chrome, one small site, as many pages as tests. */
export class Runner {
  #run = 0;

  static async start() {
    const runner = new Runner();
    [runner.runtime] = built('runtime');
    runner.server = createServer((request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(runner.pages.get(request.url) ?? '<!doctype html><title>page</title><body></body>');
    });
    runner.pages = new Map();
    await new Promise((resolve) => runner.server.listen(0, '127.0.0.1', resolve));
    runner.origin = `http://127.0.0.1:${runner.server.address().port}`;
    runner.chrome = await Chrome.launch();
    return runner;
  }

  async stop() {
    await this.chrome.close();
    this.server.closeAllConnections();
    this.server.close();
  }

  /** A page with the runtime in it; `html` replaces the empty one. */
  async page(html) {
    const path = `/${this.pages.size}`;
    this.pages.set(path, html ?? '<!doctype html><title>page</title><body></body>');
    const page = await this.chrome.page(this.origin + path);
    page.batches = [];
    page.listen(({ method, params }) => {
      if (method === 'Runtime.bindingCalled' && params.name === '__ait_emit') page.batches.push(params.payload);
    });
    await page.call('Runtime.addBinding', { name: '__ait_emit' });
    page.info = await page.evaluate(this.runtime);
    return page;
  }

  /** Starts a file in a page; `events` grows until the `fileEnd` of the run, for which `ended` waits. */
  async start(page, source, request = {}) {
    const run = ++this.#run;
    const name = source.name ?? 'test.ait.test.ts';
    const body = source.body ?? (await bundleTest(source));
    const events = [];
    const ended = new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`no end of the file; seen: ${JSON.stringify(events.slice(-5))}`));
      }, FILE_MS);
      page.listen(({ method, params }) => {
        if (method !== 'Runtime.bindingCalled') return;
        const batch = JSON.parse(params.payload);
        for (const event of batch.events) {
          events.push(event);
          if (event.type !== 'fileEnd' || event.run !== run) continue;
          clearTimeout(timer);
          resolve();
        }
      });
    });
    ended.catch(() => {});
    const wanted = JSON.stringify({ ...DEFAULTS, run, file: name, ...request });
    const url = `ait-test://bundle/${run}/${name}`;
    await page.evaluate(`__ait.run(${wanted}, async () => { "use strict";\n${body}\n})\n//# sourceURL=${url}\n`);
    return { run, events, ended };
  }

  /** Runs a file to its end and returns what a person would want to know of it. */
  async run(source, { page, request, html } = {}) {
    const where = page ?? (await this.page(html));
    const { events, ended } = await this.start(where, source, request);
    await ended;
    if (!page) await where.close();
    return summary(events);
  }
}

export function summary(events) {
  const tests = events.find((event) => event.type === 'collected')?.tests ?? [];
  const results = events
    .filter((event) => event.type === 'testEnd')
    .map((event) => ({ ...event, path: tests[event.test].path, title: tests[event.test].path.join(' > ') }));
  return {
    events,
    tests,
    results,
    states: Object.fromEntries(results.map((result) => [result.title, result.state])),
    error: (title) => results.find((result) => result.title === title)?.errors?.[0],
    suiteErrors: events.filter((event) => event.type === 'suiteError'),
    uncaught: events.filter((event) => event.type === 'uncaught'),
    loadError: events.find((event) => event.type === 'fileEnd')?.loadError,
  };
}
