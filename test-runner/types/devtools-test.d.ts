/**
 * What test files can import from `devtools-test`. The module exists only inside a run; no package has to be installed.
 */
declare module 'devtools-test' {
  export type TransportProtocol = 'websocket' | 'fetch-stream' | 'eventsource';

  export interface TransportConnection {
    /** Unique in all documents of a run. */
    id: string;
    protocol: TransportProtocol;
    /** As the platform resolved it. */
    url: string;
    state: 'connecting' | 'open' | 'closing' | 'closed';
    /** Milliseconds since the document began, as all times here but `wallTime`. */
    openedAt: number;
    closedAt?: number;
    /** Of a WebSocket. */
    closeCode?: number;
    /** Of an EventSource. */
    reconnectCount: number;
    /** What else is known: `status`, `contentType`, `subprotocol`, `reason`, `how` it ended, ... */
    metadata: Record<string, unknown>;
  }

  export interface TransportMessage {
    id: string;
    connectionId: string;
    /** Place in the one order of everything the document exchanged. */
    n: number;
    timestamp: number;
    /** Milliseconds since 1970. */
    wallTime: number;
    /** Seen from the page. */
    direction: 'in' | 'out';
    protocol: TransportProtocol;
    /** Of a server-sent event. */
    type?: string;
    /** Bytes of the whole payload, as UTF-8 if it is text. */
    size: number;
    /** The payload, or the first kibibyte of a longer one. */
    payload: string | ArrayBuffer;
    /** Its first 100 characters, or `[binary N bytes]`. */
    payloadPreview: string;
    /** Whether `payload` is less than there was. */
    truncated?: true;
    /** Which test was running. */
    test?: unknown;
    metadata: Record<string, unknown>;
  }

  export interface TransportScope {
    /** Of the whole document. Without it: since the running test started, or `clear()` was called. */
    all?: boolean;
  }

  export interface ConnectionFilter extends TransportScope {
    protocol?: TransportProtocol;
    state?: TransportConnection['state'];
    urlIncludes?: string;
  }

  export interface MessageFilter extends TransportScope {
    connectionId?: string;
    protocol?: TransportProtocol;
    direction?: 'in' | 'out';
    /** Of its connection. */
    urlIncludes?: string;
    fromTimestamp?: number;
    toTimestamp?: number;
    /** Of a server-sent event. */
    type?: string;
    /** Part of the payload, in capitals or not. */
    text?: string;
    /** Has the last word. */
    where?: (message: TransportMessage) => boolean;
  }

  export interface Transport {
    /** Connections that lived in the time of the running test, oldest first. */
    connections(filter?: ConnectionFilter): TransportConnection[];
    /** Messages since the running test started, oldest first. */
    messages(filter?: MessageFilter): TransportMessage[];
    /** The first message there is, or that comes within `timeout` milliseconds (1,000 if nothing is said). */
    waitFor(filter?: MessageFilter, options?: { timeout?: number }): Promise<TransportMessage>;
    /** Lets the test start over: what came so far is seen no more. The report keeps it. */
    clear(scope?: TransportScope): void;
  }

  /** What the page exchanged, as the recorder saw it. Every method throws where the run has none (`--no-capture`). */
  export const transport: Transport;
}
