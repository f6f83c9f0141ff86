// Response: whatever the app does with one that `fetch` gave it.
import { apply, construct, getterOf, parse, record, SafeWeakMap, settle } from '../shared/natives.ts';
import type { Bodies } from './bodies.ts';
import type { Branch } from './body.ts';
import type { Native, Patches } from './patch.ts';
import { follow, handOn } from './promises.ts';
import type { Realm } from './types.ts';

type Seen = Parameters<typeof follow<unknown>>[1];

const encoder = new TextEncoder();
const { encode } = TextEncoder.prototype;
const WHOLE = ['text', 'arrayBuffer', 'blob', 'bytes'];

export function patchResponse(target: Realm, patches: Patches, bodies: Bodies): void {
  const { Response: NativeResponse } = target;
  const { prototype } = NativeResponse;
  const { text, json } = prototype;
  const { enqueue, close } = target.ReadableStreamDefaultController?.prototype ?? {};
  const bodyUsed = getterOf<boolean>(prototype, 'bodyUsed');
  const body = getterOf<ReadableStream | null>(prototype, 'body');
  const locked = getterOf<boolean>(target.ReadableStream?.prototype, 'locked');
  /** Responses whose stream the app has seen. A stream that nobody asks for is not to come into being. */
  const streamed = new SafeWeakMap<object, true>();

  /** Responses made of the body of another one, which are not told of its abort. */
  const rebuilt = new SafeWeakMap<object, true>();

  /** The branch behind a response whose body can be read; of others the platform refuses to read it, at once. */
  function readable(self: unknown): Branch | undefined {
    try {
      const branch = bodies.of(self);
      if (!branch || branch.tap.ended || bodyUsed(self)) return undefined;
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

  /** Whether a body that was asked for now is told of before any that is asked for after it: it was there already. */
  function isFirst(): () => boolean {
    let first = true;
    const other = apply(text, construct(NativeResponse, ['']), []) as Promise<unknown>;
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
    if (wasThere) return apply(json, construct(NativeResponse, [marked]), []);
    const stream = construct(target.ReadableStream, [
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
  patches.method(prototype, 'json', (native, self, args) => {
    const branch = readable(self);
    if (!branch) return apply(native, self, args);
    let wasThere: () => boolean = () => false;
    // A value does not tell the text it was made of, so it is the text that is read.
    const result = read(branch, text, self, (value, resolve, reject) => {
      bodies.guard(() => branch.whole(value));
      try {
        resolve(parse(value as string));
      } catch {
        settle(refusal(value as string, wasThere()), resolve, reject);
      }
    });
    wasThere = isFirst();
    return result;
  });
  patches.method(prototype, 'formData', (native, self, args) => {
    const branch = readable(self);
    if (!branch) return apply(native, self, args);
    return read(branch, native, self, (value, resolve) => {
      bodies.guard(() => {
        bodies.engine.note('body read as form data');
        branch.tap.end('unobserved');
      });
      handOn(value, resolve);
    });
  });
  patches.getter(prototype, 'body', (native, self, args) => {
    const stream: unknown = apply(native, self, args);
    bodies.guard(() => {
      const branch = bodies.of(self);
      if (!branch || !stream) return;
      streamed.set(self as object, true);
      bodies.set(stream, bodies.of(stream) ?? branch);
    });
    return stream;
  });
  patches.method(prototype, 'clone', (native, self, args) => {
    const copy: unknown = apply(native, self, args);
    bodies.guard(() => {
      const branch = bodies.of(self);
      if (branch) bodies.set(copy, branch.split());
    });
    return copy;
  });
  patches.constructing(target, 'Response', (made, args) => {
    const branch = bodies.of(args[0]);
    if (!branch) return;
    bodies.set(made, branch);
    rebuilt.set(made, true);
  });
}
