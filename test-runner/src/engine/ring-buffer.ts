// A list of bounded length in which the newest take the place of the oldest.
import { NativeRangeError } from '../shared/natives.ts';

export class RingBuffer<T> {
  private items: (T | undefined)[] = [];
  private start = 0;
  private count = 0;
  private dropped = 0;

  constructor(readonly capacity: number) {
    if (typeof capacity !== 'number' || capacity < 1 || capacity % 1 !== 0 || capacity > 0xffffffff) {
      throw new NativeRangeError(`a ring buffer holds a positive whole number of items, not ${capacity}`);
    }
  }

  get length(): number {
    return this.count;
  }

  /** Items that made room, since the buffer was made or cleared. */
  get droppedCount(): number {
    return this.dropped;
  }

  /** Adds an item and returns the one that made room for it. */
  push(item: T): T | undefined {
    const evicted = this.count === this.capacity ? this.shift() : undefined;
    this.items[(this.start + this.count) % this.capacity] = item;
    this.count++;
    return evicted;
  }

  /** Drops the oldest item, and counts it as dropped. */
  shift(): T | undefined {
    if (this.count === 0) return undefined;
    const item = this.items[this.start];
    this.items[this.start] = undefined;
    this.start = (this.start + 1) % this.capacity;
    this.count--;
    this.dropped++;
    return item;
  }

  /** The item at a place counted from the oldest. */
  at(index: number): T | undefined {
    return index < 0 || index >= this.count ? undefined : this.items[(this.start + index) % this.capacity];
  }

  /** All items, the oldest first. */
  toArray(): T[] {
    const list: T[] = [];
    for (let i = 0; i < this.count; i++) list[i] = this.items[(this.start + i) % this.capacity] as T;
    return list;
  }

  clear(): void {
    this.items = [];
    this.start = 0;
    this.count = 0;
    this.dropped = 0;
  }
}
