// The adapter: the only file of the runtime that touches Vitest's internals (`build-plugins.mjs` holds what is changed in
// its packages). It runs one file on Vitest's own runner and tells a `Reporter`, in the wire's words, what happens.

import * as vitest from 'vitest';
import { setSafeTimers, startTests } from 'vitest/internal/browser';
import type { CollectedTest, PageError, TestMode, TestState } from '../wire.ts';
import { now } from './clock.ts';
import { describeError, fromHook } from './errors.ts';
import { MAX_ERRORS, MAX_SHORT, MAX_TITLE } from './limits.ts';
import { bounded } from './text.ts';
import * as unsupported from './unsupported.ts';
import { config, workerState } from './worker-state.ts';

export interface Verdict {
  state: TestState;
  ms: number;
  errors: PageError[];
  note?: string;
  retries: number;
}

export interface Reporter {
  collected(tests: CollectedTest[], only: boolean): void;
  testStart(test: number, attempt: number, limit: number): void;
  /** A test's own code is over; what it returns is awaited before the test counts as ended. */
  turn(): Promise<void> | undefined;
  /** A test's own code has failed, and its hooks have not tidied up yet; what it returns is awaited. */
  failing(test: number): Promise<void> | undefined;
  testEnd(test: number, verdict: Verdict): void;
  hook(phase: 'beforeAll' | 'afterAll', suite: string[]): void;
  hookEnd(suite: string[]): void;
  suiteError(suite: string[], error: PageError): void;
  loadError(error: PageError): void;
  notice(message: string): void;
}

export interface FileRun {
  file: string;
  testTimeout: number;
  hookTimeout: number;
  /** Whether a test with this full title (`suite > test`) and index is wanted. */
  wanted(title: string, index: number): boolean;
  /** Why an `only` must not be used, or undefined where it may. */
  onlyRefused: string | undefined;
  load(): Promise<void>;
  reporter: Reporter;
}

// Vitest's own task types are not exported; these are the members that are used here.
interface Task {
  id: string;
  type: 'test' | 'suite';
  name: string;
  mode: 'run' | 'skip' | 'only' | 'todo' | 'queued';
  suite?: Suite;
  timeout?: number;
  /** It is meant to fail. */
  fails?: boolean;
  result?: {
    state: string;
    duration?: number;
    errors?: PageError[];
    note?: string;
    attempts?: unknown[];
  };
}
interface Suite extends Task {
  tasks: Task[];
  containsOnly?: boolean;
}
type Body = () => Promise<unknown>;

const HOOKS: Record<string, string> = {
  'test.beforeEach': 'beforeEach',
  'test.afterEach': 'afterEach',
  'test.cleanup': 'beforeEach',
  'suite.beforeAll': 'beforeAll',
  'suite.afterAll': 'afterAll',
  'suite.cleanup': 'beforeAll',
};

// Typed against Vitest's own configuration, of which a page has the part in `worker-state.ts`.
const Base = vitest.TestRunner as any;

class PageRunner extends Base {
  private readonly indexes = new Map<string, number>();
  private readonly byId = new Map<string, Task>();
  private readonly left = new Set<Task>();
  private readonly attempts = new Map<string, number>();
  private readonly suites: Suite[] = [];
  /** Milliseconds for which tests waited for the host. */
  private readonly held = new Map<Task, number>();
  private loaded = true;

  constructor(private readonly run: FileRun) {
    super(config);
    this['trace'] = (name: string, attributes: Record<string, string> | Body, body?: Body) =>
      this.traced(name, attributes, body ?? (attributes as Body));
  }

  importFile(): Promise<void> {
    return this.run.load();
  }

  onCollected(files: Suite[]): void {
    const file = files[0] as Suite;
    if (file.result?.state === 'fail') return;
    if (file.containsOnly && this.run.onlyRefused) {
      file.result = { state: 'fail', errors: [describeError(new Error(this.run.onlyRefused))] };
      return;
    }
    const tests: CollectedTest[] = [];
    this.collect(file, tests);
    if (file.tasks.length) this.run.reporter.collected(tests, file.containsOnly === true);
  }

