//! The temporary profile of a browser, and what is left of those whose owner was killed.
//!
//! Each profile folder holds a file that names its owner (this tool) and its browser by pid and start time. A later start
//! finds folders whose owner is gone, ends a browser that still runs there, and removes them.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::id::{self, ProcessId};

/// Start of the folder's name.
const PREFIX: &str = "devtools-test-profile-";
/// File in the folder: one process a line, `owner` first, then `browser`.
const OWNER_FILE: &str = "devtools-test-owner";

/// A profile folder of ours; removed when dropped.
#[derive(Debug)]
pub struct Profile {
    folder: TempDir,
}

impl Profile {
    /// Makes a new one in the system's temp folder.
    pub fn create() -> std::io::Result<Self> {
        let profile = Self { folder: tempfile::Builder::new().prefix(PREFIX).tempdir()? };
        profile.write_owner(None)?;
        Ok(profile)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Notes which browser uses it.
    pub fn used_by(&self, browser: u32) -> std::io::Result<()> {
        self.write_owner(Some(browser))
    }

    fn write_owner(&self, browser: Option<u32>) -> std::io::Result<()> {
        let processes = [Some(std::process::id()), browser];
        let text: String = processes.into_iter().flatten().map(|pid| format!("{}\n", ProcessId::of(pid))).collect();
        fs_err::write(self.folder.path().join(OWNER_FILE), text)
    }

    /// Removes it now. A browser that is just ending may still write; what is left is swept at the next start.
    pub fn remove(self) {
        drop(self.folder.close());
    }
}

/// Removes what killed runs have left in `temp`, and ends browsers that still run there.
pub fn sweep(temp: &Path) {
    for folder in stale_folders(temp) {
        let Ok(text) = fs_err::read_to_string(folder.join(OWNER_FILE)) else { continue };
        let mut processes = text.lines().map(ProcessId::parse);
        // Without an owner that can be read it may be one that is just being made.
        let Some(Some(owner)) = processes.next() else { continue };
        if owner.is_running() {
            continue;
        }
        if let Some(Some(browser)) = processes.next()
            && browser.is_running()
        {
            id::end_group(browser.pid);
        }
        tracing::debug!("removing the profile of a run that was killed: {}", folder.display());
        // Another start may be removing it as well.
        drop(fs_err::remove_dir_all(&folder));
    }
}

/// How many folders one start looks at: what a machine gathers in a bad week.
const MAX_SWEPT: usize = 200;

fn stale_folders(temp: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs_err::read_dir(temp) else { return Vec::new() };
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
        .map(|entry| entry.path())
        .take(MAX_SWEPT)
        .collect()
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
}
