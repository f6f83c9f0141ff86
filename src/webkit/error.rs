//! What can go wrong with a WebKit.

use std::path::PathBuf;
use std::time::Duration;

/// Why there is no WebKit, or no page in it. Messages carry no link.
#[derive(Debug, thiserror::Error)]
pub enum WebkitError {
    /// The one that was asked for is not there.
    #[error("there is no {what} at {path:?}; give its path with {option}")]
    NotThere {
        /// Driver or browser.
        what: &'static str,
        /// What was asked for.
        path: PathBuf,
        /// How it is asked for.
        option: &'static str,
    },
    /// None was found.
    #[error("no {what} was found. {install}")]
    NotFound {
        /// What is missing.
        what: &'static str,
        /// What to do.
        install: &'static str,
    },
    /// A folder or file for it could not be made.
    #[error("a {what} for WebKit could not be made: {why}. TMPDIR names the folder for such things")]
    Prepare {
        /// What was to be made.
        what: &'static str,
        /// What the operating system said.
        why: std::io::Error,
    },
    /// It could not be executed.
    #[error("{path:?} could not be started: {why}")]
    NotStarted {
        /// What was to be started.
        path: PathBuf,
        /// What the operating system said.
        why: std::io::Error,
    },
    /// It ended before it was of use.
    #[error("{path:?} ended at once ({status}){stderr}")]
    EndedAtOnce {
        /// What was started.
        path: PathBuf,
        /// Exit status or signal.
        status: String,
        /// Its last lines on stderr, with a lead-in.
        stderr: String,
    },
    /// It runs but is of no use.
    #[error("{path:?} was not ready within {}s{stderr}", .within.as_secs())]
    Mute {
        /// What was started.
        path: PathBuf,
        /// The deadline.
        within: Duration,
        /// Its last lines on stderr, with a lead-in.
        stderr: String,
    },
    /// The driver did not do what it was asked to.
    #[error("WebKit could not {what}: {why}{hint}")]
    Refused {
        /// What was asked.
        what: &'static str,
        /// What the driver said.
        why: String,
        /// What to do, with a lead-in, or empty.
        hint: &'static str,
    },
}
