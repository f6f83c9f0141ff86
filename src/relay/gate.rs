//! Who may come in. A pure state machine: time, paths and credentials are arguments.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::registry::TargetId;
use crate::secret::{Hidden, Scrub, SecretError, random_ticket, same};
use crate::totp::{Totp, UnixSeconds};

/// Wrong codes in [`LOCK_WINDOW`] that lock the gate: far more than a person mistypes, and at eight codes in a
/// million that count at any moment ten guesses a minute stay hopeless for weeks.
const LOCK_AFTER: usize = 10;
/// Time over which wrong codes are counted.
const LOCK_WINDOW: Duration = Duration::from_secs(60);
/// How long a locked gate takes no code.
pub(super) const LOCK_TIME: Duration = Duration::from_secs(60);
/// Accepted codes, tickets and pairs that are remembered, each: hours of reloads, and no memory to fill from outside.
const REMEMBERED: usize = 1024;

/// The two clocks a decision needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// For the lock.
    pub(super) monotonic: Instant,
    /// For the codes.
    pub(super) wall: UnixSeconds,
}

impl Now {
    pub(super) fn read() -> Self {
        Self { monotonic: Instant::now(), wall: UnixSeconds::now() }
    }
}

/// What a call brings.
#[derive(Clone, Debug, Default)]
pub(super) struct Credentials {
    /// One-time code.
    pub(super) code: Option<Hidden>,
    /// Session ticket of a target.
    pub(super) ticket: Option<Hidden>,
    /// Ticket of the hosted page, from its cookie.
    pub(super) page_ticket: Option<Hidden>,
}

/// Why a call is turned away. What the caller is told is the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It brought nothing.
    Missing,
    /// Its code is wrong.
    Wrong,
    /// Its code was right, and is too old.
    Expired,
    /// Its ticket is none of this run: a page that another run left behind, whatever code it still has.
    Stale,
    /// Wrong, and it was the one that locked the gate.
    WrongAndLocked,
    /// The gate is locked.
    Locked,
}

/// The gate of one run.
#[derive(Debug)]
pub(super) struct Gate {
    totp: Totp,
    /// Is told of every ticket, and of every code that was good.
    scrub: Scrub,
    page_ticket: Hidden,
    tickets: HashMap<TargetId, Hidden>,
    codes: VecDeque<Hidden>,
    pairs: VecDeque<(TargetId, Hidden)>,
    wrong: VecDeque<Instant>,
    locked_until: Option<Instant>,
}

impl Gate {
    pub(super) fn new(totp: Totp, scrub: Scrub) -> Result<Self, SecretError> {
        let page_ticket = random_ticket()?;
        scrub.hide_ticket(&page_ticket);
        Ok(Self {
            totp,
            scrub,
            page_ticket,
            tickets: HashMap::new(),
            codes: VecDeque::new(),
            pairs: VecDeque::new(),
            wrong: VecDeque::new(),
            locked_until: None,
        })
    }

    /// The ticket that the hosted page's cookie carries.
    pub(super) fn page_ticket(&self) -> &Hidden {
        &self.page_ticket
    }

    /// The hosted page, and with its cookie the app and every target: a page ticket, or a code that counts now.
    pub(super) fn check_page(&mut self, given: &Credentials, now: Now) -> Result<(), Refusal> {
        if self.knows_page(given) { Ok(()) } else { self.check_code(given, now) }
    }

    /// The agent's script and the version report: what opens the page, or a code that was accepted before in this run
    /// (a page that loads again shows the code of its first load; what is served here is no secret, and opens nothing).
    pub(super) fn check(&mut self, given: &Credentials, now: Now) -> Result<(), Refusal> {
        if given.code.as_ref().is_some_and(|code| self.codes.contains(code)) {
            return Ok(());
        }
        self.check_page(given, now)
    }

