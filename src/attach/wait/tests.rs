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
            wait.on_seen(one.clone(), start);
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
    let refused = |refused, expired| give_up(&[Seen { refused, expired, ..Seen::default() }]);
    assert!(refused(3, 0).starts_with("3 calls were refused, with a wrong code"));
    assert!(refused(3, 2).contains("the same secret"));
    assert!(refused(1, 1).starts_with("One call was refused, with an expired code. Scan"));
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
fn how_far_it_has_come_is_told() {
    let start = Instant::now();
    let mut wait = Wait::new(start, Some(Duration::from_secs(60)), Visitor::Person);
    let at = |seconds| start + Duration::from_secs(seconds);
    assert_eq!(wait.waiting(start).progress, Progress::NoWay(String::new()));
    wait.on_way(TunnelState::Starting("Starting it.".into()));
    assert_eq!(wait.waiting(start).progress, Progress::NoWay("Starting it.".into()));
    wait.on_way(TunnelState::Up(address("a")));
    let seen = Seen { refused: 10, locked: 1, locked_until: Some(at(70)), ..Seen::default() };
    wait.on_seen(seen.clone(), start);
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let told = Waiting {
        elapsed: Duration::from_secs(20),
        left: seconds(40),
        seen: wait.summary(),
        progress: Progress::Nobody,
        refused: 10,
        expired: 0,
        leftovers: 0,
        locked: seconds(50),
    };
    assert_eq!(wait.waiting(at(20)), told);
    assert_eq!(wait.waiting(at(70)).locked, None);
    let steps = [
        (Progress::Accepted, Seen { accepted: 1, ..seen.clone() }),
        (Progress::AgentLoaded, Seen { accepted: 2, agents: 1, ..seen.clone() }),
        (Progress::PassedOver, Seen { passed_over: vec!["iPhone".into()], ..seen.clone() }),
        (Progress::Silent, Seen { accepted: 3, agents: 1, silent: 1, ..seen.clone() }),
    ];
    for (progress, now) in steps {
        wait.on_seen(now, start);
        assert_eq!(wait.waiting(start).progress, progress);
    }
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
    let start = Instant::now();
    let mut wait = Wait::new(start, None, Visitor::Person);
    let stages = |actions: Vec<Action>| -> Vec<AttachStage> {
        actions.into_iter().filter_map(|a| if let Action::Tell(stage, _) = a { Some(stage) } else { None }).collect()
    };
    let mut seen = Seen { refused: 1, ..Seen::default() };
    assert_eq!(stages(wait.on_seen(seen.clone(), start)), [AttachStage::Refused]);
    seen.leftovers = 1;
    assert_eq!(stages(wait.on_seen(seen.clone(), start)), [AttachStage::Refused]);
    seen.refused = 2;
    seen.accepted = 1;
    assert_eq!(stages(wait.on_seen(seen.clone(), start)), [AttachStage::Refused, AttachStage::Accepted]);
    seen.refused = 12;
    seen.locked = 1;
    seen.locked_until = Some(start + Duration::from_secs(60));
    assert_eq!(stages(wait.on_seen(seen.clone(), start)), [AttachStage::Refused]);
    seen.refused = 13;
    let locked = wait.on_seen(seen.clone(), start);
    assert_eq!(locked, [], "while it is locked nobody knows whether a code was wrong");
    seen.accepted = 3;
    seen.agents = 1;
    assert_eq!(stages(wait.on_seen(seen.clone(), start)), [AttachStage::AgentLoaded]);
    assert_eq!(wait.on_seen(seen, start), []);
}
