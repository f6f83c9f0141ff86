//! The one plugin: virtual modules, redirects, and what may not be imported.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rolldown::plugin::{
    HookLoadArgs, HookLoadOutput, HookLoadReturn, HookResolveIdArgs, HookResolveIdOutput, HookResolveIdReturn,
    HookTransformAstArgs, HookTransformAstReturn, HookUsage, Plugin, PluginContext, SharedLoadPluginContext,
};
use rolldown_common::side_effects::HookSideEffects;
use rolldown_common::{ImportKind, ModuleType};
use rolldown_ecmascript::{EcmaAst, WithMutFields};

use crate::diagnostics::{Diagnostic, Place, display_path, node_builtin};
use crate::specifiers::{is_bare, is_of_package, is_style, is_style_module, is_url};
use crate::{import_meta, options};

/// What every id of a module of ours begins with.
pub(crate) const VIRTUAL_PREFIX: &str = "\0ait:";
/// What the id of a redirected SDK import begins with; the specifier follows.
pub(crate) const SDK_PREFIX: &str = "\0ait:sdk:";
/// The entry, which only imports the test file.
pub(crate) const ENTRY: &str = "\0ait:entry";
/// The module that stands for `vitest`.
pub(crate) const VITEST: &str = "\0ait:vitest";
/// What tests import of this tool.
pub(crate) const OWN_PACKAGE: &str = "devtools-test";
/// The module that stands for [`OWN_PACKAGE`].
pub(crate) const OWN: &str = "\0ait:devtools-test";
const RAW_QUERY: &str = "?raw";
const URL_QUERY: &str = "?url";

/// The names that can be imported from `vitest`: what Vitest 4 and 5 export, without what only its own process has.
pub const VITEST_NAMES: [&str; 24] = [
    "afterAll",
    "afterEach",
    "aroundAll",
    "aroundEach",
    "assert",
    "assertType",
    "beforeAll",
    "beforeEach",
    "bench",
    "chai",
    "createExpect",
    "describe",
    "expect",
    "expectTypeOf",
    "inject",
    "it",
    "onTestFailed",
    "onTestFinished",
    "recordArtifact",
    "should",
    "suite",
    "test",
    "vi",
    "vitest",
];

/// What the plugin saw while one file was bundled.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// What makes the file impossible to run.
    pub(crate) errors: Vec<Diagnostic>,
    /// (importer, specifier) of every static import of a package.
    pub(crate) static_imports: HashSet<(String, String)>,
}

/// The plugin for one test file.
#[derive(Debug)]
pub(crate) struct AitPlugin {
    /// Real path of the project.
    pub(crate) root: PathBuf,
    /// Real path of the test file.
    pub(crate) file: String,
    pub(crate) sdk_packages: Vec<String>,
    pub(crate) seen: Mutex<Seen>,
}

impl AitPlugin {
    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The module of ours that `specifier` stands for.
    fn redirect(&self, specifier: &str) -> Option<String> {
        match specifier {
            ENTRY => Some(ENTRY.to_string()),
            "vitest" => Some(VITEST.to_string()),
            OWN_PACKAGE => Some(OWN.to_string()),
            _ => {
                let sdk = self.sdk_packages.iter().any(|package| is_of_package(specifier, package));
                sdk.then(|| format!("{SDK_PREFIX}{specifier}"))
            }
        }
    }

    /// Why `specifier` cannot be imported, where that can be told without looking for it.
    fn refusal(specifier: &str, kind: ImportKind) -> Option<String> {
        if is_of_package(specifier, "vitest") {
            return Some(format!(
                "'{specifier}' belongs to Vitest's own process and cannot run in a page; import from 'vitest'."
            ));
        }
        if is_of_package(specifier, OWN_PACKAGE) {
            return Some(format!("There is no '{specifier}'; import from '{OWN_PACKAGE}'."));
        }
        if kind != ImportKind::Import {
            return None;
        }
        if specifier.starts_with("node:") {
            return Some(node_builtin(specifier));
        }
        is_url(specifier)
            .then(|| format!("'{specifier}' cannot be part of the script; load it with `await import(...)`."))
    }

    fn refuse(&self, message: String, importer: Option<&str>, specifier: &str) -> HookResolveIdReturn {
        let place = importer.and_then(|importer| self.place_of_import(importer, specifier));
        self.seen().errors.push(Diagnostic { message, place });
        Ok(Some(external(specifier)))
    }

    /// Where `importer` names `specifier`: the last place where it stands in quotes after a word that imports.
    fn place_of_import(&self, importer: &str, specifier: &str) -> Option<Place> {
        let source = std::fs::read_to_string(importer).ok()?;
        let imports = |before: &str| {
            let before = before.trim_end();
            ["from", "import", "import(", "require("].iter().any(|word| before.ends_with(word))
        };
        let offset = ['\'', '"'].iter().find_map(|quote| {
            let quoted = format!("{quote}{specifier}{quote}");
            source.match_indices(&quoted).find(|(at, _)| imports(&source[..*at])).map(|(at, _)| at)
        })?;
        Some(Place::at(display_path(&self.root, importer), &source, offset))
    }

