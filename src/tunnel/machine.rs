//! What becomes of a tunnel, as a pure state machine: what was seen and the time go in, what is to be done comes out.

use std::time::Duration;

use tokio::time::Instant;

use super::address::PublicAddress;
use super::limits::TunnelLimits;
use super::words;

/// How a tunnel is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TunnelState {
    /// It is not up yet; the words say what is waited for.
    Starting(String),
    /// Pages reach the relay by this address.
    Up(PublicAddress),
    /// It was up. The words say why it is not, and what is done about it; another address may come.
    Down(String),
    /// It was given up, for good; the words say why and what a person can do.
    Failed(String),
}

/// What comes back when the relay is asked for its own answer through the tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The relay's.
    Ours,
    /// Somebody else's, with this HTTP status: an edge whose tunnel is gone, another server.
    Other(u16),
    /// None, in words without the host.
    Unreachable(String),
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// The program told its address.
    Address(PublicAddress),
    /// The program ended, in words.
    Ended(String),
    /// The name is known.
    Resolved,
    /// It is not, in words.
    Unresolved(String),
    /// The relay was asked for.
    Answered(Answer),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Start the program.
    Start,
    /// End it, and forget what was asked about its address.
    End,
    /// Look this address's name up; [`Seen::Resolved`] or [`Seen::Unresolved`] comes of it.
    Resolve(PublicAddress),
    /// Ask for the relay at this address; [`Seen::Answered`] comes of it.
    Probe(PublicAddress),
    /// Tell everybody.
    Tell(TunnelState),
}

/// Where a tunnel's address comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A program is started and tells it.
    Program,
    /// A person gave it, and leads it to this port of the relay.
    Person(PublicAddress, u16),
}

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// The program runs and has told no address.
    Asking,
    /// The name is not known yet.
    Naming(PublicAddress),
    /// The relay did not answer yet.
    Proving(PublicAddress),
    /// It did, and is asked again and again.
    Up { address: PublicAddress, missing: Option<Missing> },
    /// The program was ended and is started again later.
    Pausing,
    /// Over.
    Failed,
}

/// A time in which the relay does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Missing {
    since: Instant,
    probes: u32,
    told: bool,
}

/// The tunnel.
#[derive(Debug)]
pub(super) struct Machine {
    origin: Origin,
    limits: TunnelLimits,
    phase: Phase,
    /// When the phase began.
    since: Instant,
    /// When something is next to be asked; nothing while an answer is awaited.
    due: Option<Instant>,
    /// What kept it from going on, last.
    obstacle: String,
    /// Starts since it was last up for long.
    starts: u32,
    /// When the first of them was.
    trying_since: Instant,
    /// It has been up before.
    was_up: bool,
}

impl Machine {
    pub(super) fn new(origin: Origin, limits: TunnelLimits, now: Instant) -> Self {
        Self {
            origin,
            limits,
            phase: Phase::Pausing,
            since: now,
            due: None,
            obstacle: String::new(),
            starts: 0,
            trying_since: now,
            was_up: false,
        }
    }

    /// The first steps.
    pub(super) fn begin(&mut self, now: Instant) -> Vec<Step> {
        match self.origin.clone() {
            Origin::Program => {
                let told = Step::Tell(TunnelState::Starting(words::STARTING.to_owned()));
                let mut steps = vec![told];
                steps.extend(self.start(now));
                steps
            }
            Origin::Person(address, port) => {
                let told = Step::Tell(TunnelState::Starting(words::waiting_for_person(port)));
                vec![told, self.name(address, now)]
            }
        }
    }

