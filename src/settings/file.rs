//! Finds and reads `devtools-test.toml`.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use super::error::SettingsError;
use super::given::Given;

/// Name of the settings file.
pub const FILE_NAME: &str = "devtools-test.toml";
/// Largest one, in bytes: far more than all settings together.
const MAX_SIZE: u64 = 1 << 20;

/// What a settings file says.
#[derive(Clone, Debug, Default)]
pub struct FileGiven {
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub given: Given,
}

/// The folder of the nearest `package.json`, from `start` upwards.
pub fn nearest_package(start: &Path) -> Option<&Path> {
    start.ancestors().find(|dir| dir.join("package.json").is_file())
}

/// Reads the file in the project root, else the one beside the nearest `package.json` above it; `None` where neither
/// exists.
pub(super) fn read_near(root: &Path) -> Result<Option<FileGiven>, SettingsError> {
    let folders = [Some(root), nearest_package(root)];
    for path in folders.into_iter().flatten().map(|folder| folder.join(FILE_NAME)) {
        match read_bounded(&path) {
            Ok(text) => return parse(path, &text).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(reason) => return Err(SettingsError::Unreadable { path, reason }),
        }
    }
    Ok(None)
}

/// A link may lead to what never ends.
fn read_bounded(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    if fs_err::File::open(path)?.take(MAX_SIZE + 1).read_to_string(&mut text)? as u64 > MAX_SIZE {
        return Err(std::io::Error::other(format!("it is larger than {} KiB", MAX_SIZE >> 10)));
    }
    Ok(text)
}

/// Parses the text of a settings file.
pub(super) fn parse(path: PathBuf, text: &str) -> Result<FileGiven, SettingsError> {
    match toml::from_str(text) {
        Ok(given) => Ok(FileGiven { path, given }),
        Err(error) => {
            let before = text.get(..error.span().map_or(0, |span| span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            Err(SettingsError::File { path, line, column, message: with_suggestion(error.message()) })
        }
    }
}

/// How like a known name an unknown one has to be so that it can be meant: one letter of five may be another one.
const ALIKE: f32 = 0.8;

/// `unknown field` and all known ones, which nobody reads when the right one is clear.
fn with_suggestion(message: &str) -> String {
    let Some((what, known)) = message.split_once(", expected one of ") else { return message.to_owned() };
    let names: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    let wrong = what.split('`').nth(1).unwrap_or_default();
    match similar::get_close_matches(wrong, &names, 1, ALIKE).first() {
        Some(meant) => format!("{what}; did you mean `{meant}`?"),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn refused(text: &str) -> String {
        parse(PathBuf::from(FILE_NAME), text).unwrap_err().to_string()
    }

    #[test]
    fn numbers_and_texts_are_one_kind_of_value() {
        let file = parse(FILE_NAME.into(), "timeout = 5000\ntest-timeout = \"5s\"\nbail = 1.5\n").unwrap();
        assert_eq!(file.given.timeout.as_deref(), Some("5000"));
        assert_eq!(file.given.test_timeout.as_deref(), Some("5s"));
        assert_eq!(file.given.bail.as_deref(), Some("1.5"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_what_never_ends_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join(FILE_NAME)).unwrap();
        let message = read_near(folder.path()).unwrap_err().to_string();
        assert!(message.contains("larger than 1024 KiB"), "{message}");
    }

    #[test]
    fn globals_are_a_table() {
        let file = parse(FILE_NAME.into(), "[globals]\nA = { b = [1, true] }\n").unwrap();
        assert_eq!(file.given.globals["A"], serde_json::json!({ "b": [1, true] }));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let message = refused("target = \"chrome\"\ntimeuot = 1\n");
        assert_eq!(message, "devtools-test.toml:2:1: unknown field `timeuot`; did you mean `timeout`?");
        assert!(refused("global = 1\n").ends_with("did you mean `globals`?"));
        assert!(refused("colour-of-hair = 1\n").contains("expected one of `files`"));
        assert!(refused("manual = 3\n").contains("devtools-test.toml:1:10: invalid type: integer `3`"));
        assert!(refused("show-url = true\n").contains("unknown field `show-url`"));
    }

    #[test]
    fn the_file_in_the_root_goes_before_the_one_beside_the_package() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("packages/a");
        fs_err::create_dir_all(&root).unwrap();
        fs_err::write(dir.path().join("package.json"), "{}").unwrap();
        assert!(read_near(&root).unwrap().is_none());
        fs_err::write(dir.path().join(FILE_NAME), "target = \"device\"").unwrap();
        assert_eq!(read_near(&root).unwrap().unwrap().path, dir.path().join(FILE_NAME));
        fs_err::write(root.join(FILE_NAME), "target = \"chrome\"").unwrap();
        assert_eq!(read_near(&root).unwrap().unwrap().given.target.as_deref(), Some("chrome"));
    }
}
