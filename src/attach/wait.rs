//! Waiting for a page, as a pure state machine: what was seen and the time go in, what is to be done comes out.

use std::time::Duration;

use tokio::time::Instant;

use super::present::{Progress, Visitor, Waiting};
use crate::event::AttachStage;
use crate::totp::{Totp, UnixSeconds};
use crate::tunnel::{PublicAddress, TunnelState};

/// A code is replaced this long before its end: time to scan it and for an app to start and load. Of the three
/// minutes a code lives, two are left to whoever is slow to lift the phone.
const FRESH_FOR: u64 = 60;

/// What has been seen since the wait began; counts only grow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Calls that were turned away.
    pub(super) refused: u32,
    /// Calls of pages that an earlier run left behind.
    pub(super) leftovers: u32,
    /// Those of them whose code was right once, and too old.
    pub(super) expired: u32,
    /// Times the gate was locked.
    pub(super) locked: u32,
    /// Until when it is, or was last.
    pub(super) locked_until: Option<Instant>,
    /// Calls with a right one.
    pub(super) accepted: u32,
    /// Times the agent was loaded.
    pub(super) agents: u32,
    /// Pages that connected but answered nothing.
    pub(super) silent: u32,
    /// The page that connected last, in words.
    pub(super) page: Option<String>,
    /// Pages that `--device` does not take, in words.
    pub(super) passed_over: Vec<String>,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Make a code, and show it; `renewed` when one was shown before.
    Show {
        /// Where it leads to.
        address: PublicAddress,
        /// It takes the place of an older one.
        renewed: bool,
    },
    /// Tell how far it has come.
    Tell(AttachStage, String),
    /// Take back what was shown: it leads nowhere any more.
    Withdraw(String),
    /// Nothing will come; the text says why and what was seen.
    GiveUp(String),
}

/// The wait.
#[derive(Debug)]
pub(super) struct Wait {
    began: Instant,
    limit: Option<Duration>,
    code_ends: Option<UnixSeconds>,
    seen: Seen,
    visitor: Visitor,
    way: Option<TunnelState>,
    /// Something was shown, and is not taken back.
    shown: bool,
    /// What is shown next takes the place of something.
    renewing: bool,
}

impl Wait {
    /// Starts to wait for `visitor`; `limit` is how long, `None` for as long as it takes.
    pub(super) fn new(now: Instant, limit: Option<Duration>, visitor: Visitor) -> Self {
        Self {
            began: now,
            limit,
            code_ends: None,
            seen: Seen::default(),
            visitor,
            way: None,
            shown: false,
            renewing: false,
        }
    }

    /// Something was seen.
    pub(super) fn on_seen(&mut self, seen: Seen, now: Instant) -> Vec<Action> {
        let before = std::mem::replace(&mut self.seen, seen);
        let seen = &self.seen;
        let mut actions = Vec::new();
        if seen.locked > before.locked {
            let words = "Too many wrong codes: the gate takes no code for a minute.";
            actions.push(Action::Tell(AttachStage::Refused, words.to_owned()));
        } else if seen.refused > before.refused && seen.locked_until.is_none_or(|until| now >= until) {
            let words = if seen.expired > before.expired {
                "Somebody called with a code that has expired. Scan the code that is shown now."
            } else {
                "Somebody called with a wrong code. Scan the code that is shown now; an app that makes codes of its own \
                 must be built with the same secret."
            };
            actions.push(Action::Tell(AttachStage::Refused, words.to_owned()));
        } else if seen.leftovers > before.leftovers {
            let words = "A page of an earlier run called and was turned away. Scan the code that is shown now.";
            actions.push(Action::Tell(AttachStage::Refused, words.to_owned()));
        }
        if seen.accepted > 0 && before.accepted == 0 {
            actions.push(Action::Tell(AttachStage::Accepted, "A call with a right code came in.".to_owned()));
        }
        if seen.agents > 0 && before.agents == 0 {
            actions.push(Action::Tell(AttachStage::AgentLoaded, "The page has loaded the agent.".to_owned()));
        }
        if seen.silent > before.silent {
            let page = in_brackets(seen.page.as_ref());
            let words = format!(
                "The page{page} connected but does not answer. Keep it in the foreground, and close any dialog in it."
            );
            actions.push(Action::Tell(AttachStage::AgentLoaded, words));
        }
        actions
    }

