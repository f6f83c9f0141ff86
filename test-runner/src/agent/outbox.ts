// Messages to the host, numbered from 1 per document and kept until the relay has confirmed them, so that a
// connection that breaks loses nothing and sends nothing twice.

import { each, max } from '../shared/natives';

/** Characters that are kept: enough for a burst of results, and no burden for a phone. */
const ROOM = 8 << 20;
/** What takes the place of a message there was no room for: the relay counts it and passes nothing on. */
const BLANK = '{}';

export interface Outbox {
  /** Keeps a message; `precious` ones (replies, results) are given up last. */
  add(text: string, precious: boolean): void;
  /** The relay has received this many. */
  confirm(count: number): void;
  /** After a reconnect: what the relay has not received, and how many it never will since there was no room. */
  resume(received: number): { first: number; texts: string[]; dropped: number };
}

interface Item {
  text: string;
  precious: boolean;
}

export function createOutbox(): Outbox {
  let items: Item[] = [];
  let first = 1;
  let size = 0;
  let dropped = 0;
  /** Before this index nothing is left that could be blanked. */
  let cursor = 0;

  /** Forgets items from the front while `gone` says so; returns how many. */
  function shift(gone: (number: number) => boolean): number {
    let count = 0;
    const rest: Item[] = [];
    each(items, (item, index) => {
      if (index === count && gone(first + index)) {
        count++;
        size -= item.text.length;
      } else {
        rest[rest.length] = item;
      }
    });
    items = rest;
    first += count;
    cursor = max(cursor - count, 0);
    return count;
  }

  function makeRoom(): void {
    for (; size > ROOM && cursor < items.length - 1; cursor++) {
      const item = items[cursor] as Item;
      if (item.precious) continue;
      size -= item.text.length - BLANK.length;
      items[cursor] = { text: BLANK, precious: true };
      dropped++;
    }
    const last = first + items.length - 1;
    // Some more than needed, so that this is not done for every message.
    if (size > ROOM) dropped += shift((number) => size > ROOM * 0.75 && number < last);
  }

  return {
    add(text, precious) {
      items[items.length] = { text, precious };
      size += text.length;
      makeRoom();
    },
    confirm(count) {
      if (count >= first) shift((number) => number <= count);
      dropped = 0;
    },
    resume(received) {
      shift((number) => number <= received);
      const texts: string[] = [];
      each(items, (item, index) => {
        texts[index] = item.text;
      });
      return { first, texts, dropped };
    },
  };
}
