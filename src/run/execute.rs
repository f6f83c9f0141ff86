//! Runs all files of a plan, one after the other, over as many pages as it takes.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use crate::bundle::{Bundle, Pipeline, SourceMaps, TestFile};
use crate::cdp::page::{Page, PageSource, PageUnavailable};
use crate::event::{AttachStage, EventKind, Events, FileResult, LossCause, NoticeLevel, RunInfo, RunResult};
use crate::ident::FileId;
use crate::wire::RunRequest;

use super::drive::{Drive, Outcome, words};
use super::file_run::{FileRun, plain_error};
use super::inject::{self, Live, Recorded};
use super::plan::Plan;
use super::records::Owners;
use super::screenshot::{MAX_SCREENSHOTS, can_picture};
use super::settle::{self, Between, Leftover};
use super::stop::{Signal, Stop};
use super::verdict::Tally;

/// Runs the plan. Emits everything from `RunStarted` to `RunFinished`, and leaves no page of ours open.
pub async fn execute(plan: Plan, mut pages: Box<dyn PageSource>, events: Events, stop: Stop) -> RunResult {
    events.emit_global(EventKind::RunStarted(run_info(&plan))).await;
    let pipeline = Pipeline::start(&plan.files, plan.bundle.clone());
    let failures_left = plan.bail;
    let mut run = Run {
        plan: &plan,
        pages: pages.as_mut(),
        events: &events,
        stop: &stop,
        pipeline,
        maps: SourceMaps::new(plan.bundle.root.clone()),
        owners: Owners::default(),
        live: None,
        runs: 0,
        failures_left,
        files_left: plan.files.len(),
        screenshots_left: if plan.screenshots { MAX_SCREENSHOTS } else { 0 },
        tally: Tally::default(),
    };
    for warning in &plan.warnings {
        run.notice(NoticeLevel::Warning, warning.clone()).await;
    }
    if !plan.files.is_empty() {
        run.open().await;
    }
    for (index, file) in plan.files.iter().enumerate() {
        run.file(index, file).await;
    }
    run.last_words().await;
    let tally = std::mem::take(&mut run.tally);
    drop(run);
    let result = tally.result(stop.signal(), plan.pass_with_no_tests, events.elapsed().as_secs_f64() * 1000.0);
    events.emit_global(EventKind::RunFinished(result.clone())).await;
    pages.close().await;
    result
}

fn run_info(plan: &Plan) -> RunInfo {
    RunInfo {
        tool_version: env!("CARGO_PKG_VERSION").into(),
        cell: plan.cell.clone(),
        target: plan.target,
        started_at: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
        files: plan.files.iter().map(|f| f.id.clone()).collect(),
    }
}

struct Run<'a> {
    plan: &'a Plan,
    pages: &'a mut dyn PageSource,
    events: &'a Events,
    stop: &'a Stop,
    pipeline: Pipeline,
    maps: SourceMaps,
    owners: Owners,
    live: Option<Live>,
    /// How many times a file was sent to a page; numbers the runs on the wire.
    runs: u32,
    failures_left: Option<u32>,
    /// How many files have not begun.
    files_left: usize,
    screenshots_left: u32,
    tally: Tally,
}

/// How often a page that cannot be made ready is exchanged for another before the run gives up on having one.
const MAX_PREPARE_ATTEMPTS: u32 = 3;

