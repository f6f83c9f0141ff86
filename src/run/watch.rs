//! The clockwork of deadlines, pure: told what was heard and when, it says when a page is stuck.
//!
//! The limits of the page itself (test, hook) are a courtesy; what is decided here needs nothing from the page. Whether
//! a page is alive is judged by what arrives from it, an answered ping included, never by its own timers.

use std::time::Duration;

use tokio::time::Instant;

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

/// What the page is doing, as far as it said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// The file's own code is being loaded: only the file deadline and silence count.
    Loading,
    /// A suite hook runs.
    Hook,
    /// A test runs; its body may take this long (`None`: no limit).
    Test(Option<Duration>),
    /// Between two of the above.
    Idle,
}

/// Which deadline struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strike {
    /// The file took too long.
    File,
    /// A test or hook is over its limits, though the page answers.
    Overdue,
    /// The page does not answer and what it is doing is over its limits: it may be busy for ever.
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
    activity: Activity,
    activity_since: Instant,
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
            activity: Activity::Loading,
            activity_since: now,
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

    /// The page is now doing something else.
    pub(super) fn doing(&mut self, activity: Activity, now: Instant) {
        self.activity = activity;
        self.activity_since = now;
    }

    /// The page waited for us for so long, which counts for no deadline.
    pub(super) fn held(&mut self, time: Duration) {
        self.file_started += time;
        self.activity_since += time;
        self.last_heard += time;
    }

    /// Whether the page has been quiet for long enough to be asked.
    pub(super) fn wants_ping(&self, now: Instant) -> bool {
        self.silent_for(now) >= PING_AFTER
    }

    /// The limit of the test that is running, where it is over it.
    pub(super) fn over_own_limit(&self, now: Instant) -> Option<Duration> {
        let Activity::Test(limit) = self.activity else { return None };
        limit.filter(|limit| self.doing_for(now) >= *limit)
    }

    /// How long it has been doing what it does.
    pub(super) fn doing_for(&self, now: Instant) -> Duration {
        now.duration_since(self.activity_since)
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
        let running = now.duration_since(self.activity_since);
        if silent >= UNRESPONSIVE_AFTER {
            // A page that does not run scripts needs no time for its hooks: the body's own limit is enough.
            let over = self.body_limit().is_some_and(|limit| running >= limit);
            return (over && !self.busy_checked).then_some(Strike::Unresponsive);
        }
        self.full_limit().is_some_and(|limit| running >= limit).then_some(Strike::Overdue)
    }

    fn body_limit(&self) -> Option<Duration> {
        match self.activity {
            Activity::Test(limit) => limit,
            Activity::Hook | Activity::Loading => Some(self.limits.hook),
            Activity::Idle => Some(Duration::ZERO),
        }
    }

    /// Body and hooks before and after it. Hooks have no limit together, so each side counts once. A suite hook may have
    /// a limit of its own that the host does not know: the file deadline bounds it.
    fn full_limit(&self) -> Option<Duration> {
        match self.activity {
            Activity::Test(limit) => limit.map(|l| l + 2 * self.limits.hook + GRACE),
            Activity::Hook | Activity::Loading | Activity::Idle => None,
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

    #[test]
    fn a_page_that_answers_is_only_overdue_after_hooks_and_grace() {
        let t0 = Instant::now();
        let mut watch = Watch::new(LIMITS, t0, t0);
        watch.doing(Activity::Test(Some(secs(15))), t0);
        watch.heard(t0 + secs(36));
        assert_eq!(watch.strike(t0 + secs(36)), None);
        watch.heard(t0 + secs(37));
        assert_eq!(watch.strike(t0 + secs(37)), Some(Strike::Overdue));
    }

    #[test]
    fn a_loop_is_suspected_once_the_test_is_over_its_own_limit() {
        let t0 = Instant::now();
        let mut watch = Watch::new(LIMITS, t0, t0);
        watch.doing(Activity::Test(Some(secs(15))), t0);
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
        let mut watch = Watch::new(LIMITS, t0, t0);
        assert_eq!(watch.over_own_limit(t0 + secs(60)), None, "no test runs");
        watch.doing(Activity::Test(Some(secs(50))), t0);
        watch.heard(t0 + secs(60));
        assert_eq!(watch.strike(t0 + secs(60)), Some(Strike::File), "hooks and grace go on beyond the file's limit");
        assert_eq!(watch.over_own_limit(t0 + secs(49)), None);
        assert_eq!(watch.over_own_limit(t0 + secs(60)), Some(secs(50)));
    }

    #[test]
    fn a_test_without_a_limit_is_bounded_by_the_file() {
        let t0 = Instant::now();
        let mut watch = Watch::new(LIMITS, t0, t0);
        watch.doing(Activity::Test(None), t0);
        watch.heard(t0 + secs(59));
        assert_eq!(watch.strike(t0 + secs(59)), None);
        assert_eq!(watch.strike(t0 + secs(60)), Some(Strike::File));
    }
}
