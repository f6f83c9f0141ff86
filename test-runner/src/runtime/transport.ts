// What tests see of the recorder: `import { transport } from 'devtools-test'`. Its types for users are in
// `types/devtools-test.d.ts`; `tests/own-types.ts` holds the two against each other.
import type { ConnectionState, SearchQuery, TransportConnection, TransportMessage } from '../engine/events.ts';
import type { CaptureRuntime } from '../engine/install.ts';
import { cancel, later } from '../shared/natives.ts';
import { now } from './clock.ts';
import { recorder } from './recorder.ts';

/** As `vi.waitFor`. */
const DEFAULT_TIMEOUT = 1_000;
/** So many messages are named when the awaited one does not come. */
const SHOWN = 5;

export interface Scope {
  /** Of the whole document, not only of the running test. */
  all?: boolean;
}

export interface ConnectionQuery extends Scope {
  protocol?: TransportConnection['protocol'];
  state?: ConnectionState;
  urlIncludes?: string;
}

export interface MessageQuery extends Omit<SearchQuery, 'after'>, Scope {
  type?: string;
  /** Has the last word. */
  where?: (message: TransportMessage) => boolean;
}

/** A moment: its time, and how many messages there had been. */
interface Mark {
  at: number;
  n: number;
}

export class Transport {
  private test: Mark = { at: 0, n: 0 };
  private all: Mark = { at: 0, n: 0 };

  private found: CaptureRuntime | undefined;

  constructor(private readonly find: () => CaptureRuntime | undefined = recorder) {}

  /** A file starts. It keeps the recorder that is there: to look for one at each test costs as much as a small test. */
  start(): void {
    this.found = this.find();
    this.begin();
  }

  /** A test starts, and with it what it sees. */
  begin(): void {
    this.test = this.mark();
  }

  /** What tests are given: its methods may be taken apart. */
  readonly api = Object.freeze({
    connections: (query: ConnectionQuery = {}): TransportConnection[] => this.connections(query),
    messages: (query: MessageQuery = {}): TransportMessage[] => this.messages('messages', query),
    waitFor: (query: MessageQuery = {}, options: { timeout?: number } = {}): Promise<TransportMessage> =>
      this.waitFor(query, options.timeout ?? DEFAULT_TIMEOUT),
    clear: ({ all }: Scope = {}): void => {
      this.engine('clear');
      this.test = this.mark();
      if (all) this.all = this.test;
    },
  });

  private engine(method: string): CaptureRuntime['engine'] {
    this.found = this.find();
    if (this.found) return this.found.engine;
    throw new Error(
      `transport.${method}(): nothing is recorded in this page. Run without --no-capture; a page in which the recorder cannot be is named when the run starts.`,
    );
  }

  private mark(): Mark {
    return { at: now(), n: this.found?.engine.recorded() ?? 0 };
  }

  private since({ all }: Scope): Mark {
    return all ? this.all : this.test;
  }

  private connections(query: ConnectionQuery): TransportConnection[] {
    const { protocol, state, urlIncludes } = query;
    const { at } = this.since(query);
    return this.engine('connections')
      .getConnections()
      .filter(
        (connection) =>
          (connection.closedAt ?? at) >= at &&
          (protocol === undefined || connection.protocol === protocol) &&
          (state === undefined || connection.state === state) &&
          (urlIncludes === undefined || connection.url.includes(urlIncludes)),
      );
  }

  private messages(method: string, query: MessageQuery): TransportMessage[] {
    const { type, where } = query;
    const { n } = this.since(query);
    return this.engine(method)
      .search({ ...query, after: n })
      .filter((message) => (type === undefined || message.type === type) && (!where || where(message)));
  }

  /** The first one there is, or comes in time. */
  private waitFor(query: MessageQuery, timeout: number): Promise<TransportMessage> {
    return new Promise((resolve, reject) => {
      let stop = (): void => {};
      const look = (): void => {
        try {
          const [found] = this.messages('waitFor', query);
          if (!found) return;
          resolve(found);
        } catch (error) {
          reject(error);
        }
        stop();
      };
      const engine = this.engine('waitFor');
      const unsubscribe = engine.subscribe(look);
      const timer = later(() => {
        look();
        reject(this.missing(query, timeout));
        stop();
      }, timeout);
      stop = () => {
        unsubscribe();
        cancel(timer);
      };
      look();
    });
  }

  private missing(query: MessageQuery, timeout: number): Error {
    const seen = this.messages('waitFor', query.all ? { all: true } : {});
    const last = seen.slice(-SHOWN).map((message) => `  ${lineOf(message)}`);
    const none = 'no message was recorded';
    const some = `of ${seen.length} recorded, the last were:\n${last.join('\n')}`;
    const where = query.all ? 'in this page' : 'in this test';
    return new Error(
      `transport.waitFor(${describe(query)}): not within ${timeout} ms; ${seen.length ? some : none} ${seen.length ? '' : where}`.trimEnd(),
    );
  }
}

function lineOf({ direction, protocol, type, payloadPreview }: TransportMessage): string {
  return `${direction} ${protocol} ${type ?? 'message'}: ${JSON.stringify(payloadPreview)}`;
}

function describe(query: MessageQuery): string {
  return JSON.stringify(query, (_, value: unknown) => (typeof value === 'function' ? '[function]' : value));
}
