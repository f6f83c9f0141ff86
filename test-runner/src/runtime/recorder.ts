// The recorder of this document, where there is one: told which test is running, and led to the host.
import type { CaptureRuntime, HostRecords } from '../engine/install.ts';
import { type CaptureInfo, TRANSPORT_BINDING } from '../wire.ts';

/** As `interceptors/patch.ts` answers it. */
const KEY = Symbol.for('devtools-test.capture');

/** It shows itself to nobody who does not ask one of its patched methods like this. */
export function recorder(): CaptureRuntime | undefined {
  return (
    answerOf(() => WebSocket.prototype.close) ??
    answerOf(() => Response.prototype.clone) ??
    answerOf(() => EventSource.prototype.close)
  );
}

function answerOf(method: () => unknown): CaptureRuntime | undefined {
  try {
    return Reflect.apply(method() as () => CaptureRuntime | undefined, KEY, []);
  } catch {
    // The native says that this is none of its objects, or there is no such thing here.
    return undefined;
  }
}

export class Recorder {
  private records: HostRecords | undefined;

  constructor(
    private readonly doc: string,
    private readonly currentTest: () => unknown,
  ) {}

  /** Leads the recorder to the host that asks; nothing where there is none. */
  connect(): CaptureInfo | undefined {
    const found = recorder();
    const send: unknown = (globalThis as Record<string, unknown>)[TRANSPORT_BINDING];
    if (!found || typeof send !== 'function') return undefined;
    const { doc, currentTest } = this;
    this.records = found.toHost({ doc, currentTest, send: (text) => void send(text) });
    const { from, beforeContent } = found.coverage();
    return { from, beforeContent };
  }

  took(seq: number): void {
    this.records?.took(seq);
  }

  /** Hands over what waits, as far as the host is ready for it; returns how many records it has yet to hear. */
  drain(): number {
    return this.records?.drain() ?? 0;
  }

  /** Takes the recorder out of the page. */
  release(): void {
    recorder()?.uninstall();
  }
}
