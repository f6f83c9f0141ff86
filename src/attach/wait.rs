//! Waiting for a page, as a pure state machine: what was seen and the time go in, what is to be done comes out.

use std::time::Duration;

use tokio::time::Instant;

use super::present::Visitor;
use crate::event::AttachStage;
use crate::totp::{Totp, UnixSeconds};
use crate::tunnel::{PublicAddress, TunnelState};

/// A code is replaced this long before its end: time to scan it and for an app to start and load. Of the three
/// minutes a code lives, two are left to whoever is slow to lift the phone.
const FRESH_FOR: u64 = 60;

/// What has been seen since the wait began; counts only grow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Calls with a wrong or expired code.
    pub(super) refused: u32,
    /// Calls of pages that an earlier run left behind.
    pub(super) leftovers: u32,
    /// Times the gate was locked.
    pub(super) locked: u32,
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
    pub(super) fn on_seen(&mut self, seen: Seen) -> Vec<Action> {
        let before = std::mem::replace(&mut self.seen, seen);
        let seen = &self.seen;
        let mut actions = Vec::new();
        if seen.locked > before.locked {
            let words = "Too many wrong codes: the gate takes no code for a minute.";
            actions.push(Action::Tell(AttachStage::Refused, words.to_owned()));
        } else if seen.refused > before.refused {
            let words = "Somebody called with a wrong or expired code. Scan the code that is shown now.";
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
    pub(super) fn elapsed(&self, now: Instant) -> Duration {
        now.duration_since(self.began)
    }

    /// Time until it gives up.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.elapsed(now)))
    }

    /// What has been seen, in one or two sentences.
    pub(super) fn summary(&self) -> String {
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
                "{}, each with a wrong or expired code. Scan the code that is shown, and check that the app was built with the same secret.",
                times(seen.refused, "There was one call", "There were {} calls")
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
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const WALL: u64 = 1_700_000_010;

    fn address(name: &str) -> PublicAddress {
        PublicAddress::new(&format!("https://{name}.test")).unwrap()
    }

    fn shows(name: &str, renewed: bool) -> Action {
        Action::Show { address: address(name), renewed }
    }

    #[test]
    fn a_code_is_replaced_before_it_ends() {
        let start = Instant::now();
        let mut wait = Wait::new(start, None, Visitor::Person);
        assert_eq!(wait.on_time(start, UnixSeconds(WALL)), [], "there is no way to the relay yet");
        wait.on_way(TunnelState::Up(address("a")));
        let at = |wait: &mut Wait, s: u64| wait.on_time(start + Duration::from_secs(s), UnixSeconds(WALL + s));
        assert_eq!(at(&mut wait, 0), [shows("a", false)]);
        let end = Totp::end_of(UnixSeconds(WALL)).0 - WALL;
        assert_eq!(at(&mut wait, end - FRESH_FOR - 1), []);
        assert_eq!(at(&mut wait, end - FRESH_FOR), [shows("a", true)]);
        assert_eq!(at(&mut wait, end), []);
        assert_eq!(at(&mut wait, 24 * 3600), [shows("a", true)], "without a limit it waits on");
    }

    #[test]
    fn a_wait_that_runs_out_says_what_was_seen() {
        let start = Instant::now();
        let limit = Duration::from_secs(10);
        let give_up = |seen: &[Seen]| {
            let mut wait = Wait::new(start, Some(limit), Visitor::Person);
            wait.on_way(TunnelState::Up(address("a")));
            for one in seen {
                wait.on_seen(one.clone());
            }
            assert!(!matches!(
                wait.on_time(start + limit - Duration::from_millis(1), UnixSeconds(WALL)).as_slice(),
                [Action::GiveUp(_)]
            ));
            match wait.on_time(start + limit, UnixSeconds(WALL)).remove(0) {
                Action::GiveUp(words) => {
                    words.strip_prefix("No page attached in time (--attach-timeout). ").unwrap().to_owned()
                }
                other => unreachable!("{other:?}"),
            }
        };
        assert!(give_up(&[]).starts_with("Nobody called"));
        assert!(give_up(&[Seen { refused: 3, ..Seen::default() }]).contains("3 calls"));
        assert!(give_up(&[Seen { refused: 1, ..Seen::default() }]).contains("one call"));
        assert!(give_up(&[Seen { accepted: 1, ..Seen::default() }]).contains("did not load the agent"));
        assert!(give_up(&[Seen { accepted: 2, agents: 1, ..Seen::default() }]).contains("did not connect"));
        let page = Some("iPhone, Safari 18.5".to_owned());
        let silent = give_up(&[Seen { accepted: 2, agents: 1, silent: 1, page, ..Seen::default() }]);
        assert!(silent.starts_with("A page (iPhone, Safari 18.5) connected but did not answer"), "{silent}");
        let passed_over = vec!["iPhone, 'a'".to_owned(), "iPhone, 'b'".to_owned()];
        let none = give_up(&[Seen { accepted: 2, agents: 1, passed_over, ..Seen::default() }]);
        assert!(none.contains("fits none of them: iPhone, 'a'; iPhone, 'b'. Give a part"), "{none}");
    }

    #[test]
    fn a_code_goes_with_the_way_it_leads() {
        let start = Instant::now();
        let mut wait = Wait::new(start, Some(Duration::from_secs(60)), Visitor::Person);
        let mut on = |way: TunnelState| {
            let mut actions = wait.on_way(way);
            actions.extend(wait.on_time(start, UnixSeconds(WALL)));
            actions
        };
        let starting = TunnelState::Starting("starting".into());
        assert_eq!(on(starting.clone()), [Action::Tell(AttachStage::Starting, "starting".into())]);
        assert_eq!(on(starting), [], "told once");
        assert_eq!(on(TunnelState::Up(address("a"))), [shows("a", false)]);
        assert_eq!(on(TunnelState::Up(address("a"))), []);
        assert_eq!(on(TunnelState::Down("down".into())), [Action::Withdraw("down".into())]);
        let again = TunnelState::Starting("again".into());
        assert_eq!(on(again), [Action::Tell(AttachStage::Starting, "again".into())], "nothing is left to take back");
        assert_eq!(on(TunnelState::Up(address("b"))), [shows("b", true)]);
        assert_eq!(on(TunnelState::Up(address("c"))), [shows("c", true)]);
        assert_eq!(on(TunnelState::Failed("why".into())), [Action::GiveUp("why".into())]);
    }

    #[test]
    fn a_wait_that_runs_out_before_there_is_a_way_says_so() {
        let start = Instant::now();
        let limit = Duration::from_secs(10);
        let mut wait = Wait::new(start, Some(limit), Visitor::Person);
        wait.on_way(TunnelState::Starting("Waiting until its name is known.".into()));
        let given_up = wait.on_time(start + limit, UnixSeconds(WALL));
        assert!(matches!(&given_up[..], [Action::GiveUp(words)] if words.ends_with("its name is known.")));
    }

    #[test]
    fn each_stage_is_told_once_and_each_refusal() {
        let mut wait = Wait::new(Instant::now(), None, Visitor::Person);
        let stages = |actions: Vec<Action>| -> Vec<AttachStage> {
            actions
                .into_iter()
                .filter_map(|a| if let Action::Tell(stage, _) = a { Some(stage) } else { None })
                .collect()
        };
        let mut seen = Seen { refused: 1, ..Seen::default() };
        assert_eq!(stages(wait.on_seen(seen.clone())), [AttachStage::Refused]);
        seen.leftovers = 1;
        assert_eq!(stages(wait.on_seen(seen.clone())), [AttachStage::Refused]);
        seen.refused = 2;
        seen.accepted = 1;
        assert_eq!(stages(wait.on_seen(seen.clone())), [AttachStage::Refused, AttachStage::Accepted]);
        seen.accepted = 3;
        seen.agents = 1;
        assert_eq!(stages(wait.on_seen(seen.clone())), [AttachStage::AgentLoaded]);
        assert_eq!(wait.on_seen(seen), []);
    }
}
