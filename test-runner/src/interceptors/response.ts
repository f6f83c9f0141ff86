// Response: whatever the app does with one that `fetch` gave it.
import {
  apply,
  at,
  construct,
  getterOf,
  NativeDecoder,
  parse,
  record,
  SafeWeakMap,
  settle,
} from '../shared/natives.ts';
import { isNative } from '../shared/words.ts';
import type { Bodies } from './bodies.ts';
import type { Branch } from './body.ts';
import type { Native, Patches } from './patch.ts';
import { follow, handOn } from './promises.ts';
import type { Realm } from './types.ts';

type Seen = Parameters<typeof follow<unknown>>[1];
type Then = (text: string, resolve: (value: unknown) => void, reject: (error: unknown) => void) => void;

const encoder = new TextEncoder();
const { encode } = TextEncoder.prototype;
const decoder = new NativeDecoder();
const { decode } = NativeDecoder.prototype;
const empty = {};
const WHOLE = ['arrayBuffer', 'blob', 'bytes'];

export function patchResponse(target: Realm, patches: Patches, bodies: Bodies): void {
  const { Response: NativeResponse, ReadableStream: NativeStream } = target;
  const { prototype } = NativeResponse;
  const { arrayBuffer, json, text } = prototype;
  /** Whether a text may be made of the bytes that the platform gives, in its place. */
  const ownTexts = isNative(arrayBuffer) && isNative(json) && isNative(text);
  const { enqueue, close } = target.ReadableStreamDefaultController?.prototype ?? {};
  const bodyUsed = getterOf<boolean>(prototype, 'bodyUsed');
  const body = getterOf<ReadableStream | null>(prototype, 'body');
  const locked = getterOf<boolean>(NativeStream?.prototype, 'locked');
  const isClosed = getterOf<boolean | undefined>(target, 'closed');
  /** Responses whose stream the app has seen. A stream that nobody asks for is not to come into being. */
  const streamed = new SafeWeakMap<object, true>();

  /** Responses made of the body of another one, which are not told of its abort. */
  const rebuilt = new SafeWeakMap<object, true>();

  /**
   * The branch behind a response whose body can be read; of others, and in a window that is gone, the platform refuses
   * to read it, at once.
   */
  function readable(self: unknown): Branch | undefined {
    try {
      const branch = bodies.of('response', self);
      if (!branch || branch.tap.ended || bodyUsed(self) || isClosed(target)) return undefined;
      return streamed.has(self as object) && locked(body(self)) ? undefined : branch;
    } catch {
      return undefined;
    }
  }

  function read(branch: Branch, native: Native, self: unknown, seen: Seen): unknown {
    const failed = (error: unknown) => bodies.guard(() => branch.failed(error));
    // The browser goes on reading when the page has let go of the response: its end is yet to come.
    branch.tap.holders++;
    const watch = rebuilt.has(self as object) ? undefined : branch.tap.watch;
    return follow(apply(native, self, []) as Promise<unknown>, seen, failed, watch);
  }

  /**
   * The text of a body, which is made of its bytes: they alone tell what was sent. But bytes are an object, which the
   * platform asks for its `then` where all objects have one.
   */
  function asText(branch: Branch, self: unknown, then: Then): unknown {
    return read(branch, wholeText(), self, (value, resolve, reject) => {
      let text: string;
      try {
        text = typeof value === 'string' ? value : apply(decode, decoder, [value]);
      } catch (error) {
        // Longer than any text can be.
        reject(error);
        return;
      }
      bodies.guard(() => branch.whole(value, text));
      then(text, resolve, reject);
    });
  }

  const wholeText = (): Native => (ownTexts && !('then' in empty) ? arrayBuffer : text);

  /** A form does not tell the bytes that it was made of, nor does what an app has put in the place of the platform's. */
  function unseen(branch: Branch, native: Native, self: unknown, why: string): unknown {
    return read(branch, native, self, (value, resolve) => {
      bodies.guard(() => {
        bodies.engine.note(why);
        branch.tap.end('unobserved');
      });
      handOn(value, resolve);
    });
  }

  /** Whether a body that was asked for now is told of before any that is asked for after it: it was there already. */
  function isFirst(): () => boolean {
    let first = true;
    const other = apply(wholeText(), construct(NativeResponse, ['']), []) as Promise<unknown>;
    const told = () => {
      first = false;
    };
    settle(other, told, told);
    return () => first;
  }

  /** The platform's own error for a text that is no JSON, which has other words where it had to wait for the text. */
  function refusal(notJson: string, wasThere: boolean): Promise<unknown> {
    // `json` takes one byte order mark away, as `text` did.
    const marked = `\ufeff${notJson}`;
    if (wasThere || !NativeStream) return apply(json, construct(NativeResponse, [marked]), []);
    const stream = construct(NativeStream, [
      record({
        start(controller: ReadableStreamDefaultController) {
          apply(enqueue, controller, [apply(encode, encoder, [marked])]);
          apply(close, controller, []);
        },
      }),
      record({}),
    ]);
    return apply(json, construct(NativeResponse, [stream]), []);
  }

  for (let i = 0; i < WHOLE.length; i++) {
    patches.method(prototype, WHOLE[i] as string, (native, self, args) => {
      const branch = readable(self);
      if (!branch) return apply(native, self, args);
      return read(branch, native, self, (value, resolve) => {
        bodies.guard(() => branch.whole(value));
        handOn(value, resolve);
      });
    });
  }
  patches.method(prototype, 'text', (native, self, args) => {
    const branch = readable(self);
    if (!branch) return apply(native, self, args);
    return asText(branch, self, (value, resolve) => resolve(value));
  });
  patches.method(prototype, 'json', (native, self, args) => {
    const branch = readable(self);
    if (!branch) return apply(native, self, args);
    if (!ownTexts) return unseen(branch, native, self, 'body read as JSON by a function of the app');
    let wasThere: () => boolean = () => false;
    const result = asText(branch, self, (value, resolve, reject) => {
      try {
        resolve(parse(value));
      } catch {
        settle(refusal(value, wasThere()), resolve, reject);
      }
    });
    wasThere = isFirst();
    return result;
  });
  patches.method(prototype, 'formData', (native, self, args) => {
    const branch = readable(self);
    return branch ? unseen(branch, native, self, 'body read as form data') : apply(native, self, args);
  });
  patches.getter(prototype, 'body', (native, self, args) => {
    const stream: unknown = apply(native, self, args);
    bodies.guard(() => {
      const branch = bodies.of('response', self);
      if (!branch || !stream) return;
      streamed.set(self as object, true);
      bodies.set('stream', stream, bodies.of('stream', stream) ?? branch);
    });
    return stream;
  });
  patches.method(prototype, 'clone', (native, self, args) => {
    const copy: unknown = apply(native, self, args);
    bodies.guard(() => {
      const branch = bodies.of('response', self);
      if (branch) bodies.set('response', copy, branch.split());
    });
    return copy;
  });
  patches.constructing(target, 'Response', (made, args) => {
    const branch = bodies.of('stream', at(args, 0));
    if (!branch) return;
    bodies.set('response', made, branch);
    rebuilt.set(made, true);
  });
}
