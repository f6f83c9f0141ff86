// A headless Chrome over its debugging pipe: just enough protocol to try the page scripts in a real page.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CANDIDATES = ['chromium-headless-shell', 'chromium', 'google-chrome', 'chrome'];
/** A reply that takes longer will not come: the slowest script of the tests takes a few seconds. */
const CALL_MS = 30_000;

export class Chrome {
  static async launch(more = []) {
    const wanted = process.env.DEVTOOLS_TEST_BROWSER;
    for (const name of wanted ? [wanted] : CANDIDATES) {
      const chrome = new Chrome(name, more);
      if (await chrome.started) return chrome;
    }
    throw new Error('no Chrome was found: install chromium-headless-shell, or name one in DEVTOOLS_TEST_BROWSER');
  }

  #profile = mkdtempSync(join(tmpdir(), 'ait-page-'));
  #pending = new Map();
  #listeners = new Set();
  #id = 0;
  #rest = '';

  constructor(binary, more) {
    const flags = ['--headless', '--remote-debugging-pipe', `--user-data-dir=${this.#profile}`, '--disable-gpu'];
    flags.push('--disable-background-timer-throttling', '--disable-renderer-backgrounding', '--no-first-run');
    if (process.getuid?.() === 0) flags.push('--no-sandbox');
    this.child = spawn(binary, [...flags, ...more, 'about:blank'], {
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    });
    this.started = new Promise((resolve) => {
      this.child.on('error', () => resolve(false));
      this.child.on('spawn', () => resolve(true));
    });
    const [, , , input, output] = this.child.stdio;
    input.on('error', () => {});
    this.input = input;
    output.setEncoding('utf8');
    output.on('data', (text) => this.#read(text));
  }

  #read(text) {
    const messages = (this.#rest + text).split('\0');
    this.#rest = messages.pop();
    for (const message of messages.map((m) => JSON.parse(m))) {
      const call = this.#pending.get(message.id);
      if (!call) {
        for (const listener of this.#listeners) listener(message);
        continue;
      }
      this.#pending.delete(message.id);
      clearTimeout(call.timer);
      if (message.error) call.reject(new Error(`${call.method}: ${message.error.message}`));
      else call.resolve(message.result);
    }
  }

  call(method, params = {}, sessionId = undefined) {
    const id = ++this.#id;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method} got no reply`)), CALL_MS);
      this.#pending.set(id, { method, resolve, reject, timer });
      this.input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  listen(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A new page; `url` is loaded before anything else, and in each of its documents `first` runs before all scripts. */
  async page(url, first = undefined) {
    const { targetId } = await this.call('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.call('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, targetId, sessionId);
    await page.call('Page.enable');
    await page.call('Runtime.enable');
    if (first) await page.call('Page.addScriptToEvaluateOnNewDocument', { source: first });
    const loaded = page.once('Page.loadEventFired');
    await page.call('Page.navigate', { url });
    await loaded;
    return page;
  }

  async close() {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    process.kill(-this.child.pid, 'SIGKILL');
    await ended;
    for (const pipe of this.child.stdio) pipe?.destroy();
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

export class Page {
  constructor(chrome, targetId, sessionId) {
    Object.assign(this, { chrome, targetId, sessionId });
  }

  call(method, params) {
    return this.chrome.call(method, params, this.sessionId);
  }

  listen(listener) {
    return this.chrome.listen((message) => message.sessionId === this.sessionId && listener(message));
  }

  once(method) {
    return new Promise((resolve) => {
      const stop = this.listen((message) => {
        if (message.method !== method) return;
        stop();
        resolve(message.params);
      });
    });
  }

  /** Value of an expression; an exception of the page becomes one here. */
  async evaluate(expression, awaitPromise = false) {
    const reply = await this.call('Runtime.evaluate', { expression, returnByValue: true, awaitPromise });
    if (reply.exceptionDetails) {
      throw new Error(reply.exceptionDetails.exception?.description ?? reply.exceptionDetails.text);
    }
    return reply.result.value;
  }

  close() {
    return this.chrome.call('Target.closeTarget', { targetId: this.targetId });
  }
}
