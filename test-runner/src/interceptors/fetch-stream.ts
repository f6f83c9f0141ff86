// fetch: one connection a call, from the call to the end of its body. The chunks are seen where the app reads them.
import { copyOfStart } from '../engine/payload.ts';
import { apply, getterOf, ticks, win } from '../shared/natives.ts';
import { isNative } from '../shared/words.ts';
import { Bodies } from './bodies.ts';
import { BodyTap, Branch } from './body.ts';
import { bodyType } from './mime.ts';
import { interceptor, type Native, Patches } from './patch.ts';
import { type AbortWatch, follow, handOn } from './promises.ts';
import { describe, isAbort } from './reasons.ts';
import { isOtherWindow, isRefused } from './refused.ts';
import { lockedStream, patchRequest, RequestReading as Reading } from './request.ts';
import { patchResponse } from './response.ts';
import { patchStreams } from './streams.ts';
import type { Interceptor, InterceptorOptions, Realm } from './types.ts';

/** `data:` addresses hold whole documents. */
const MAX_URL = 4_096;
/** Statuses that never have a body (Fetch, section 2.2.3). */
const isNullBody = (status: number): boolean =>
  status === 101 || status === 103 || status === 204 || status === 205 || status === 304;

export function installFetchStreamInterceptor(options: InterceptorOptions): Interceptor | undefined {
  const target = options.target ?? (win as Realm);
  if (typeof target.fetch !== 'function' || typeof target.Response !== 'function') return undefined;
  const patches = new Patches(options.owner);
  const bodies = new Bodies(options.engine);
  const calls = new Calls(options, target, bodies);
  patches.method(target, 'fetch', (native, self, args) => {
    const reading = calls.begin(native, self, args);
    const promise: unknown = apply(native, self, reading?.args ?? args);
    return reading ? calls.follow(self, reading, promise as Promise<Response>) : promise;
  });
  patchRequest(target, patches);
  patchResponse(target, patches, bodies);
  if (target.ReadableStream) patchStreams(target, patches, bodies);
  return interceptor('fetch-stream', patches);
}

interface Call {
  id: string;
  url: string;
  method: string;
  started: number;
  watch: AbortWatch | undefined;
}

class Calls {
  private readonly status: (response: unknown) => number;
  private readonly type: (response: unknown) => string;
  private readonly url: (response: unknown) => string;
  private readonly redirected: (response: unknown) => boolean;
  private readonly headers: (response: unknown) => Headers;
  private readonly header: Headers['get'];

  constructor(
    private readonly options: InterceptorOptions,
    target: Realm,
    private readonly bodies: Bodies,
  ) {
    const { prototype } = target.Response;
    this.status = getterOf(prototype, 'status');
    this.type = getterOf(prototype, 'type');
    this.url = getterOf(prototype, 'url');
    this.redirected = getterOf(prototype, 'redirected');
    this.headers = getterOf(prototype, 'headers');
    this.header = target.Headers.prototype.get;
  }

  /** Before the call. Nothing where it is not to be recorded. */
  begin(native: Native, self: unknown, args: unknown[]): Reading | undefined {
    try {
      // All that comes of a call for another window is of that one: its promise, its response, what is read of that.
      // What the app has put around the platform's fetch before us may look at what it is given in other ways.
      if (!isOtherWindow(self)) return new Reading(args, isNative(native));
      this.options.engine.note('request of another window');
    } catch {
      this.options.engine.note('recorder error');
    }
    return undefined;
  }

  /** After it, when what it asks for has been read. */
  follow(self: unknown, reading: Reading, promise: Promise<Response>): Promise<Response> {
    let result = promise;
    this.bodies.guard(() => {
      this.sent(reading);
      const call = this.started(self, reading);
      if (call) result = this.watched(call, promise);
    });
    if (result === promise) reading.watch?.end();
    return result;
  }

  /** A body that was sent on, which is read by the platform alone. */
  private sent(reading: Reading): void {
    const { body } = reading.options;
    const branch = this.bodies.of('stream', body);
    if (!branch || branch.tap.ended || reading.isUsed || !lockedStream(body)) return;
    this.options.engine.note('body sent on');
    branch.tap.end('unobserved');
  }

  private started(self: unknown, reading: Reading): Call | undefined {
    const { engine, allows } = this.options;
    const { method, body } = reading;
    const url = reading.url || '';
    if (allows && url && !allows(url)) {
      engine.note('excluded by the filter');
      return undefined;
    }
    const metadata: Record<string, unknown> = { source: 'fetch', method };
    if (body) metadata['requestBody'] = body;
    const { id } = engine.recordConnection({ protocol: 'fetch-stream', url: copyOfStart(url, MAX_URL), metadata });
    if (reading.isLook || !isRefused(self, reading)) return { id, url, method, started: ticks(), watch: reading.watch };
    // It is rejected already. A promise of ours would be so one turn later, and a watched one would count as handled.
    const refusal = { how: 'error', error: 'refused by the platform before anything was sent' };
    engine.update(id, { state: 'closed', metadata: refusal });
    return undefined;
  }

  private watched(call: Call, promise: Promise<Response>): Promise<Response> {
    const aborted = call.watch?.add((reason) => this.bodies.guard(() => this.failed(call, reason, true)));
    return follow<Response>(
      promise,
      (response, resolve) => {
        aborted?.();
        this.bodies.guard(() => this.answered(call, response));
        handOn(response, resolve);
      },
      (error) => this.bodies.guard(() => this.failed(call, error, isAbort(error))),
      call.watch,
    );
  }

  private failed(call: Call, error: unknown, aborted: boolean): void {
    const metadata = { how: aborted ? 'abort' : 'error', error: describe(error, call.watch) };
    const { engine } = this.options;
    call.watch?.end();
    if (engine.update(call.id, { metadata: {} })?.state === 'closed') return;
    engine.update(call.id, { state: 'closed', metadata });
  }

  private answered(call: Call, response: Response): void {
    const { engine, allows } = this.options;
    const url = this.url(response) || call.url;
    const status = this.status(response);
    const isAllowed = !allows || allows(url);
    if (!isAllowed || isNullBody(status) || call.method === 'HEAD') {
      call.watch?.end();
      if (isAllowed) engine.update(call.id, { metadata: { status, headersMs: ticks() - call.started } });
      engine.removeConnection(call.id);
      return;
    }
    const type = this.type(response);
    const contentType = apply(this.header, this.headers(response), ['content-type']) ?? '';
    const kind = bodyType(contentType);
    const metadata = {
      status,
      contentType,
      type,
      redirected: this.redirected(response),
      headersMs: ticks() - call.started,
    };
    engine.update(call.id, {
      state: 'open',
      url: copyOfStart(url, MAX_URL),
      protocol: kind.kind === 'events' ? 'eventsource' : 'fetch-stream',
      metadata,
    });
    const tap = new BodyTap(engine, call.id, kind, call.watch);
    if (type === 'opaque' || type === 'opaqueredirect') {
      engine.note('opaque response');
      tap.end('unobserved');
      return;
    }
    call.watch?.add((reason) => this.bodies.guard(() => tap.end('abort', reason)));
    this.bodies.set('response', response, new Branch(tap));
  }
}
