// Brings modules of src/ into Node: for what needs no page.
import { join } from 'node:path';
import { build } from 'esbuild';

const root = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..');

/** Everything that the named modules of `src/` export. */
export async function load(...names) {
  const contents = names.map((name) => `export * from './src/${name}';`).join('\n');
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString('base64')}`);
}
