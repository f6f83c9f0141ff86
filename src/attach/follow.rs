//! What becomes of an attached page while a run works with it: how it is, in words, and where it finds the relay.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use super::present::SharedPresenter;
use super::reception::Inviter;
use crate::event::{EventKind, Events, NoticeLevel, PageState};
use crate::relay::{RECONNECT_LIMIT, Target, TargetState};
use crate::tunnel::{PublicAddress, TunnelState};

/// A page that is away for less is not talked about: a reload, or a change of network.
const SETTLE: Duration = Duration::from_secs(2);

/// Which of a page's states are told, and when. Pure.
#[derive(Debug)]
struct Telling {
    told: TargetState,
    now: TargetState,
    since: Instant,
}

impl Telling {
    fn new(now: TargetState, at: Instant) -> Self {
        Self { told: TargetState::Live, now, since: at }
    }

    /// The page is so now.
    fn on_state(&mut self, state: TargetState, at: Instant) {
        if self.now != state {
            self.now = state;
            self.since = at;
        }
    }

    /// When there will be something to tell, if nothing changes.
    fn due(&self) -> Option<Instant> {
        let settle = if self.now == TargetState::Live { Duration::ZERO } else { SETTLE };
        (self.now != self.told).then(|| self.since + settle)
    }

    /// What is to be told now: the state before, and the one that is.
    fn tell(&mut self, at: Instant) -> Option<(TargetState, TargetState)> {
        let due = self.due()?;
        (due <= at).then(|| (std::mem::replace(&mut self.told, self.now), self.now))
    }
}

/// A sentence for a person.
fn words(before: TargetState, now: TargetState) -> String {
    match (before, now) {
        (TargetState::Hidden, TargetState::Live) => "The page is in the foreground again.".to_owned(),
        (TargetState::Frozen, TargetState::Live) => "The page answers again.".to_owned(),
        (_, TargetState::Live) => "The page is connected again.".to_owned(),
        (_, TargetState::Hidden) => {
            "The page is in the background: its timers are slow there, and the phone may suspend it.".to_owned()
        }
        (_, TargetState::Frozen) => "The page does not answer: it is busy, suspended or in the background.".to_owned(),
        (_, TargetState::Reconnecting) => {
            let seconds = RECONNECT_LIMIT.as_secs();
            format!("The page lost its connection. It is given up when it is not back {seconds} s after that.")
        }
        (_, TargetState::Gone) => "The page is gone.".to_owned(),
    }
}

fn page_state(state: TargetState) -> PageState {
    match state {
        TargetState::Live => PageState::Live,
        TargetState::Hidden => PageState::Hidden,
        TargetState::Frozen => PageState::Frozen,
        TargetState::Reconnecting => PageState::Reconnecting,
        TargetState::Gone => PageState::Gone,
    }
}

/// What following takes.
pub(super) struct Follow {
    pub(super) target: Target,
    pub(super) way: watch::Receiver<TunnelState>,
    pub(super) inviter: Inviter,
    pub(super) presenter: SharedPresenter,
    pub(super) events: Events,
}

/// Follows the page until the handle is dropped or the page is gone.
pub(super) fn follow(what: Follow) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(what.run()))
}

impl Follow {
    async fn run(mut self) {
        let mut view = self.target.watch();
        let mut telling = Telling::new(view.borrow_and_update().state, Instant::now());
        let known = self.way.borrow_and_update().clone();
        let mut address = address_of(&known).cloned();
        // Where a page that is away has to be led to, since it only knows the address before.
        let mut moved_to: Option<PublicAddress> = None;
        let mut shown = false;
        loop {
            let due = telling.due();
            tokio::select! {
                changed = view.changed() => if changed.is_err() { return },
                Ok(()) = self.way.changed() => {
                    let state = self.way.borrow_and_update().clone();
                    self.tell_way(&state, address.as_ref()).await;
                    if let Some(next) = address_of(&state).filter(|next| Some(*next) != address.as_ref()) {
                        self.inviter.moves_to(next);
                        moved_to = Some(next.clone());
                        address = Some(next.clone());
                        shown = false;
                    }
                }
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            }
            let (state, now) = (view.borrow().state, Instant::now());
            telling.on_state(state, now);
            if let Some((before, state)) = telling.tell(now) {
                let kind = EventKind::PageState { state: page_state(state), message: words(before, state) };
                self.events.emit_global(kind).await;
            }
            shown = self.invite(moved_to.as_ref().filter(|_| !is_connected(state)), shown);
            if state == TargetState::Gone {
                return;
            }
        }
    }

