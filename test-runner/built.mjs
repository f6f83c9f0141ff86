// The page bundles of the sources as they are, as texts.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));

/** Builds them and gives those that are named, in that order: `built('agent')` is a list of one. */
export function built(...names) {
  const out = mkdtempSync(join(tmpdir(), 'ait-bundle-'));
  try {
    execFileSync(process.execPath, [join(root, 'build.mjs'), out], { stdio: 'inherit' });
    return names.map((name) => readFileSync(join(out, `${name}.js`), 'utf8'));
  } finally {
    rmSync(out, { recursive: true });
  }
}
