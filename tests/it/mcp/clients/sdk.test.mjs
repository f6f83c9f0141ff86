// The server through the official SDK's client, which checks every answer against the schema of its tool.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import Ajv2020 from 'ajv/dist/2020.js';
import { ARGS, EXE, environment, project } from './harness.mjs';

/**
 * Per tool: arguments that work on the page of a browser that is attached and after two runs, and arguments that do
 * not, with the code of the fault. A tool without a row fails.
 */
const ROWS = {
  start_debug: [{ mode: 'local-browser' }, { mode: 'relay-scheme' }, 'bad_input'],
  get_debug_status: [{}, { recent_errors_limit: 'ten' }, 'bad_input'],
  start_attach: [null, { mode: 'local-browser' }, 'bad_input'],
  list_pages: [{}, { all: true }, 'bad_input'],
  select_page: [{ id: 'page-1' }, { id: 'page-99' }, 'not_found'],
  run_tests: [{ files: ['a.ait.test.ts'] }, { files: [] }, 'bad_input'],
  get_test_failure: [{ test: 'fails' }, { test: 'no such test' }, 'not_found'],
  compare_runs: [{}, { before: 99 }, 'not_found'],
  list_tests: [{}, { cursor: 'x' }, 'bad_input'],
  evaluate: [{ expression: '1 + 1' }, { expression: 'throw new Error("no")' }, 'page_threw'],
  call_sdk: [{ name: 'getLocale' }, {}, 'bad_input'],
  list_console_messages: [{}, { cursor: 'x' }, 'bad_input'],
  list_exceptions: [{}, { cursor: 'x' }, 'bad_input'],
  list_network_requests: [{}, { cursor: 'x' }, 'bad_input'],
  list_transport_messages: [{}, { cursor: 'x' }, 'bad_input'],
  take_snapshot: [{}, { max_chars: 'x' }, 'bad_input'],
  get_dom_document: [{}, { depth: 'x' }, 'bad_input'],
  measure_safe_area: [{}, { all: true }, 'bad_input'],
  take_screenshot: [{}, { format: 'gif' }, 'bad_input'],
  navigate: [{}, { url: 5 }, 'bad_input'],
  handle_dialog: [null, {}, 'bad_input'],
};

const home = project();
const client = new Client({ name: 'sdk', version: '1' });
const changes = [];
let tools;

before(async () => {
  client.setNotificationHandler(
    (await import('@modelcontextprotocol/sdk/types.js')).ResourceListChangedNotificationSchema,
    () => changes.push('resources'),
  );
  await client.connect(new StdioClientTransport({ command: EXE, args: ARGS, cwd: home.folder, env: environment() }));
  tools = (await client.listTools()).tools;
});

after(async () => {
  await client.close();
  home.remove();
});

const ajv = new Ajv2020({ strict: false });
const validators = new Map();

/** Calls a tool; its envelope, which its schema takes, also where it tells of a fault. */
async function call(name, args, options = {}) {
  const result = await client.callTool({ name, arguments: args }, undefined, { timeout: 120_000, ...options });
  const tool = tools.find((one) => one.name === name);
  if (!validators.has(name)) validators.set(name, ajv.compile(tool.outputSchema));
  const valid = validators.get(name);
  assert.ok(valid(result.structuredContent), `${name}: ${ajv.errorsText(valid.errors)}`);
  assert.equal(result.isError === true, !result.structuredContent.ok);
  assert.equal(result.content[0].type, 'text');
  return result.structuredContent;
}

test('each tool has a row here, and each row a tool', () => {
  assert.deepEqual(tools.map((tool) => tool.name).sort(), Object.keys(ROWS).sort());
});

test('resources come with what they tell of, and their change is told', async () => {
  assert.deepEqual((await client.listResources()).resources, []);
  await assert.rejects(client.readResource({ uri: 'console://latest' }), /no session/);
  assert.equal((await call('run_tests', { files: ['b.ait.test.ts', 'a.ait.test.ts'] })).data.verdict, 'failed');
  const listed = (await client.listResources()).resources.map((resource) => resource.uri).sort();
  assert.deepEqual(listed, ['console://latest', 'report://latest', 'transport://latest']);
  assert.ok(changes.length >= 2, 'once for the session, once for the run');
  const read = async (uri) => JSON.parse((await client.readResource({ uri })).contents[0].text);
  assert.ok((await read('console://latest')).items.some((line) => line.text === 'a line'));
  const report = await read('report://latest?limit=1');
  assert.equal(report.summary.verdict, 'failed');
  assert.equal(report.tests.items.length, 1);
  const next = await read(`report://latest?limit=1&cursor=${report.tests.next_cursor}`);
  assert.notDeepEqual(next.tests.items, report.tests.items);
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 3);
  for (const wrong of ['report://first', 'console://latest?limit=x', 'file:///etc/passwd']) {
    await assert.rejects(client.readResource({ uri: wrong }), wrong);
  }
});

