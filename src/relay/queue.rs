//! What waits for one page's connection: bounded in number and size, so that a page that reads nothing costs no memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Messages that may wait for a page before it counts as too slow; a run has a handful on the way.
const LENGTH: usize = 1024;
/// Bytes that may wait: all that a page gets at once after it was away (128 MiB), and what is said meanwhile.
const ROOM: usize = 160 << 20;

/// What a connection is asked to send.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// A message.
    Text(String),
    /// The end.
    Close(u16, &'static str),
}

impl Outgoing {
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Close(..) => 0,
        }
    }
}

/// Too much waits, or nobody takes it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooSlow;

/// Where messages go in.
#[derive(Debug)]
pub(super) struct QueueIn {
    sender: mpsc::Sender<Outgoing>,
    waiting: Arc<AtomicUsize>,
    cut: CancellationToken,
}

/// Where they come out.
#[derive(Debug)]
pub(super) struct QueueOut {
    receiver: mpsc::Receiver<Outgoing>,
    waiting: Arc<AtomicUsize>,
    cut: CancellationToken,
}

/// An empty queue.
pub(super) fn queue() -> (QueueIn, QueueOut) {
    queue_of(LENGTH)
}

/// One for so many messages.
pub(super) fn queue_of(length: usize) -> (QueueIn, QueueOut) {
    let (sender, receiver) = mpsc::channel(length);
    let (waiting, cut) = (Arc::new(AtomicUsize::new(0)), CancellationToken::new());
    (QueueIn { sender, waiting: Arc::clone(&waiting), cut: cut.clone() }, QueueOut { receiver, waiting, cut })
}

impl QueueIn {
    /// Puts a message in; never waits. When there is no room the connection is cut.
    pub(super) fn send(&self, message: Outgoing) -> Result<(), TooSlow> {
        let size = message.size();
        let before = self.waiting.fetch_add(size, Ordering::Relaxed);
        let fits = before == 0 || before + size <= ROOM;
        if fits && self.sender.try_send(message).is_ok() {
            return Ok(());
        }
        self.cut.cancel();
        Err(TooSlow)
    }
}

impl QueueOut {
    /// The next message; `None` when no more will come.
    pub(super) async fn recv(&mut self) -> Option<Outgoing> {
        self.receiver.recv().await
    }

    /// Whether no message waits.
    pub(super) fn is_empty(&self) -> bool {
        self.receiver.is_empty()
    }

    /// The message is on its way, and makes room.
    pub(super) fn sent(&self, size: usize) {
        self.waiting.fetch_sub(size, Ordering::Relaxed);
    }

    /// Tells when the page is too slow for what it is sent.
    pub(super) fn cut(&self) -> CancellationToken {
        self.cut.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(size: usize) -> Outgoing {
        Outgoing::Text("x".repeat(size))
    }

    #[tokio::test]
    async fn one_message_may_be_large_and_many_may_not() {
        let (room, mut out) = queue();
        assert_eq!(room.send(text(ROOM + 1)), Ok(()));
        assert!(!out.cut().is_cancelled());
        assert_eq!(room.send(text(1)), Err(TooSlow));
        assert!(out.cut().is_cancelled());
        let Some(Outgoing::Text(first)) = out.recv().await else { panic!("the large one") };
        assert_eq!(first.len(), ROOM + 1);
    }

    #[tokio::test]
    async fn what_is_on_its_way_makes_room() {
        let (room, mut out) = queue();
        for _ in 0..3 {
            assert_eq!(room.send(text(ROOM)), Ok(()));
            assert!(out.recv().await.is_some());
            out.sent(ROOM);
        }
        let (room, _out) = queue_of(2);
        assert_eq!([(); 3].map(|()| room.send(text(1))), [Ok(()), Ok(()), Err(TooSlow)]);
    }
}