  private collect(suite: Suite, tests: CollectedTest[]): void {
    for (const task of suite.tasks) {
      this.byId.set(task.id, task);
      if (task.type === 'suite') {
        this.collect(task as Suite, tests);
        continue;
      }
      const index = tests.length;
      const path = pathOf(task);
      const wanted = this.run.wanted(path.join(' > '), index);
      if (!wanted) task.mode = 'skip';
      else this.left.add(task);
      this.indexes.set(task.id, index);
      tests.push({ path, mode: wanted ? modeOf(task) : 'filtered' });
    }
    // A suite none of whose tests run does not run its hooks either.
    const idle = suite.tasks.length > 0 && suite.tasks.every((task) => task.mode !== 'run');
    if (idle && (suite.mode === 'run' || suite.mode === 'queued')) suite.mode = 'skip';
  }

  async onBeforeRunTask(test: Task): Promise<void> {
    await super.onBeforeRunTask(test);
    if (test.mode === 'run') this.run.reporter.testStart(this.index(test), 0, limitOf(test));
  }

  onBeforeTryTask(test: Task, options: unknown): void {
    super.onBeforeTryTask(test, options);
    const attempt = this.attempts.get(test.id) ?? 0;
    this.attempts.set(test.id, attempt + 1);
    if (attempt > 0) this.run.reporter.testStart(this.index(test), attempt, limitOf(test));
  }

  async onTaskFinished(test: Task): Promise<void> {
    await super.onTaskFinished?.(test);
    if (test.result?.state !== 'fail' || test.fails) return;
    const failing = this.run.reporter.failing(this.index(test));
    if (!failing) return;
    const since = now();
    await failing;
    this.held.set(test, (this.held.get(test) ?? 0) + now() - since);
  }

  onTestAnnotate(test: Task, annotation: { message: string; type: string }): unknown {
    this.run.reporter.notice(`${pathOf(test).join(' > ')}: ${bounded(annotation.message, MAX_SHORT)}`);
    return annotation;
  }

  private traced(name: string, attributes: Record<string, string> | Body, body: Body): Promise<unknown> {
    const hook = HOOKS[name];
    if (hook) return this.hook(name, hook, body);
    const { 'vitest.test.id': test, 'vitest.suite.id': suite } = attributes as Record<string, string>;
    if (name === 'run.test') return this.test(this.byId.get(test as string) as Task, body);
    if (name === 'run.suite') return this.suite(this.byId.get(suite as string) as Suite, body);
    return body();
  }

  private async test(task: Task, body: Body): Promise<void> {
    await body();
    if (!this.left.has(task)) return;
    const turn = this.run.reporter.turn();
    if (turn) await turn;
    this.end(task);
  }

  private end(task: Task): void {
    this.left.delete(task);
    const { result } = task;
    const attempts = result?.attempts?.length ?? 0;
    const verdict: Verdict = {
      state: stateOf(task),
      ms: Math.max(0, (result?.duration ?? 0) - (this.held.get(task) ?? 0)),
      errors: (result?.errors ?? []).slice(0, MAX_ERRORS),
      retries: attempts > 1 ? attempts - 1 : 0,
    };
    if (result?.note) verdict.note = bounded(String(result.note), MAX_SHORT);
    this.run.reporter.testEnd(this.index(task), verdict);
  }

  private async suite(suite: Suite, body: Body): Promise<void> {
    this.suites.push(suite);
    await body();
    this.suites.pop();
    this.endOf(suite);
    for (const error of suite.result?.errors ?? []) this.run.reporter.suiteError(pathOf(suite), error);
  }

  /** Tests that were never asked: their suite is skipped, or a hook of it failed. */
  private endOf(suite: Suite): void {
    for (const task of suite.tasks) {
      if (task.type === 'suite') this.endOf(task as Suite);
      else if (this.left.has(task)) this.end(task);
    }
  }

