// Runs tests/*.test.mjs and ends with a line that counts them. Usage: node harness/main.mjs [part of a file name ...]
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';

const folder = join(dirname(fileURLToPath(import.meta.url)), '../tests');
const wanted = process.argv.slice(2);
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.test.mjs') && (!wanted.length || wanted.some((part) => name.includes(part))))
  .map((name) => join(folder, name));

let passed = 0;
let failed = 0;
// One after the other: each file has a Chrome of its own.
const stream = run({ files, concurrency: 1 });
stream.on('test:pass', () => passed++);
stream.on('test:fail', () => failed++);
stream.on('end', () => {
  console.log(`Tests ${passed} passed ${failed} failed`);
  process.exitCode = failed || !passed ? 1 : 0;
});
stream.compose(new spec()).pipe(process.stdout);
