// Vitest's own verdicts on small files: the runtime must come to the same.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Runner } from '../harness/runner.mjs';

const folder = join(dirname(fileURLToPath(import.meta.url)), '../../fixtures/vitest-micro');
const expected = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8'));

/** Files that cannot come to Vitest's verdict in a page, and what they come to. */
const DIFFERENT = {
  'v05-vimock': 'unsupported',
};

const runner = await Runner.start();
after(() => runner.stop());

for (const [name, verdict] of Object.entries(expected)) {
  test(name, async () => {
    const path = join(folder, `${name}.ait.test.ts`);
    assert.ok(existsSync(path), path);
    const result = await runner.run(path);
    if (DIFFERENT[name]) {
      assert.equal(result.loadError?.kind, DIFFERENT[name]);
      return;
    }
    if (verdict.fileError) assert.match(result.loadError?.message ?? '', /^No test suite found in file /);
    else assert.equal(result.loadError, undefined);
    const seen = result.tests.map(({ path }, test) => ({
      path,
      state: result.results.find((r) => r.test === test)?.state,
    }));
    assert.deepEqual(seen, verdict.tests);
    const red =
      seen.some(({ state }) => state === 'failed') ||
      Boolean(result.loadError) ||
      result.suiteErrors.length > 0 ||
      result.uncaught.length > 0;
    assert.equal(red, !verdict.success, JSON.stringify(result.events));
  });
}
