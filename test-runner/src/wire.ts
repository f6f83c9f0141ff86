// What the in-page runtime and the host say to each other: twin of `src/wire.rs`, which explains every field.
// `tests/wire-samples.ts` holds the two against each other, here by its types, on the other side by a unit test.

export const BINDING = '__ait_emit';
export const TRANSPORT_BINDING = '__ait_transport';
export const RUNTIME_GLOBAL = '__ait';
export const CAPTURE_PREFIX = '__AIT_CAPTURE__ ';

export interface Batch {
  doc: string;
  seq: number;
  events: PageEvent[];
}

/** A piece of the records of a document, which are lines: a line that says which piece it is, and the piece as it is. */
export const pieceOf = (doc: string, seq: number, text: string): string => `${doc} ${seq}\n${text}`;

export type PageEvent =
  | { type: 'collected'; run: number; tests: CollectedTest[]; only: boolean }
  | { type: 'testStart'; run: number; test: number; attempt: number; limit: number }
  | { type: 'testFailing'; run: number; test: number }
  | {
      type: 'testEnd';
      run: number;
      test: number;
      state: TestState;
      ms: number;
      errors?: PageError[];
      note?: string;
      retries?: number;
    }
  | { type: 'phase'; run: number; phase: Phase; suite?: string[] }
  | { type: 'suiteError'; run: number; suite: string[]; error: PageError }
  | { type: 'uncaught'; run?: number; test?: number; origin: UncaughtOrigin; error: PageError }
  | { type: 'notice'; run?: number; message: string }
  | { type: 'fileEnd'; run: number; ms: number; loadError?: PageError };

export type Phase = 'load' | 'beforeAll' | 'afterAll' | 'idle';
export type TestMode = 'run' | 'skip' | 'filtered' | 'todo';
export type TestState = 'passed' | 'failed' | 'skipped' | 'todo';
export type UncaughtOrigin = 'error' | 'rejection' | 'unawaited';
export type ErrorKind = 'assertion' | 'error' | 'timeout' | 'unsupported';

export interface CollectedTest {
  path: string[];
  mode: TestMode;
}

export interface PageError {
  name: string;
  message: string;
  kind: ErrorKind;
  code?: string;
  diff?: string;
  expected?: string;
  actual?: string;
  frames?: PageFrame[];
  hook?: string;
  cause?: PageError;
}

export interface PageFrame {
  function: string;
  url: string;
  line: number;
  column: number;
}

export interface RunRequest {
  run: number;
  file: string;
  testTimeout: number;
  hookTimeout: number;
  namePattern?: string;
  allowOnly: boolean;
  skip: number[];
  holdFailing: boolean;
}

export interface CaptureInfo {
  from: number;
  beforeContent: boolean;
}

export interface RuntimeInfo {
  version: string;
  doc: string;
  seq: number;
  userAgent: string;
  url: string;
  title: string;
}
