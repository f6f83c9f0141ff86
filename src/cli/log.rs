//! The log of `-v` and `--log-file`.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tracing_subscriber::EnvFilter;

use crate::settings::LogSettings;

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub(super) enum LogError {
    /// The filter cannot be read.
    #[error("DEVTOOLS_TEST_LOG is {filter:?}: {reason}; give a filter such as devtools_test=debug")]
    Filter { filter: String, reason: String },
    /// The file cannot be written.
    #[error("cannot write the log {path}: {reason}; name another file with --log-file", path = path.display())]
    File { path: PathBuf, reason: io::Error },
}

/// Starts the log, once per process; without a filter there is none.
pub(super) fn start(settings: &LogSettings) -> Result<(), LogError> {
    let Some(filter) = &settings.filter else { return Ok(()) };
    let parsed = EnvFilter::try_new(filter);
    let parsed = parsed.map_err(|error| LogError::Filter { filter: filter.clone(), reason: error.to_string() })?;
    let log = tracing_subscriber::fmt().with_env_filter(parsed).with_ansi(false);
    // A log that was started before stays: there is one per process.
    let started = match &settings.file {
        Some(path) => match File::create(path) {
            Ok(file) => log.with_writer(Arc::new(file)).try_init(),
            Err(reason) => return Err(LogError::File { path: path.clone(), reason }),
        },
        None => log.with_writer(io::stderr).try_init(),
    };
    drop(started);
    Ok(())
}
