//! What can go wrong when something is written.

use std::io;
use std::path::PathBuf;

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The report folder cannot be made or written to.
    #[error(
        "cannot write to the report folder {path}: {reason}. Name another one with --report-dir, or mend its \
         permissions",
        path = path.display()
    )]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the operating system said.
        reason: io::Error,
    },
    /// A report file cannot be written.
    #[error("cannot write the report {path}: {reason}. What the run found is on the terminal", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        reason: io::Error,
    },
    /// Stdout takes no more.
    #[error("cannot write to stdout: {reason}. What it holds of the report is not whole")]
    Stdout {
        /// What the operating system said.
        reason: io::Error,
    },
}
