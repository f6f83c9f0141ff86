// The recorder of this document, where there is one: told which test is running, and led to the host.
import type { CaptureRuntime, HostRecords } from '../engine/install.ts';
import { ownerOf } from '../shared/owner.ts';
import { type CaptureInfo, TRANSPORT_BINDING } from '../wire.ts';

let known: CaptureRuntime | undefined;

/** It is looked for once: what the page does meanwhile to the places where it could be found makes no difference. */
export function recorder(): CaptureRuntime | undefined {
  if (!known?.installed) known = ownerOf(globalThis) as CaptureRuntime | undefined;
  return known;
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
