// Every bound of the runtime, in characters where nothing else is said. Whatever a test throws or prints, one result stays
// small enough for a tunnel and for a person.

/** A title; longer ones are generated, and nobody reads them. */
export const MAX_TITLE = 1_000;
/** A message: long enough for a page of text. */
export const MAX_MESSAGE = 8_000;
/** A printed value: Vitest's own bound for `stringify`. */
export const MAX_VALUE = 10_000;
/** A diff: Vitest diffs strings up to 20,000 characters; this is both sides of one. */
export const MAX_DIFF = 40_000;
/** Strings longer than this are compared around their first difference only (Vitest's bound for character diffs). */
export const MAX_DIFF_INPUT = 20_000;
/** How much of a long string is kept before its first difference, as context. */
export const DIFF_CONTEXT = 200;
/** A short text: a name, a code, a note, a URL of a frame. */
export const MAX_SHORT = 1_000;
/** Stack frames of one error. */
export const MAX_FRAMES = 40;
/** Stack text that is parsed: `MAX_FRAMES` lines with long URLs. */
export const MAX_STACK = 100_000;
/** Depth of `cause`, as the wire says. */
export const MAX_CAUSES = 3;
/** Parts of an `AggregateError` that are named in its message. */
export const MAX_PARTS = 10;
/** Errors of one test: a loop of soft assertions is one fault, not thousands. */
export const MAX_ERRORS = 20;

/** Characters in one call of the binding. A larger batch is split, so that no message blocks the channel for long. */
export const MAX_BATCH = 512 * 1024;
/** Characters that wait for a binding that is not there (yet); beyond it the oldest events are dropped and counted. */
export const MAX_WAITING = 8 * 1024 * 1024;
/** Milliseconds for which a failing test waits for the host to take its picture. */
export const MAX_HOLD_MS = 1_000;
/** Milliseconds after which events leave even when the page never comes to rest. */
export const FLUSH_MS = 50;
