//! The clockwork of deadlines, pure: told what was heard and when, it says when a page is stuck.
//!
//! The limits of the page itself (test, hook) are a courtesy; what is decided here needs nothing from the page. Whether
//! a page is alive is judged by what arrives from it, an answered ping included, never by its own timers.

use std::time::Duration;

use tokio::time::Instant;

use crate::wire::PageEvent;

use super::plan::Limits;

/// A page that says nothing for so long is pinged. One second: short beside every limit, long beside a round trip to
/// a phone.
pub(super) const PING_AFTER: Duration = Duration::from_secs(1);
/// A page that has not answered for so long is called unresponsive in a notice. Longer than any garbage collection or
/// page transition, short enough to explain a standstill while a person still wonders.
pub(super) const UNRESPONSIVE_AFTER: Duration = Duration::from_secs(5);
/// How much longer than its own limits a test may take before the host steps in: the page's own timer fires first when
/// the page is well.
const GRACE: Duration = Duration::from_secs(2);

/// What the page is doing, as far as it said; with `concurrent`, one thing of several.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Activity {
    /// The file's own code is being loaded.
    Loading,
    /// A hook of this suite runs.
    Hook(Vec<String>),
    /// The test of this number runs; its body may take this long (`None`: no limit).
    Test(u32, Option<Duration>),
}

/// Which deadline struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strike {
    /// The file took too long.
    File,
    /// A test or hook is over its limits, though the page answers.
    Overdue,
    /// The page does not answer and everything it is doing is over its limits: it may be busy for ever.
    Unresponsive,
    /// The page has not answered for the whole silence limit.
    Silent,
}

/// The state of the clocks for one file in one page.
#[derive(Debug)]
pub(super) struct Watch {
    limits: Limits,
    file_started: Instant,
    last_heard: Instant,
    /// What it does and since when, oldest first; nothing between two tests.
    doing: Vec<(Activity, Instant)>,
    idle_since: Instant,
    busy_checked: bool,
    notified: bool,
}

impl Watch {
    /// Starts the clocks. `file_started` is when the file began, which may have been in an earlier page.
    pub(super) fn new(limits: Limits, file_started: Instant, now: Instant) -> Self {
        Self {
            limits,
            file_started,
            last_heard: now,
            doing: vec![(Activity::Loading, now)],
            idle_since: now,
            busy_checked: false,
            notified: false,
        }
    }

    /// Something arrived from the page. Returns whether a notice had said that it does not answer.
    pub(super) fn heard(&mut self, now: Instant) -> bool {
        self.last_heard = now;
        self.busy_checked = false;
        std::mem::take(&mut self.notified)
    }

    /// The page said what it is doing, or does no more.
    pub(super) fn told(&mut self, event: &PageEvent, now: Instant) {
        match event {
            PageEvent::Collected { .. } => self.ended(now, |done| *done == Activity::Loading),
            PageEvent::TestStart { test, limit, .. } => {
                // Another attempt of it has its limit anew.
                self.ended(now, |done| matches!(done, Activity::Test(known, _) if known == test));
                let limit = (*limit > 0).then(|| Duration::from_millis(*limit));
                self.doing.push((Activity::Test(*test, limit), now));
            }
            PageEvent::TestEnd { test, .. } => {
                self.ended(now, |done| matches!(done, Activity::Test(known, _) if known == test));
            }
            PageEvent::Phase { phase, suite, .. } => match phase.as_str() {
                "load" => {}
                "idle" => self.ended(now, |done| matches!(done, Activity::Hook(known) if known == suite)),
                _ => self.doing.push((Activity::Hook(suite.clone()), now)),
            },
            _ => {}
        }
    }

    fn ended(&mut self, now: Instant, is_over: impl Fn(&Activity) -> bool) {
        self.doing.retain(|(activity, _)| !is_over(activity));
        self.idle_since = now;
    }

    /// The page waited for us for so long, which counts for no deadline.
    pub(super) fn held(&mut self, time: Duration) {
        self.file_started += time;
        self.idle_since += time;
        self.doing.iter_mut().for_each(|(_, since)| *since += time);
        self.last_heard += time;
    }

    /// Whether the page has been quiet for long enough to be asked.
    pub(super) fn wants_ping(&self, now: Instant) -> bool {
        self.silent_for(now) >= PING_AFTER
    }

