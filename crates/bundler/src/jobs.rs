//! Many files, on threads of their own.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

use crate::bundle::{Bundle, bundle};
use crate::diagnostics::Diagnostic;
use crate::options::Options;

/// A bundle, or everything that is wrong with the file.
pub type BundleResult = Result<Bundle, Vec<Diagnostic>>;

/// Finished bundles that wait to be taken, beyond those being made: enough that a run never waits for the next file
/// (one takes milliseconds), few enough that a long list does not fill the memory.
const LOOK_AHEAD: usize = 8;

/// Threads for the file reads that rolldown hands out; two cores cannot use more.
const BLOCKING_THREADS: usize = 4;

/// A bundler with its own threads. Dropping it starts no further file, and does not wait for those under way.
#[derive(Debug)]
pub struct Bundler {
    options: Arc<Options>,
    threads: Arc<Threads>,
}

/// Threads that live as long as anybody works on them: rolldown's tasks panic, and say so on stderr, when those that
/// wait for them are taken away.
#[derive(Debug)]
struct Threads {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl Threads {
    fn spawn<F>(&self, work: F) -> Option<JoinHandle<F::Output>>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.runtime.as_ref().map(|runtime| runtime.spawn(work))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Waiting for it is forbidden in async code, which is where a run and the last work on it are dropped.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Files that are being bundled, in order, as results are taken.
#[derive(Debug)]
pub struct Job {
    /// (index of the file, result), roughly in order. It ends after the last file, or when the [`Bundler`] is dropped.
    pub results: mpsc::Receiver<(usize, BundleResult)>,
}

impl Bundler {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn new(options: Options) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(options.jobs.max(1))
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_name("bundler")
            .build()?;
        Ok(Self { options: Arc::new(options), threads: Arc::new(Threads { runtime: Some(runtime) }) })
    }

    /// Bundles one file and waits for it. Must not be called from async code.
    pub fn bundle(&self, file: &Path) -> BundleResult {
        let mut job = self.start(vec![file.to_path_buf()]);
        match job.results.blocking_recv() {
            Some((_, result)) => result,
            None => Err(vec![Diagnostic::new("The bundler was stopped.")]),
        }
    }

    /// Starts to bundle these files, the first one first. At most [`Options::jobs`] at a time, and only so far ahead of
    /// what is taken from [`Job::results`] as memory allows. Dropping the job stops it.
    pub fn start(&self, files: Vec<PathBuf>) -> Job {
        let (sender, results) = mpsc::channel(LOOK_AHEAD);
        drop(self.threads.spawn(feed(Arc::downgrade(&self.threads), self.options.clone(), files, sender)));
        Job { results }
    }
}

async fn feed(
    threads: Weak<Threads>,
    options: Arc<Options>,
    files: Vec<PathBuf>,
    sender: mpsc::Sender<(usize, BundleResult)>,
) {
    let slots = Arc::new(Semaphore::new(options.jobs.max(1)));
    for (index, file) in files.into_iter().enumerate() {
        let Ok(slot) = slots.clone().acquire_owned().await else { return };
        // A place for the result is taken before the work begins: this is what bounds the look-ahead.
        let Ok(place) = sender.clone().reserve_owned().await else { return };
        let Some(threads) = threads.upgrade() else { return };
        let options = options.clone();
        tokio::spawn(async move {
            // In a task of its own, so that a panic inside rolldown fails this file only.
            let work = tokio::spawn(async move { bundle(&options, &file).await });
            let result = work.await.unwrap_or_else(|error| {
                Err(vec![Diagnostic::new(format!("The bundler itself failed on this file: {error}."))])
            });
            place.send((index, result));
            drop((slot, threads));
        });
    }
}
