// Entry of the page runtime: installs the global `__ait`, once per document (`build.mjs` sees to that).
import { version } from '../../package.json';
import { RUNTIME_GLOBAL, type RunRequest, type RuntimeInfo } from '../wire.ts';
import { Emitter } from './emit.ts';
import { Recorder } from './recorder.ts';
import { Runs } from './run.ts';
import { api } from './vitest.ts';

function install(): void {
  const doc = randomId();
  const emitter = new Emitter(doc);
  const runs = new Runs(emitter);
  const recorder = new Recorder(doc, () => runs.currentTest);
  const { userAgent } = navigator;
  const ait = {
    vitest: api,
    info: (): RuntimeInfo => ({
      version,
      doc,
      userAgent,
      url: location.href,
      title: document.title,
    }),
    run(request: RunRequest, load: () => Promise<void>): boolean {
      runs.start(request, load);
      return true;
    },
    abort: (run: number): void => runs.abort(run),
    flush: (): void => emitter.flush(),
    capture: () => recorder.connect(),
    took: (seq: number): void => recorder.took(seq),
    drain: (): number => recorder.drain(),
    release: (): void => recorder.release(),
  };
  // Not to be seen, replaced or removed by a test that tidies up globals.
  Object.defineProperty(globalThis, RUNTIME_GLOBAL, { value: Object.freeze(ait) });
}

/** `crypto.randomUUID` is only there in secure contexts; a page on a LAN address is none. */
function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

install();