    /// A running test that is over its own limit, and the limit.
    pub(super) fn over_own_limit(&self, now: Instant) -> Option<(u32, Duration)> {
        self.doing.iter().find_map(|(activity, since)| match activity {
            Activity::Test(test, Some(limit)) if now.duration_since(*since) >= *limit => Some((*test, *limit)),
            _ => None,
        })
    }

    /// How long this test has been running.
    pub(super) fn ran(&self, test: u32, now: Instant) -> Duration {
        let running =
            self.doing.iter().find(|(activity, _)| matches!(activity, Activity::Test(known, _) if *known == test));
        running.map_or(Duration::ZERO, |(_, since)| now.duration_since(*since))
    }

    /// How long it has been doing what it began last, or nothing.
    pub(super) fn doing_for(&self, now: Instant) -> Duration {
        now.duration_since(self.doing.last().map_or(self.idle_since, |(_, since)| *since))
    }

    /// Whether to tell the person now that the page does not answer; true once per silence.
    pub(super) fn wants_notice(&mut self, now: Instant) -> bool {
        let due = !self.notified && self.silent_for(now) >= UNRESPONSIVE_AFTER;
        self.notified |= due;
        due
    }

    /// How long nothing has arrived.
    pub(super) fn silent_for(&self, now: Instant) -> Duration {
        now.duration_since(self.last_heard)
    }

    /// A page that was asked whether it is busy was not: only silence counts until it is heard again.
    pub(super) fn not_busy(&mut self) {
        self.busy_checked = true;
    }

    /// The deadline that has struck, if one has.
    pub(super) fn strike(&self, now: Instant) -> Option<Strike> {
        if now.duration_since(self.file_started) >= self.limits.file {
            return Some(Strike::File);
        }
        let silent = self.silent_for(now);
        if silent >= self.limits.silence {
            return Some(Strike::Silent);
        }
        // Which one of several keeps the page busy is not known: each may take its time.
        let all_over = |limit_of: fn(&Self, &Activity) -> Option<Duration>| {
            let over = |limit: Duration, since: Instant| now.duration_since(since) >= limit;
            self.doing.iter().all(|(activity, since)| limit_of(self, activity).is_some_and(|limit| over(limit, *since)))
        };
        if silent >= UNRESPONSIVE_AFTER {
            // A page that does not run scripts needs no time for its hooks: the body's own limit is enough.
            return (all_over(Self::body_limit) && !self.busy_checked).then_some(Strike::Unresponsive);
        }
        (!self.doing.is_empty() && all_over(Self::full_limit)).then_some(Strike::Overdue)
    }

    fn body_limit(&self, activity: &Activity) -> Option<Duration> {
        match activity {
            Activity::Test(_, limit) => *limit,
            Activity::Hook(_) | Activity::Loading => Some(self.limits.hook),
        }
    }

    /// Body and hooks before and after it. Hooks have no limit together, so each side counts once. A suite hook may have
    /// a limit of its own that the host does not know: the file deadline bounds it.
    fn full_limit(&self, activity: &Activity) -> Option<Duration> {
        match activity {
            Activity::Test(_, limit) => limit.map(|l| l + 2 * self.limits.hook + GRACE),
            Activity::Hook(_) | Activity::Loading => None,
        }
    }

    /// When to look again, for a timer.
    pub(super) fn next_check(&self, now: Instant) -> Instant {
        let file_end = self.file_started + self.limits.file;
        file_end.min(now + PING_AFTER / 2).max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        file: Duration::from_secs(60),
        test: Duration::from_secs(15),
        hook: Duration::from_secs(10),
        silence: Duration::from_secs(30),
    };

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn start(test: u32, limit: u64) -> PageEvent {
        PageEvent::TestStart { run: 1, test, attempt: 0, limit: limit * 1000 }
    }

    fn end(test: u32) -> PageEvent {
        let state = crate::wire::TestState::Passed;
        PageEvent::TestEnd { run: 1, test, state, ms: 1.0, errors: vec![], note: None, retries: 0 }
    }

    fn phase(phase: &str, suite: &str) -> PageEvent {
        PageEvent::Phase { run: 1, phase: phase.into(), suite: vec![suite.into()] }
    }

    /// A file was loaded at that time.
    fn loaded(t0: Instant) -> Watch {
        let mut watch = Watch::new(LIMITS, t0, t0);
        watch.told(&PageEvent::Collected { run: 1, tests: vec![], only: false }, t0);
        watch
    }

