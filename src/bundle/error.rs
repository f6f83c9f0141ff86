//! What can keep test files from being found.

use std::path::PathBuf;

/// Why the list of test files could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A pattern is no valid glob, and no file of that name exists.
    #[error("'{pattern}' names no file and is no valid pattern: {reason}. Mend the pattern, or check the name.")]
    Pattern {
        /// As it was typed.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file matched whose name cannot be shown or sent to a page.
    #[error("{} matches, but its name is not valid Unicode. Rename it, or narrow the pattern.", path.display())]
    NotUnicode {
        /// The file.
        path: PathBuf,
    },
}
