//! What can be wrong with a file, in words and with a position.

use std::collections::HashSet;
use std::path::Path;

use rolldown_error::{BuildDiagnostic, DiagnosableResolveError, DiagnosticOptions, EventKind, Severity};

use crate::plugin::{OWN, OWN_PACKAGE, SDK_PREFIX, VIRTUAL_PREFIX, VITEST};
use crate::specifiers::is_node_builtin;

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong and, where there is one, the next step.
    pub message: String,
    /// Where, if it has a place.
    pub place: Option<Place>,
}

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Relative to the root with `/` between the parts; absolute where it lies outside.
    pub file: String,
    /// 1-based.
    pub line: u32,
    /// 1-based, in UTF-16 units.
    pub column: u32,
}

impl Place {
    /// The place of a byte offset in `source`. An offset beyond the end means the end.
    pub(crate) fn at(file: String, source: &str, offset: usize) -> Self {
        let before = source.get(..offset).unwrap_or(source);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before[line_start..].encode_utf16().count() + 1;
        Self { file, line: to_u32(line), column: to_u32(column) }
    }
}

impl Diagnostic {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None }
    }

    pub(crate) fn at(message: impl Into<String>, place: Place) -> Self {
        Self { message: message.into(), place: Some(place) }
    }
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A path as a person knows it: relative to the root where it lies inside.
pub(crate) fn display_path(root: &Path, path: &str) -> String {
    let relative = Path::new(path).strip_prefix(root).ok().and_then(Path::to_str);
    relative.unwrap_or(path).replace('\\', "/")
}

/// Sorts what rolldown said into errors and warnings.
pub(crate) struct Sorter<'a> {
    pub(crate) root: &'a Path,
    /// (importer, specifier) of every static import of a package.
    pub(crate) static_imports: &'a HashSet<(String, String)>,
}

impl Sorter<'_> {
    /// Errors first, then warnings worth reading. Several may be gained from one run.
    pub(crate) fn sort(&self, found: Vec<BuildDiagnostic>) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        for diagnostic in found {
            let error = diagnostic.severity() == Severity::Error || self.is_unresolved(&diagnostic);
            if !error && is_noise(diagnostic.kind()) {
                continue;
            }
            let target = if error { &mut errors } else { &mut warnings };
            let one = self.translate(diagnostic);
            if !target.contains(&one) {
                target.push(one);
            }
        }
        (errors, warnings)
    }

    /// rolldown only warns of a package it cannot find and leaves the `import` in place, which no script may hold.
    fn is_unresolved(&self, diagnostic: &BuildDiagnostic) -> bool {
        matches!(diagnostic.kind(), EventKind::UnresolvedImport)
            && diagnostic
                .id()
                .zip(diagnostic.exporter())
                .is_none_or(|(importer, specifier)| self.static_imports.contains(&(importer, specifier)))
    }

    fn translate(&self, mut diagnostic: BuildDiagnostic) -> Diagnostic {
        let options = DiagnosticOptions { cwd: self.root.to_path_buf() };
        if matches!(diagnostic.kind(), EventKind::UnloadableDependencyError)
            && let Some(unloadable) = self.not_unicode(&diagnostic.to_message_with(&options))
        {
            return unloadable;
        }
        let place = diagnostic.to_diagnostic_with(&options).get_primary_location().map(|(file, line, column, _)| {
            Place { file: without_virtual_ids(&file), line: to_u32(line), column: to_u32(column + 1) }
        });
        let message = self.special_message(&mut diagnostic).unwrap_or_else(|| diagnostic.to_message_with(&options));
        Diagnostic { message: without_virtual_ids(&message), place }
    }

    /// A file that rolldown could not load because it is no text: blamed itself, and not whoever imports it.
    fn not_unicode(&self, message: &str) -> Option<Diagnostic> {
        let (path, _) = message.strip_prefix("Could not load ")?.split_once(" (imported by ")?;
        let bytes = std::fs::read(self.root.join(path)).ok()?;
        let valid = std::str::from_utf8(&bytes).err()?.valid_up_to();
        let place = Place::at(display_path(self.root, path), &String::from_utf8_lossy(&bytes), valid);
        Some(Diagnostic::at("This file is not valid UTF-8 from here on; save it as UTF-8.", place))
    }

    fn special_message(&self, diagnostic: &mut BuildDiagnostic) -> Option<String> {
        match diagnostic.kind() {
            EventKind::MissingExportError => {
                let package = match diagnostic.exporter()?.as_str() {
                    VITEST => "vitest",
                    OWN => OWN_PACKAGE,
                    _ => return None,
                };
                let message = diagnostic.to_string();
                let name = message.split('"').nth(1).unwrap_or_default();
                Some(format!("'{name}' is not among the names of '{package}' that a page can import."))
            }
            EventKind::UnresolvedImport | EventKind::ResolveError => {
                let specifier = diagnostic.exporter()?;
                let error = diagnostic.downcast_mut::<DiagnosableResolveError>()?;
                let files = error.import_chain.iter().flatten().filter(|path| !path.starts_with('\0'));
                let chain: Vec<_> = files.map(|path| display_path(self.root, path)).collect();
                let through = format!(" Imported through {}.", chain.join(", "));
                let through = if chain.is_empty() { "" } else { &through };
                Some(format!("{}{through}", unresolved(&specifier)))
            }
            _ => None,
        }
    }
}

fn unresolved(specifier: &str) -> String {
    if is_node_builtin(specifier) {
        node_builtin(specifier)
    } else if specifier.starts_with(['.', '/']) {
        format!("Could not resolve '{specifier}': there is no such file.")
    } else {
        format!("Could not resolve '{specifier}': no such package is installed and no tsconfig path matches it.")
    }
}

/// Why a module of Node cannot be imported.
pub(crate) fn node_builtin(specifier: &str) -> String {
    format!("'{specifier}' is a module of Node and cannot run in a page.")
}

/// Kinds of warning that say nothing about whether the test will do what it says.
fn is_noise(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::CircularDependency
            | EventKind::Eval
            | EventKind::IneffectiveDynamicImport
            | EventKind::InvalidAnnotation
            | EventKind::LargeBarrelModules
            | EventKind::PluginTimings
            | EventKind::PreferBuiltinFeature
            | EventKind::SourcemapBroken
            | EventKind::NamespaceConflict
    )
}

/// Puts the names that the user wrote in place of our module ids.
fn without_virtual_ids(text: &str) -> String {
    let mut text = text.replace("\\0", "\0");
    for prefix in [SDK_PREFIX, VIRTUAL_PREFIX, "\0"] {
        text = text.replace(prefix, "");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_utf16_units() {
        let source = "a\n한글😀x\r\nz";
        let place = |offset| {
            let place = Place::at("f".into(), source, offset);
            (place.line, place.column)
        };
        assert_eq!(place(0), (1, 1));
        assert_eq!(place(source.find('x').unwrap_or_default()), (2, 5));
        assert_eq!(place(source.find('z').unwrap_or_default()), (3, 1));
        assert_eq!(place(9999), (3, 2));
    }

    #[test]
    fn virtual_ids_become_what_was_written() {
        let message = r#""x" is not exported by "\0ait:vitest" or "\0ait:sdk:@a/b/c""#;
        assert_eq!(without_virtual_ids(message), r#""x" is not exported by "vitest" or "@a/b/c""#);
    }
}
