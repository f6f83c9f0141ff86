//! What a bundler is told, and what rolldown is told for it.

use std::path::{Path, PathBuf};

use rolldown::{
    BundlerOptions, BundlerTransformOptions, CodeSplittingMode, CommentsOptions, Either, ExperimentalOptions,
    InputItem, LogLevel, OutputFormat, Platform, ResolveOptions, SourceMapType, TreeshakeOptions, TsConfig,
};
use rolldown_common::{AttachDebugInfo, InnerOptions, ModuleSideEffects, ModuleSideEffectsRule, ModuleType};

use crate::plugin::ENTRY;

/// The package whose imports are served from `window.__sdk` unless told otherwise.
pub const DEFAULT_SDK_PACKAGE: &str = "@apps-in-toss/web-framework";

/// What the output is written for unless told otherwise: the oldest WebKit that hosts mini-apps.
pub const DEFAULT_TARGET: [&str; 2] = ["es2022", "safari16"];

/// How to bundle.
#[derive(Clone, Debug)]
pub struct Options {
    /// The project; paths in positions and diagnostics are relative to it.
    pub root: PathBuf,
    /// Packages served from `window.__sdk`, with all their sub-paths.
    pub sdk_packages: Vec<String>,
    /// Language level of the output, in esbuild's words: `es2022`, `safari16`, `chrome100` ...
    pub target: Vec<String>,
    /// Files bundled at the same time, at least one.
    pub jobs: usize,
}

impl Options {
    /// Defaults for the project in `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            sdk_packages: vec![DEFAULT_SDK_PACKAGE.to_string()],
            target: DEFAULT_TARGET.map(String::from).to_vec(),
            jobs: 1,
        }
    }
}

/// Endings whose files become `data:` URLs.
const ASSETS: [&str; 20] = [
    "svg", "png", "jpg", "jpeg", "gif", "webp", "avif", "ico", "bmp", "woff", "woff2", "ttf", "otf", "mp3", "mp4",
    "webm", "wav", "ogg", "pdf", "wasm",
];

/// `import.meta.env`, as Vite fills it for `--mode test`.
const ENV: &str = r#"{"MODE":"test","DEV":true,"PROD":false,"SSR":false,"BASE_URL":"/"}"#;

/// Everything rolldown is told about one test file. `root` and `file` are real paths.
pub(crate) fn rolldown_options(options: &Options, root: &Path, file: &Path) -> BundlerOptions {
    BundlerOptions {
        // A virtual entry that only imports the test file: the chunk then has no `export {}` of the file's own exports.
        input: Some(vec![InputItem { name: Some("test".into()), import: ENTRY.into() }]),
        cwd: Some(root.to_path_buf()),
        dir: Some(".".into()), // sources in the map are then relative to `cwd`
        platform: Some(Platform::Browser),
        format: Some(OutputFormat::Esm), // not IIFE, which forbids top-level await
        code_splitting: Some(CodeSplittingMode::Bool(false)),
        sourcemap: Some(SourceMapType::Hidden),
        keep_names: Some(true), // restores the name of what had to be renamed, from outside the function's text
        define: Some(defines().into_iter().collect()),
        module_types: Some(module_types().into_iter().collect()),
        // `Auto` honours include and exclude, and projects routinely exclude their tests.
        tsconfig: Some(crate::tsconfig::of(file).map_or(TsConfig::Auto(false), TsConfig::Manual)),
        transform: Some(BundlerTransformOptions {
            target: Some(Either::Right(options.target.clone())),
            ..Default::default()
        }),
        comments: Some(CommentsOptions { legal: false, annotation: false, jsdoc: false }),
        experimental: Some(ExperimentalOptions {
            lazy_barrel: Some(true),
            attach_debug_info: Some(AttachDebugInfo::None),
            ..Default::default()
        }),
        treeshake: project_has_side_effects(),
        resolve: Some(resolve_options()),
        log_level: Some(LogLevel::Silent),
        ..Default::default()
    }
}

/// The nearest file of this name in the folders above `file`.
pub(crate) fn nearest(file: &Path, name: &str) -> Option<PathBuf> {
    file.ancestors().skip(1).map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// A helper that is imported for its hooks or suites must run as it does in Vitest, although the project's
/// `package.json` may say `"sideEffects": false`.
fn project_has_side_effects() -> TreeshakeOptions {
    let rule = ModuleSideEffectsRule {
        test: Some(r"^(?!.*[\\/]node_modules[\\/])".into()),
        external: None,
        side_effects: true,
    };
    TreeshakeOptions::Option(InnerOptions {
        module_side_effects: ModuleSideEffects::Rules(vec![rule]),
        ..InnerOptions::default()
    })
}

fn defines() -> Vec<(String, String)> {
    let meta = format!(r#"{{"env":{ENV}}}"#);
    [
        ("import.meta", meta.as_str()), // left alone it would make the whole script a SyntaxError
        ("import.meta.env", ENV),
        ("import.meta.env.MODE", r#""test""#),
        ("import.meta.env.DEV", "true"),
        ("import.meta.env.PROD", "false"),
        ("import.meta.env.SSR", "false"),
        ("import.meta.env.BASE_URL", r#""/""#),
        ("import.meta.hot", "undefined"),
        ("import.meta.vitest", "undefined"),
        ("process.env.NODE_ENV", r#""test""#),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_string(), value.to_string()))
    .collect()
}

fn module_types() -> Vec<(String, ModuleType)> {
    let assets = ASSETS.into_iter().map(|ending| (format!(".{ending}"), ModuleType::Dataurl));
    assets.chain([(".txt".to_string(), ModuleType::Text)]).collect()
}

fn resolve_options() -> ResolveOptions {
    let alias = |from: &str, to: &[&str]| (from.to_string(), to.iter().map(|s| s.to_string()).collect());
    ResolveOptions {
        condition_names: Some(["browser", "development", "module", "import", "default"].map(String::from).to_vec()),
        extension_alias: Some(vec![
            alias(".js", &[".ts", ".tsx", ".js"]),
            alias(".jsx", &[".tsx", ".jsx"]),
            alias(".mjs", &[".mts", ".mjs"]),
        ]),
        ..Default::default()
    }
}
