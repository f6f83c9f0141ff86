//! Why nothing can be replayed.

use std::path::PathBuf;

use crate::transport::TimelineError;

/// Why nothing can be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// There is no such file, or it is something else.
    #[error("{path} cannot be replayed: {source}", path = path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        source: TimelineError,
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
