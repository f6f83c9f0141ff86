// Names of Vitest's that cannot work in a page, each with the sentence that a test gets which uses it.
import { UnsupportedError } from './errors.ts';

const NO_MODULES = 'the test file is one script by the time it reaches the page, so there is no module left to replace';
const HINT = 'Replace a member with vi.spyOn(object, name), or a global with vi.stubGlobal(name, value)';

function cannot(what: string, why: string, hint?: string): () => never {
  return () => {
    throw new UnsupportedError(`${what} cannot work in a page: ${why}.${hint ? ` ${hint}.` : ''}`);
  };
}

/** Members of `vi`. */
export const viMembers: Record<string, () => never> = Object.fromEntries([
  ...['mock', 'unmock', 'doMock', 'doUnmock', 'importActual', 'importMock', 'mockObject', 'resetModules'].map(
    (name) => [name, cannot(`vi.${name}()`, NO_MODULES, HINT)],
  ),
  ...['stubEnv', 'unstubAllEnvs'].map((name) => [
    name,
    cannot(`vi.${name}()`, 'import.meta.env is written into the script when it is bundled'),
  ]),
]);

/** Exports of `vitest`. */
export const exports: Record<string, () => never> = {
  bench: cannot('bench()', 'benchmarks are run by Vitest itself'),
  inject: cannot('inject()', 'there is no Vitest process that could provide a value'),
  recordArtifact: cannot('recordArtifact()', 'artifacts are kept by a Vitest process'),
};

const NO_FILES = 'snapshot files are not read in a page';

/** Matchers. */
export const matchers: Record<string, () => never> = Object.fromEntries(
  ['matchSnapshot', 'toMatchSnapshot', 'toMatchFileSnapshot', 'toThrowErrorMatchingSnapshot'].map((name) => [
    name,
    cannot(`expect().${name}()`, NO_FILES, 'Give the snapshot in the test with toMatchInlineSnapshot(text)'),
  ]),
);

/** Inline matchers without a text would have to write it into the source. */
export const inlineMatchers: Record<string, () => never> = Object.fromEntries(
  ['toMatchInlineSnapshot', 'toThrowErrorMatchingInlineSnapshot'].map((name) => [
    name,
    cannot(`expect().${name}() without a text`, 'the source file cannot be written from there', 'Write the text down'),
  ]),
);
