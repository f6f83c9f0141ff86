// Builds the page bundles: every folder src/<name>/ with an index.ts becomes <out>/<name>.js, one script without imports.
// Usage: node build.mjs <out>
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { pagePlugins } from './build-plugins.mjs';

const root = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? 'dist');
mkdirSync(out, { recursive: true });

/** The runtime is evaluated once in a document; evaluating it again says what is there. */
const ONCE = {
  runtime: {
    banner: { js: 'globalThis.__ait || (() => {' },
    footer: { js: '})(); globalThis.__ait.info();\n//# sourceURL=ait-runtime://runtime.js' },
  },
};

const names = readdirSync(join(root, 'src'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(join(root, 'src', entry.name, 'index.ts')))
  .map((entry) => entry.name);

await Promise.all(
  names.map((name) =>
    build({
      entryPoints: [join(root, 'src', name, 'index.ts')],
      outfile: join(out, `${name}.js`),
      bundle: true,
      minify: true,
      format: 'iife',
      target: ['es2022', 'safari16'],
      legalComments: 'none',
      logLevel: 'warning',
      tsconfig: join(root, 'tsconfig.json'),
      plugins: pagePlugins,
      // Stack frames of our own scripts are told apart from the user's by this address, however the script came in.
      footer: { js: `//# sourceURL=ait-${name}://${name}.js` },
      ...ONCE[name],
    }),
  ),
);
