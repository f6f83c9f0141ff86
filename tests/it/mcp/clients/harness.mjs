// A project to run tests in, and the server that the tests here talk to.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The built tool; whoever runs these tests names it. */
export const EXE = process.env.DEVTOOLS_TEST_EXE;
if (!EXE) throw new Error('DEVTOOLS_TEST_EXE names the built tool');

/** Arguments of a server whose tests run in a headless browser of this machine. */
export const ARGS = ['mcp', '--target', 'chrome', '--headless', '--dashboard-port', '0'];

const HEAD = "import { expect, it } from 'vitest';\n";
const FILES = {
  'package.json': '{}',
  'a.ait.test.ts': `${HEAD}it('holds', () => { console.log('a line'); });\n`,
  'b.ait.test.ts': `${HEAD}it('fails', () => { expect(1 + 1).toBe(3); });\n`,
  'waits.ait.test.ts': `${HEAD}it('waits', () => new Promise(() => {}), 0);\n`,
};

/** A folder with a passing, a failing and an endless test; `remove` takes it away. */
export function project() {
  const folder = mkdtempSync(join(tmpdir(), 'dt-mcp-'));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The environment of the server: ours, and nothing that leads out of this machine. */
export function environment() {
  return { ...process.env, DEVTOOLS_TEST_TUNNEL: 'none' };
}