    async fn with_query(ctx: &PluginContext, args: &HookResolveIdArgs<'_>) -> HookResolveIdReturn {
        let Some((path, query @ ("raw" | "url" | "inline"))) = args.specifier.rsplit_once('?') else { return Ok(None) };
        let Ok(resolved) = ctx.resolve(path, args.importer, None).await? else { return Ok(None) };
        let id = match query {
            "inline" => resolved.id.to_string(),
            _ => format!("{}?{query}", resolved.id),
        };
        Ok(Some(HookResolveIdOutput::from_id(id)))
    }
}

impl Plugin for AitPlugin {
    fn name(&self) -> Cow<'static, str> {
        "ait".into()
    }

    fn register_hook_usage(&self) -> HookUsage {
        HookUsage::ResolveId | HookUsage::Load | HookUsage::TransformAst
    }

    async fn resolve_id(&self, ctx: &PluginContext, args: &HookResolveIdArgs<'_>) -> HookResolveIdReturn {
        let specifier = args.specifier;
        if args.importer == Some(ENTRY) {
            // Its name is taken as it is (it may hold `#` and `?`), and nothing of it may be dropped.
            return Ok(Some(HookResolveIdOutput {
                side_effects: Some(HookSideEffects::NoTreeshake),
                package_json_path: package_json(&self.file),
                ..HookResolveIdOutput::from_id(self.file.as_str())
            }));
        }
        if let Some(id) = self.redirect(specifier) {
            return Ok(Some(HookResolveIdOutput::from_id(id)));
        }
        if let Some(message) = Self::refusal(specifier, args.kind) {
            return self.refuse(message, args.importer, specifier);
        }
        if is_url(specifier) || (specifier.starts_with("node:") && args.kind == ImportKind::DynamicImport) {
            return Ok(Some(external(specifier)));
        }
        if let (true, ImportKind::Import, Some(importer)) = (is_bare(specifier), args.kind, args.importer) {
            self.seen().static_imports.insert((importer.to_string(), specifier.to_string()));
        }
        Self::with_query(ctx, args).await
    }

    async fn load(&self, _ctx: SharedLoadPluginContext, args: &HookLoadArgs<'_>) -> HookLoadReturn {
        let code = match args.id {
            ENTRY => format!("import {};\n", serde_json::to_string(&self.file)?),
            VITEST => vitest_module(),
            OWN => include_str!("modules/devtools-test.js").to_string(),
            id => match virtual_source(id)? {
                Some(code) => code,
                None => return Ok(None),
            },
        };
        Ok(Some(HookLoadOutput { code: code.into(), module_type: Some(ModuleType::Js), ..Default::default() }))
    }

    async fn transform_ast(&self, _ctx: &PluginContext, args: HookTransformAstArgs<'_>) -> HookTransformAstReturn {
        let mut ast = args.ast;
        if !args.id.starts_with('\0') && ast.source().contains("import.meta") {
            self.rewrite_import_meta(&mut ast, args.id);
        }
        Ok(ast)
    }
}

impl AitPlugin {
    fn rewrite_import_meta(&self, ast: &mut EcmaAst, id: &str) {
        let url = file_url(&self.root, id);
        let folder = Path::new(id).parent().unwrap_or(Path::new(""));
        let found = ast.program.with_mut(|WithMutFields { program, allocator, .. }| {
            import_meta::rewrite(program, allocator, &url, folder)
        });
        for glob in found.globs {
            let place = Place::at(display_path(&self.root, id), ast.source(), glob.start as usize);
            let message = "`import.meta.glob` is not supported; import the files by their names.";
            self.seen().errors.push(Diagnostic::at(message, place));
        }
    }
}

fn external(specifier: &str) -> HookResolveIdOutput {
    HookResolveIdOutput { external: Some(true.into()), ..HookResolveIdOutput::from_id(specifier) }
}

fn package_json(file: &str) -> Option<String> {
    options::nearest(Path::new(file), "package.json")?.to_str().map(String::from)
}

/// The value of `import.meta.url`: the path relative to the root, so that no path of this machine reaches the page.
fn file_url(root: &Path, id: &str) -> String {
    let shown = display_path(root, id);
    let mut url = "file:///".to_string();
    for byte in shown.trim_start_matches('/').bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => url.push(char::from(byte)),
            _ => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url
}

fn vitest_module() -> String {
    let names = VITEST_NAMES.join(", ");
    format!("const all = globalThis.__ait.vitest;\nexport default all;\nexport const {{ {names} }} = all;\n")
}

/// The text of the modules that stand for files of other kinds, and for the SDK.
fn virtual_source(id: &str) -> Result<Option<String>, std::io::Error> {
    let literal = |value: &str| serde_json::to_string(value).map_err(std::io::Error::other);
    if let Some(specifier) = id.strip_prefix(SDK_PREFIX) {
        let code = include_str!("modules/sdk.js");
        return Ok(Some(code.replace(r#""__SPECIFIER__""#, &literal(specifier)?)));
    }
    if let Some(path) = id.strip_suffix(RAW_QUERY) {
        return Ok(Some(format!("export default {};\n", literal(&std::fs::read_to_string(path)?)?)));
    }
    if let Some(path) = id.strip_suffix(URL_QUERY) {
        let url = import_meta::data_url(Path::new(path));
        return Ok(Some(format!("export default {};\n", literal(&url.unwrap_or_default())?)));
    }
    if is_style_module(id) {
        return Ok(Some(include_str!("modules/css-module.js").to_string()));
    }
    Ok(is_style(id).then(|| "export default \"\";\n".to_string()))
}
