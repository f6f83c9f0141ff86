//! Temporary folders of ours: the profile of a browser, the home of a tunnel's program, the files of an MCP server. And
//! what is left of those whose owner was killed.
//!
//! Each folder holds a file that names its owner (this tool) and the program that works in it, by pid and start time. A
//! later start finds folders whose owner is gone, ends a program that still runs there, and removes them. Where temporary
//! folders are, others may have put anything: what is not ours is neither believed nor touched.

use std::fs::{Metadata, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use tempfile::TempDir;

use super::id::{self, ProcessId};

/// Start of every folder's name.
const PREFIX: &str = "devtools-test-";
/// File in the folder: one process a line, the owner first, then the program.
const OWNER_FILE: &str = "devtools-test-owner";
/// Nobody else may look into it: a profile holds cookies, a server's files what pages said.
const MODE: u32 = 0o700;

/// A folder of ours; removed when dropped.
#[derive(Debug)]
pub struct TempFolder {
    folder: TempDir,
}

impl TempFolder {
    /// Makes a new one where the system has its temporary folders; `kind` is a part of its name.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn create(kind: &str) -> std::io::Result<Self> {
        let prefix = format!("{PREFIX}{kind}-");
        let folder = tempfile::Builder::new().prefix(&prefix).permissions(Permissions::from_mode(MODE)).tempdir()?;
        let folder = Self { folder };
        folder.write_owner(None)?;
        Ok(folder)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Notes which program works in it. Its arguments or variables have to name the folder, or it is not known again.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn used_by(&self, program: u32) -> std::io::Result<()> {
        self.write_owner(Some(program))
    }

    fn write_owner(&self, program: Option<u32>) -> std::io::Result<()> {
        let processes = [Some(std::process::id()), program];
        let text: String = processes.into_iter().flatten().map(|pid| format!("{}\n", ProcessId::of(pid))).collect();
        fs_err::write(self.folder.path().join(OWNER_FILE), text)
    }

    /// Removes it now. A program that is just ending may still write; what is left is swept at the next start.
    pub fn remove(self) {
        drop(self.folder.close());
    }
}

/// Removes what killed runs have left in `temp`, and ends programs that still run there.
pub fn sweep(temp: &Path) {
    for folder in our_folders(temp) {
        let Some(text) = owner_of(&folder) else { continue };
        let mut processes = text.lines().map(ProcessId::parse);
        // Without an owner that can be read it may be one that is just being made.
        let Some(Some(owner)) = processes.next() else { continue };
        if owner.is_running() {
            continue;
        }
        if let Some(Some(program)) = processes.next()
            && program.is_running()
            && folder.file_name().is_some_and(|name| program.is_ours_and_names(name))
        {
            id::end_group(program.pid);
        }
        tracing::debug!("removing the folder of a run that was killed: {}", folder.display());
        // Another start may be removing it as well.
        drop(fs_err::remove_dir_all(&folder));
    }
}

/// How many folders one start looks at: what a machine gathers in a bad week.
const MAX_SWEPT: usize = 200;

fn our_folders(temp: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs_err::read_dir(temp) else { return Vec::new() };
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
        .map(|entry| entry.path())
        .filter(|path| ours(path).is_some_and(|found| found.is_dir()))
        .take(MAX_SWEPT)
        .collect()
}

/// What the file in a folder says of the folder's owner.
fn owner_of(folder: &Path) -> Option<String> {
    let file = folder.join(OWNER_FILE);
    ours(&file).filter(Metadata::is_file)?;
    fs_err::read_to_string(file).ok()
}

/// What is there, if it belongs to us; a link is itself, not what it leads to.
fn ours(path: &Path) -> Option<Metadata> {
    fs_err::symlink_metadata(path).ok().filter(|found| found.uid() == geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_profiles_of_dead_owners_are_swept() {
        let temp = tempfile::tempdir().unwrap();
        let make = |name: &str, owner: &str| {
            let folder = temp.path().join(format!("{PREFIX}{name}"));
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join(OWNER_FILE), owner).unwrap();
            folder
        };
        let alive = make("alive", &format!("{}\n", ProcessId::of(std::process::id())));
        let dead = make("dead", "4194304 1\n4194304 1\n");
        let reused = make("reused", &format!("{} 1\n", std::process::id()));
        let odd = make("odd", "");
        sweep(temp.path());
        assert!(alive.exists() && odd.exists());
        assert!(!dead.exists());
        assert!(!reused.exists(), "a pid that another process has got is not the owner");
    }

    /// A program that leads its process group, as ours do, and has this folder, as ours have.
    #[cfg(target_os = "linux")]
    fn leader(folder: Option<&Path>) -> std::process::Child {
        use std::os::unix::process::CommandExt;
        let mut command = std::process::Command::new("sleep");
        command.arg("1000").envs(folder.map(|folder| ("HOME", folder))).process_group(0).spawn().unwrap()
    }

    /// A folder whose owner is gone and whose browser is this process.
    #[cfg(target_os = "linux")]
    fn of_a_dead_owner(folder: &Path, browser: u32) {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join(OWNER_FILE), format!("4194304 1\n{}\n", ProcessId::of(browser))).unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn only_what_runs_in_a_folder_is_ended_with_it() {
        let temp = tempfile::tempdir().unwrap();
        let folder = |name: &str| temp.path().join(format!("{PREFIX}{name}"));
        let mut stranger = leader(None);
        of_a_dead_owner(&folder("planted"), stranger.id());
        let mut browser = leader(Some(&folder("killed")));
        of_a_dead_owner(&folder("killed"), browser.id());
        sweep(temp.path());
        assert!(stranger.try_wait().unwrap().is_none(), "a process that has nothing to do with the folder");
        assert!(!browser.wait().unwrap().success());
        assert!(!folder("planted").exists() && !folder("killed").exists());
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_not_ours_is_left_alone() {
        use std::os::unix::fs::{chown, symlink};
        let temp = tempfile::tempdir().unwrap();
        let folder = |name: &str| temp.path().join(format!("{PREFIX}{name}"));
        let elsewhere = temp.path().join("elsewhere");
        of_a_dead_owner(&elsewhere, std::process::id());
        symlink(&elsewhere, folder("link")).unwrap();
        std::fs::create_dir(folder("inner")).unwrap();
        symlink(elsewhere.join(OWNER_FILE), folder("inner").join(OWNER_FILE)).unwrap();
        of_a_dead_owner(&folder("foreign"), u32::MAX);
        of_a_dead_owner(&folder("file"), u32::MAX);
        // Only root can make what somebody else would leave.
        let is_root = chown(folder("foreign"), Some(65_534), None).is_ok();
        let is_root = is_root && chown(folder("file").join(OWNER_FILE), Some(65_534), None).is_ok();
        sweep(temp.path());
        assert!(elsewhere.join(OWNER_FILE).exists() && folder("link").exists() && folder("inner").exists());
        assert_eq!((folder("foreign").exists(), folder("file").exists()), (is_root, is_root));
    }

    #[test]
    fn nobody_else_may_look_into_a_folder() {
        use std::os::unix::fs::PermissionsExt;
        let folder = TempFolder::create("profile").unwrap();
        assert_eq!(std::fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
