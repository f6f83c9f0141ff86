#![allow(clippy::unwrap_used)]

use super::*;

fn address(name: &str) -> PublicAddress {
    PublicAddress::new(&format!("https://{name}.test")).unwrap()
}

fn unreachable() -> Answer {
    Answer::Unreachable("nothing takes the connection".into())
}

/// A tunnel on a clock that only moves when it is told to.
struct Lab {
    machine: Machine,
    now: Instant,
}

impl Lab {
    fn new(origin: Origin) -> (Self, Vec<Step>) {
        let now = Instant::now();
        let mut machine = Machine::new(origin, TunnelLimits::default(), now);
        let steps = machine.begin(now);
        (Self { machine, now }, steps)
    }

    /// One whose program has just been started.
    fn started() -> Self {
        let (lab, steps) = Self::new(Origin::Program);
        assert!(matches!(&steps[..], [Step::Tell(TunnelState::Starting(_)), Step::Start]), "{steps:?}");
        lab
    }

    /// One that is up.
    fn up() -> Self {
        let mut lab = Self::started();
        lab.rises("a");
        lab
    }

    fn rises(&mut self, name: &str) {
        let steps = self.sees(Seen::Address(address(name)));
        assert_eq!(steps.last(), Some(&Step::Resolve(address(name))));
        let steps = self.sees(Seen::Resolved);
        assert_eq!(steps.last(), Some(&Step::Probe(address(name))));
        let steps = self.sees(Seen::Answered(Answer::Ours));
        assert_eq!(steps, [Step::Tell(TunnelState::Up(address(name)))]);
    }

    fn sees(&mut self, seen: Seen) -> Vec<Step> {
        self.machine.on_seen(seen, self.now)
    }

    /// Goes to where the next clock strikes, which is so many seconds away.
    fn strikes_after(&mut self, seconds: u64) -> Vec<Step> {
        let at = self.machine.wake_at().unwrap();
        assert_eq!(at - self.now, Duration::from_secs(seconds));
        assert_eq!(self.machine.on_time(at - Duration::from_millis(1)), [], "not before its time");
        self.now = at;
        self.machine.on_time(at)
    }
}