    /// When [`Self::on_time`] is next to be called.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        let limit = match self.phase {
            Phase::Asking => Some(self.limits.address),
            Phase::Naming(_) => Some(self.limits.name),
            Phase::Proving(_) => Some(self.limits.proof),
            Phase::Pausing => Some(self.pause()),
            Phase::Up { .. } | Phase::Failed => None,
        };
        let deadline = limit.map(|limit| self.since + limit);
        [deadline, self.due].into_iter().flatten().min()
    }

    /// Time has passed.
    pub(super) fn on_time(&mut self, now: Instant) -> Vec<Step> {
        let over = |limit: Duration| now >= self.since + limit;
        match self.phase.clone() {
            Phase::Asking if over(self.limits.address) => self.fell(words::no_address(self.limits.address), now),
            Phase::Naming(_) if over(self.limits.name) => {
                let cause = words::no_name(self.limits.name, &self.obstacle);
                self.fell(cause, now)
            }
            Phase::Proving(_) if over(self.limits.proof) => {
                let cause = words::no_proof(self.limits.proof, &self.obstacle);
                self.fell(cause, now)
            }
            Phase::Pausing if over(self.pause()) => self.start(now),
            Phase::Naming(address) if self.is_due(now) => vec![Step::Resolve(address)],
            Phase::Proving(address) | Phase::Up { address, .. } if self.is_due(now) => vec![Step::Probe(address)],
            _ => Vec::new(),
        }
    }

    /// Something was seen.
    pub(super) fn on_seen(&mut self, seen: Seen, now: Instant) -> Vec<Step> {
        match (seen, self.phase.clone()) {
            (_, Phase::Failed | Phase::Pausing) => Vec::new(),
            (Seen::Ended(how), _) => self.fell(words::ended(&how), now),
            (
                Seen::Address(address),
                Phase::Naming(known) | Phase::Proving(known) | Phase::Up { address: known, .. },
            ) if address == known => Vec::new(),
            (Seen::Address(address), phase) => {
                let told = match phase {
                    Phase::Up { .. } => TunnelState::Down(words::MOVED.to_owned()),
                    _ => TunnelState::Starting(words::NAMING.to_owned()),
                };
                vec![Step::Tell(told), self.name(address, now)]
            }
            (Seen::Resolved, Phase::Naming(address)) => {
                self.enter(Phase::Proving(address.clone()), now);
                vec![Step::Tell(TunnelState::Starting(words::PROVING.to_owned())), Step::Probe(address)]
            }
            (Seen::Unresolved(why), Phase::Naming(_)) => {
                self.obstacle = why;
                self.due = Some(now + self.limits.again);
                Vec::new()
            }
            (Seen::Answered(Answer::Ours), Phase::Proving(address)) => {
                self.enter(Phase::Up { address: address.clone(), missing: None }, now);
                self.due = Some(now + self.limits.check);
                self.was_up = true;
                vec![Step::Tell(TunnelState::Up(address))]
            }
            (Seen::Answered(answer), Phase::Proving(_)) => {
                self.obstacle = words::answer(&answer);
                self.due = Some(now + self.limits.again);
                Vec::new()
            }
            (Seen::Answered(answer), Phase::Up { address, missing }) => self.checked(address, missing, answer, now),
            _ => Vec::new(),
        }
    }

    /// What the relay's answer means to a tunnel that was up.
    fn checked(&mut self, address: PublicAddress, missing: Option<Missing>, answer: Answer, now: Instant) -> Vec<Step> {
        if answer == Answer::Ours {
            let told = missing.is_some_and(|missing| missing.told);
            self.phase = Phase::Up { address: address.clone(), missing: None };
            self.due = Some(now + self.limits.check);
            return if told { vec![Step::Tell(TunnelState::Up(address))] } else { Vec::new() };
        }
        self.due = Some(now + self.limits.again);
        let mut missing = missing.unwrap_or(Missing { since: now, probes: 0, told: false });
        missing.probes += 1;
        let certain = missing.probes >= self.limits.misses;
        // The edge knows no tunnel by this name any more. Where nothing answers it is our own network that is gone,
        // and the program will find the edge again under the same address.
        let gone = matches!(answer, Answer::Other(_)) || now >= missing.since + self.limits.unreachable;
        if self.origin == Origin::Program && certain && gone {
            return self.fell(words::answer(&answer), now);
        }
        let mut steps = Vec::new();
        if certain && !missing.told {
            missing.told = true;
            steps.push(Step::Tell(TunnelState::Down(words::missing(&self.origin, &answer))));
        }
        self.phase = Phase::Up { address, missing: Some(missing) };
        steps
    }

    /// It does not work like this: starts again later, or gives up.
    fn fell(&mut self, cause: String, now: Instant) -> Vec<Step> {
        if let Phase::Up { .. } = self.phase {
            let steady = now >= self.since + self.limits.steady;
            self.starts = if steady { 0 } else { self.starts };
            self.trying_since = now;
        }
        let tried_for = now.duration_since(self.trying_since);
        let again =
            self.origin == Origin::Program && self.starts < self.limits.starts && tried_for < self.limits.trying;
        self.enter(if again { Phase::Pausing } else { Phase::Failed }, now);
        let state = match (again, self.was_up) {
            (true, false) => TunnelState::Starting(words::again(&cause)),
            (true, true) => TunnelState::Down(words::replaced(&cause)),
            (false, _) => TunnelState::Failed(words::failed(&self.origin, &cause)),
        };
        // First the news: ending the program may take a moment.
        vec![Step::Tell(state), Step::End]
    }

    fn start(&mut self, now: Instant) -> Vec<Step> {
        self.starts += 1;
        self.enter(Phase::Asking, now);
        vec![Step::Start]
    }

    fn name(&mut self, address: PublicAddress, now: Instant) -> Step {
        self.enter(Phase::Naming(address.clone()), now);
        Step::Resolve(address)
    }

    fn enter(&mut self, phase: Phase, now: Instant) {
        self.phase = phase;
        self.since = now;
        self.due = None;
    }

    /// Whether it is time to ask; from then on an answer is awaited.
    fn is_due(&mut self, now: Instant) -> bool {
        let due = self.due.is_some_and(|due| now >= due);
        self.due = self.due.filter(|_| !due);
        due
    }

    /// How long it waits before the next start: twice as long each time.
    fn pause(&self) -> Duration {
        self.limits.pause * 2_u32.saturating_pow(self.starts.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests;
