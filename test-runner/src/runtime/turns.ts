// Turns of the event loop between tests. A rejection that nobody handles is told in a task after the one it happened in: only
// when the page took its turn can it be named with its test, and only then do timers and paints get theirs.
import { nextTask, now } from './clock.ts';

/** A turn costs as much as a trivial test; so many tests of a file may each have one, which is more than people write. */
const TESTS_WITH_OWN_TURN = 1_000;
/** From then on the page gets its turn this often, in milliseconds: a quarter of a frame. */
const TURN_MS = 4;

export class Turns {
  private taken = 0;
  private last = now();
  /** Tests that started since the last turn. */
  private since: number[] = [];

  started(test: number): void {
    this.since.push(test);
  }

  /** Whether more than one test may have caused what comes to light now. */
  get several(): boolean {
    return this.since.length > 1;
  }

  afterTest(): Promise<void> | undefined {
    if (this.taken >= TESTS_WITH_OWN_TURN && now() - this.last < TURN_MS) return undefined;
    return this.take();
  }

  async take(): Promise<void> {
    this.taken++;
    // The first one is in the queue before what the current task leaves behind, the second one after it.
    await nextTask();
    await nextTask();
    this.last = now();
    this.since = [];
  }
}
