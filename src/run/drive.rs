//! Runs one file in one page: sends the script, takes in what the page says, watches the clocks, and says how it ended.

use std::time::Duration;

use tokio::time::Instant;

use crate::bundle::SourceMaps;
use crate::cdp::{CloseReason, runtime};
use crate::event::{EventKind, Events, LossCause, NoticeLevel, TestError};
use crate::ident::FileId;
use crate::wire::PageEvent;

use super::channel::Heard;
use super::file_run::{FileRun, Step};
use super::inject::Live;
use super::ping::Ping;
use super::plan::Limits;
use super::records::Owners;
use super::screenshot;
use super::stop::Stop;
use super::stuck;
use super::watch::{PING_AFTER, Strike, Watch};

/// How an attempt to run a file in a page ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The file is over.
    Ended,
    /// The page still runs tests of the file, which nobody wants.
    GivenUp,
    /// The page is of no use any more; what was to be said about the running test has been said.
    Lost(Loss),
    /// The person asked to stop.
    Stopped,
    /// `--bail` struck.
    Bailed,
}

/// What became of a page.
#[derive(Debug)]
pub(super) struct Loss {
    pub(super) cause: LossCause,
    pub(super) message: String,
    /// The file's own deadline struck: there is no time left for the rest of it.
    pub(super) file_over: bool,
    /// A test was running: the rest of the file may go on elsewhere.
    pub(super) in_test: bool,
    /// Everything had been said by then: nothing was lost but the page.
    pub(super) after_all: bool,
}

/// What a drive needs, borrowed for its time.
pub(super) struct Drive<'a> {
    pub(super) live: &'a mut Live,
    pub(super) state: &'a mut FileRun,
    pub(super) file: &'a FileId,
    pub(super) run: u32,
    pub(super) maps: &'a SourceMaps,
    pub(super) limits: Limits,
    pub(super) file_started: Instant,
    pub(super) events: &'a Events,
    pub(super) stop: &'a Stop,
    /// Learns the tests of this run.
    pub(super) owners: &'a mut Owners,
    /// How many more failed tests `--bail` allows; `None` without it.
    pub(super) failures_left: &'a mut Option<u32>,
    /// How many more pictures of failing tests are taken.
    pub(super) screenshots_left: &'a mut u32,
    /// Errors outside any test that were seen.
    pub(super) exceptions: &'a mut u32,
}

/// How long the page may take to answer the evaluate that starts a file. It answers at once unless its script loops;
/// the watch strikes long before, this only ends the call.
const START_WITHIN: Duration = Duration::from_secs(600);

/// The clocks are looked at when the page says nothing, and after so many things that it said without a pause: a page that
/// never stops talking has its limits, too.
const MAX_IN_A_ROW: u32 = 1000;

