//! A deadline for what is nearly always ready at once.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::poll_immediate;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

/// As [`timeout`], but a clock is only set when there is something to wait for: setting one for each message costs more
/// than moving the message.
///
/// # Errors
/// It took longer than `limit`.
pub(super) async fn within<F: Future>(limit: Duration, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    match poll_immediate(future.as_mut()).await {
        Some(done) => Ok(done),
        None => timeout(limit, future).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_ready_counts_and_what_waits_is_bounded() {
        let second = Duration::from_secs(1);
        assert_eq!(within(Duration::ZERO, async { 1 }).await, Ok(1));
        assert_eq!(within(second, tokio::time::sleep(second / 2)).await, Ok(()));
        assert!(within(second, std::future::pending::<()>()).await.is_err());
    }
}