    /// Shows a code for this address, or takes it back. Returns whether one is shown.
    fn invite(&self, to: Option<&PublicAddress>, shown: bool) -> bool {
        let mut presenter = self.presenter.lock();
        match to {
            Some(to) if !shown => match self.inviter.invitation(to, true) {
                Ok(invitation) => {
                    presenter.show(&invitation);
                    true
                }
                // The wait that follows the loss of the page says why.
                Err(_) => false,
            },
            None if shown => {
                presenter.done();
                false
            }
            _ => shown,
        }
    }

    async fn tell_way(&self, way: &TunnelState, before: Option<&PublicAddress>) {
        let (level, message) = match way {
            TunnelState::Up(now) if Some(now) != before => {
                let words = "The relay has another address now, and new codes lead there. A page that is still \
                             connected keeps its session; one that lost its connection needs the new code.";
                (NoticeLevel::Info, words.to_owned())
            }
            TunnelState::Up(_) => (NoticeLevel::Info, "The relay can be reached again by its address.".to_owned()),
            TunnelState::Down(words) | TunnelState::Failed(words) => (NoticeLevel::Warning, words.clone()),
            TunnelState::Starting(_) => return,
        };
        self.events.emit_global(EventKind::Notice { level, message }).await;
    }
}

fn address_of(way: &TunnelState) -> Option<&PublicAddress> {
    if let TunnelState::Up(address) = way { Some(address) } else { None }
}

fn is_connected(state: TargetState) -> bool {
    matches!(state, TargetState::Live | TargetState::Hidden | TargetState::Frozen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_talked_about_when_it_stays_away() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut telling = Telling::new(TargetState::Live, start);
        assert_eq!(telling.due(), None);
        telling.on_state(TargetState::Reconnecting, at(100));
        assert_eq!(telling.tell(at(2000)), None, "a reload is no news");
        telling.on_state(TargetState::Live, at(2050));
        assert_eq!((telling.due(), telling.tell(at(9000))), (None, None));
        telling.on_state(TargetState::Reconnecting, at(10_000));
        telling.on_state(TargetState::Reconnecting, at(11_000));
        assert_eq!(telling.due(), Some(at(12_000)));
        assert_eq!(telling.tell(at(12_000)), Some((TargetState::Live, TargetState::Reconnecting)));
        assert_eq!(telling.tell(at(20_000)), None, "it is told once");
        telling.on_state(TargetState::Live, at(20_000));
        assert_eq!(telling.tell(at(20_000)), Some((TargetState::Reconnecting, TargetState::Live)));
        telling.on_state(TargetState::Hidden, at(21_000));
        telling.on_state(TargetState::Frozen, at(22_000));
        assert_eq!(telling.tell(at(23_500)), None);
        assert_eq!(telling.tell(at(24_000)), Some((TargetState::Live, TargetState::Frozen)));
    }

    #[test]
    fn every_state_has_words_of_its_own() {
        use TargetState::{Frozen, Gone, Hidden, Live, Reconnecting};
        let said = [words(Live, Hidden), words(Live, Frozen), words(Live, Reconnecting), words(Live, Gone)];
        let back = [words(Hidden, Live), words(Frozen, Live), words(Reconnecting, Live)];
        let all: std::collections::HashSet<_> = said.iter().chain(&back).collect();
        assert_eq!(all.len(), 7, "{all:?}");
    }
}