impl Run<'_> {
    async fn open(&mut self) {
        let opened = tokio::select! {
            biased;
            () = self.stop.stopped() => return,
            opened = self.pages.open(self.events) => opened,
        };
        self.take_page(opened).await;
    }

    /// Makes a page ready, or exchanges it until one is; `page_gone` says why there is none.
    async fn take_page(&mut self, opened: Result<Page, PageUnavailable>) {
        let mut next = opened;
        for attempt in 1.. {
            let page = match next {
                Ok(page) => page,
                Err(unavailable) => return self.tally.page_gone = Some(unavailable.message),
            };
            let prepared = tokio::select! {
                biased;
                () = self.stop.stopped() => return,
                prepared = inject::prepare(page, &self.plan.globals, self.plan.recorder.as_deref()) => prepared,
            };
            match prepared {
                Ok(live) => {
                    let state = EventKind::AttachState {
                        stage: AttachStage::Attached,
                        message: "the page answers and the test runtime is in it".into(),
                    };
                    self.events.emit_global(state).await;
                    self.events.emit_global(EventKind::PageAttached(live.page.info.clone())).await;
                    self.tell_recorded(&live.recorded).await;
                    self.live = Some(live);
                    return;
                }
                Err(error) if attempt == MAX_PREPARE_ATTEMPTS || error.is_final() => {
                    return self.tally.page_gone = Some(error.to_string());
                }
                Err(error) => {
                    self.notice(NoticeLevel::Warning, format!("{error}; trying another page")).await;
                    next = self.replace(LossCause::Disconnected).await;
                }
            }
        }
    }

    async fn replace(&mut self, cause: LossCause) -> Result<Page, PageUnavailable> {
        tokio::select! {
            biased;
            () = self.stop.stopped() => Err(PageUnavailable { message: "the run was stopped".into() }),
            replaced = self.pages.replace(cause, self.events) => replaced,
        }
    }

    async fn file(&mut self, index: usize, file: &TestFile) {
        if let Some(live) = &mut self.live {
            let between = Between { maps: &self.maps, owners: &self.owners, events: self.events, file: None };
            let left = settle::take_in(live, &between).await;
            self.take_leftover(None, left).await;
        }
        self.files_left -= 1;
        if let Some(why) = self.why_not() {
            return self.finish_file(&file.id, not_run(why), false).await;
        }
        let bundled = tokio::select! {
            biased;
            () = self.stop.stopped() => None,
            bundled = self.pipeline.get(index) => Some(bundled),
        };
        match bundled {
            None => self.finish_file(&file.id, not_run(self.why_stopped()), false).await,
            Some(Err(errors)) => {
                let result = FileResult { errors, ..FileResult::default() };
                self.finish_file(&file.id, result, false).await;
            }
            Some(Ok(bundle)) => self.run_bundle(&file.id, &bundle).await,
        }
    }

    /// Why the next file is not run, if it is not.
    fn why_not(&self) -> Option<String> {
        if self.stop.signal().is_some() {
            return Some(self.why_stopped());
        }
        if self.failures_left == Some(0) {
            return Some("--bail".into());
        }
        self.live.is_none().then(|| self.tally.page_gone.clone().unwrap_or_else(|| "there is no page".into()))
    }

    fn why_stopped(&self) -> String {
        match self.stop.signal() {
            Some(Signal::Terminate) => "terminated".into(),
            _ => "interrupted".into(),
        }
    }

    async fn run_bundle(&mut self, file: &FileId, bundle: &Arc<Bundle>) {
        let started = Instant::now();
        let mut state = FileRun::new(file.clone(), self.events.scrub().clone());
        let mut skip = Some(Vec::new());
        let mut cut_short = None;
        while let (Some(live), Some(skip_now)) = (&mut self.live, skip.clone()) {
            self.runs += 1;
            let hold_failing = self.screenshots_left > 0 && can_picture(&live.page);
            let request = self.plan.request(self.runs, file, skip_now, hold_failing);
            let script = script(&request, bundle, &self.maps.register(file, bundle));
            let attempt_started = Instant::now();
            let mut exceptions = 0;
            let drive = Drive {
                live,
                state: &mut state,
                file,
                run: self.runs,
                maps: &self.maps,
                limits: self.plan.limits,
                file_started: started,
                events: self.events,
                stop: self.stop,
                owners: &mut self.owners,
                failures_left: &mut self.failures_left,
                screenshots_left: &mut self.screenshots_left,
                exceptions: &mut exceptions,
            };
            let outcome = drive.run(&script).await;
            self.tally.exceptions += exceptions;
            match outcome {
                Outcome::Ended => {
                    skip = None;
                    self.settle(file).await;
                }
                Outcome::GivenUp => {
                    skip = None;
                    self.recover(LossCause::Busy, String::new(), false, true).await;
                }
                Outcome::Stopped => {
                    cut_short = Some(self.cut_short(&state));
                    break;
                }
                Outcome::Bailed => {
                    cut_short =
                        (state.unfinished() > 0).then(|| format!("--bail left {} tests out", state.unfinished()));
                    break;
                }
                Outcome::Lost(loss) => {
                    state.spent(attempt_started.elapsed().as_secs_f64() * 1000.0);
                    skip = if loss.file_over { None } else { state.restart(loss.in_test) };
                    self.recover(loss.cause, loss.message, skip.is_some(), loss.after_all).await;
                }
            }
        }
        if self.live.is_none() && skip.is_some() && cut_short.is_none() && state.unfinished() > 0 {
            let left = state.unfinished();
            state.fail(plain_error(format!("{left} of its tests were not run: no page was left to run them in")));
        }
        let empty = state.is_empty();
        self.finish_file(file, state.finish(cut_short), empty).await;
    }

    fn cut_short(&self, state: &FileRun) -> String {
        match state.running_title() {
            Some(title) => format!("{} while '{title}' was running", self.why_stopped()),
            None => self.why_stopped(),
        }
    }

    /// Takes in what the page still has to say of a file; a page that was lost meanwhile is exchanged.
    async fn settle(&mut self, file: &FileId) {
        let Some(live) = &mut self.live else { return };
        let between = Between { maps: &self.maps, owners: &self.owners, events: self.events, file: Some(file) };
        let left = settle::settle(live, &between).await;
        self.take_leftover(Some(file), left).await;
    }

    /// Takes in what the page has to say after the last file.
    async fn last_words(&mut self) {
        let Some(live) = &mut self.live else { return };
        let between = Between { maps: &self.maps, owners: &self.owners, events: self.events, file: None };
        let left = settle::finish(live, &between, self.stop.signal().is_some()).await;
        for kind in left.events {
            self.tally.exceptions += u32::from(matches!(kind, EventKind::Exception { .. }));
            self.events.emit_global(kind).await;
        }
    }

    async fn tell_recorded(&mut self, recorded: &Recorded) {
        let message = match recorded {
            Recorded::Since(info) if !info.before_content => format!(
                "the recorder came {} after the page had begun: what the page exchanged before is not recorded, nor are \
                 sockets that were open by then",
                words(Duration::try_from_secs_f64(info.from / 1000.0).unwrap_or_default())
            ),
            Recorded::Refused(why) => format!("what the page exchanges is not recorded, because it refused: {why}"),
            Recorded::Since(_) | Recorded::Unwanted => return,
        };
        self.notice(NoticeLevel::Info, message).await;
    }

    async fn take_leftover(&mut self, file: Option<&FileId>, left: Leftover) {
        for kind in left.events {
            self.tally.exceptions += u32::from(matches!(kind, EventKind::Exception { .. }));
            self.events.emit(file, None, kind).await;
        }
        if let Some((cause, message)) = left.lost {
            self.events.emit(file, None, EventKind::PageLost { cause, message: message.clone() }).await;
            self.recover(cause, message, false, true).await;
        }
    }

    /// After a loss: the same page again where it only loaded itself anew, else another one; none where nothing is left to
    /// run in it and nobody else needs it. `goes_on`: the file has tests left. `after_all`: it had said everything before.
    async fn recover(&mut self, cause: LossCause, message: String, goes_on: bool, after_all: bool) {
        let Some(live) = self.live.take() else { return };
        let is_next = self.plan.page_is_kept || (self.files_left > 0 && self.failures_left != Some(0));
        let wanted = goes_on || (is_next && self.stop.signal().is_none());
        // A browser that is gone before its files are through is worth a word at the end, whatever is left.
        if !wanted && (after_all || cause != LossCause::BrowserGone) {
            return;
        }
        if cause == LossCause::BrowserGone {
            self.tally.browser_died = true;
            self.tally.page_gone = Some(message);
            return;
        }
        let next = match cause {
            LossCause::Reloaded => Ok(live.page),
            cause => self.replace(cause).await,
        };
        self.take_page(next).await;
    }

    async fn finish_file(&mut self, file: &FileId, mut result: FileResult, empty: bool) {
        if empty && self.plan.pass_with_no_tests {
            result.errors.clear();
        }
        self.tally.counts.merge(result.counts);
        if result.not_run.is_some() {
            self.tally.files_not_run += 1;
            self.tally.bailed |= self.failures_left == Some(0);
        } else if result.errors.is_empty() && result.counts.failed == 0 {
            self.tally.files_passed += 1;
        } else {
            self.tally.files_failed += 1;
            self.tally.files_empty += u32::from(empty);
        }
        self.events.emit(Some(file), None, EventKind::FileFinished(result)).await;
    }

    // `&mut`, so that a run can be moved to another thread: a source of pages is not shared.
    async fn notice(&mut self, level: NoticeLevel, message: String) {
        self.events.emit_global(EventKind::Notice { level, message }).await;
    }
}

fn not_run(why: String) -> FileResult {
    FileResult { not_run: Some(why), ..FileResult::default() }
}

/// The script that is sent for one file: see the `bundle` room for the lines before the chunk, which the source map
/// counts on.
fn script(request: &RunRequest, bundle: &Bundle, url: &str) -> String {
    let request = serde_json::to_string(request).unwrap_or_default();
    format!("{}.run({request}, {})\n//# sourceURL={url}\n", crate::wire::RUNTIME_GLOBAL, bundle.function)
}
