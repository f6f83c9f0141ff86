// What has to be different in packages that were written for Node, so that they run in a bare page. Vitest is pinned
// exactly; a patch that no longer finds its place stops the build.
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const errors = join(dirname(fileURLToPath(import.meta.url)), 'src/runtime/errors.ts');

const patches = [
  {
    // Vitest copies the whole object graph behind an error; ours prints what is shown, bounded.
    file: /vitest[\\/]dist[\\/]chunks[\\/]run\.[^\\/]+\.js$/,
    from: 'function processError(_err, diffOptions, seen = /* @__PURE__ */ new WeakSet()) {',
    to: `import { processError as describeForPage } from ${JSON.stringify(errors)};
function processError(_err, diffOptions, seen) {
	return describeForPage(_err, { diff: printDiffOrStringify, print: prettifyValue, options: diffOptions });`,
  },
  {
    // A page is taken for a terminal with colours.
    file: /vitest[\\/]dist[\\/]chunks[\\/]tinyrainbow\.[^\\/]+\.js$/,
    from: 'var b = h();',
    to: 'var b = f();',
  },
  {
    // Where an inline snapshot stands in the source matters only to those who write it there.
    file: /vitest[\\/]dist[\\/]chunks[\\/]index\.D5jWOaqm\.js$/,
    from: '_resolveInlineStack(options) {',
    to: '_resolveInlineStack() {\n\t\treturn { file: "", line: 0, column: 0, method: "" };',
  },
];

/** Only used for benchmarks, for writing snapshots into sources, and by Vite's module runner: no page comes there. */
const unused = {
  tinybench: 'export class Bench {}',
  'magic-string': 'export default class MagicString {}',
  'vite/module-runner': 'export class EvaluatedModules {}',
};

/** @type {import('esbuild').Plugin[]} */
export const pagePlugins = [
  {
    name: 'patches',
    setup(build) {
      for (const { file, from, to } of patches) {
        build.onLoad({ filter: file }, async ({ path }) => {
          const parts = (await readFile(path, 'utf8')).split(from);
          if (parts.length !== 2)
            throw new Error(`the patch for ${path} does not fit: "${from}" is there ${parts.length - 1} times`);
          return { contents: parts.join(to), loader: 'js' };
        });
      }
    },
  },
  {
    name: 'unused',
    setup(build) {
      const names = Object.keys(unused).join('|').replaceAll('/', '\\/');
      build.onResolve({ filter: new RegExp(`^(${names})$`) }, ({ path }) => ({ path, namespace: 'unused' }));
      build.onLoad({ filter: /./, namespace: 'unused' }, ({ path }) => ({ contents: unused[path], loader: 'js' }));
    },
  },
];
