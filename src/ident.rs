//! Names of things in a run: files, tests and the cell a run belongs to.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A test file, as its path relative to the project root with `/` between the parts
/// (the absolute path when it lies outside the root).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileId(pub String);

impl FileId {
    /// Whether its tests need a person: the name of the file holds `.manual.ait.test.`.
    pub fn is_manual(&self) -> bool {
        self.0.rsplit('/').next().is_some_and(|name| name.contains(".manual.ait.test."))
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A test, stable from run to run: `<file> > <suite> > <title>`; the second test of the same name in a file
/// gets ` #2` behind it, and so on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TestId(pub String);

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Gives out the [`TestId`]s of one file, in the order in which its tests were collected.
#[derive(Debug, Default)]
pub struct TestIds {
    seen: HashMap<String, u32>,
}

impl TestIds {
    /// The id of the next test with these titles (suites first, the test's own title last).
    pub fn next(&mut self, file: &FileId, path: &[String]) -> TestId {
        let full = full_title(path);
        let count = self.seen.entry(full.clone()).or_insert(0);
        *count += 1;
        match *count {
            1 => TestId(format!("{file} > {full}")),
            n => TestId(format!("{file} > {full} #{n}")),
        }
    }
}

/// The title a person reads and `-t` selects by: suites and test joined by ` > `.
pub fn full_title(path: &[String]) -> String {
    path.join(" > ")
}

/// The point of the test matrix a run belongs to; injected as `__AIT_CELL__` and part of every artifact's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// SDK line under test, for example `2.x`.
    pub sdk_line: String,
    /// One of [`PLATFORMS`].
    pub platform: String,
}

impl Cell {
    /// The SDK line of a run that was given none.
    pub const DEFAULT_SDK_LINE: &str = "2.x";
    /// The platform of a run that was given none.
    pub const DEFAULT_PLATFORM: &str = "mock";

    /// `<sdkLine>.<platform>`, with everything that does not belong in a file name replaced by `_`.
    pub fn file_stem(&self) -> String {
        format!("{}.{}", file_name_part(&self.sdk_line), file_name_part(&self.platform))
    }
}

/// The platforms a cell may name.
pub const PLATFORMS: [&str; 7] = ["mock", "chromium", "webkit", "ios", "ios-sim", "ios-pwa", "android"];

/// Longest part of a file name that is taken from outside: well under the 255 bytes of common file systems.
const MAX_FILE_NAME_PART: usize = 64;

/// Makes text that came from a page or a flag safe as one part of a file name: letters, digits, `-`, `_` and inner
/// dots stay, everything else becomes `_`. Never empty, never `.` or `..`, at most 64 bytes.
pub fn file_name_part(text: &str) -> String {
    let mut out: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' })
        .take(MAX_FILE_NAME_PART)
        .collect();
    if out.starts_with('.') {
        out.replace_range(..1, "_");
    }
    if out.is_empty() {
        out.push('_');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_titles_are_counted() {
        let file = FileId("a.ait.test.ts".into());
        let mut ids = TestIds::default();
        let path = ["suite".to_string(), "works".to_string()];
        assert_eq!(ids.next(&file, &path).0, "a.ait.test.ts > suite > works");
        assert_eq!(ids.next(&file, &path).0, "a.ait.test.ts > suite > works #2");
    }

    #[test]
    fn manual_files_are_known_by_their_name() {
        assert!(FileId("src/ads.manual.ait.test.ts".into()).is_manual());
        assert!(!FileId("src/x.manual.ait.test.d/ads.ait.test.ts".into()).is_manual());
    }

    #[test]
    fn file_name_parts_cannot_leave_their_folder() {
        assert_eq!(file_name_part("../../evil"), "_._.._evil");
        assert_eq!(file_name_part(""), "_");
        assert_eq!(file_name_part(".."), "_.");
        assert_eq!(file_name_part("2.x"), "2.x");
        assert_eq!(file_name_part(&"a".repeat(500)).len(), MAX_FILE_NAME_PART);
    }
}
