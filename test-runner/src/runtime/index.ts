// Entry of the page runtime: installs the global `__ait`, once per document.
import { RUNTIME_GLOBAL, type RuntimeInfo } from '../wire.ts';

function install(): void {
  if (RUNTIME_GLOBAL in globalThis) return;
  const doc = crypto.randomUUID();
  const info = (): RuntimeInfo => ({
    version: '0.1.0',
    doc,
    userAgent: navigator.userAgent,
    url: location.href,
    title: document.title,
  });
  Object.defineProperty(globalThis, RUNTIME_GLOBAL, { value: Object.freeze({ info }) });
}

install();
