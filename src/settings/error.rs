//! What can be wrong with settings.

use std::path::PathBuf;

use super::source::Source;

/// Why settings were refused.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A value is not what it has to be.
    #[error("{origin} is {value:?}: {why}")]
    Refused {
        /// Who gave it.
        origin: Source,
        /// What was given.
        value: String,
        /// What would have been right.
        why: String,
    },
    /// A value that may be secret is not what it has to be.
    #[error("{origin} cannot be used: {why}")]
    RefusedHidden {
        /// Who gave it.
        origin: Source,
        /// What would have been right.
        why: String,
    },
    /// Two settings contradict each other.
    #[error("{0}")]
    Conflict(String),
    /// There is nothing that relative paths could be relative to.
    #[error(
        "the working directory cannot be used: {0}. It was removed or may not be read; change to a folder that is there"
    )]
    NoWorkingDirectory(std::io::Error),
    /// The settings file cannot be read.
    #[error("{path} cannot be read: {reason}. Mend it or its permissions, or remove it", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        reason: std::io::Error,
    },
    /// The settings file is not as it has to be.
    #[error("{path}:{line}:{column}: {message}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// 1-based.
        line: usize,
        /// 1-based, in characters.
        column: usize,
        /// What is wrong.
        message: String,
    },
}

impl SettingsError {
    /// It is this machine that lacks something, and not the command line or the settings file that is wrong.
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::NoWorkingDirectory(_))
    }
}
