//! Shows invitations: on the dashboard, and as a fact in the session's state. Never as text.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::view::View;
use crate::attach::{AttachPresenter, Invitation, Waiting};
use crate::dashboard::Invitations;
use crate::secret::Scrub;

/// The invitation that is shown now.
pub(super) type Shown = Arc<Mutex<Option<Invitation>>>;

/// Shows invitations.
pub(super) struct Show {
    parts: ShowParts,
    shown: Shown,
}

/// What showing takes.
pub(super) struct ShowParts {
    pub(super) view: watch::Sender<View>,
    pub(super) scrub: Scrub,
    pub(super) invitations: Option<Invitations>,
}

impl Show {
    pub(super) fn new(parts: ShowParts) -> Self {
        Self { parts, shown: Shown::default() }
    }

    /// Where the invitation is that is shown now.
    pub(super) fn shown(&self) -> Shown {
        Arc::clone(&self.shown)
    }

    fn set(&self, invitation: Option<Invitation>) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = invitation;
    }
}

impl AttachPresenter for Show {
    fn show(&mut self, invitation: &Invitation) {
        // Before anybody can have seen it: no page may repeat it to us.
        self.parts.scrub.hide_link(&invitation.link);
        self.set(Some(invitation.clone()));
        if let Some(dashboard) = &mut self.parts.invitations {
            dashboard.show(invitation);
        }
        self.parts.view.send_modify(View::invite);
    }

    fn withdraw(&mut self, why: &str) {
        self.set(None);
        if let Some(dashboard) = &mut self.parts.invitations {
            dashboard.withdraw(why);
        }
        self.parts.view.send_modify(|view| (view.shown, view.no_way) = (false, Some(why.to_owned())));
    }

    fn waiting(&mut self, waiting: &Waiting) {
        if let Some(dashboard) = &mut self.parts.invitations {
            dashboard.waiting(waiting);
        }
        self.parts.view.send_modify(|view| view.wait = Some(waiting.clone()));
    }

    fn done(&mut self) {
        self.set(None);
        if let Some(dashboard) = &mut self.parts.invitations {
            dashboard.done();
        }
        self.parts.view.send_modify(|view| (view.shown, view.wait) = (false, None));
    }
}
