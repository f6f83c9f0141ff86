// What has to be different in packages that were written for Node, so that they run in a bare page. Vitest is pinned
// exactly; a patch that no longer finds its place stops the build.
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const errors = join(dirname(fileURLToPath(import.meta.url)), 'src/runtime/errors.ts');

const chunk = (name) => new RegExp(`vitest[\\\\/]dist[\\\\/]chunks[\\\\/]${name}\\.js$`);

/** [where, [[from, to], ...]] */
const patches = [
  [
    chunk('run\\.[^\\\\/]+'),
    [
      // Vitest copies the whole object graph behind an error; ours prints what is shown, bounded.
      [
        'function processError(_err, diffOptions, seen = /* @__PURE__ */ new WeakSet()) {',
        `import { processError as describeForPage } from ${JSON.stringify(errors)};
function processError(_err, diffOptions, seen) {
	return describeForPage(_err, { diff: printDiffOrStringify, print: prettifyValue, options: diffOptions });`,
      ],
      // `sequential` went with Vitest 5; projects on Vitest 4 have it.
      ['"concurrent",\n\t\t"shuffle",', '"concurrent",\n\t\t"sequential",\n\t\t"shuffle",'],
      ['"concurrent",\n\t\t"skip",', '"concurrent",\n\t\t"sequential",\n\t\t"skip",'],
      [
        'const concurrent = this.concurrent ?? options.concurrent;',
        'const concurrent = this.sequential || options.sequential ? false : this.concurrent ?? options.concurrent;',
      ],
      [
        'const concurrent = this.concurrent ?? options?.concurrent;',
        'const concurrent = this.sequential || options?.sequential ? false : this.concurrent ?? options?.concurrent;',
      ],
      // A test of an earlier file that never ended must not count as the one that runs.
      [
        'async function startTests(specs, runner) {',
        'async function startTests(specs, runner) {\n\tsetCurrentTest(void 0);',
      ],
    ],
  ],
  // A page is taken for a terminal with colours.
  [chunk('tinyrainbow\\.[^\\\\/]+'), [['var b = h();', 'var b = f();']]],
  [
    chunk('index\\.D5jWOaqm'),
    [
      // Where an inline snapshot stands in the source matters only to those who write it there.
      [
        '_resolveInlineStack(options) {',
        '_resolveInlineStack() {\n\t\treturn { file: "", line: 0, column: 0, method: "" };',
      ],
    ],
  ],
];

/** Only used for benchmarks, for writing snapshots into sources, and by Vite's module runner: no page comes there. */
const unused = {
  tinybench: 'export class Bench {}',
  'magic-string': 'export default class MagicString {}',
  'vite/module-runner': 'export class EvaluatedModules {}',
  globals: 'export const registerApiGlobally = () => {};',
};

/** @type {import('esbuild').Plugin[]} */
export const pagePlugins = [
  {
    name: 'patches',
    setup(build) {
      for (const [filter, changes] of patches) {
        build.onLoad({ filter }, async ({ path }) => {
          let contents = await readFile(path, 'utf8');
          for (const [from, to] of changes) {
            const parts = contents.split(from);
            if (parts.length !== 2) throw new Error(`a patch for ${path} fits ${parts.length - 1} times: ${from}`);
            contents = parts.join(to);
          }
          return { contents, loader: 'js' };
        });
      }
    },
  },
  {
    name: 'unused',
    setup(build) {
      const names = Object.keys(unused).join('|').replaceAll('/', '\\/');
      build.onResolve({ filter: new RegExp(`^(${names})$`) }, ({ path }) => ({ path, namespace: 'unused' }));
      // `globals: true` is not offered; its import on demand would make every module one that is evaluated on demand.
      build.onResolve({ filter: /^\.\/globals\.[^/]+\.js$/ }, () => ({ path: 'globals', namespace: 'unused' }));
      build.onLoad({ filter: /./, namespace: 'unused' }, ({ path }) => ({ contents: unused[path], loader: 'js' }));
    },
  },
];
