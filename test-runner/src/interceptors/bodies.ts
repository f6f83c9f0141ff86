// Which responses, streams, readers and iterators of the page belong to which recorded body. Only these are looked at;
// any other costs a look-up that finds nothing.
import type { DevtoolsEngine } from '../engine/engine.ts';
import { apply, SafeWeakMap } from '../shared/natives.ts';
import type { Branch } from './body.ts';

const NativeRegistry = globalThis.FinalizationRegistry as typeof FinalizationRegistry | undefined;
const { register } = NativeRegistry?.prototype ?? {};

/** A method of one kind that is called on another is refused by the platform, and nothing happens to the body. */
export type Kind = 'response' | 'stream' | 'reader' | 'iterator';

export class Bodies {
  private readonly branches = {
    response: new SafeWeakMap<object, Branch>(),
    stream: new SafeWeakMap<object, Branch>(),
    reader: new SafeWeakMap<object, Branch>(),
    iterator: new SafeWeakMap<object, Branch>(),
  };
  private readonly gone: FinalizationRegistry<Branch> | undefined;

  constructor(readonly engine: DevtoolsEngine) {
    if (!NativeRegistry) return;
    this.gone = new NativeRegistry(({ tap }) => {
      if (--tap.holders === 0) this.guard(() => tap.end('abandoned'));
    });
  }

  /** The branch that an object reads from. */
  of(kind: Kind, object: unknown): Branch | undefined {
    return this.branches[kind].get(object as object);
  }

  set(kind: Kind, object: unknown, branch: Branch): void {
    if (typeof object !== 'object' || object === null || this.of(kind, object) === branch) return;
    this.branches[kind].set(object, branch);
    if (!this.gone || !register) return;
    branch.tap.holders++;
    apply(register, this.gone, [object, branch]);
  }

  /** A reader that let go of its stream reads no more of it. */
  forget(reader: unknown): void {
    this.branches.reader.delete(reader as object);
  }

  /** Runs something of ours that must not be felt outside. */
  guard(task: () => unknown): void {
    try {
      task();
    } catch {
      this.engine.note('recorder error');
    }
  }
}
