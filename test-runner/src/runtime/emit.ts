// Everything the page tells the host leaves here: in batches, numbered, over the binding.
import { type Batch, BINDING, type PageEvent } from '../wire.ts';
import { after, now } from './clock.ts';
import { toJson } from './json.ts';
import { FLUSH_MS, MAX_BATCH, MAX_WAITING } from './limits.ts';

type Send = (text: string) => void;

export class Emitter {
  private events: string[] = [];
  private size = 0;
  /** Number of the first event that waits. */
  private seq = 0;
  private scheduled = false;
  private flushed = now();
  private send: Send | undefined;

  constructor(readonly doc: Batch['doc']) {}

  /** Number of the next event that leaves. */
  get next(): number {
    return this.seq;
  }

  /** Queues an event; it leaves with the next one that cannot wait, and at the latest after `FLUSH_MS`. */
  emit(event: PageEvent): void {
    const text = toJson(event);
    this.events.push(text);
    this.size += text.length;
    if (this.size > MAX_WAITING) this.drop();
    // A page that never comes to rest runs no timer.
    if (now() - this.flushed >= FLUSH_MS) this.flush();
    else this.schedule();
  }

  /** Emits an event that must have left the page before anything else happens there. */
  emitNow(event: PageEvent): void {
    this.emit(event);
    this.flush();
  }

  /** Sends what waits, now. When it returns, the events have left the page's own hands. */
  flush(): void {
    this.flushed = now();
    const send = this.binding();
    if (!send) return;
    let batch: string[] = [];
    let size = 0;
    const events = this.events;
    this.events = [];
    this.size = 0;
    // By number: a test may have replaced how lists are gone through.
    for (let at = 0; at < events.length; at++) {
      const event = events[at] as string;
      if (batch.length && size + event.length > MAX_BATCH) {
        this.call(send, batch);
        batch = [];
        size = 0;
      }
      batch.push(event);
      size += event.length;
    }
    if (batch.length) this.call(send, batch);
  }

  /** Sends an empty batch: from it the host sees that what is sent arrives, and by whose hands. */
  prove(): void {
    const send = this.binding();
    if (send) this.call(send, []);
  }

  private call(send: Send, batch: string[]): void {
    const text = `{"doc":${toJson(this.doc)},"seq":${this.seq},"events":[${batch.join(',')}]}`;
    // The number moves on whatever happens: the host sees a lost batch by the gap.
    this.seq += batch.length;
    try {
      send(text);
    } catch {
      this.send = undefined;
    }
  }

  /** The binding as it was first seen: a page that takes it away later changes nothing. */
  private binding(): Send | undefined {
    if (!this.send) {
      const found = (globalThis as Record<string, unknown>)[BINDING];
      if (typeof found === 'function') this.send = found as Send;
    }
    return this.send;
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    after(FLUSH_MS, () => {
      this.scheduled = false;
      this.flush();
    });
  }

  /** Nobody listens: the oldest events go, and the number of the first that is left tells how many. */
  private drop(): void {
    while (this.size > MAX_WAITING / 2 && this.events.length > 1) {
      this.size -= (this.events.shift() as string).length;
      this.seq++;
    }
  }
}
