//! The wish to stop, and where it came from.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio_util::sync::CancellationToken;

/// Who asked a run to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C, or a caller that cancelled.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// Asks a run to stop; clones share one state.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    token: CancellationToken,
    terminate: Arc<AtomicU8>,
}

impl Stop {
    /// Stops the run. The first call decides which signal is reported.
    pub fn stop(&self, signal: Signal) {
        let value = if signal == Signal::Terminate { 2 } else { 1 };
        // A second signal of another kind must not change what the first one made of the run.
        let _ = self.terminate.compare_exchange(0, value, Ordering::SeqCst, Ordering::SeqCst);
        self.token.cancel();
    }

    /// Which signal came, if one did.
    pub fn signal(&self) -> Option<Signal> {
        match self.terminate.load(Ordering::SeqCst) {
            0 => None,
            2 => Some(Signal::Terminate),
            _ => Some(Signal::Interrupt),
        }
    }

    /// Waits until the run is to stop.
    pub async fn stopped(&self) {
        self.token.cancelled().await;
    }
}
