// One way to the relay, open or about to be.

import type { CaptureRuntime } from '../engine/install';
import { win } from '../shared/natives';
import { ownerOf } from '../shared/owner';

/** A recorder that came before us keeps what it found; our own traffic goes past it. */
export const natives = (ownerOf(win) as CaptureRuntime | undefined)?.natives;

/** What a link tells. After `closed` it says nothing more. */
export interface LinkOwner {
  /** The first message, asked for when the link is open. */
  hello(): string;
  message(text: unknown): void;
  /** It ended, with the code that the relay gave, if it did. */
  closed(code?: number): void;
}

export interface Link {
  /** What is sent while the link is closing is lost. */
  send(text: string): void;
  /** The page is being left. */
  leave(): void;
  /** Ends it without a word to its owner. */
  close(): void;
}

/** Opens a link; throws where that cannot even be tried. `address` begins with `ws`. */
export type Dial = (address: string, ticket: string, owner: LinkOwner) => Link;
