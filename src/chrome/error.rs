//! What can go wrong with a browser.

use std::path::PathBuf;
use std::time::Duration;

use crate::cdp::CdpError;

/// Why there is no browser, or no page in it.
#[derive(Debug, thiserror::Error)]
pub enum ChromeError {
    /// The one that was asked for is not there.
    #[error("there is no browser at {0:?}; give its path with --browser or DEVTOOLS_TEST_BROWSER")]
    NotThere(PathBuf),
    /// None was found.
    #[error(
        "no Chrome or Chromium was found (looked for {looked_for}). Install one (on Debian: apt-get install \
         chromium-headless-shell) or give its path with --browser"
    )]
    NotFound {
        /// The names that were tried.
        looked_for: String,
    },
    /// It could not be executed.
    #[error("the browser {path:?} could not be started: {why}")]
    NotStarted {
        /// What was to be started.
        path: PathBuf,
        /// What the operating system said.
        why: String,
    },
    /// It ended before it spoke.
    #[error("the browser {path:?} ended at once ({status}){stderr}")]
    EndedAtOnce {
        /// What was started.
        path: PathBuf,
        /// Exit status or signal.
        status: String,
        /// Its last lines on stderr, with a lead-in, or empty.
        stderr: String,
    },
    /// It runs but does not speak the protocol.
    #[error("the browser {path:?} did not speak the DevTools protocol within {within:?}{stderr}")]
    Mute {
        /// What was started.
        path: PathBuf,
        /// The deadline.
        within: Duration,
        /// Its last lines on stderr, with a lead-in, or empty.
        stderr: String,
    },
    /// A folder or pipe for it could not be made.
    #[error("a {what} for the browser could not be made: {why}. TMPDIR names the folder for such things")]
    Prepare {
        /// Profile folder or pipe.
        what: &'static str,
        /// What the operating system said.
        why: std::io::Error,
    },
    /// The foreign endpoint could not be reached or understood.
    #[error("the browser at {url} (--cdp-endpoint) cannot be used: {why}")]
    Endpoint {
        /// As it was given, without credentials.
        url: String,
        /// Which addresses were tried and what they said.
        why: String,
    },
    /// The page could not be opened.
    #[error("the page {url} could not be opened: {why}")]
    Page {
        /// Which page.
        url: String,
        /// What the browser said.
        why: String,
    },
    /// The protocol failed.
    #[error("the browser does not work as it should: {0}")]
    Cdp(#[from] CdpError),
}
