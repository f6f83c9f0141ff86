// Who wants to know that something changed. They are told at most once a frame, however much is recorded.
import { later, SafeMap } from '../shared/natives.ts';

/** A frame of a 60 Hz screen. */
const FRAME_MS = 16;
/** A timer that is later than that was ended by the page; in milliseconds. */
export const OVERDUE_MS = 250;

export class Subscribers {
  private listeners = new SafeMap<object, (version: number) => void>();
  private version = 0;
  /** When whoever waits is told at the latest. */
  private due = 0;

  constructor(private readonly failed: () => void) {}

  add(listener: (version: number) => void): () => void {
    const key = {};
    this.listeners.set(key, listener);
    return () => {
      this.listeners.delete(key);
    };
  }

  /** `time` is now. */
  changed(time: number): void {
    this.version++;
    if (time < this.due || this.listeners.size === 0) return;
    this.due = time + FRAME_MS + OVERDUE_MS;
    later(() => this.tell(), FRAME_MS);
  }

  private tell(): void {
    this.due = 0;
    this.listeners.forEach((listener) => {
      try {
        listener(this.version);
      } catch {
        this.failed();
      }
    });
  }
}
