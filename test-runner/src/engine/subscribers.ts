// Who wants to know that something changed. They are told at most once a frame, however much is recorded.
import { later, SafeMap } from '../shared/natives.ts';

/** A frame of a 60 Hz screen. */
const FRAME_MS = 16;

export class Subscribers {
  private listeners = new SafeMap<object, (version: number) => void>();
  private version = 0;
  private waiting = false;

  constructor(private readonly failed: () => void) {}

  add(listener: (version: number) => void): () => void {
    const key = {};
    this.listeners.set(key, listener);
    return () => {
      this.listeners.delete(key);
    };
  }

  changed(): void {
    this.version++;
    if (this.waiting || this.listeners.size === 0) return;
    this.waiting = true;
    later(() => this.tell(), FRAME_MS);
  }

  private tell(): void {
    this.waiting = false;
    this.listeners.forEach((listener) => {
      try {
        listener(this.version);
      } catch {
        this.failed();
      }
    });
  }
}
