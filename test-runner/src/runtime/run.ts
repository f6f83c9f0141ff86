// Runs of files, one after another: turns what the adapter tells into events, and knows what is running.
import type { PageEvent, RunRequest } from '../wire.ts';
import { after, now } from './clock.ts';
import type { Emitter } from './emit.ts';
import { describeError } from './errors.ts';
import { MAX_HOLD_MS, MAX_SHORT } from './limits.ts';
import { bounded } from './text.ts';
import { Turns } from './turns.ts';
import { watchUncaught } from './uncaught.ts';
import { type Reporter, runFile } from './vitest.ts';

const ONLY_REFUSED =
  'This file uses `.only`, which hides its other tests. Remove it, or permit it with --allow-only. No test of the file was run.';

/** V8 and JavaScriptCore both have it; the standard does not. */
const engine = Error as ErrorConstructor & { stackTraceLimit?: number };
/** As Vitest's workers set it: the frame of the test must not fall off behind those of helpers. */
const STACK_FRAMES = 100;

export class Runs {
  private current: Run | undefined;
  private readonly watch: () => void;

  constructor(
    private readonly emitter: Emitter,
    /** Told when a file starts, and when a test does while no other one is running. */
    private readonly scope: { start(): void; begin(): void },
  ) {
    this.watch = watchUncaught(
      (origin, error) => this.uncaught({ type: 'uncaught', origin, error }),
      (message) => emitter.emit({ type: 'notice', ...this.where(), message: bounded(message, MAX_SHORT) }),
    );
    this.watch();
  }

  /** Starts a file and returns at once. */
  start(request: RunRequest, load: () => Promise<void>): void {
    if (this.current) throw new Error(`run ${this.current.request.run} has not ended yet`);
    const run = new Run(request, load, this.emitter, this.watch, () => this.scope.begin());
    this.scope.start();
    this.current = run;
    run.execute().then(() => {
      if (this.current === run) this.current = undefined;
    });
  }

  /** Forgets a run: its tests end here, and nothing more is emitted for it, whatever its code still does. */
  abort(id: number): void {
    if (this.current?.request.run !== id) return;
    this.current.dead = true;
    this.current.cancel();
    this.current = undefined;
  }

  /** A failing test that waits for the host may go on. */
  goOn(run: number, test: number): void {
    if (this.current?.request.run === run) this.current.held.get(test)?.();
  }

  /** The one test that is running, as the records of what the page exchanges name it. */
  get currentTest(): { run: number; test: number } | undefined {
    return this.current?.only;
  }

  private uncaught(event: PageEvent & { type: 'uncaught' }): void {
    this.emitter.emitNow({ ...event, ...this.where() });
  }

  private where(): { run?: number; test?: number } {
    if (!this.current) return {};
    const run = this.current.request.run;
    const { running, turns } = this.current;
    // Of several tests since the last turn, or at the same time, any one may have left this behind.
    const test = running.length > 1 || turns.several ? undefined : running[0];
    return test === undefined ? { run } : { run, test };
  }
}

class Run {
  dead = false;
  /** Tests that have started and not ended, oldest first. */
  running: number[] = [];
  /** The running test, where it is the only one. */
  only: { run: number; test: number } | undefined;
  readonly turns = new Turns();
  /** Failing tests that wait for the host, with what lets them go on. */
  readonly held = new Map<number, () => void>();
  private started = 0;
  private readonly run: number;
  cancel = (): void => {};
  private loadError: ReturnType<typeof describeError> | undefined;

  constructor(
    readonly request: RunRequest,
    private readonly load: () => Promise<void>,
    private readonly emitter: Emitter,
    private readonly watch: () => void,
    private readonly begins: () => void,
  ) {
    this.run = request.run;
  }

  async execute(): Promise<void> {
    this.started = now();
    const limit = engine.stackTraceLimit;
    try {
      const wanted = filterOf(this.request);
      engine.stackTraceLimit = STACK_FRAMES;
      const file = runFile({
        ...this.request,
        wanted,
        onlyRefused: this.request.allowOnly ? undefined : ONLY_REFUSED,
        load: this.loadFile,
        reporter: this.reporter,
      });
      this.cancel = file.cancel;
      await file.ended;
    } catch (error) {
      this.loadError ??= describeError(error);
    } finally {
      if (limit !== undefined) engine.stackTraceLimit = limit;
    }
    await this.turns.take();
    const end = { type: 'fileEnd', run: this.run, ms: now() - this.started } as const;
    this.emitNow(this.loadError ? { ...end, loadError: this.loadError } : end);
  }

  private readonly loadFile = async (): Promise<void> => {
    this.emitNow({ type: 'phase', run: this.run, phase: 'load' });
    await this.load();
  };

  private readonly reporter: Reporter = {
    collected: (tests, only) => this.emit({ type: 'collected', run: this.run, tests, only }),
    testStart: (test, attempt, limit) => {
      if (!this.running.length) this.begins();
      if (!this.running.includes(test)) this.running.push(test);
      this.nameRunning();
      this.turns.started(test);
      this.watch();
      // It must have left the page before the test can loop for ever.
      this.emitNow({ type: 'testStart', run: this.run, test, attempt, limit });
    },
    turn: () => this.turns.afterTest(),
    failing: (test) => {
      if (!this.request.holdFailing || this.dead) return undefined;
      this.emitNow({ type: 'testFailing', run: this.run, test });
      return new Promise((resolve) => {
        this.held.set(test, resolve);
        after(MAX_HOLD_MS, resolve);
      });
    },
    testEnd: (test, { state, ms, errors, note, retries }) => {
      this.running = this.running.filter((other) => other !== test);
      this.nameRunning();
      this.emit({
        type: 'testEnd',
        run: this.run,
        test,
        state,
        ms,
        ...(errors.length && { errors }),
        ...(note !== undefined && { note }),
        ...(retries && { retries }),
      });
    },
    hook: (phase, suite) => this.emitNow({ type: 'phase', run: this.run, phase, suite }),
    hookEnd: (suite) => this.emit({ type: 'phase', run: this.run, phase: 'idle', suite }),
    suiteError: (suite, error) => this.emit({ type: 'suiteError', run: this.run, suite, error }),
    loadError: (error) => {
      this.loadError = error;
    },
    notice: (message) => this.emit({ type: 'notice', run: this.run, message }),
  };

  private nameRunning(): void {
    const test = this.running.length === 1 ? this.running[0] : undefined;
    this.only = test === undefined ? undefined : { run: this.run, test };
  }

  private emit(event: PageEvent): void {
    if (!this.dead) this.emitter.emit(event);
  }

  private emitNow(event: PageEvent): void {
    if (!this.dead) this.emitter.emitNow(event);
  }
}

function filterOf({ namePattern, skip }: RunRequest): (title: string, index: number) => boolean {
  const skipped = new Set(skip);
  if (namePattern === undefined) return (_, index) => !skipped.has(index);
  const pattern = new RegExp(namePattern);
  // Vitest 5 joins titles with ` > `, Vitest 4 with a space; a pattern written for either one is meant.
  return (title, index) => !skipped.has(index) && (pattern.test(title) || pattern.test(title.replaceAll(' > ', ' ')));
}
