// The server through the command line of the MCP Inspector: a new server for each question.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { ARGS, EXE, environment, project } from './harness.mjs';

const home = project();
after(home.remove);

const manifest = createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json');
const INSPECTOR = join(dirname(manifest), 'cli', 'build', 'index.js');

async function inspect(...question) {
  const args = [INSPECTOR, EXE, ...question, '--', ...ARGS];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: home.folder, env: environment() });
  return JSON.parse(stdout);
}

test('tools, prompts and templates are listed', async () => {
  const { tools } = await inspect('--method', 'tools/list');
  assert.ok(tools.length >= 9 && tools.every((tool) => tool.outputSchema && tool.annotations), JSON.stringify(tools));
  assert.equal((await inspect('--method', 'prompts/list')).prompts.length, 2);
  assert.equal((await inspect('--method', 'resources/templates/list')).resourceTemplates.length, 3);
});

test('tests run, and a fault is an answer', async () => {
  const run = await inspect('--method', 'tools/call', '--tool-name', 'run_tests', '--tool-arg', 'files=["*.ait.test.ts"]', 'pattern=holds|fails');
  assert.equal(run.structuredContent.data.verdict, 'failed');
  const wrong = await inspect('--method', 'tools/call', '--tool-name', 'get_test_failure');
  assert.equal(wrong.isError, true);
  assert.equal(wrong.structuredContent.error.code, 'not_found');
});
