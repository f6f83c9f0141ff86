// Entry of the page runtime: installs the global `__ait`, once per document (`build.mjs` sees to that).
import { version } from '../../package.json';
import { RUNTIME_GLOBAL, type RunRequest, type RuntimeInfo } from '../wire.ts';
import { Emitter } from './emit.ts';
import { MAX_SHORT } from './limits.ts';
import { Recorder } from './recorder.ts';
import { Runs } from './run.ts';
import { bounded } from './text.ts';
import { Transport } from './transport.ts';
import { api } from './vitest.ts';

function install(): void {
  const doc = randomId();
  const emitter = new Emitter(doc);
  const transport = new Transport();
  const runs = new Runs(emitter, transport);
  const recorder = new Recorder(doc, () => runs.currentTest);
  const userAgent = told(() => navigator.userAgent);
  const ait = {
    vitest: api,
    transport: transport.api,
    info: (): RuntimeInfo => {
      const seq = emitter.next;
      emitter.prove();
      return {
        version,
        doc,
        seq,
        userAgent,
        url: told(() => location.href),
        title: told(() => document.title),
      };
    },
    run(request: RunRequest, load: () => Promise<void>): boolean {
      runs.start(request, load);
      return true;
    },
    abort: (run: number): void => runs.abort(run),
    goOn: (run: number, test: number): void => runs.goOn(run, test),
    flush: (): void => emitter.flush(),
    capture: () => recorder.connect(),
    took: (seq: number): void => recorder.took(seq),
    drain: (): number => recorder.drain(),
    release: (): void => recorder.release(),
  };
  // Not to be seen, replaced or removed by a test that tidies up globals.
  Object.defineProperty(globalThis, RUNTIME_GLOBAL, { value: Object.freeze(ait) });
}

/** What the page tells of itself; a page may have put anything there. */
function told(read: () => unknown): string {
  try {
    return bounded(`${read()}`, MAX_SHORT);
  } catch {
    return '';
  }
}

/** `crypto.randomUUID` is only there in secure contexts; a page on a LAN address is none. Some pages replace `crypto`. */
function randomId(): string {
  const bytes = new Uint8Array(16);
  try {
    crypto.getRandomValues(bytes);
  } catch {
    for (let i = 0; i < bytes.length; i++) bytes[i] = Math.random() * 256;
  }
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

install();
