//! The log of `-v` and `--log-file`, and what is said of a fault of our own. What must not be read is taken out of both:
//! the libraries below us log what passes through them, links and codes among it.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tracing_subscriber::EnvFilter;

use super::output::error;
use crate::secret::Scrub;
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
pub(super) fn start(settings: &LogSettings, scrub: Scrub) -> Result<(), LogError> {
    tell_of_panics(scrub.clone());
    let Some(filter) = &settings.filter else { return Ok(()) };
    let parsed = EnvFilter::try_new(filter);
    let parsed = parsed.map_err(|error| LogError::Filter { filter: filter.clone(), reason: error.to_string() })?;
    let log = tracing_subscriber::fmt().with_env_filter(parsed).with_ansi(false);
    // A log that was started before stays: there is one per process.
    let started = match &settings.file {
        Some(path) => match File::create(path) {
            Ok(file) => log.with_writer(Mutex::new(Scrubbed { to: Arc::new(file), scrub })).try_init(),
            Err(reason) => return Err(LogError::File { path: path.clone(), reason }),
        },
        None => log.with_writer(Mutex::new(Scrubbed { to: io::stderr(), scrub })).try_init(),
    };
    drop(started);
    Ok(())
}

/// Takes out of every line what must not be read; each is written as a whole.
struct Scrubbed<W> {
    to: W,
    scrub: Scrub,
}

impl<W: Write> Write for Scrubbed<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        self.to.write_all(self.scrub.text(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// A panic is a fault of ours; its text may hold what a page said.
fn tell_of_panics(scrub: Scrub) {
    std::panic::set_hook(Box::new(move |panic| {
        let trace = Backtrace::capture();
        let trace = if trace.status() == BacktraceStatus::Captured { format!("\n{trace}") } else { String::new() };
        let text = format!("a fault of devtools-test itself, please report it: {panic}{trace}");
        error(&scrub.text(&text));
    }));
}