    /// The agent's socket: a ticket of this run for this target, the hosted page's ticket, a code, or a code with
    /// which this target was accepted before (apps in the field cannot show a ticket).
    pub(super) fn check_target(&mut self, id: &TargetId, given: &Credentials, now: Now) -> Result<(), Refusal> {
        let ticket = self.tickets.get(id).zip(given.ticket.as_ref());
        if ticket.is_some_and(|(own, shown)| same(own, shown)) || self.knows_page(given) {
            return Ok(());
        }
        if let Some(code) = &given.code
            && self.pairs.iter().any(|(known, with)| known == id && same(with, code))
        {
            return Ok(());
        }
        if given.ticket.is_some() {
            // No code is looked at, so nothing can be guessed this way.
            return Err(Refusal::Stale);
        }
        self.check_code(given, now)?;
        if let Some(code) = &given.code {
            remember(&mut self.pairs, (id.clone(), code.clone()));
        }
        Ok(())
    }

    /// The ticket of a target that was let in; the same one each time.
    pub(super) fn ticket(&mut self, id: &TargetId) -> Result<Hidden, SecretError> {
        if let Some(ticket) = self.tickets.get(id) {
            return Ok(ticket.clone());
        }
        if self.tickets.len() >= REMEMBERED {
            // Only somebody who has codes can get here; the oldest tickets are not worth keeping an order for.
            self.tickets.clear();
        }
        let ticket = random_ticket()?;
        self.scrub.hide_ticket(&ticket);
        self.tickets.insert(id.clone(), ticket.clone());
        Ok(ticket)
    }

    /// The hosted page's ticket was shown.
    pub(super) fn knows_page(&self, given: &Credentials) -> bool {
        given.page_ticket.as_ref().is_some_and(|shown| same(&self.page_ticket, shown))
    }

    fn check_code(&mut self, given: &Credentials, now: Now) -> Result<(), Refusal> {
        if self.locked_until.is_some_and(|until| now.monotonic < until) {
            return Err(Refusal::Locked);
        }
        match &given.code {
            Some(code) if self.totp.accepts(code.expose(), now.wall) => {
                if !self.codes.contains(code) {
                    self.scrub.hide_code(code);
                    remember(&mut self.codes, code.clone());
                }
                Ok(())
            }
            // Nothing was guessed, so nothing counts.
            None if given.page_ticket.is_none() => Err(Refusal::Missing),
            given => Err(match self.count_wrong(now.monotonic) {
                Refusal::Wrong if given.as_ref().is_some_and(|code| self.totp.has_expired(code.expose(), now.wall)) => {
                    Refusal::Expired
                }
                refusal => refusal,
            }),
        }
    }

    fn count_wrong(&mut self, now: Instant) -> Refusal {
        self.wrong.retain(|&at| now.duration_since(at) < LOCK_WINDOW);
        self.wrong.push_back(now);
        if self.wrong.len() < LOCK_AFTER {
            return Refusal::Wrong;
        }
        self.wrong.clear();
        self.locked_until = Some(now + LOCK_TIME);
        Refusal::WrongAndLocked
    }
}

