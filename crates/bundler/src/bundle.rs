//! One test file, from its path to the text that is sent to the page.

use std::path::Path;
use std::sync::{Arc, Mutex};

use rolldown_common::{Output, OutputChunk};
use rolldown_error::BuildDiagnostic;

use crate::decorators;
use crate::diagnostics::{Diagnostic, Place, Sorter};
use crate::map::Map;
use crate::options::{Options, rolldown_options};
use crate::plugin::{AitPlugin, Seen};
use crate::wrap::wrap;

/// A bundled test file.
#[derive(Debug)]
pub struct Bundle {
    /// The text of an async function without parameters; see the crate's own description.
    pub function: String,
    /// Real paths of the files that went into it.
    pub modules: Vec<String>,
    /// What is odd but does not keep the file from running.
    pub warnings: Vec<Diagnostic>,
    map: Map,
}

impl Bundle {
    /// Where a position in [`Bundle::function`] came from. Lines and columns are 1-based, columns in UTF-16 units, as
    /// V8 and JavaScriptCore report them. `None` for what is none of the user's code.
    pub fn position(&self, line: u32, column: u32) -> Option<Place> {
        self.map.place(line, column)
    }
}

/// Bundles one file.
pub(crate) async fn bundle(options: &Options, file: &Path) -> Result<Bundle, Vec<Diagnostic>> {
    let root = real_path(&options.root)?;
    let file = real_path(file)?;
    let Some(name) = file.to_str() else {
        return Err(vec![Diagnostic::new(format!("The path {} is not valid Unicode.", file.display()))]);
    };
    let plugin = Arc::new(AitPlugin {
        root: root.clone(),
        file: name.to_string(),
        sdk_packages: options.sdk_packages.clone(),
        seen: Mutex::new(Seen::default()),
    });
    let built = build(options, &root, &file, &plugin).await;
    let seen = std::mem::take(&mut *plugin.seen());
    let sorter = Sorter { root: &root, static_imports: &seen.static_imports };
    let (found, assets) = match built {
        Ok((warnings, assets)) => (warnings, Some(assets)),
        Err(errors) => (errors, None),
    };
    let (mut errors, warnings) = sorter.sort(found);
    errors.splice(0..0, seen.errors);
    match assets {
        Some(assets) if errors.is_empty() => finish(only_chunk(&assets)?, warnings),
        _ => Err(errors),
    }
}

fn real_path(path: &Path) -> Result<std::path::PathBuf, Vec<Diagnostic>> {
    let failed = |error| vec![Diagnostic::new(format!("{} cannot be read: {error}.", path.display()))];
    std::fs::canonicalize(path).map_err(failed)
}

type Built = (Vec<BuildDiagnostic>, Vec<Output>);

async fn build(
    options: &Options,
    root: &Path,
    file: &Path,
    plugin: &Arc<AitPlugin>,
) -> Result<Built, Vec<BuildDiagnostic>> {
    let options = rolldown_options(options, root, file);
    let mut bundler =
        rolldown::Bundler::with_plugins(options, vec![plugin.clone()]).map_err(|errors| errors.into_vec())?;
    let output = bundler.generate().await.map_err(|errors| errors.into_vec())?;
    Ok((output.warnings, output.assets))
}

/// The script must be whole: one chunk that imports nothing. (An inlined dynamic import lists the chunk itself, and
/// one that the page resolves at run time is the user's choice.)
fn only_chunk(assets: &[Output]) -> Result<&Arc<OutputChunk>, Vec<Diagnostic>> {
    let mut chunks = assets.iter().filter_map(|output| match output {
        Output::Chunk(chunk) => Some(chunk),
        Output::Asset(_) => None,
    });
    match (chunks.next(), chunks.next()) {
        (Some(chunk), None) if chunk.imports.is_empty() => Ok(chunk),
        (Some(chunk), None) => Err(vec![Diagnostic::new(format!(
            "The script would need modules that the page cannot load: {}.",
            chunk.imports.join(", ")
        ))]),
        _ => Err(vec![Diagnostic::new("The bundler did not make exactly one script of this file.")]),
    }
}

fn finish(chunk: &Arc<OutputChunk>, warnings: Vec<Diagnostic>) -> Result<Bundle, Vec<Diagnostic>> {
    // A file without code has no map.
    let map = chunk.map.as_ref().map(Map::new).unwrap_or_default();
    if let Some((line, column)) = decorators::first_left(&chunk.code) {
        // One prefix line, and 1-based.
        let place = map.place(line + 2, column + 1);
        let message = "Decorators of this kind are not supported; set `experimentalDecorators` in tsconfig.json to use \
                       TypeScript's own, or apply the function by hand.";
        return Err(vec![Diagnostic { message: message.to_string(), place }]);
    }
    let modules = chunk.module_ids.iter().map(|id| id.to_string()).filter(|id| !id.starts_with('\0')).collect();
    Ok(Bundle { function: wrap(&chunk.code), modules, warnings, map })
}
