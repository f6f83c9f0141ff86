//! Where the dashboard hears of the run: as a reporter, and as one who shows invitations.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::watch;

use super::patch::Known;
use super::state::State;
use super::timeline::Searched;
use crate::attach::{AttachPresenter, Invitation, Waiting};
use crate::event::RunEvent;
use crate::report::{Fold, ReportError, Reporter};

/// The state, and the news that it changed.
#[derive(Debug)]
pub(super) struct Board {
    state: Mutex<State>,
    revision: watch::Sender<u64>,
}

impl Board {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), revision: watch::Sender::new(0) })
    }

    pub(super) fn change(&self, act: impl FnOnce(&mut State)) {
        let revision = {
            let mut state = self.state();
            act(&mut state);
            state.revision
        };
        self.revision.send_replace(revision);
    }

    /// What a reader does not know yet as JSON, and how far it knows the run then.
    pub(super) fn patch(&self, known: Known) -> (Known, String) {
        let state = self.state();
        let (patch, known) = state.patch(known, Instant::now());
        // Numbers, texts and lists: nothing in it can fail to be written.
        (known, serde_json::to_string(&patch).unwrap_or_default())
    }

    /// Whether one patch was not enough for all there is.
    pub(super) fn has_more(&self, known: Known) -> bool {
        self.state().timeline.has_more(known.timeline)
    }

    /// What is kept of a message's payload, as JSON.
    pub(super) fn payload(&self, n: u64) -> Option<String> {
        let payload = self.state().timeline.payload(n)?;
        serde_json::to_string(&payload).ok()
    }

    /// The messages from number `from` on that have a text, as JSON. Slow; holds nobody up meanwhile.
    pub(super) fn find(&self, from: u64, text: &str) -> String {
        let (all, up_to) = self.state().timeline.texts(from);
        serde_json::json!({ "found": Searched::find(&all, text), "upTo": up_to }).to_string()
    }

    pub(super) fn revisions(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere is no reason to stop showing what is known.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Feeds the dashboard with the run's events.
#[derive(Clone, Debug)]
pub struct Feed(pub(super) Arc<Board>);

impl Reporter for Feed {
    fn on_event(&mut self, event: &RunEvent, _: &Fold) {
        self.0.change(|state| state.apply(event));
    }

    fn finish(&mut self, _: &Fold, _: &[ReportError]) -> Result<(), ReportError> {
        self.0.change(State::finish);
        Ok(())
    }
}

/// Shows invitations on the dashboard.
#[derive(Clone, Debug)]
pub struct Invitations(pub(super) Arc<Board>);

impl AttachPresenter for Invitations {
    fn show(&mut self, invitation: &Invitation) {
        self.0.change(|state| state.invite(invitation, Instant::now()));
    }

    fn withdraw(&mut self, why: &str) {
        self.0.change(|state| state.withdraw(why));
    }

    fn waiting(&mut self, waiting: &Waiting) {
        self.0.change(|state| state.wait(waiting));
    }

    fn done(&mut self) {
        self.0.change(State::end_wait);
    }
}
