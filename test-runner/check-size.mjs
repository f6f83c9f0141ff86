// Fails when the agent has become too large: every page on a phone loads it before the app. Usage: node check-size.mjs
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const LIMIT = 30 * 1024;

const out = mkdtempSync(join(tmpdir(), 'ait-size-'));
try {
  execFileSync(process.execPath, [join(import.meta.dirname, 'build.mjs'), out], { stdio: 'inherit' });
  const size = gzipSync(readFileSync(join(out, 'agent.js'))).length;
  console.log(`agent.js: ${size} bytes gzipped, ${LIMIT} allowed`);
  if (size > LIMIT) {
    console.error('The agent is too large. Take something out of src/agent, or load it only when it is asked for.');
    process.exitCode = 1;
  }
} finally {
  rmSync(out, { recursive: true });
}
