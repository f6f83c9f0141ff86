// Pages with the recorder in them, and the same without.
import { built } from '../built.mjs';
import { Chrome } from './chrome.mjs';
import { Site } from './site.mjs';

/** How a page finds its recorder. */
const RUNTIME = "WebSocket.prototype.close[Symbol.for('devtools-test.capture')]";

export const base64 = (data) => encodeURIComponent(Buffer.from(data).toString('base64'));
/** The address of a body that comes in the given parts. */
export const partsOf = (list, type = 'text/plain', more = '') =>
  `/parts?type=${encodeURIComponent(type)}${list.map((part) => `&part=${base64(part)}`).join('')}${more}`;

export class CaptureLab {
  static async start() {
    const lab = new CaptureLab();
    [lab.script] = built('interceptors');
    lab.site = await Site.start();
    lab.chrome = await Chrome.launch();
    return lab;
  }

  async stop() {
    await this.chrome.close();
    this.site.stop();
  }

  /** The recorder with options: JSON, or the text of an object. */
  scriptWith(options) {
    const text = typeof options === 'string' ? options : JSON.stringify(options);
    const parts = this.script.split('({});');
    if (parts.length !== 2) throw new Error('the options have no place in the recorder');
    return parts.join(`(${text});`);
  }

  async recorded(path = '/', options = {}) {
    return new RecordedPage(await this.chrome.page(this.site.origin + path, this.scriptWith(options)));
  }

  /** The recorder with a host that takes everything whole, as `src/run/records.rs` does. */
  async delivered(path = '/') {
    const page = await this.recorded(path, { forward: true });
    await page.deliver();
    return page;
  }

  async bare(path = '/') {
    return new RecordedPage(await this.chrome.page(this.site.origin + path));
  }
}

class RecordedPage {
  constructor(page) {
    this.page = page;
  }

  /** Runs the body of an async function in the page and gives what it returns. `rec` is the recorder. */
  run(body, ...values) {
    const given = values.map((value) => JSON.stringify(value)).join(',');
    return this.page.evaluate(`(async (...args) => { ${HELPERS}\n${body}\n})(${given})`, true);
  }

  /** The same, where the recorder is asked. */
  ask(body, ...values) {
    return this.run(`const rec = ${RUNTIME};\n${body}`, ...values);
  }

  /** Connections with their messages, as they are compared. */
  records() {
    return this.ask(`
      const { engine } = rec;
      return engine.getConnections().map((c) => ({ ...c, messages: engine.getMessages({ connectionId: c.id }).map(shown) }));
    `);
  }

  /** Waits until the recorder's connections satisfy a condition, written as an expression of \`list\`. */
  until(condition) {
    return this.ask(`await until(() => { const list = rec.engine.getConnections(); return ${condition}; });`);
  }

  async deliver() {
    await this.page.call('Runtime.addBinding', { name: TRANSPORT_BINDING });
    this.page.listen(({ method, params }) => {
      if (method !== 'Runtime.bindingCalled' || params.name !== TRANSPORT_BINDING) return;
      const seq = params.payload.slice(0, params.payload.indexOf('\n')).split(' ')[1];
      this.page.call('Runtime.evaluate', { expression: `bench.took(${seq})` }).catch(() => {});
    });
    await this.ask(`globalThis.bench = rec.toHost({ doc: 'bench', send: ${TRANSPORT_BINDING}, currentTest() {} });`);
  }

  /** Waits until the host has everything. */
  async drained() {
    while ((await this.page.evaluate('bench.drain()')) > 0) await this.run('await sleep(5)');
  }

  close() {
    return this.page.close();
  }
}

const TRANSPORT_BINDING = '__ait_transport';
const HELPERS = `
  const event = (target, type) => new Promise((resolve) => target.addEventListener(type, resolve, { once: true }));
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const until = async (test) => { for (let i = 0; !test(); i++) { if (i > 400) throw new Error('never: ' + test); await sleep(10); } };
  const bytes = (payload) => Array.from(new Uint8Array(payload));
  const shown = (m) => ({
    direction: m.direction, type: m.type, size: m.size, truncated: m.truncated, metadata: m.metadata,
    payload: typeof m.payload === 'string' ? m.payload : bytes(m.payload),
  });
  const ws = (path, ...rest) => new WebSocket(location.origin.replace('http', 'ws') + path, ...rest);
`;
