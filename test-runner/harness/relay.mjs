// A relay that a test plays by hand, and pages that load the agent from it.
import { createServer } from 'node:http';
import { after, afterEach } from 'node:test';
import { built } from '../built.mjs';
import { Chrome } from './chrome.mjs';
import { ServerSocket } from './websocket-server.mjs';

/** What has not come by then will not. */
const UNTIL_MS = 20_000;

/** One relay for the tests of a file. The page of a test is closed when it is over. */
export async function relayForTests() {
  const relay = await FakeRelay.start();
  afterEach(() => relay.reset());
  after(() => relay.stop());
  return relay;
}

export class FakeRelay {
  /** Connections in the order in which they came: `{ kind, path, ticket, messages, say, close, cut }`. */
  legs = [];
  /** How a call for a socket is answered: `accept`, `refuse`, or `hang`. */
  sockets = 'accept';
  /** The same for a stream; or a status. */
  streams = 'accept';
  /** What the page is made of, before its own head. */
  head = '';
  policy = '';
  /** The recorder comes with the agent, before it. */
  records = false;
  scripts = new Map();
  #pages = [];
  #waiting = [];

  static async start() {
    const relay = new FakeRelay();
    [relay.agent, relay.recorder] = built('agent', 'interceptors');
    relay.server = createServer((request, response) => relay.#serve(request, response));
    relay.server.on('upgrade', (request, socket) => relay.#upgrade(request, socket));
    await new Promise((resolve) => relay.server.listen(0, '127.0.0.1', resolve));
    relay.origin = `http://127.0.0.1:${relay.server.address().port}`;
    relay.chrome = await Chrome.launch();
    return relay;
  }

  async stop() {
    await this.chrome.close();
    this.server.closeAllConnections();
    this.server.close();
  }

  /** As before the first page. */
  async reset() {
    for (const page of this.#pages.splice(0)) await page.close();
    for (const leg of this.legs) leg.cut();
    Object.assign(this, { legs: [], sockets: 'accept', streams: 'accept', head: '', policy: '', records: false });
  }

  /** A page with the agent; `first` runs before everything. */
  async page(first) {
    const page = await this.chrome.page(`${this.origin}/at/123456/page`, first);
    this.#pages.push(page);
    return page;
  }

  /** A page whose agent was welcomed. */
  async attached(first) {
    const page = await this.page(first);
    const leg = await this.next(0);
    return { page, leg };
  }

  /** The connection of this number, welcomed. */
  async next(number) {
    await this.until(() => this.legs[number]?.messages.length);
    const leg = this.legs[number];
    leg.say('Relay.welcome', { ticket: 'ticket', received: 0 });
    return leg;
  }

  async until(test) {
    const deadline = AbortSignal.timeout(UNTIL_MS);
    while (!test()) {
      await new Promise((resolve, reject) => {
        this.#waiting.push(resolve);
        deadline.addEventListener('abort', () => reject(new Error(`never at the relay: ${test}`)));
      });
    }
  }

  #happened() {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #leg(kind, path, ticket, parts) {
    const leg = {
      kind,
      path,
      ticket,
      at: performance.now(),
      messages: [],
      say: (method, params) => parts.send(JSON.stringify({ method, params })),
      command: (id, method, params = {}) => parts.send(JSON.stringify({ id, method, params })),
      /** The reply to a command, or the first message of this method. */
      heard: async (wanted) => {
        const find = () => leg.messages.find(({ id, method }) => (method ?? id) === wanted);
        await this.until(find);
        return find();
      },
      ask: (id, method, params) => {
        leg.command(id, method, params);
        return leg.heard(id);
      },
      ...parts,
    };
    this.legs.push(leg);
    this.#happened();
    return leg;
  }

  #upgrade(request, socket) {
    socket.on('error', () => {});
    const protocols = request.headers['sec-websocket-protocol'] ?? '';
    const ticket = /ait\.ticket\.(\w+)/.exec(protocols)?.[1] ?? '';
    if (this.sockets !== 'accept') {
      const cut = () => socket.destroy();
      this.#leg(`socket ${this.sockets}`, request.url, ticket, { send() {}, close: cut, cut });
      if (this.sockets === 'refuse') socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    const server = new ServerSocket(request, socket, (_, data) => {
      leg.messages.push(JSON.parse(data.toString()));
      this.#happened();
    });
    const leg = this.#leg('socket', request.url, ticket, {
      send: (text) => server.frame(1, text),
      close: (code, reason = '') => server.close(code, reason),
      cut: () => socket.destroy(),
    });
    socket.on('close', () => {
      leg.gone = true;
      this.#happened();
    });
  }

  #serve(request, response) {
    const { pathname } = new URL(request.url, this.origin);
    if (request.method === 'POST') {
      let body = '';
      request.setEncoding('utf8');
      request.on('data', (text) => {
        body += text;
      });
      request.on('end', () => this.#post(request.url, body, response));
      return;
    }
    const name = pathname.split('/').pop();
    response.setHeader('access-control-allow-origin', '*');
    if (name === 'target.js') {
      response.setHeader('content-type', 'text/javascript');
      response.end(this.records ? this.recorder + this.agent : this.agent);
    } else if (this.scripts.has(name)) {
      response.setHeader('content-type', 'text/javascript');
      response.end(this.scripts.get(name));
    } else if (name === 'page' || name === 'other') {
      response.setHeader('content-type', 'text/html');
      if (this.policy) response.setHeader('content-security-policy', this.policy);
      response.end(
        `<!doctype html><meta charset="utf-8"><title>page</title>${this.head}<script nonce="n" src="target.js"></script><body></body>`,
      );
    } else {
      response.writeHead(404).end();
    }
  }

  #post(path, body, response) {
    response.on('error', () => {});
    const [first, ...lines] = body.split('\n');
    const [word, key] = first.split(' ');
    if (word === 'send') {
      const leg = this.legs.find((one) => one.key === key);
      if (!leg) {
        // It belongs to a test that is over.
        response.writeHead(410).end();
        return;
      }
      leg.posts.push(first);
      leg.messages.push(...lines.map((line) => JSON.parse(line)));
      response.writeHead(204).end();
      this.#happened();
      return;
    }
    if (typeof this.streams === 'number') {
      this.#leg(`stream ${this.streams}`, path, key, { send() {}, close() {}, cut() {} });
      response.writeHead(this.streams).end('{}');
      return;
    }
    const leg = this.#leg('stream', path, key, {
      key: `key${this.legs.length}`,
      posts: [],
      send: (text) => response.write(`data: ${text}\n\n`),
      close: (code) => response.end(`event: close\ndata: {"code":${code}}\n\n`),
      cut: () => response.destroy(),
    });
    leg.messages.push(JSON.parse(lines[0]));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`: \n\ndata: {"method":"Relay.stream","params":{"key":"${leg.key}"}}\n\n`);
    this.#happened();
  }
}
