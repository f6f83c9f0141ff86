// Builds the page bundles: every folder src/<name>/ with an index.ts becomes <out>/<name>.js, one script without imports.
// Usage: node build.mjs <out>
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, transform } from 'esbuild';
import { lateGlobals } from './build-late-globals.mjs';
import { withNatives } from './build-natives.mjs';
import { pagePlugins } from './build-plugins.mjs';

const root = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? 'dist');
const target = ['es2022', 'safari16'];
mkdirSync(out, { recursive: true });

/** Bundles that are more than a script that runs. */
const SPECIAL = { runtime, interceptors, replay, evaluate: functions, inspect: functions };

const names = readdirSync(join(root, 'src'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(join(root, 'src', entry.name, 'index.ts')))
  .map((entry) => entry.name);

await Promise.all(
  names.map(async (name) => {
    const code = await (SPECIAL[name] ?? bundle)(name);
    const { code: small } = await transform(code, { minify: true, target, legalComments: 'none' });
    // Stack frames of our own scripts are told apart from the user's by this address, however the script came in.
    writeFileSync(join(out, `${name}.js`), `${small.trimEnd()}\n//# sourceURL=ait-${name}://${name}.js\n`);
  }),
);

async function bundle(name, more = {}) {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'src', name, 'index.ts')],
    bundle: true,
    absWorkingDir: root,
    write: false,
    format: 'iife',
    target,
    legalComments: 'none',
    logLevel: 'warning',
    tsconfig: join(root, 'tsconfig.json'),
    plugins: pagePlugins,
    ...more,
  });
  return outputFiles[0].text;
}

/** The runtime is evaluated once in a document; evaluating it again only says what is there. */
async function runtime() {
  const code = await withNatives(await bundle('runtime'));
  return `globalThis.__ait || ${code}\nglobalThis.__ait.info();`;
}

/** The recorder takes options: whoever injects it may put some between the last parentheses. */
async function interceptors() {
  const code = `((aitCaptureOptions) => {\n${await bundle('interceptors')}\n})({});`;
  const late = lateGlobals(code);
  if (late.length) throw new Error(`the recorder would look these up in a page that runs:\n${late.join('\n')}`);
  return code;
}

/** An expression that gives the functions a bundle exports, to be put into a longer script. */
async function functions(name) {
  return `(() => {\n${await bundle(name, { globalName: 'exported' })}\nreturn exported;\n})()`;
}

/** The place of the replay server goes between the last parentheses. */
async function replay() {
  return `((aitReplayPlace) => {\n${await bundle('replay')}\n})("");`;
}
