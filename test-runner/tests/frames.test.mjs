// Stacks of both engines, line by line.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../harness/load.mjs';

const { parseLine, parseStack } = await load('src/runtime/frames.ts');
const frame = (name, url, line, column) => ({ function: name, url, line, column });

const V8 = [
  ['    at run (http://host/a.js:1:2)', frame('run', 'http://host/a.js', 1, 2)],
  ['    at http://host/a.js:10:20', frame('', 'http://host/a.js', 10, 20)],
  ['    at async run (http://host/a.js:1:2)', frame('run', 'http://host/a.js', 1, 2)],
  ['    at async http://host/a.js:1:2', frame('', 'http://host/a.js', 1, 2)],
  ['    at new Thing (http://host/a.js:1:2)', frame('new Thing', 'http://host/a.js', 1, 2)],
  ['    at Thing.method [as alias] (http://host/a.js:1:2)', frame('Thing.method [as alias]', 'http://host/a.js', 1, 2)],
  ['    at Object.<anonymous> (http://host/a.js:1:2)', frame('Object.<anonymous>', 'http://host/a.js', 1, 2)],
  ['    at run (http://host:8080/a(1).js?x=(y):3:4)', frame('run', 'http://host:8080/a(1).js?x=(y)', 3, 4)],
  [
    '    at run (ait-test://bundle/1/%ED%95%9C%EA%B8%80%20b.ts:3:4)',
    frame('run', 'ait-test://bundle/1/%ED%95%9C%EA%B8%80%20b.ts', 3, 4),
  ],
  ['    at run (http://host/with space.js:3:4)', frame('run', 'http://host/with space.js', 3, 4)],
  ['    at eval (eval at run (http://host/a.js:1:2), <anonymous>:3:4)', frame('eval', 'http://host/a.js', 1, 2)],
  ['    at run (eval at go (http://host/a.js:1:2), ait-test://x/y:3:4)', frame('run', 'ait-test://x/y', 3, 4)],
  ['    at Array.map (<anonymous>)', undefined],
  ['    at async Promise.all (index 0)', undefined],
  ['    at <anonymous>', undefined],
  ['    at run (native)', undefined],
];

const JSC = [
  ['run@http://host/a.js:1:2', frame('run', 'http://host/a.js', 1, 2)],
  ['@http://host/a.js:1:2', frame('', 'http://host/a.js', 1, 2)],
  ['http://host/a.js:1:2', frame('', 'http://host/a.js', 1, 2)],
  ['async run@http://host/a.js:1:2', frame('run', 'http://host/a.js', 1, 2)],
  ['global code@http://host/a.js:1:2', frame('', 'http://host/a.js', 1, 2)],
  ['module code@http://host/a.js:1:2', frame('', 'http://host/a.js', 1, 2)],
  ['run@http://user@host:80/a@b.js:1:2', frame('run', 'http://user@host:80/a@b.js', 1, 2)],
  ['http://host/a@b.js:1:2', frame('', 'http://host/a@b.js', 1, 2)],
  ['한글@ait-test://bundle/1/a.ts:1:2', frame('한글', 'ait-test://bundle/1/a.ts', 1, 2)],
  ['map@[native code]', undefined],
  ['run@', undefined],
  ['[native code]', undefined],
  ['Error: mail a@b.c:1:2', undefined],
  ['', undefined],
];

for (const [engine, lines] of [
  ['V8', V8],
  ['JavaScriptCore', JSC],
]) {
  for (const [line, expected] of lines) {
    test(`${engine}: ${line.trim() || 'nothing'}`, () => {
      assert.deepEqual(parseLine(line), expected);
    });
  }
}

test('frames of our own scripts are left out, and there is an end', () => {
  const own = '    at a (ait-runtime://runtime.js:1:2)\n    at b (ait-agent://agent.js:1:2)\n';
  assert.deepEqual(parseStack(`Error: x\n${own}    at c (http://h/c.js:1:2)\n`), [frame('c', 'http://h/c.js', 1, 2)]);
  assert.equal(parseStack('    at c (http://h/c.js:1:2)\n'.repeat(1000)).length, 40);
  assert.deepEqual(parseStack(undefined), []);
  assert.deepEqual(parseStack([{}]), []);
});
