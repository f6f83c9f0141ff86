//! The report folder, and files that are written whole or not at all.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use tempfile::NamedTempFile;

use super::error::ReportError;

/// A folder that was seen to take files.
#[derive(Clone, Debug)]
pub struct ReportFolder {
    path: PathBuf,
}

impl ReportFolder {
    /// Makes the folder where it is missing and tries to write to it, so that a run of an hour does not end with
    /// nothing to show.
    pub fn prepare(path: PathBuf) -> Result<Self, ReportError> {
        let attempt = || {
            std::fs::create_dir_all(&path)?;
            tempfile::Builder::new().prefix(".devtools-test-").tempfile_in(&path)?.close()
        };
        match attempt() {
            Ok(()) => Ok(Self { path }),
            Err(reason) => Err(ReportError::Folder { path, reason }),
        }
    }

    /// Where a file of this name is.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file as indented JSON with a line break at its end, in place of the one that was there.
    pub(super) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<PathBuf, ReportError> {
        let path = self.file(name);
        match write_atomically(&path, value) {
            Ok(()) => Ok(path),
            Err(reason) => Err(ReportError::File { path, reason }),
        }
    }

    /// Writes a file in place of the one that was there.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ReportError> {
        let path = self.file(name);
        let written = temporary_in(path.parent().unwrap_or(&self.path)).and_then(|mut file| {
            file.write_all(bytes)?;
            Ok(file.persist(&path)?)
        });
        written.map(drop).map_err(|reason| ReportError::File { path, reason })
    }

    /// A file without a name in this folder, to be given one when it is whole.
    pub(super) fn temporary(&self) -> io::Result<NamedTempFile> {
        temporary_in(&self.path)
    }

    /// Removes a file an earlier run left; it is fine where there is none.
    pub(super) fn remove(&self, name: &str) -> Result<(), ReportError> {
        let path = self.file(name);
        match std::fs::remove_file(&path) {
            Err(reason) if reason.kind() != io::ErrorKind::NotFound => Err(ReportError::File { path, reason }),
            _ => Ok(()),
        }
    }
}

fn write_atomically(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let file = temporary_in(folder)?;
    let mut buffer = io::BufWriter::new(&file);
    serde_json::to_writer_pretty(&mut buffer, value)?;
    buffer.write_all(b"\n")?;
    buffer.flush()?;
    drop(buffer);
    file.persist(path)?;
    Ok(())
}

fn temporary_in(folder: &Path) -> io::Result<NamedTempFile> {
    std::fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".devtools-test-");
    #[cfg(unix)]
    {
        // A temporary file is private; a report is as readable as any other file the person makes.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_that_takes_no_files_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let in_the_way = dir.path().join("file");
        std::fs::write(&in_the_way, "").unwrap();
        let message = ReportFolder::prepare(in_the_way.join("sub")).unwrap_err().to_string();
        assert!(message.starts_with("cannot write to the report folder "), "{message}");
        assert!(message.contains("--report-dir"), "{message}");
    }

    #[test]
    fn files_are_replaced_whole_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let folder = ReportFolder::prepare(dir.path().join("a/b")).unwrap();
        folder.write_json("x.json", &[1, 2, 3]).unwrap();
        let path = folder.write_json("x.json", &[4]).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "[\n  4\n]\n");
        assert_eq!(std::fs::read_dir(dir.path().join("a/b")).unwrap().count(), 1);
        folder.remove("x.json").unwrap();
        folder.remove("x.json").unwrap();
        assert_eq!(std::fs::read_dir(dir.path().join("a/b")).unwrap().count(), 0);
    }
}
