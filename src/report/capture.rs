//! What tests wrote down with `__AIT_CAPTURE__` lines, sorted into files.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::ident::{Cell, file_name_part};

/// Folder of the capture files inside the report folder; consumers look for it by this name.
pub(super) const CAPTURE_FOLDER: &str = ".ait-capture";

/// Records by category, those of manual files apart, in the order in which they were written.
#[derive(Clone, Debug, Default)]
pub(super) struct Captures {
    groups: BTreeMap<(bool, String), Vec<Value>>,
}

/// One capture file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CaptureFile<'a> {
    /// Category as the page wrote it.
    pub(super) category: &'a str,
    /// Whether its records come from files that need a person.
    pub(super) manual: bool,
    /// Name inside [`CAPTURE_FOLDER`].
    pub(super) name: String,
    /// The records.
    pub(super) records: &'a [Value],
}

impl Captures {
    /// Takes one line's payload: the elements of an array, or anything else as one record.
    pub(super) fn add(&mut self, category: &str, manual: bool, payload: &Value) {
        let group = self.groups.entry((manual, category.to_owned())).or_default();
        match payload {
            Value::Array(records) => group.extend(records.iter().cloned()),
            other => group.push(other.clone()),
        }
    }

    /// The files: `<category>.<sdkLine>.<platform>.json`, with `.manual` before the ending for manual ones.
    pub(super) fn files(&self, cell: &Cell) -> Vec<CaptureFile<'_>> {
        let stem = cell.file_stem();
        let mut files = Vec::new();
        for ((manual, category), records) in &self.groups {
            let ending = if *manual { ".manual.json" } else { ".json" };
            let name = format!("{}.{stem}{ending}", self.safe_name(category));
            files.push(CaptureFile { category, manual: *manual, name, records });
        }
        files
    }

    /// A category as a part of a file name. One that had to be changed, or that differs from another one only in the
    /// case of its letters (which some file systems ignore), gets a mark made from its exact text, so that no two
    /// share a file and each has the same name in every run.
    fn safe_name(&self, category: &str) -> String {
        let plain = file_name_part(category);
        let folded = plain.to_ascii_lowercase();
        let alone = self.groups.keys().all(|(_, other)| {
            other == category || file_name_part(other) != *other || other.to_ascii_lowercase() != folded
        });
        if plain == category && alone { plain } else { format!("{plain}-{:08x}", fnv1a(category)) }
    }
}

/// 32-bit FNV-1a: short, stable, and good enough to tell a handful of categories apart.
pub(super) fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cell() -> Cell {
        Cell { sdk_line: "2.x".into(), platform: "ios".into() }
    }

    fn names(categories: &[&str]) -> Vec<String> {
        let mut captures = Captures::default();
        categories.iter().for_each(|category| captures.add(category, false, &json!(1)));
        captures.files(&cell()).into_iter().map(|file| file.name).collect()
    }

    #[test]
    fn arrays_are_joined_and_manual_records_stay_apart() {
        let mut captures = Captures::default();
        captures.add("clipboard", false, &json!([1, 2]));
        captures.add("clipboard", true, &json!([3]));
        captures.add("clipboard", false, &json!([]));
        captures.add("clipboard", false, &json!(null));
        let files = captures.files(&cell());
        assert_eq!(files[0].name, "clipboard.2.x.ios.json");
        assert_eq!(files[0].records, [json!(1), json!(2), json!(null)]);
        assert_eq!((files[1].name.as_str(), files[1].manual), ("clipboard.2.x.ios.manual.json", true));
        assert_eq!(files[1].records, [json!(3)]);
    }

    #[test]
    fn a_category_cannot_leave_the_folder() {
        let names = names(&["../../evil", "/etc/passwd", "", "..", "a\0b"]);
        assert!(names.iter().all(|name| !name.contains(['/', '\\', '\0']) && !name.starts_with('.')), "{names:?}");
    }

    #[test]
    fn categories_that_become_one_name_keep_files_of_their_own() {
        let names = names(&["a_b", "a/b", "a b", "A_B", "c"]);
        let distinct: std::collections::HashSet<_> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        assert_eq!(distinct.len(), 5, "{names:?}");
        assert!(names.contains(&"c.2.x.ios.json".to_owned()));
    }
}
