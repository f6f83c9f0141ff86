//! Makes the file that holds the secret. Only `devtools-test secret init` does; a run never writes it.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::store::{SecretError, SecretFile, file_in};
use super::{SECRET_FILE, Secret};

/// What was made, or was there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initialized {
    /// The file with the secret.
    pub path: PathBuf,
    /// It was made; else a usable one was there, and is as it was.
    pub made: bool,
    /// Whether git will leave it alone.
    pub ignored: GitIgnore,
}

/// What became of the line in `.gitignore`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitIgnore {
    /// It was added to this file.
    Added(PathBuf),
    /// It was there.
    Present,
    /// Nothing here is kept in git.
    NoRepository,
    /// It could not be added to this file.
    Failed(PathBuf, ErrorKind),
}

/// Makes a secret for a project, readable by its owner alone, and has git ignore it. What is there already is never
/// written over.
///
/// # Errors
/// The file cannot be made, or what is there cannot be used.
pub fn init(project_root: &Path) -> Result<Initialized, SecretError> {
    let path = file_in(project_root);
    let made = match create(&path) {
        Ok(()) => true,
        Err(SecretError::Unwritable { kind: ErrorKind::AlreadyExists, .. }) => {
            match SecretFile::read(project_root)? {
                Some(file) => drop(file.usable()?),
                // A link that leads nowhere.
                None => return Err(SecretError::BadFile { path }),
            }
            false
        }
        Err(error) => return Err(error),
    };
    let ignored = path.parent().map_or(GitIgnore::NoRepository, add_line);
    Ok(Initialized { path, made, ignored })
}

fn create(path: &Path) -> Result<(), SecretError> {
    let text = Secret::random()?.to_hex();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let unwritable = |error: io::Error| SecretError::Unwritable { path: path.to_path_buf(), kind: error.kind() };
    let mut file = options.open(path).map_err(unwritable)?;
    let written = write(&mut file, &text);
    if written.is_err() {
        // Half a secret would be in the way of the next try; the failure itself is what is told.
        drop(std::fs::remove_file(path));
    }
    written.map_err(unwritable)
}

fn write(file: &mut std::fs::File, text: &str) -> io::Result<()> {
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}

/// Adds the line to the `.gitignore` of a folder inside a repository.
fn add_line(folder: &Path) -> GitIgnore {
    // A folder, or in worktrees and submodules a file.
    if !folder.ancestors().any(|dir| dir.join(".git").exists()) {
        return GitIgnore::NoRepository;
    }
    let path = folder.join(".gitignore");
    let added = match std::fs::read(&path) {
        Ok(text) => addition(&text),
        Err(error) if error.kind() == ErrorKind::NotFound => addition(b""),
        Err(error) => return GitIgnore::Failed(path, error.kind()),
    };
    let Some(added) = added else { return GitIgnore::Present };
    // Appended, so that what another program writes at the same time is kept.
    let append = || OpenOptions::new().append(true).create(true).open(&path)?.write_all(added.as_bytes());
    match append() {
        Ok(()) => GitIgnore::Added(path),
        Err(error) => GitIgnore::Failed(path, error.kind()),
    }
}

/// Whether a `.gitignore` of the file's folder or one above it keeps the file out of git; `None` outside a repository.
pub fn is_ignored(file: &Path) -> Option<bool> {
    let folder = file.parent()?;
    let root = folder.ancestors().find(|dir| dir.join(".git").exists())?;
    for dir in folder.ancestors() {
        // What cannot be read ignores nothing.
        let (rules, _) = ignore::gitignore::Gitignore::new(dir.join(".gitignore"));
        let found = rules.matched(file, false);
        if !found.is_none() || dir == root {
            return Some(found.is_ignore());
        }
    }
    Some(false)
}

