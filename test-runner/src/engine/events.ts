// What the engine keeps: connections, messages, and what is counted about both. Types and constants only.

export type TransportProtocol = 'websocket' | 'fetch-stream' | 'eventsource';
export type MessageDirection = 'in' | 'out';
export type ConnectionState = 'connecting' | 'open' | 'closing' | 'closed';
export type MessagePayload = string | ArrayBuffer;
export type Metadata = Record<string, unknown>;

/** How the body of a fetch, or a socket, came to its end. */
export type EndReason = 'end' | 'error' | 'cancel' | 'abort' | 'abandoned' | 'unload' | 'close' | 'unobserved';

export interface TransportConnection {
  /** Unique in all documents: starts with the id of this one. */
  id: string;
  protocol: TransportProtocol;
  /** As the platform resolved it; values of redacted query parameters are replaced. */
  url: string;
  state: ConnectionState;
  /** Milliseconds since the document began, as all times here. */
  openedAt: number;
  closedAt?: number;
  closeCode?: number;
  reconnectCount: number;
  metadata: Metadata;
}

export interface TransportMessage {
  id: string;
  connectionId: string;
  /** Place in the one order of everything this document recorded. */
  n: number;
  /** Milliseconds since the document began; never goes back. */
  timestamp: number;
  /** The wall clock at that time, milliseconds since 1970. */
  wallTime: number;
  direction: MessageDirection;
  protocol: TransportProtocol;
  type?: string;
  /** Bytes of the whole payload, as UTF-8 if it is text. */
  size: number;
  /** The first part of the payload, as much as stays in the page. */
  payload: MessagePayload;
  payloadPreview: string;
  /** Whether `payload` is less than there was. */
  truncated?: true;
  /** Which test was running, where tests run. */
  test?: unknown;
  metadata: Metadata;
}

export interface ConnectionInput {
  id?: string;
  protocol: TransportProtocol;
  url: string;
  state?: ConnectionState;
  openedAt?: number;
  reconnectCount?: number;
  metadata?: Metadata;
}

export interface ConnectionUpdate {
  url?: string;
  protocol?: TransportProtocol;
  state?: ConnectionState;
  closedAt?: number;
  closeCode?: number;
  reconnectCount?: number;
  metadata?: Metadata;
}

export interface MessageInput {
  connectionId: string;
  direction: MessageDirection;
  protocol?: TransportProtocol;
  type?: string;
  /** Buffers and views are copied, as far as they are kept. */
  payload: string | ArrayBuffer | ArrayBufferView;
  /** Bytes of the whole, where `payload` is not the whole or its size is known already. */
  size?: number | undefined;
  /** Whether `payload` is only the start of a text. */
  cut?: boolean;
  timestamp?: number;
  metadata?: Metadata;
}

export interface MessageFilter {
  connectionId?: string;
  protocol?: TransportProtocol;
  direction?: MessageDirection;
  urlIncludes?: string;
  fromTimestamp?: number;
  toTimestamp?: number;
}

export interface SearchQuery extends MessageFilter {
  /** Only messages with a higher `n`. */
  after?: number;
  /** Sought in text payloads and in the previews of binary ones; case makes no difference. */
  text?: string;
}

/** Counts since the install, or the last `clear()`; they stay right when messages are dropped. */
export interface TransportMetrics {
  activeConnectionCount: number;
  connectionCount: number;
  messageCount: number;
  incomingCount: number;
  outgoingCount: number;
  /** Messages that made room for later ones. */
  droppedMessageCount: number;
  totalBytes: number;
  /** Messages of whose payload only the first part stayed in the page. */
  truncatedMessageCount: number;
  /** Messages that can be read now, and the bytes they take. */
  retainedMessageCount: number;
  retainedBytes: number;
  /** Connections that made room for later ones. */
  droppedConnectionCount: number;
  /** What could not be seen or was left out on purpose: reason to count. */
  notRecorded: Record<string, number>;
}

/** Messages that are kept if nothing else is said. */
export const DEFAULT_CAPACITY = 10_000;
/** Bytes of messages that are kept: what a long test session may cost a phone. */
export const DEFAULT_BYTE_BUDGET = 32 * 1024 * 1024;
/** What stays in the page of one payload: enough to recognise and to search it. */
export const DEFAULT_PAYLOAD_PREFIX = 1024;
/** What leaves the page of one payload. */
export const DEFAULT_MAX_PAYLOAD = 1024 * 1024;
export const PREVIEW_CHARACTERS = 100;
/** What a message costs beside its payload, about. */
export const MESSAGE_OVERHEAD = 256;