fn remember<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() >= REMEMBERED {
        list.pop_front();
    }
    list.push_back(item);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;
    use crate::secret::Secret;

    const WALL: UnixSeconds = UnixSeconds(1_700_000_000);

    struct Lab {
        gate: Gate,
        totp: Totp,
        start: Instant,
    }

    impl Lab {
        fn new() -> Self {
            let totp = Totp::new(&Secret::from_hex("00112233445566778899aabbccddeeff").unwrap());
            Self { gate: Gate::new(totp.clone(), Scrub::default()).unwrap(), totp, start: Instant::now() }
        }

        fn after(&self, seconds: u64) -> Now {
            Now { monotonic: self.start + Duration::from_secs(seconds), wall: UnixSeconds(WALL.0 + seconds) }
        }

        fn right_code(&self) -> Credentials {
            code(self.totp.code(WALL).expose())
        }
    }

    fn code(text: &str) -> Credentials {
        Credentials { code: Some(Hidden::new(text)), ..Credentials::default() }
    }

    fn id(text: &str) -> TargetId {
        TargetId::new(text).unwrap()
    }

    #[test]
    fn a_code_opens_once_it_is_right_and_stays_good_for_what_it_opened() {
        let mut lab = Lab::new();
        let right = lab.right_code();
        assert_eq!(lab.gate.check(&code("000001"), lab.after(0)), Err(Refusal::Wrong));
        assert_eq!(lab.gate.check(&Credentials::default(), lab.after(0)), Err(Refusal::Missing));
        assert_eq!(lab.gate.check_target(&id("a"), &right, lab.after(0)), Ok(()));
        let late = lab.after(3600);
        assert_eq!(lab.gate.check(&right, late), Ok(()), "the script of a page that loads again");
        assert_eq!(lab.gate.check_page(&right, late), Err(Refusal::Expired), "the page itself gives a cookie away");
        assert_eq!(lab.gate.check_target(&id("a"), &right, late), Ok(()), "the pair counts as a ticket");
        assert_eq!(lab.gate.check_target(&id("b"), &right, late), Err(Refusal::Expired), "another target does not");
    }

    #[test]
    fn a_ticket_is_for_one_target_of_one_run() {
        let mut lab = Lab::new();
        let ticket = lab.gate.ticket(&id("a")).unwrap();
        assert_eq!(ticket, lab.gate.ticket(&id("a")).unwrap());
        let shown = |ticket: &Hidden| Credentials { ticket: Some(ticket.clone()), ..Credentials::default() };
        assert_eq!(lab.gate.check_target(&id("a"), &shown(&ticket), lab.after(9999)), Ok(()));
        assert_eq!(lab.gate.check_target(&id("b"), &shown(&ticket), lab.after(0)), Err(Refusal::Stale));
        let mut other = Lab::new();
        assert_eq!(other.gate.check_target(&id("a"), &shown(&ticket), other.after(0)), Err(Refusal::Stale));
        // A leftover of another run may still have a code that counts: both have one secret.
        let leftover = Credentials { ticket: Some(ticket), ..other.right_code() };
        assert_eq!(other.gate.check_target(&id("a"), &leftover, other.after(0)), Err(Refusal::Stale));
        assert_eq!(other.gate.check_target(&id("a"), &other.right_code(), other.after(0)), Ok(()));
        assert_eq!(other.gate.check_target(&id("a"), &leftover, other.after(0)), Ok(()), "the pair is of this run");
    }

    #[test]
    fn ten_wrong_codes_in_a_minute_lock_it_for_a_minute() {
        let mut lab = Lab::new();
        let right = lab.right_code();
        let ticket = lab.gate.ticket(&id("a")).unwrap();
        for second in 0..9 {
            assert_eq!(lab.gate.check(&code("111111"), lab.after(second)), Err(Refusal::Wrong));
        }
        // Nine, and the first of them is a minute old by now.
        assert_eq!(lab.gate.check(&code("111111"), lab.after(60)), Err(Refusal::Wrong));
        assert_eq!(lab.gate.check(&code("111111"), lab.after(60)), Err(Refusal::WrongAndLocked));
        assert_eq!(lab.gate.check(&right, lab.after(61)), Err(Refusal::Locked));
        let with_ticket = Credentials { ticket: Some(ticket), ..Credentials::default() };
        assert_eq!(lab.gate.check_target(&id("a"), &with_ticket, lab.after(61)), Ok(()), "who is in stays in");
        assert_eq!(lab.gate.check(&right, lab.after(120)), Ok(()));
    }

    #[test]
    fn the_page_ticket_opens_page_and_socket() {
        let mut lab = Lab::new();
        let given = Credentials { page_ticket: Some(lab.gate.page_ticket().clone()), ..Credentials::default() };
        assert_eq!(lab.gate.check_page(&given, lab.after(9999)), Ok(()));
        assert_eq!(lab.gate.check(&given, lab.after(9999)), Ok(()));
        assert_eq!(lab.gate.check_target(&id("z"), &given, lab.after(9999)), Ok(()));
    }

    proptest! {
        #[test]
        fn nothing_but_a_code_of_the_window_opens(text in "\\PC{0,12}", seconds in 0_u64..100_000) {
            let mut lab = Lab::new();
            let now = lab.after(seconds);
            let valid: Vec<String> = (0..8)
                .map(|back| lab.totp.code(UnixSeconds(now.wall.0 + 30 - back * 30)).expose().to_owned())
                .collect();
            prop_assert_eq!(lab.gate.check_page(&code(&text), now).is_ok(), valid.contains(&text));
            prop_assert_eq!(lab.gate.check(&code(&text), now).is_ok(), valid.contains(&text));
        }
    }
}