/// The words of a fall, and whether it was the last one.
fn fall(steps: &[Step]) -> (String, bool) {
    match steps {
        [Step::Tell(TunnelState::Starting(words) | TunnelState::Down(words)), Step::End] => (words.clone(), false),
        [Step::Tell(TunnelState::Failed(words)), Step::End] => (words.clone(), true),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_address_counts_when_its_name_is_known_and_the_relay_answers() {
    let mut lab = Lab::started();
    lab.sees(Seen::Address(address("a")));
    for _ in 0..5 {
        assert_eq!(lab.sees(Seen::Unresolved("not there".into())), []);
        assert_eq!(lab.strikes_after(2), [Step::Resolve(address("a"))]);
        assert!(lab.machine.due.is_none(), "one look-up at a time");
    }
    lab.sees(Seen::Resolved);
    for _ in 0..5 {
        assert_eq!(lab.sees(Seen::Answered(Answer::Other(530))), [], "an edge's error page is not the relay");
        assert_eq!(lab.strikes_after(2), [Step::Probe(address("a"))]);
    }
    assert_eq!(lab.sees(Seen::Answered(Answer::Ours)), [Step::Tell(TunnelState::Up(address("a")))]);
    assert_eq!(lab.sees(Seen::Address(address("a"))), [], "said twice");
    assert_eq!(lab.strikes_after(15), [Step::Probe(address("a"))]);
    assert_eq!(lab.machine.wake_at(), None, "nothing else until the answer");
}

#[test]
fn every_stage_is_bounded_and_names_what_was_missing() {
    let mut lab = Lab::started();
    let (words, last) = fall(&lab.strikes_after(30));
    assert!(words.contains("no address within 30 s") && !last, "{words}");
    assert_eq!(lab.strikes_after(1), [Step::Start]);
    let (words, last) = fall(&lab.strikes_after(30));
    assert!(words.contains("no address within 30 s") && words.contains("--tunnel lan") && last, "{words}");
    assert_eq!(lab.machine.wake_at(), None);

    let mut lab = Lab::started();
    lab.sees(Seen::Address(address("a")));
    lab.sees(Seen::Unresolved("not there".into()));
    lab.machine.due = None;
    let (words, last) = fall(&lab.strikes_after(60));
    assert!(words.contains("not known within 60 s (not there)") && last && !words.contains(".test"), "{words}");

    let mut lab = Lab::started();
    lab.sees(Seen::Address(address("a")));
    lab.sees(Seen::Resolved);
    lab.sees(Seen::Answered(Answer::Other(502)));
    lab.machine.due = None;
    let (words, last) = fall(&lab.strikes_after(60));
    assert!(words.contains("HTTP 502") && last, "{words}");
}

#[test]
fn a_program_that_ends_is_started_again_later_and_later_and_then_given_up() {
    let mut lab = Lab::started();
    for pause in [1, 2, 4] {
        let (words, last) = fall(&lab.sees(Seen::Ended("exit status 1".into())));
        assert!(words.contains("ended with exit status 1") && !last, "{words}");
        assert_eq!(lab.sees(Seen::Ended("of the one before".into())), [], "one start at a time");
        assert_eq!(lab.strikes_after(pause), [Step::Start]);
    }
    let (words, last) = fall(&lab.sees(Seen::Ended("exit status 1".into())));
    assert!(last && words.contains("--tunnel lan"), "{words}");
    assert_eq!(lab.sees(Seen::Address(address("late"))), []);
}

#[test]
fn one_that_dies_young_again_and_again_is_given_up_aloud() {
    let mut lab = Lab::up();
    for (pause, name) in [(1, "b"), (2, "c"), (4, "d")] {
        lab.now += Duration::from_secs(1);
        let steps = lab.sees(Seen::Ended("killed by signal 9".into()));
        assert!(matches!(&steps[0], Step::Tell(TunnelState::Down(words)) if words.contains("new code")), "{steps:?}");
        assert_eq!(lab.strikes_after(pause), [Step::Start]);
        lab.rises(name);
    }
    lab.now += Duration::from_secs(1);
    assert!(fall(&lab.sees(Seen::Ended("killed by signal 9".into()))).1);
}

#[test]
fn one_that_was_up_for_long_begins_anew() {
    let mut lab = Lab::up();
    for name in ["b", "c", "d", "e", "f", "g"] {
        lab.now += Duration::from_secs(60);
        assert!(!fall(&lab.sees(Seen::Ended("exit status 0".into()))).1);
        assert_eq!(lab.strikes_after(1).last(), Some(&Step::Start));
        lab.rises(name);
    }
}

#[test]
fn an_edge_that_knows_no_tunnel_means_another_one() {
    let mut lab = Lab::up();
    lab.strikes_after(15);
    assert_eq!(lab.sees(Seen::Answered(Answer::Other(530))), [], "once is a hiccup");
    assert_eq!(lab.strikes_after(2), [Step::Probe(address("a"))]);
    assert_eq!(lab.sees(Seen::Answered(Answer::Ours)), []);
    lab.strikes_after(15);
    lab.sees(Seen::Answered(Answer::Other(530)));
    lab.strikes_after(2);
    let (words, last) = fall(&lab.sees(Seen::Answered(Answer::Other(530))));
    assert!(words.contains("530") && !last, "{words}");
    assert_eq!(lab.strikes_after(1), [Step::Start]);
    lab.rises("b");
}

#[test]
fn a_network_that_is_gone_for_a_while_keeps_the_address() {
    let mut lab = Lab::up();
    lab.strikes_after(15);
    assert_eq!(lab.sees(Seen::Answered(unreachable())), []);
    lab.strikes_after(2);
    let told = lab.sees(Seen::Answered(unreachable()));
    assert!(matches!(&told[..], [Step::Tell(TunnelState::Down(_))]), "{told:?}");
    lab.strikes_after(2);
    assert_eq!(lab.sees(Seen::Answered(unreachable())), [], "told once");
    lab.strikes_after(2);
    assert_eq!(lab.sees(Seen::Answered(Answer::Ours)), [Step::Tell(TunnelState::Up(address("a")))]);
    lab.strikes_after(15);
    lab.sees(Seen::Answered(unreachable()));
    lab.now += Duration::from_secs(60);
    assert!(!fall(&lab.sees(Seen::Answered(unreachable()))).1, "after a minute it is replaced");
}

#[test]
fn an_address_of_a_person_is_waited_for_and_never_replaced() {
    let own = Origin::Person(address("own"), 4711);
    let (mut lab, steps) = Lab::new(own.clone());
    assert!(matches!(&steps[0], Step::Tell(TunnelState::Starting(words)) if words.contains("port 4711")), "{steps:?}");
    assert_eq!(steps[1], Step::Resolve(address("own")));
    lab.sees(Seen::Resolved);
    lab.sees(Seen::Answered(Answer::Ours));
    lab.strikes_after(15);
    for round in 0..100 {
        let told = lab.sees(Seen::Answered(Answer::Other(502)));
        assert_eq!(told.len(), usize::from(round == 1), "told once: {told:?}");
        lab.strikes_after(2);
    }
    assert_eq!(lab.sees(Seen::Answered(Answer::Ours)), [Step::Tell(TunnelState::Up(address("own")))]);

    let (mut lab, _) = Lab::new(own);
    lab.sees(Seen::Resolved);
    lab.sees(Seen::Answered(Answer::Other(404)));
    lab.machine.due = None;
    let (words, last) = fall(&lab.strikes_after(60));
    assert!(last && words.contains("HTTP 404") && words.contains("port 4711"), "{words}");
}

#[test]
fn a_program_that_moves_is_followed() {
    let mut lab = Lab::up();
    let steps = lab.sees(Seen::Address(address("b")));
    assert!(matches!(&steps[..], [Step::Tell(TunnelState::Down(_)), Step::Resolve(to)] if *to == address("b")));
}
