//! Stdout, shared between what a run reports, what a person is told, and a progress line.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::error::ReportError;

/// How often the progress line moves of itself: often enough to be seen alive, too seldom to cost anything.
const TICK: Duration = Duration::from_millis(100);

/// Stdout, or a file in its place. Clones share it. A reader that goes away (`| head`) ends the output and nothing else;
/// any other failure (a full disk) ends it too and is kept for [`Terminal::problem`].
#[derive(Clone)]
pub struct Terminal {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    out: Box<dyn Write + Send>,
    /// The file it writes to; `None` for stdout.
    path: Option<PathBuf>,
    closed: bool,
    failed: Option<io::Error>,
    bar: Option<ProgressBar>,
    ticking: bool,
}

impl Terminal {
    /// The process's stdout. `progress` allows a line that moves.
    pub fn stdout(progress: bool) -> Self {
        let bar = progress.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
            let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar
        });
        // Whoever writes decides on escapes; old consoles of Windows need them translated.
        let out = io::BufWriter::new(AutoStream::new(io::stdout(), ColorChoice::Always));
        Self::new(Box::new(out), None, bar)
    }

    /// A file, which is emptied at once; its folder is made where it is missing.
    pub fn to_file(path: &Path) -> Result<Self, ReportError> {
        let create = || {
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::File::create(path)
        };
        match create() {
            Ok(file) => Ok(Self::new(Box::new(file), Some(path.to_path_buf()), None)),
            Err(reason) => Err(ReportError::File { path: path.to_path_buf(), reason }),
        }
    }

    /// Anything else that takes text.
    pub fn to(out: Box<dyn Write + Send>) -> Self {
        Self::new(out, None, None)
    }

    fn new(out: Box<dyn Write + Send>, path: Option<PathBuf>, bar: Option<ProgressBar>) -> Self {
        let inner = Inner { out, path, closed: false, failed: None, bar, ticking: false };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Writes text, which brings its own line breaks.
    pub fn print(&self, text: &str) {
        let inner = &mut *self.lock();
        if inner.closed {
            return;
        }
        let out = &mut inner.out;
        let mut write = || out.write_all(text.as_bytes()).and_then(|()| out.flush());
        let written = match &inner.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        };
        if let Err(reason) = written {
            inner.closed = true;
            inner.failed = Some(reason).filter(|reason| reason.kind() != io::ErrorKind::BrokenPipe);
        }
    }

    /// Why not everything could be written; told once. A reader that went away is no problem.
    pub fn problem(&self) -> Option<ReportError> {
        let inner = &mut *self.lock();
        let reason = inner.failed.take()?;
        Some(match inner.path.clone() {
            Some(path) => ReportError::File { path, reason },
            None => ReportError::Stdout { reason },
        })
    }

    /// Whether there is a progress line.
    pub fn has_progress(&self) -> bool {
        self.lock().bar.is_some()
    }

    /// Says what is going on, where there is a progress line.
    pub fn set_progress(&self, text: String) {
        let inner = &mut *self.lock();
        if let Some(bar) = &inner.bar {
            bar.set_message(text);
            // Starts a thread, so once is enough; and not before there is something to say.
            if !std::mem::replace(&mut inner.ticking, true) {
                bar.enable_steady_tick(TICK);
            }
        }
    }

    /// Takes the progress line away for good.
    pub fn end_progress(&self) {
        if let Some(bar) = self.lock().bar.take() {
            bar.finish_and_clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Text was half written when a thread panicked; that is no reason to lose the rest.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// What can be written to no more, and how often that was tried.
    struct Broken(io::ErrorKind, Arc<AtomicUsize>);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            self.1.fetch_add(1, Ordering::SeqCst);
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_went_away_ends_the_output_quietly() {
        let calls = Arc::new(AtomicUsize::new(0));
        let terminal = Terminal::to(Box::new(Broken(io::ErrorKind::BrokenPipe, calls.clone())));
        terminal.print("a\n");
        terminal.print("b\n");
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        terminal.set_progress("nothing to draw on".into());
        terminal.end_progress();
        assert!(!terminal.has_progress());
        assert!(terminal.problem().is_none());
    }

    #[test]
    fn a_full_disk_is_told() {
        let calls = Arc::new(AtomicUsize::new(0));
        let terminal = Terminal::to(Box::new(Broken(io::ErrorKind::StorageFull, calls.clone())));
        terminal.print("a\n");
        terminal.print("b\n");
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        let problem = terminal.problem().map(|problem| problem.to_string());
        assert!(problem.is_some_and(|problem| problem.starts_with("cannot write to stdout: ")));
    }
}