/// What has to be added to the text of a `.gitignore`; `None` where the line is there.
fn addition(text: &[u8]) -> Option<String> {
    let trimmed = |line: &&[u8]| line.trim_ascii() == SECRET_FILE.as_bytes();
    if text.split(|&byte| byte == b'\n').any(|line| trimmed(&line)) {
        return None;
    }
    let end = if text.ends_with(b"\r\n") { "\r\n" } else { "\n" };
    let open = !text.is_empty() && !text.ends_with(b"\n");
    Some(format!("{}{SECRET_FILE}{end}", if open { "\n" } else { "" }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn project() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("package.json"), "{}").unwrap();
        dir
    }

    #[test]
    fn a_file_is_made_once_and_never_written_over() {
        let dir = project();
        let inner = dir.path().join("src");
        std::fs::create_dir(&inner).unwrap();
        let first = init(&inner).unwrap();
        assert_eq!(first.path, dir.path().join(SECRET_FILE));
        assert!(first.made && first.ignored == GitIgnore::NoRepository);
        let text = std::fs::read_to_string(&first.path).unwrap();
        assert!(text.len() == 65 && Secret::from_hex(&text).is_some());
        let file = SecretFile::read(&inner).unwrap().unwrap();
        assert!(cfg!(not(unix)) || file.mode == Some(0o600));
        assert!(file.holds(&Secret::from_hex(&text).unwrap()));

        assert!(!init(&inner).unwrap().made);
        assert_eq!(std::fs::read_to_string(&first.path).unwrap(), text);
        std::fs::write(&first.path, "something of mine").unwrap();
        assert_eq!(init(&inner).unwrap_err(), SecretError::BadFile { path: first.path.clone() });
        assert_eq!(std::fs::read_to_string(&first.path).unwrap(), "something of mine");
    }

    #[test]
    #[cfg(unix)]
    fn what_others_can_read_is_refused_with_the_remedy() {
        use std::os::unix::fs::PermissionsExt;
        let dir = project();
        let path = init(dir.path()).unwrap().path;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let error = super::super::find_secret(None, dir.path()).unwrap_err();
        assert_eq!(error, SecretError::TooOpen { path: path.clone(), mode: 0o640 });
        assert!(
            error
                .to_string()
                .contains(&format!("(mode 640), so its secret is not used. Run `chmod 600 {}`", path.display()))
        );
        assert_eq!(init(dir.path()).unwrap_err(), error);
        let one = "00112233445566778899aabbccddeeff";
        let found = super::super::find_secret(Some(one), dir.path()).unwrap();
        assert!(found.warning.is_some(), "which one wins is said whatever the mode");
    }

    #[test]
    #[cfg(unix)]
    fn links_and_folders_in_its_place_are_left_alone() {
        let dir = project();
        let path = dir.path().join(SECRET_FILE);
        let elsewhere = dir.path().join("elsewhere");
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert_eq!(init(dir.path()).unwrap_err(), SecretError::BadFile { path: path.clone() });
        assert!(!elsewhere.exists());
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(matches!(init(dir.path()).unwrap_err(), SecretError::Unreadable { .. }));
    }

    #[test]
    fn git_gets_the_line_once() {
        let dir = project();
        std::fs::create_dir(dir.path().join(".git")).unwrap();
        let ignore = dir.path().join(".gitignore");
        assert_eq!(init(dir.path()).unwrap().ignored, GitIgnore::Added(ignore.clone()));
        assert_eq!(std::fs::read_to_string(&ignore).unwrap(), ".ait_relay\n");
        assert_eq!(init(dir.path()).unwrap().ignored, GitIgnore::Present);
        assert_eq!(std::fs::read_to_string(&ignore).unwrap(), ".ait_relay\n");
    }

    #[test]
    fn rules_of_any_folder_above_count_and_the_nearest_goes_first() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("packages/app");
        std::fs::create_dir_all(&inner).unwrap();
        let file = inner.join(SECRET_FILE);
        assert_eq!(is_ignored(&file), None);
        std::fs::create_dir(dir.path().join(".git")).unwrap();
        assert_eq!(is_ignored(&file), Some(false));
        std::fs::write(dir.path().join(".gitignore"), ".ait*\n").unwrap();
        assert_eq!(is_ignored(&file), Some(true));
        std::fs::write(inner.join(".gitignore"), "!.ait_relay\n").unwrap();
        assert_eq!(is_ignored(&file), Some(false));
    }

    #[test]
    fn only_the_very_line_counts() {
        for (text, added) in [
            ("", Some(".ait_relay\n")),
            ("dist", Some("\n.ait_relay\n")),
            ("dist\r\n", Some(".ait_relay\r\n")),
            ("a\n  .ait_relay\t\r\nb\n", None),
            (".ait_relay", None),
            ("#.ait_relay\n!.ait_relay\n.ait_relay.example\n", Some(".ait_relay\n")),
        ] {
            assert_eq!(addition(text.as_bytes()).as_deref(), added, "{text:?}");
        }
        assert_eq!(addition(b"\xff\n").as_deref(), Some(".ait_relay\n"));
    }
}
