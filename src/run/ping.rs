//! Asks a quiet page whether it answers, one question at a time.

use std::time::Duration;

use crate::cdp::page::BoxFuture;
use crate::cdp::{Session, runtime};

/// How long one question stays open before another is asked. A page that was suspended answers the old one when it
/// wakes up, so there is no hurry.
const PING_WITHIN: Duration = Duration::from_secs(30);

pub(super) struct Ping {
    session: Session,
    pending: Option<BoxFuture<'static, bool>>,
}

impl Ping {
    pub(super) fn new(session: Session) -> Self {
        Self { session, pending: None }
    }

    pub(super) fn in_flight(&self) -> bool {
        self.pending.is_some()
    }

    /// Asks. The question also makes the page hand over what it has collected.
    pub(super) fn send(&mut self) {
        let session = self.session.clone();
        self.pending = Some(Box::pin(async move {
            let options = runtime::EvaluateOptions::default();
            runtime::evaluate(&session, "void __ait.flush()", options, PING_WITHIN).await.is_ok()
        }));
    }

    /// Waits for the answer; false when none came. Must not be called when nothing is in flight.
    pub(super) async fn answered(&mut self) -> bool {
        let Some(pending) = &mut self.pending else { return false };
        let answered = pending.await;
        self.pending = None;
        answered
    }
}
