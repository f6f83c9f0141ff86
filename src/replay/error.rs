//! Why nothing can be replayed.

use std::path::PathBuf;

/// Why nothing can be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// There is no such file, or it cannot be read.
    #[error("{path} cannot be read: {source}. Give --replay the transport.<...>.jsonl of a report folder", path = path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// It is something else.
    #[error(
        "{path}, line {line}: {why}. Give --replay the transport.<...>.jsonl of a report folder, as the run wrote it",
        path = path.display()
    )]
    Format {
        /// Which.
        path: PathBuf,
        /// Of the file, from 1.
        line: usize,
        /// What is wrong there.
        why: String,
    },
    /// There is nothing in it to serve.
    #[error("{path} has no connection that can be replayed. Record a run that exchanges something with a server first", path = path.display())]
    Empty {
        /// Which.
        path: PathBuf,
    },
    /// No server.
    #[error("no port on 127.0.0.1 could be had to serve the recording from: {0}")]
    Listen(std::io::Error),
    /// Its address cannot be made one that nobody guesses.
    #[error("the operating system gives no random numbers, without which others could read the recording")]
    NoRandomness,
}
