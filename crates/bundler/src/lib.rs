//! rolldown behind a small blocking API: one self-contained script per test file.
//!
//! Nothing here is generic and no future of rolldown leaves this crate, so that a change in the tool does not compile
//! rolldown again (measured: one CPU second instead of sixty in release).
//!
//! A file becomes the text of one async function, `async () => { "use strict";\n<chunk>\n}`, with exactly one line
//! before the chunk, so that top-level `await` works and a throw there fails that file alone. Its source map stays
//! here ([`Bundle::position`]).
//!
//! What a test file can count on:
//!
//! | in the source | in the page |
//! |---|---|
//! | `vitest`, in every form of import | the names of [`VITEST_NAMES`], read from `globalThis.__ait.vitest` when the file starts; the default import is that object; any other name is an error with its position |
//! | `devtools-test` | `transport`: what the recorder of the page knows |
//! | the SDK packages of [`Options::sdk_packages`] and their sub-paths | `window.__sdk`, read at the moment a name is used; without it the first use fails with a sentence that names the import |
//! | `*.json`, also `with { type: 'json' }` | the value |
//! | `./file?raw`, `*.txt` | the text |
//! | `./file?url`, images, fonts, sound | a `data:` URL |
//! | `*.css` and relatives | nothing; the default export is `""`, and of `*.module.css` an object that gives every class its own name |
//! | `import('./literal')` | part of the same script |
//! | `import(expression)`, `import('https://...')` | left as it is |
//! | `import.meta.url` | `file:///<path relative to the root>`, so that no path of this machine reaches the page |
//! | `new URL('./file', import.meta.url)` | a `data:` URL where the file exists, else resolved against `import.meta.url` |
//! | `import.meta.env` | `MODE` `"test"`, `DEV` `true`, `PROD` `false`, `SSR` `false`, `BASE_URL` `"/"` |
//! | `import.meta.hot`, `import.meta.vitest` | `undefined` |
//! | `import.meta.glob`, TC39 decorators, `vitest/...`, modules of Node | an error with its position |
//!
//! The nearest `tsconfig.json` above the test file, or the one it refers to where it has no files of its own, gives paths, JSX and decorator options; its `include` and `exclude`
//! do not matter. Modules of the project itself are never dropped, whatever `sideEffects` in its `package.json` says.
#![forbid(unsafe_code)]

mod bundle;
mod check;
mod decorators;
mod diagnostics;
mod import_meta;
mod jobs;
mod map;
mod options;
mod plugin;
mod script;
mod specifiers;
mod tsconfig;
mod wrap;

pub use bundle::Bundle;
pub use check::{check_pattern, check_target};
pub use diagnostics::{Diagnostic, Place};
pub use jobs::{BundleResult, Bundler, Job};
pub use options::{DEFAULT_SDK_PACKAGE, DEFAULT_TARGET, Options};
pub use plugin::VITEST_NAMES;
pub use script::{Script, as_script};
