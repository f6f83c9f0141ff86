// What the stream of the dashboard says. Twin of src/dashboard/patch.rs.
import { Messages, type TimelinePatch } from './messages.ts';

export type Stage = 'starting' | 'waiting' | 'accepted' | 'agentLoaded' | 'attached' | 'reattaching';
export type PageState = 'hidden' | 'frozen' | 'reconnecting' | 'gone';
export type TestState = 'passed' | 'failed' | 'skipped' | 'todo';
export type Verdict = 'passed' | 'failed' | 'skipped' | 'notRun';
export type Exit = 'passed' | 'failed' | 'environment' | 'nothingRan' | 'usage' | 'interrupted' | 'terminated';

export interface Counts {
  passed: number;
  failed: number;
  unsupported: number;
  skipped: number;
  todo: number;
}

export interface TestError {
  name: string;
  message: string;
  diff?: string;
  codeFrame?: string;
  hook?: string;
  frames?: { function: string; file: string; line: number; column: number }[];
  cause?: TestError;
}

export interface Test {
  id: string;
  path: string[];
  state: TestState | null;
  durationMs: number | null;
  note: string | null;
  retries: number;
  errors: TestError[];
  cut: boolean;
}

interface FilePatch {
  id: string;
  verdict: Verdict | null;
  counts: Counts;
  durationMs: number | null;
  notRun: string | null;
  errors: TestError[];
  tests: Test[];
}

/** A file, its tests by id in the order in which they stand in it. */
export interface File extends Omit<FilePatch, 'tests'> {
  tests: Map<string, Test>;
}

export interface Invitation {
  link: string;
  side: number;
  path: string;
  remainingMs: number;
  renewed: boolean;
}

export interface ConsoleLine {
  n: number;
  level: string;
  text: string;
  location?: { file: string; line: number; column: number };
}

export interface Notice {
  n: number;
  at: number;
  kind: 'info' | 'warning' | 'pageLost' | 'exception';
  message: string;
  error?: TestError;
}

/** How far a wait has come. */
export type Progress = 'noWay' | 'nobody' | 'accepted' | 'agentLoaded' | 'passedOver' | 'silent';

export interface Waiting {
  elapsedMs: number;
  leftMs: number | null;
  progress: Progress;
  /** Calls that were turned away, and those of them whose code was right once. */
  refused: number;
  expired: number;
  /** Calls of pages that an earlier run left behind. */
  leftovers: number;
  /** No code is taken for so long. */
  lockedMs: number | null;
}

/** The small things, which are in every message. */
export interface Head {
  stages: { stage: Stage; message: string; at: number }[];
  waiting: Waiting | null;
  problem: string | null;
  page: { url: string; title: string; engine: string; device: string; appVersion?: string } | null;
  /** How it is, unless it is well. */
  pageState: PageState | null;
  counts: Counts;
  running: { file: string; test: string | null } | null;
  result: { exit: Exit; reason: string; durationMs: number } | null;
  over: boolean;
}

export interface Patch extends Head {
  whole: boolean;
  run?: {
    toolVersion: string;
    target: 'device' | 'chrome' | 'webkit' | 'endpoint';
    cell: { sdkLine: string; platform: string };
  };
  invitation?: Invitation | null;
  files: FilePatch[];
  console: ConsoleLine[];
  notices: Notice[];
  /** Left out where nothing is new. */
  timeline?: TimelinePatch;
}

/** As the host keeps them: what is older is not sent to those who come later either. */
const MAX_CONSOLE = 500;
const MAX_NOTICES = 200;

export class State {
  head: Head | undefined;
  run: Patch['run'];
  invitation: (Invitation & { deadline: number }) | undefined;
  files = new Map<string, File>();
  console: ConsoleLine[] = [];
  notices: Notice[] = [];
  readonly messages = new Messages();

  /** Takes over what changed; `now` is the clock that deadlines are told by. */
  apply(patch: Patch, now: number): void {
    if (patch.whole) {
      this.files.clear();
      this.console = [];
      this.notices = [];
      this.messages.clear();
    }
    this.head = patch;
    this.run = patch.run ?? this.run;
    if (patch.invitation !== undefined) {
      this.invitation = patch.invitation
        ? { ...patch.invitation, deadline: now + patch.invitation.remainingMs }
        : undefined;
    }
    for (const { tests, ...file } of patch.files) {
      const known = this.files.get(file.id)?.tests ?? new Map<string, Test>();
      for (const test of tests) known.set(test.id, test);
      this.files.set(file.id, { ...file, tests: known });
    }
    if (patch.timeline) this.messages.apply(patch.timeline);
    this.console = [...this.console, ...patch.console].slice(-MAX_CONSOLE);
    this.notices = [...this.notices, ...patch.notices].slice(-MAX_NOTICES);
  }
}