    #[test]
    fn a_long_computation_beside_a_test_that_has_ended_is_its_tests_right() {
        let t0 = Instant::now();
        let mut watch = loaded(t0);
        watch.told(&start(0, 40), t0);
        watch.told(&start(1, 5), t0);
        watch.told(&start(2, 5), t0);
        watch.told(&end(1), t0);
        assert_eq!(watch.strike(t0 + secs(20)), None);
        assert_eq!(watch.over_own_limit(t0 + secs(20)), Some((2, secs(5))));
        watch.told(&end(0), t0);
        assert_eq!(watch.strike(t0 + secs(20)), Some(Strike::Unresponsive), "the other one is over its limit");
        watch.told(&end(2), t0);
        assert_eq!(watch.strike(t0 + secs(6)), Some(Strike::Unresponsive), "nothing runs that might take its time");
    }

    #[test]
    fn a_hook_beside_tests_has_its_time_until_it_has_ended() {
        let t0 = Instant::now();
        let mut watch = loaded(t0);
        watch.told(&phase("beforeAll", "a"), t0);
        watch.told(&start(0, 1), t0);
        watch.told(&end(0), t0);
        assert_eq!(watch.strike(t0 + secs(9)), None);
        watch.told(&phase("idle", "b"), t0);
        assert_eq!(watch.strike(t0 + secs(9)), None, "that was another suite's");
        watch.told(&phase("idle", "a"), t0);
        assert_eq!(watch.strike(t0 + secs(9)), Some(Strike::Unresponsive));
    }

    #[test]
    fn a_page_that_answers_is_only_overdue_after_hooks_and_grace() {
        let t0 = Instant::now();
        let mut watch = loaded(t0);
        watch.told(&start(0, 15), t0);
        watch.heard(t0 + secs(36));
        assert_eq!(watch.strike(t0 + secs(36)), None);
        watch.heard(t0 + secs(37));
        assert_eq!(watch.strike(t0 + secs(37)), Some(Strike::Overdue));
    }

    #[test]
    fn a_loop_is_suspected_once_the_test_is_over_its_own_limit() {
        let t0 = Instant::now();
        let mut watch = loaded(t0);
        watch.told(&start(0, 15), t0);
        assert_eq!(watch.strike(t0 + secs(14)), None, "a long computation is the test's right");
        assert_eq!(watch.strike(t0 + secs(15)), Some(Strike::Unresponsive));
        watch.not_busy();
        assert_eq!(watch.strike(t0 + secs(29)), None, "a frozen page is given the whole silence limit");
        assert_eq!(watch.strike(t0 + secs(30)), Some(Strike::Silent));
    }

    #[test]
    fn a_page_that_wakes_up_is_forgiven() {
        let t0 = Instant::now();
        let mut watch = Watch::new(LIMITS, t0, t0);
        assert!(watch.wants_ping(t0 + secs(1)));
        assert!(!watch.wants_ping(t0 + Duration::from_millis(900)));
        assert!(watch.wants_notice(t0 + secs(6)));
        assert!(!watch.wants_notice(t0 + secs(7)));
        watch.not_busy();
        assert!(watch.heard(t0 + secs(20)), "the notice is to be taken back");
        assert_eq!(watch.strike(t0 + secs(21)), None);
    }

    #[test]
    fn a_test_may_be_over_its_own_limit_before_the_file_is() {
        let t0 = Instant::now();
        let mut watch = loaded(t0);
        assert_eq!(watch.over_own_limit(t0 + secs(60)), None, "no test runs");
        watch.told(&start(0, 50), t0);
        watch.heard(t0 + secs(60));
        assert_eq!(watch.strike(t0 + secs(60)), Some(Strike::File), "hooks and grace go on beyond the file's limit");
        assert_eq!(watch.over_own_limit(t0 + secs(49)), None);
        assert_eq!(watch.over_own_limit(t0 + secs(60)), Some((0, secs(50))));
    }

    #[test]
    fn a_test_without_a_limit_is_bounded_by_the_file() {
        let t0 = Instant::now();
        let mut watch = loaded(t0);
        watch.told(&start(0, 0), t0);
        watch.heard(t0 + secs(59));
        assert_eq!(watch.strike(t0 + secs(59)), None);
        assert_eq!(watch.strike(t0 + secs(60)), Some(Strike::File));
    }
}