  /** The file is a suite too; `startTests` runs it without a trace of its own id. */
  async onBeforeRunSuite(suite: Suite): Promise<void> {
    await super.onBeforeRunSuite(suite);
    if (!('filepath' in suite)) return;
    this.suites.push(suite);
    const error = suite.result?.state === 'fail' ? suite.result.errors?.[0] : undefined;
    if (!error) return;
    this.loaded = false;
    this.run.reporter.loadError(error);
  }

  finish(file: Suite): void {
    if (!this.loaded) return;
    this.endOf(file);
    for (const error of file.result?.errors ?? []) this.run.reporter.suiteError([], error);
  }

  private async hook(name: string, hook: string, body: Body): Promise<unknown> {
    const suite = this.suites.at(-1);
    const phase = hook as 'beforeAll' | 'afterAll';
    const told =
      suite && name === `suite.${hook}` && Base.getSuiteHooks(suite)[phase].length ? pathOf(suite) : undefined;
    if (told) this.run.reporter.hook(phase, told);
    try {
      return await body();
    } catch (error) {
      throw fromHook(error, hook);
    } finally {
      if (told) this.run.reporter.hookEnd(told);
    }
  }

  private index(task: Task): number {
    return this.indexes.get(task.id) as number;
  }
}

function pathOf(task: Task): string[] {
  const path: string[] = [];
  for (let at: Task | undefined = task; at && !('filepath' in at); at = at.suite) {
    path.unshift(bounded(at.name, MAX_TITLE));
  }
  return path;
}

function modeOf(task: Task): TestMode {
  return task.mode === 'run' || task.mode === 'todo' ? task.mode : 'skip';
}

function stateOf(task: Task): TestState {
  if (task.mode === 'todo') return 'todo';
  if (task.mode === 'skip' || task.result?.state === 'skip') return 'skipped';
  return task.result?.state === 'pass' ? 'passed' : 'failed';
}

function limitOf(test: Task): number {
  const { timeout } = test;
  return timeout && Number.isFinite(timeout) && timeout > 0 ? Math.min(Math.ceil(timeout), 2 ** 31) : 0;
}

/** Runs one file. `ended` resolves when its last hook has ended; `cancel` gives up its running test and skips the rest. */
export function runFile(run: FileRun): { ended: Promise<void>; cancel(): void } {
  config.testTimeout = run.testTimeout;
  config.hookTimeout = run.hookTimeout;
  workerState.filepath = run.file;
  const runner = new PageRunner(run);
  const start = async (): Promise<void> => {
    await unlimited;
    const files = await startTests([run.file], runner as never);
    runner.finish(files[0] as unknown as Suite);
  };
  return { ended: start(), cancel: () => runner['cancel']('test-failure') };
}

/** What `import ... from 'vitest'` gets. */
export const api: Record<string, unknown> = { ...vitest, ...unsupported.exports };

function prepare(): void {
  setSafeTimers();
  Object.assign(vitest.vi, unsupported.viMembers);
  const { Assertion, util } = vitest.chai;
  for (const [name, fail] of Object.entries(unsupported.matchers)) util.addMethod(Assertion.prototype, name, fail);
  for (const [name, fail] of Object.entries(unsupported.inlineMatchers)) {
    Assertion.overwriteMethod(name, (original: (...args: unknown[]) => unknown) => {
      return function (this: unknown, ...args: unknown[]) {
        if (!args.some((arg) => typeof arg === 'string')) fail();
        return original.apply(this, args);
      };
    });
  }
}

prepare();

/**
 * Vitest makes its limiters of hooks and tests once and for all, from the first configuration it sees. A test that never
 * ends keeps its place in them, so they must not have an end; the limit of concurrent tests is another one.
 */
const unlimited = startTests([], { config: { ...config, maxConcurrency: Number.POSITIVE_INFINITY } } as never);