impl Drive<'_> {
    /// Runs until the file is over or the page is lost.
    pub(super) async fn run(mut self, script: &str) -> Outcome {
        let now = Instant::now();
        let mut watch = Watch::new(self.limits, self.file_started, now);
        let session = self.live.page.session.clone();
        let start = runtime::evaluate(&session, script, runtime::EvaluateOptions::default(), START_WITHIN);
        tokio::pin!(start);
        let mut started = false;
        let mut ping = Ping::new(session.clone());
        let stop = self.stop.clone();
        let mut heard_in_a_row = 0;
        loop {
            let mut look_at_clocks = false;
            tokio::select! {
                biased;
                () = stop.stopped() => return Outcome::Stopped,
                heard = self.live.channel.next() => match heard {
                    Some(heard) => {
                        let noticed = watch.heard(Instant::now());
                        self.answers_again(noticed).await;
                        if let Some(outcome) = self.on_heard(heard, &mut watch).await {
                            return outcome;
                        }
                        heard_in_a_row += 1;
                        look_at_clocks = heard_in_a_row >= MAX_IN_A_ROW;
                    }
                    None => return self.on_closed(session.closed().await, &watch).await,
                },
                reply = &mut start, if !started => {
                    started = true;
                    if let Err(error) = reply
                        && let Some(outcome) = self.on_start_failed(error, &watch).await
                    {
                        return outcome;
                    }
                }
                answered = ping.answered(), if ping.in_flight() => {
                    let noticed = answered && watch.heard(Instant::now());
                    self.answers_again(noticed).await;
                }
                () = tokio::time::sleep_until(watch.next_check(Instant::now())) => look_at_clocks = true,
            }
            if look_at_clocks {
                heard_in_a_row = 0;
                if let Some(outcome) = self.on_clocks(&mut watch, &mut ping).await {
                    return outcome;
                }
            }
        }
    }

    async fn on_clocks(&mut self, watch: &mut Watch, ping: &mut Ping) -> Option<Outcome> {
        let now = Instant::now();
        if watch.wants_ping(now) && !ping.in_flight() {
            ping.send();
        }
        if watch.wants_notice(now) {
            self.notice_unresponsive().await;
        }
        let strike = watch.strike(now)?;
        self.on_strike(strike, watch).await
    }

    async fn on_heard(&mut self, heard: Heard, watch: &mut Watch) -> Option<Outcome> {
        match heard {
            Heard::Page(events) => {
                for event in events {
                    if let Some(outcome) = self.on_page_event(event, watch).await {
                        return Some(outcome);
                    }
                }
                None
            }
            Heard::Records { seq, records } => {
                self.owners.emit(records, Some(self.file), self.events).await;
                let Live { page, confirmations, .. } = &mut *self.live;
                confirmations.send(&page.session, seq, self.events);
                None
            }
            Heard::Console(line) => {
                self.say(line.into_event(self.maps)).await;
                None
            }
            Heard::Notice(message) => {
                self.say(EventKind::Notice { level: NoticeLevel::Warning, message }).await;
                None
            }
            Heard::Dialog(dialog) => {
                let message = format!(
                    "the page opened a native {} dialog, which stops a page until somebody answers it; it was dismissed. \
                     Replace window.{0} in the test",
                    dialog.kind
                );
                let named = EventKind::PageLost { cause: LossCause::Dialog, message: message.clone() };
                dialog.dismiss(&self.live.page.session).await;
                if dialog.kind == "beforeunload" {
                    return None;
                }
                self.state.fail_running(message);
                self.say(named).await;
                None
            }
            Heard::NewDocument => {
                let (cause, message) = stuck::describe_new_document(&self.live.page).await;
                Some(self.lose(cause, message, None, false, watch).await)
            }
            Heard::Paused(_) => {
                stuck::resume(&self.live.page).await;
                None
            }
            Heard::Other => None,
        }
    }

    /// An event of this file and of the test that is running.
    async fn say(&self, kind: EventKind) {
        self.events.emit(Some(self.file), self.state.running_id().as_ref(), kind).await;
    }

    async fn on_page_event(&mut self, event: PageEvent, watch: &mut Watch) -> Option<Outcome> {
        let stale = event.run().is_some_and(|run| run != self.run);
        if stale && !matches!(event, PageEvent::Uncaught { .. }) {
            return None;
        }
        if let PageEvent::TestFailing { test, .. } = event {
            self.picture(test, watch).await;
            return None;
        }
        watch.told(&event, Instant::now());
        if matches!(event, PageEvent::Uncaught { .. }) {
            *self.exceptions += 1;
        }
        let collects = matches!(event, PageEvent::Collected { .. });
        let step = self.state.page_said(event, self.maps);
        if collects {
            self.owners.learn(self.run, self.file, self.state.test_ids());
        }
        self.take_step(step).await
    }

    /// Takes a picture for a failing test, which waits for it. What that takes is not the test's nor the file's time.
    async fn picture(&mut self, test: u32, watch: &mut Watch) {
        let since = Instant::now();
        let page = &self.live.page;
        let taken = async { if *self.screenshots_left > 0 { screenshot::take(page).await } else { None } };
        let taken = tokio::select! {
            biased;
            () = self.stop.stopped() => None,
            taken = taken => taken,
        };
        if let Some(png) = taken {
            *self.screenshots_left -= 1;
            let kind = EventKind::Screenshot { bytes: png.len(), png };
            self.events.emit(Some(self.file), self.state.id(test).as_ref(), kind).await;
        }
        screenshot::go_on(page, self.run, test).await;
        watch.held(since.elapsed());
    }

    async fn take_step(&mut self, step: Step) -> Option<Outcome> {
        for (test, kind) in step.events {
            self.events.emit(Some(self.file), test.as_ref(), kind).await;
        }
        if let Some(left) = self.failures_left.as_mut() {
            *left = left.saturating_sub(step.failed);
            if *left == 0 {
                stuck::abandon(&self.live.page, self.run).await;
                return Some(Outcome::Bailed);
            }
        }
        if step.given_up {
            stuck::abandon(&self.live.page, self.run).await;
            return Some(Outcome::GivenUp);
        }
        step.ended.then_some(Outcome::Ended)
    }

    async fn on_start_failed(&mut self, error: runtime::EvaluateError, watch: &Watch) -> Option<Outcome> {
        match error {
            runtime::EvaluateError::Exception(details) => {
                let error = self.maps.map_error(&details.to_page_error());
                self.state.fail(stuck::refused_script(error, &self.live.page.info));
                Some(Outcome::Ended)
            }
            // A closed session and a new document are told by the channel, in their order.
            runtime::EvaluateError::Cdp(error) if error.is_closed() || error.is_context_gone() => None,
            runtime::EvaluateError::Cdp(error) => {
                let message = format!("the test file could not be sent to the page: {error}");
                Some(self.lose(LossCause::Disconnected, message, None, false, watch).await)
            }
        }
    }

    async fn on_closed(&mut self, reason: CloseReason, watch: &Watch) -> Outcome {
        self.lose(stuck::cause_of(&reason), reason.to_string(), None, false, watch).await
    }

    async fn on_strike(&mut self, strike: Strike, watch: &mut Watch) -> Option<Outcome> {
        let (cause, message, stack) = match strike {
            Strike::Unresponsive | Strike::Silent => match stuck::find_busy(self.live).await {
                Some(stack) => {
                    let what = stuck::what_ran(&self.maps.map_error(&stack), &stack);
                    (LossCause::Busy, format!("{what}{}", self.after(watch)), Some(stack))
                }
                None if strike == Strike::Unresponsive => {
                    watch.not_busy();
                    return None;
                }
                None => (LossCause::Frozen, stuck::silent_message(self.limits.silence), None),
            },
            Strike::Overdue => {
                let test = self.over_own_limit(watch).unwrap_or_else(|| "the test is over its limit".into());
                let message = format!(
                    "{test} and those of its hooks (--hook-timeout {}), and its page did not end it",
                    words(self.limits.hook)
                );
                (LossCause::Busy, message, None)
            }
            Strike::File => {
                let silent = watch.silent_for(Instant::now());
                let behind = self.live.channel.waiting() > MAX_IN_A_ROW as usize;
                let stack = if silent >= PING_AFTER { stuck::find_busy(self.live).await } else { None };
                let stands = stuck::what_it_does(stack.is_some(), behind, silent);
                (LossCause::Busy, self.file_deadline_message(watch, &stands), stack)
            }
        };
        let stuck_at = stack.map(|error| self.maps.map_error(&error));
        let over = strike == Strike::File;
        Some(self.lose(cause, message, stuck_at, over, watch).await)
    }

    /// A test that is over its own limit comes first: the file would have gone on without it.
    fn file_deadline_message(&self, watch: &Watch, stands: &str) -> String {
        let left = match self.state.unfinished() {
            0 => String::new(),
            n => format!("; {n} of its tests had not finished"),
        };
        let file = format!("the file took longer than its limit (--timeout {}){left}", words(self.limits.file));
        match self.over_own_limit(watch) {
            Some(test) => format!("{test}, and its page did not end it: {stands}. Then {file}"),
            None => format!("{file}. Of its page: {stands}"),
        }
    }

    fn over_own_limit(&self, watch: &Watch) -> Option<String> {
        let now = Instant::now();
        let (test, limit) = watch.over_own_limit(now)?;
        let title = self.state.title(test)?;
        let option = if limit == self.limits.test { "--test-timeout " } else { "its own, " };
        let ran = words(watch.ran(test, now));
        Some(format!("'{title}' ran for {ran}, longer than its limit ({option}{})", words(limit)))
    }

    fn after(&self, watch: &Watch) -> String {
        format!(" after {}", words(watch.doing_for(Instant::now())))
    }

    /// Says that the page is lost and books it on the running test, or on the file.
    async fn lose(
        &mut self,
        cause: LossCause,
        message: String,
        stuck_at: Option<TestError>,
        file_over: bool,
        watch: &Watch,
    ) -> Outcome {
        self.owners.emit(self.live.channel.missing(), Some(self.file), self.events).await;
        let test = self.state.running_id();
        let in_test = test.is_some();
        let now = Instant::now();
        let ran_ms = |test: usize| u32::try_from(test).map_or(0.0, |test| watch.ran(test, now).as_secs_f64() * 1000.0);
        let lost = EventKind::PageLost { cause, message: message.clone() };
        let step = self.state.lost(cause, &message, stuck_at.as_ref(), ran_ms);
        // A page that reloads after everything was said is no loss: the notice of that step says it.
        let after_all = !in_test && step.events.iter().any(|(_, kind)| matches!(kind, EventKind::Notice { .. }));
        if !after_all {
            self.events.emit(Some(self.file), test.as_ref(), lost).await;
        }
        let bailed = self.take_step(step).await;
        if matches!(bailed, Some(Outcome::Bailed)) {
            return Outcome::Bailed;
        }
        Outcome::Lost(Loss { cause, message, file_over, in_test, after_all })
    }

    async fn notice_unresponsive(&self) {
        let during = self.state.running_title().map_or(String::new(), |title| format!(" during '{title}'"));
        let message = format!(
            "the page does not answer{during}: it may be busy, in the background, or its device locked; waiting up to {} \
             (--silence-timeout)",
            words(self.limits.silence)
        );
        self.say(EventKind::Notice { level: NoticeLevel::Warning, message }).await;
    }

    async fn answers_again(&self, noticed: bool) {
        if noticed {
            self.say(EventKind::Notice { level: NoticeLevel::Info, message: "the page answers again".into() }).await;
        }
    }
}

/// A duration as a person types it: `15s`, `1.5s`, `250ms`.
pub(super) fn words(duration: Duration) -> String {
    let ms = duration.as_millis();
    if ms >= 1000 && ms.is_multiple_of(1000) {
        format!("{}s", ms / 1000)
    } else if ms >= 1000 {
        format!("{:.1}s", duration.as_secs_f64())
    } else {
        format!("{ms}ms")
    }
}
