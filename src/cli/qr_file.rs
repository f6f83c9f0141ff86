//! The code as a picture in a file, for as long as it counts.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::attach::{AttachPresenter, Invitation, Qr, Waiting};
use crate::report::{Terminal, line};

/// The picture cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be written (--qr-file): {reason}. Make its folder writable, or give another path", path = path.display())]
pub(super) struct QrFileError {
    path: PathBuf,
    reason: std::io::Error,
}

/// Writes each code into a file, readable by this user alone, and removes it when it leads nowhere any more.
pub(super) struct QrFile {
    path: PathBuf,
    /// The path as a person reads it.
    shown: String,
    output: Terminal,
    written: bool,
}

impl QrFile {
    /// Makes the folder where it is missing, and finds out whether files can be made in it.
    pub(super) fn at(path: &Path, cwd: &Path, output: Terminal) -> Result<Self, QrFileError> {
        let folder = folder(path);
        std::fs::create_dir_all(folder)
            .and_then(|()| tempfile::tempfile_in(folder))
            .map_err(|reason| QrFileError { path: path.to_owned(), reason })?;
        let shown = line(&path.strip_prefix(cwd).unwrap_or(path).display().to_string()).into_owned();
        Ok(Self { path: path.to_owned(), shown, output, written: false })
    }

    /// Whoever looks at the file sees the code before or this one, and never half of it.
    fn write(&self, qr: &Qr) -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder(&self.path))?;
        file.write_all(&qr.png())?;
        file.persist(&self.path)?;
        Ok(())
    }

    fn remove(&mut self) {
        if std::mem::take(&mut self.written)
            && let Err(error) = std::fs::remove_file(&self.path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            let why = error.to_string();
            self.output.print(&format!("Do not scan {} any more; it cannot be removed: {}.\n", self.shown, line(&why)));
        }
    }
}

impl AttachPresenter for QrFile {
    fn show(&mut self, invitation: &Invitation) {
        let text = match self.write(&invitation.qr) {
            Ok(()) if std::mem::replace(&mut self.written, true) => return,
            Ok(()) => format!("The QR code is also in {}, until it leads nowhere any more.\n", self.shown),
            Err(error) => {
                self.remove();
                format!("The QR code cannot be written to {}: {}.\n", self.shown, line(&error.to_string()))
            }
        };
        self.output.print(&text);
    }

    fn withdraw(&mut self, _: &str) {
        self.remove();
    }

    fn waiting(&mut self, _: &Waiting) {}

    fn done(&mut self) {
        self.remove();
    }
}

impl Drop for QrFile {
    fn drop(&mut self) {
        self.remove();
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