    /// The way to the relay is like this.
    pub(super) fn on_way(&mut self, way: TunnelState) -> Vec<Action> {
        if self.way.as_ref() == Some(&way) {
            return Vec::new();
        }
        // Whatever was shown leads to the address before.
        self.code_ends = None;
        self.way = Some(way.clone());
        match way {
            TunnelState::Up(_) => Vec::new(),
            TunnelState::Failed(why) => vec![Action::GiveUp(why)],
            TunnelState::Starting(words) | TunnelState::Down(words) if std::mem::take(&mut self.shown) => {
                vec![Action::Withdraw(words)]
            }
            TunnelState::Starting(words) | TunnelState::Down(words) if words.is_empty() => Vec::new(),
            TunnelState::Starting(words) | TunnelState::Down(words) => {
                vec![Action::Tell(AttachStage::Starting, words)]
            }
        }
    }

    /// Time has passed.
    pub(super) fn on_time(&mut self, now: Instant, wall: UnixSeconds) -> Vec<Action> {
        if self.left(now).is_some_and(|left| left.is_zero()) {
            let what = self.summary();
            return vec![Action::GiveUp(format!("No page attached in time (--attach-timeout). {what}"))];
        }
        let Some(TunnelState::Up(address)) = &self.way else { return Vec::new() };
        if self.code_ends.is_some_and(|ends| wall.0.saturating_add(FRESH_FOR) < ends.0) {
            return Vec::new();
        }
        self.code_ends = Some(Totp::end_of(wall));
        let renewed = std::mem::replace(&mut self.renewing, true);
        self.shown = true;
        vec![Action::Show { address: address.clone(), renewed }]
    }

    /// Time since it began.
    fn elapsed(&self, now: Instant) -> Duration {
        now.duration_since(self.began)
    }

    /// Time until it gives up.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.elapsed(now)))
    }

    /// How it is going.
    pub(super) fn waiting(&self, now: Instant) -> Waiting {
        let Seen { silent, agents, accepted, refused, expired, leftovers, locked_until, .. } = self.seen;
        let progress = match &self.way {
            None => Progress::NoWay(String::new()),
            Some(TunnelState::Starting(words) | TunnelState::Down(words) | TunnelState::Failed(words)) => {
                Progress::NoWay(words.clone())
            }
            Some(TunnelState::Up(_)) if silent > 0 => Progress::Silent,
            Some(TunnelState::Up(_)) if !self.seen.passed_over.is_empty() => Progress::PassedOver,
            Some(TunnelState::Up(_)) if agents > 0 => Progress::AgentLoaded,
            Some(TunnelState::Up(_)) if accepted > 0 => Progress::Accepted,
            Some(TunnelState::Up(_)) => Progress::Nobody,
        };
        let locked = locked_until.map(|until| until.saturating_duration_since(now)).filter(|left| !left.is_zero());
        Waiting {
            elapsed: self.elapsed(now),
            left: self.left(now),
            seen: self.summary(),
            progress,
            refused,
            expired,
            leftovers,
            locked,
        }
    }

    /// What has been seen, in one or two sentences.
    fn summary(&self) -> String {
        let seen = &self.seen;
        if let Some(TunnelState::Starting(words) | TunnelState::Down(words)) = &self.way {
            return words.clone();
        }
        if seen.silent > 0 {
            let page = in_brackets(seen.page.as_ref());
            return format!(
                "A page{page} connected but did not answer: it is in the background, stopped at a dialog, or busy without end."
            );
        }
        if !seen.passed_over.is_empty() {
            let pages = seen.passed_over.join("; ");
            return format!(
                "These pages called, and --device fits none of them: {pages}. Give a part of the user agent, title or address of the one you mean."
            );
        }
        if seen.accepted == 0 && seen.refused == 0 {
            if self.visitor == Visitor::Browser {
                return "The browser did not load the page.".to_owned();
            }
            return "Nobody called. Scan the QR code, or open its link, and keep the page in the foreground."
                .to_owned();
        }
        if seen.accepted == 0 {
            return format!(
                "{} refused, {}. Scan the code that is shown.",
                times(seen.refused, "One call was", "{} calls were"),
                if seen.expired == seen.refused {
                    "with an expired code"
                } else {
                    "with a wrong code: an app that makes codes of its own must be built with the same secret"
                }
            );
        }
        if seen.agents == 0 {
            return "Somebody called with a right code but did not load the agent. Look whether the app's debug mode is on.".to_owned();
        }
        "The agent was loaded but its page did not connect. Its content policy or its network may forbid WebSockets to the relay.".to_owned()
    }
}

/// ` (iPhone, Safari 18.5)`, or nothing.
fn in_brackets(page: Option<&String>) -> String {
    page.map_or_else(String::new, |page| format!(" ({page})"))
}

fn times(count: u32, one: &str, many: &str) -> String {
    if count == 1 { one.to_owned() } else { many.replace("{}", &count.to_string()) }
}

#[cfg(test)]
mod tests;
