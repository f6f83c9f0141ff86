//! Bytes that may wait for somebody who takes them later.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Behind one message of any size. Twice a large screenshot; a client or a page that takes nothing costs no more.
const ROOM: usize = 16 << 20;

/// Keeps whoever sends from being further ahead than that.
#[derive(Clone, Debug)]
pub struct Room(Arc<Semaphore>);

/// The room of one message, until it is dropped.
#[derive(Debug)]
pub struct Taken {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ROOM)))
    }
}

impl Room {
    /// Waits for room for so many bytes.
    pub async fn take(&self, bytes: usize) -> Taken {
        let bytes = u32::try_from(bytes.clamp(1, ROOM)).unwrap_or(u32::MAX);
        // Only a semaphore that was closed gives none, and this one never is.
        Taken { _permit: Arc::clone(&self.0).acquire_many_owned(bytes).await.ok() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_message_may_be_large_and_the_next_one_waits() {
        let room = Room::default();
        let large = room.take(10 * ROOM).await;
        assert!(timeout(Duration::from_secs(1), room.take(0)).await.is_err());
        drop(large);
        let _some = room.take(ROOM - 1).await;
        assert!(timeout(Duration::from_secs(1), room.take(2)).await.is_err());
        let _last = room.take(1).await;
    }
}