test('prompts name tools that there are', async () => {
  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map((prompt) => prompt.name).sort(), ['attach_phone', 'fix_failing_test']);
  for (const { name } of prompts) {
    const prompt = await client.getPrompt({ name, arguments: { test: 'adds', app_url: 'http://localhost:5173' } });
    const text = prompt.messages[0].content.text;
    const named = text.match(/\b[a-z]+(?:_[a-z]+)+\b/g).filter((word) => /^(run|get|list|start|compare)_/.test(word));
    assert.ok(named.length >= 2, text);
    for (const tool of named) assert.ok(tools.some((one) => one.name === tool), `${name} names ${tool}`);
  }
  await assert.rejects(client.getPrompt({ name: 'no_such_prompt' }), /no_such_prompt/);
});

test('each tool does what it says', async () => {
  await call('run_tests', { files: ['b.ait.test.ts'] });
  await call('evaluate', { expression: "window.__sdk = { getLocale: async () => 'ko-KR' }; 1" });
  for (const [name, [args]] of Object.entries(ROWS)) {
    // Only run_tests, start_debug and start_attach change which page or run there is.
    if (args === null || name === 'run_tests' || name === 'start_debug') continue;
    const answer = await call(name, name === 'select_page' ? { id: (await call('list_pages', {})).data.pages[0].id } : args);
    assert.equal(answer.ok, true, `${name}: ${JSON.stringify(answer)}`);
  }
  for (const name of ['run_tests', 'start_debug']) {
    const answer = await call(name, ROWS[name][0]);
    assert.equal(answer.ok, true, `${name}: ${JSON.stringify(answer)}`);
  }
  await call('evaluate', { expression: "setTimeout(() => confirm('sure?')); 1" });
  let handled = await call('handle_dialog', { action: 'dismiss' });
  for (const until = Date.now() + 10_000; !handled.ok && Date.now() < until; ) {
    handled = await call('handle_dialog', { action: 'dismiss' });
  }
  assert.equal(handled.data?.message, 'sure?', JSON.stringify(handled));
});

test('each tool says what is wrong, and what to call next where something helps', async () => {
  for (const [name, [, args, code]] of Object.entries(ROWS)) {
    const { error } = await call(name, args);
    assert.equal(error?.code, code, `${name}: ${JSON.stringify(error)}`);
    if (error.next) assert.ok(tools.some((tool) => tool.name === error.next.tool), `${name} leads to ${error.next.tool}`);
  }
});

test('progress rises, one number for each file at least', async () => {
  const told = [];
  await call('run_tests', { files: ['a.ait.test.ts', 'b.ait.test.ts'] }, { onprogress: (progress) => told.push(progress) });
  const numbers = told.map((one) => one.progress);
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b));
  for (const file of [1, 2]) assert.ok(told.some((one) => one.progress === file && one.total === 2), JSON.stringify(told));
});

test('a cancelled run ends, and the next one may start', async () => {
  const abort = new AbortController();
  const running = call('run_tests', { files: ['waits.ait.test.ts'] }, {
    signal: abort.signal,
    onprogress: ({ message }) => message?.includes('waits.ait.test.ts runs') && abort.abort(),
  });
  await assert.rejects(running);
  const answer = async () => call('run_tests', { files: ['a.ait.test.ts'] });
  let next = await answer();
  for (const until = Date.now() + 20_000; next.error?.code === 'busy' && Date.now() < until; ) next = await answer();
  assert.equal(next.data?.verdict, 'passed', JSON.stringify(next));
});

test('a phone is prepared for, and another session takes its place', async () => {
  const shown = await call('start_attach', { mode: 'relay-hosted' });
  assert.equal(shown.data?.stage, 'waiting', JSON.stringify(shown));
  assert.equal((await call('list_pages', {})).data.pages.length, 0);
  assert.equal((await call('start_debug', { mode: 'local-browser' })).data?.stage, 'attached');
});

test('a list leads from page to page', async () => {
  const seen = [];
  let cursor;
  do {
    const { data } = await call('list_tests', { limit: 1, ...(cursor && { cursor }) });
    seen.push(...data.items.map((item) => item.file));
    cursor = data.next_cursor;
  } while (cursor);
  assert.deepEqual(seen, ['a.ait.test.ts', 'b.ait.test.ts', 'waits.ait.test.ts']);
});
