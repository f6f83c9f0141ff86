//! Which files are meant by what was typed.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use globset::GlobBuilder;
use ignore::WalkBuilder;

use super::error::BundleError;
use super::paths::{absolute, file_id};
use crate::ident::FileId;

/// A test file to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFile {
    /// Absolute path.
    pub path: Utf8PathBuf,
    /// Its name in the run.
    pub id: FileId,
    /// It needs a person (`*.manual.ait.test.*`).
    pub manual: bool,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// The files in the order in which they run: by name, those that need a person last. Each once.
    pub files: Vec<TestFile>,
    /// The arguments that match no file at all, as they were typed.
    pub unmatched: Vec<String>,
    /// Files that need a person and were left out, because they were neither asked for nor named.
    pub manual_left_out: usize,
}

/// Endings a test file may have after `.ait.test.`
const EXTENSIONS: [&str; 6] = ["ts", "tsx", "js", "jsx", "mts", "mjs"];

/// Finds the files that `patterns` mean, seen from `base`. Their names are relative to `root`.
///
/// - A path that exists always means that file, whatever signs its name holds, ignored or not.
/// - A folder means every `*.ait.test.{ts,tsx,js,jsx,mts,mjs}` below it.
/// - Anything else is a glob (`*`, `?`, `[...]`, `{a,b}`, `**`; a `*` does not cross a `/`). It never looks into
///   `node_modules`, folders and files whose name begins with a dot, what `.gitignore` leaves out, and folders that
///   are symbolic links, unless it names them before its first special sign.
///
/// # Errors
/// A pattern that is no glob, or a match whose name is not Unicode.
pub fn discover(
    root: &Utf8Path,
    base: &Utf8Path,
    patterns: &[String],
    include_manual: bool,
) -> Result<Discovery, BundleError> {
    let mut discovery = Discovery::default();
    // Path -> named itself, and not found by a pattern.
    let mut found: BTreeMap<Utf8PathBuf, bool> = BTreeMap::new();
    for pattern in patterns {
        let (paths, named) = expand(base, pattern)?;
        if paths.is_empty() {
            discovery.unmatched.push(pattern.clone());
        }
        for path in paths {
            *found.entry(path).or_default() |= named;
        }
    }
    let mut real_paths = HashSet::new();
    for (path, named) in found {
        let manual = is_manual(&path);
        if manual && !include_manual && !named {
            discovery.manual_left_out += 1;
        } else if real_paths.insert(real_path(&path)) {
            discovery.files.push(TestFile { id: file_id(root, &path), path, manual });
        }
    }
    discovery.files.sort_by(|a, b| (a.manual, &a.id).cmp(&(b.manual, &b.id)));
    Ok(discovery)
}

/// One argument -> the files it means, and whether it named one itself.
fn expand(base: &Utf8Path, pattern: &str) -> Result<(Vec<Utf8PathBuf>, bool), BundleError> {
    if pattern.is_empty() {
        return Ok((Vec::new(), false));
    }
    let literal = absolute(base, Utf8Path::new(pattern));
    if literal.is_file() {
        return Ok((vec![literal], true));
    }
    if literal.is_dir() {
        return Ok((walk(&literal, &|path| is_test_file(path))?, false));
    }
    let (folder, glob) = split_glob(pattern);
    let matcher = GlobBuilder::new(glob)
        .literal_separator(true)
        .build()
        .map_err(|error| BundleError::Pattern { pattern: pattern.to_string(), reason: error.kind().to_string() })?
        .compile_matcher();
    let folder = absolute(base, Utf8Path::new(folder));
    let matches = |path: &Path| path.strip_prefix(&folder).is_ok_and(|path| matcher.is_match(path));
    Ok((walk(&folder, &matches)?, false))
}

/// A pattern -> the folder it names before its first special sign, and the rest.
fn split_glob(pattern: &str) -> (&str, &str) {
    let special = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    match pattern[..special].rfind('/') {
        Some(slash) => pattern.split_at(slash + 1),
        None => ("", pattern),
    }
}

/// The files below `folder` that `wanted` accepts. What cannot be read is passed over.
fn walk(folder: &Utf8Path, wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<Utf8PathBuf>, BundleError> {
    let walk = WalkBuilder::new(folder)
        .git_global(false) // what a run means must not depend on the person
        .require_git(false)
        .ignore(false)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != "node_modules")
        .build();
    let mut paths = Vec::new();
    for entry in walk {
        match entry {
            // `is_file` follows a link to a file; the walk follows none to a folder, so it cannot go in circles.
            Ok(entry) if wanted(entry.path()) && entry.path().is_file() => paths.push(unicode(entry.into_path())?),
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "passed over while looking for test files"),
        }
    }
    Ok(paths)
}

fn unicode(path: PathBuf) -> Result<Utf8PathBuf, BundleError> {
    Utf8PathBuf::from_path_buf(path).map_err(|path| BundleError::NotUnicode { path })
}

/// Two names of one file are one file.
fn real_path(path: &Utf8Path) -> PathBuf {
    fs_err::canonicalize(path).unwrap_or_else(|_| path.into())
}

fn is_test_file(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    name.rsplit_once(".ait.test.").is_some_and(|(_, extension)| EXTENSIONS.contains(&extension))
}

fn is_manual(path: &Utf8Path) -> bool {
    path.file_name().is_some_and(|name| name.contains(".manual.ait.test."))
}

#[cfg(test)]
#[path = "discover_tests.rs"]
mod tests;
