// A small site that serves every kind of stream, does as the address says, and remembers what it sent and got.
import { createServer } from 'node:http';
import { ServerSocket } from './websocket-server.mjs';

/** Between two parts, so that they come as chunks of their own. */
const PART_MS = 15;
/** What has not come to the site by then will not. */
const UNTIL_MS = 10_000;

export class Site {
  /** Ends of requests by path: `done`, or `gone` where the page went away before the end. */
  ends = [];
  sockets = [];
  /** Bytes that were written for a path. */
  written = new Map();
  requests = [];

  static async start() {
    const site = new Site();
    site.server = createServer((request, response) => site.#serve(request, response));
    site.server.on('upgrade', (request, socket) => site.#upgrade(request, socket));
    await new Promise((resolve) => site.server.listen(0, '127.0.0.1', resolve));
    site.port = site.server.address().port;
    site.origin = `http://127.0.0.1:${site.port}`;
    return site;
  }

  stop() {
    for (const { socket } of this.sockets) socket.destroy();
    this.server.closeAllConnections();
    this.server.close();
  }

  /** Resolves once `test` says so; asked again whenever something happened here. */
  async until(test) {
    const deadline = AbortSignal.timeout(UNTIL_MS);
    while (!test()) {
      await new Promise((resolve, reject) => {
        this.#waiting.push(resolve);
        deadline.addEventListener('abort', () => reject(new Error(`never at the site: ${test}`)));
      });
    }
  }
  #waiting = [];

  #happened() {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #serve(request, response) {
    const { pathname, searchParams } = new URL(request.url, this.origin);
    const body = [];
    request.on('data', (data) => body.push(data));
    request.on('end', () => {
      this.requests.push({ path: request.url, headers: request.headers, body: Buffer.concat(body) });
      this.#happened();
    });
    request.resume();
    response.setHeader('cache-control', 'no-store');
    response.on('close', () => {
      this.ends.push({ path: request.url, how: response.writableFinished ? 'done' : 'gone' });
      this.#happened();
    });
    const serve = ROUTES[pathname] ?? ROUTES['/'];
    serve({ request, response, query: searchParams, site: this });
  }

  wrote(path, bytes) {
    this.written.set(path, (this.written.get(path) ?? 0) + bytes);
  }

  #upgrade(request, socket) {
    const { pathname, searchParams } = new URL(request.url, this.origin);
    if (pathname === '/ws/refuse') {
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    const server = new ServerSocket(request, socket, (opcode, data) => {
      const text = opcode === 1 ? data.toString() : '';
      if (text.startsWith('close:')) {
        const [, code, reason] = text.split(':');
        server.close(Number(code), reason);
      } else if (text === 'drop') socket.destroy();
      else if (pathname === '/ws/echo') server.frame(opcode, data);
      else if (pathname === '/ws/last' && server.received.length === Number(searchParams.get('count'))) {
        server.frame(opcode, data);
      }
      this.#happened();
    });
    server.path = request.url;
    this.sockets.push(server);
    const count = Number(searchParams.get('count'));
    if (pathname === '/ws/flood') {
      const text = 'x'.repeat(Number(searchParams.get('size')));
      for (let i = 0; i < count; i++) server.frame(1, text);
    }
    for (const text of searchParams.getAll('hello')) server.frame(1, text);
    if (pathname === '/ws/parts') {
      const text = Buffer.from('a😀文');
      server.frame(1, text.subarray(0, 3), false);
      server.ping();
      server.frame(0, text.subarray(3));
    }
    this.#happened();
  }
}

const page = '<!doctype html><meta charset="utf-8"><title>page</title><body></body>';
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function parts({ request, response, query, site }) {
  response.writeHead(Number(query.get('status') ?? 200), { 'content-type': query.get('type') ?? 'text/plain' });
  response.flushHeaders();
  for (const part of query.getAll('part')) {
    const bytes = Buffer.from(part, 'base64');
    response.write(bytes);
    site.wrote(request.url, bytes.length);
    await wait(PART_MS);
  }
  if (query.has('hold')) return;
  if (query.has('break')) response.destroy();
  else response.end();
}

function big({ request, response, query, site }) {
  const total = Number(query.get('bytes'));
  response.writeHead(200, { 'content-type': query.get('type') ?? 'application/octet-stream' });
  const part = Buffer.alloc(65_536, 'x');
  let sent = 0;
  const more = () => {
    while (sent < total && !response.destroyed) {
      sent += part.length;
      site.wrote(request.url, part.length);
      if (!response.write(part)) {
        response.once('drain', more);
        return;
      }
    }
    response.end();
  };
  more();
}

const ROUTES = {
  '/': ({ response, query }) => {
    response.setHeader('content-type', 'text/html');
    response.end(query.has('head') ? page.replace('<title>', `<script>${query.get('head')}</script><title>`) : page);
  },
  '/parts': parts,
  '/big': big,
  '/hang': () => {},
  '/events': ({ request, response, query }) => {
    const again = request.headers['last-event-id'] !== undefined;
    if (again && query.has('gone')) {
      response.writeHead(204).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(query.get(again ? 'then' : 'send') ?? '');
    if (!query.has('hold') || (!again && query.has('cut'))) response.end();
  },
  '/many': ({ response, query }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${'x'.repeat(93)}\n\n`.repeat(Number(query.get('count'))));
  },
  '/status': ({ response, query }) => {
    response.writeHead(Number(query.get('code')));
    response.end();
  },
  '/redirect': ({ response, query }) => {
    response.writeHead(302, { location: query.get('to') });
    response.end();
  },
  '/script.js': ({ response, query }) => {
    response.setHeader('content-type', 'text/javascript');
    response.end(query.get('code') ?? '');
  },
};
