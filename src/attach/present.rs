//! What a person gets to see of an attach. Who shows it is not decided here.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Qr;
use crate::secret::Hidden;

/// An invitation to attach.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// The link; to be shown as text only where the person asked for it.
    pub link: Hidden,
    /// The same as a QR code.
    pub qr: Qr,
    /// How long its code is accepted; another invitation comes before it ends.
    pub valid_for: Duration,
    /// It takes the place of one that is about to end.
    pub renewed: bool,
}

/// How a wait is going.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// How long it has taken.
    pub elapsed: Duration,
    /// How long until it is given up; `None`: as long as it takes.
    pub left: Option<Duration>,
    /// What has been seen so far, in sentences.
    pub seen: String,
    /// How far it has come.
    pub progress: Progress,
    /// Calls that were turned away since it began.
    pub refused: u32,
    /// Those of them whose code was right once, and too old.
    pub expired: u32,
    /// Calls of pages that an earlier run left behind.
    pub leftovers: u32,
    /// After too many of them no code is taken for so long.
    pub locked: Option<Duration>,
}

/// How far a wait has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is no way to the relay yet, or none any more; in words.
    NoWay(String),
    /// A code is shown, and nobody who has it has called.
    Nobody,
    /// Somebody called with a right code.
    Accepted,
    /// The agent was loaded.
    AgentLoaded,
    /// Pages called that `--device` does not mean.
    PassedOver,
    /// A page connected and answers nothing.
    Silent,
}

/// Who follows an invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visitor {
    /// Somebody with a phone.
    Person,
    /// A browser of ours.
    Browser,
}

/// Shows invitations to whoever holds the phone.
pub trait AttachPresenter: Send {
    /// Whom it shows them to, for the words of messages.
    fn visitor(&self) -> Visitor {
        Visitor::Person
    }

    /// An invitation, before the wait begins and each time its code is replaced.
    fn show(&mut self, invitation: &Invitation);

    /// What was shown leads nowhere any more, for this reason; another invitation may come.
    fn withdraw(&mut self, _why: &str) {}

    /// Comes once a second while nothing is there.
    fn waiting(&mut self, waiting: &Waiting);

    /// The wait is over, one way or the other.
    fn done(&mut self);
}

/// A presenter for whoever waits for a page and whoever follows one.
#[derive(Clone)]
pub(super) struct SharedPresenter(Arc<Mutex<Box<dyn AttachPresenter>>>);

impl SharedPresenter {
    pub(super) fn new(presenter: Box<dyn AttachPresenter>) -> Self {
        Self(Arc::new(Mutex::new(presenter)))
    }

    /// The presenter itself, for as long as it takes to show something.
    pub(super) fn lock(&self) -> MutexGuard<'_, Box<dyn AttachPresenter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait that is shown: however it ends, dropped by whoever waited included, nothing stays on show.
pub(super) struct OnShow(SharedPresenter);

impl OnShow {
    pub(super) fn new(presenter: &SharedPresenter) -> Self {
        Self(presenter.clone())
    }
}

impl Drop for OnShow {
    fn drop(&mut self) {
        self.0.lock().done();
    }
}
