//! Why there is no dashboard.

use crate::secret::SecretError;

/// Why there is no dashboard.
#[derive(Debug, thiserror::Error)]
pub enum DashboardError {
    /// The port that was asked for is taken, or may not be used.
    #[error(
        "the dashboard cannot listen on port {port} (--dashboard-port): {source}. Choose another port, or leave the \
         option out to take one that is free"
    )]
    Port {
        /// Which.
        port: u16,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// No port of this machine can be listened on.
    #[error("the dashboard cannot listen on this machine: {0}")]
    Listen(std::io::Error),
    /// Its address cannot be made unguessable.
    #[error(transparent)]
    Secret(#[from] SecretError),
}
