//! Paths as text: made absolute, and named relative to the project.

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use crate::ident::FileId;

/// `path` seen from `base`, without `.` and `..`. Does not look at the disk.
pub(super) fn absolute(base: &Utf8Path, path: &Utf8Path) -> Utf8PathBuf {
    let mut out = Utf8PathBuf::new();
    for part in base.join(path).components() {
        match part {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// The name of a file in a run: relative to `root`, or absolute where it lies outside.
pub(super) fn file_id(root: &Utf8Path, path: &Utf8Path) -> FileId {
    let shown = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = shown.components().map(|part| part.as_str()).collect();
    match parts.split_first() {
        Some((&"/", rest)) => FileId(format!("/{}", rest.join("/"))),
        _ => FileId(parts.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_absolute_as_text() {
        let at = |path: &str| absolute(Utf8Path::new("/p/app"), Utf8Path::new(path)).into_string();
        assert_eq!(at("./a.ts"), "/p/app/a.ts");
        assert_eq!(at("../lib/./b.ts"), "/p/lib/b.ts");
        assert_eq!(at("/x/../y.ts"), "/y.ts");
        assert_eq!(at("../../../.."), "/");
        assert_eq!(at("."), "/p/app");
    }

    #[test]
    fn ids_are_relative_inside_the_root_only() {
        let id = |path: &str| file_id(Utf8Path::new("/p/app"), Utf8Path::new(path)).0;
        assert_eq!(id("/p/app/src/a.ts"), "src/a.ts");
        assert_eq!(id("/p/application/a.ts"), "/p/application/a.ts");
    }
}
