//! `run_tests`: has a page attach where none is, and runs test files in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, interval, sleep_until};

use super::attach::{too_late, waiting_words};
use super::session::failed;
use super::wanted::Wanted;
use crate::event::Events;
use crate::mcp::call::Call;
use crate::mcp::debug::Debug;
use crate::mcp::envelope::{Answer, Answered, Fault, FaultCode};
use crate::mcp::hub::Claim;
use crate::mcp::record::Standing;
use crate::mcp::summary::Summary;
use crate::mcp::tool::{About, Effect, Tool};
use crate::mcp::words;
use crate::report::{Json, Terminal, report, reporters};
use crate::run::{Plan, Signal, execute};
use crate::settings::{Given, Settings};

/// How long a page is waited for unless the caller says otherwise: as long as a person needs to take up the phone, and as
/// long as a code is accepted.
const WAIT_FOR_PAGE: Duration = Duration::from_secs(180);
/// The longest wait that can be asked for.
const MAX_WAIT: Duration = Duration::from_secs(3600);
/// Progress within one file is told no more often than this.
const TELL_EVERY: Duration = Duration::from_millis(500);
/// A run of which there is nothing to tell is still told of so often: clients give up after a minute of silence.
const STILL_EVERY: Duration = Duration::from_secs(10);

/// The tools of this family.
pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new(
        About {
            name: "run_tests",
            title: "Run tests in the page",
            description: "Run .ait.test.ts files in the attached page and answer with what failed and why. Where no page \
                          is attached it starts the browser, or shows a code at the dashboard address (told as \
                          progress) and waits for the phone. Use get_test_failure for the whole story of one failure.",
            effect: Effect::Destroys,
        },
        run_tests,
    )
    .alone()]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct RunTests {
    /// Paths, folders and glob patterns of the test files, relative to the project.
    files: Vec<String>,
    /// Only tests whose full title matches this regular expression (JavaScript's).
    #[serde(default)]
    pattern: Option<String>,
    /// The cell of the test matrix, for `__AIT_CELL__` and the report.
    #[serde(default)]
    cell: Option<CellGiven>,
    /// Globals to define in the page, by name.
    #[serde(default)]
    globals: Option<BTreeMap<String, Value>>,
    /// Also run *.manual.ait.test.* files, which need a person.
    #[serde(default)]
    manual: bool,
    /// Milliseconds one file may take (default 60000).
    #[serde(default)]
    timeout_ms: Option<u64>,
    #[serde(flatten)]
    wanted: Wanted,
    /// Seconds to wait for a page (default 180).
    #[serde(default)]
    wait_seconds: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct CellGiven {
    /// For example "2.x".
    #[serde(default, rename = "sdkLine", alias = "sdk_line")]
    sdk_line: Option<String>,
    /// For example "ios".
    #[serde(default)]
    platform: Option<String>,
}

impl RunTests {
    /// Puts what is asked for over what the server was started with.
    fn ask(&self, given: &mut Given) {
        let over = |asked: &Option<String>, given: &mut Option<String>| {
            if asked.is_some() {
                given.clone_from(asked);
            }
        };
        given.files.clone_from(&self.files);
        given.manual = self.manual.then_some(true).or(given.manual);
        over(&self.pattern, &mut given.test_name_pattern);
        over(&self.timeout_ms.map(|ms| ms.to_string()), &mut given.timeout);
        if let Some(cell) = &self.cell {
            over(&cell.sdk_line, &mut given.cell_sdk_line);
            over(&cell.platform, &mut given.cell_platform);
        }
        if let Some(globals) = &self.globals {
            given.global.extend(globals.iter().map(|(name, value)| format!("{name}={value}")));
        }
    }
}

async fn run_tests(call: Call, args: RunTests) -> Answered<Summary> {
    if args.files.is_empty() {
        return Err(Fault::bad_input("files is empty: name at least one file, folder or pattern."));
    }
    if let Some(name) = args.globals.iter().flatten().map(|(name, _)| name).find(|name| name.contains('=')) {
        return Err(Fault::bad_input(format!("globals has {name:?}, which is no name; use letters, digits, _ and $.")));
    }
    let claim = call.hub.claim(call.turn()?);
    // A session that fits stays as it is; what else is asked for holds for this run.
    let there = call.debug.as_ref().filter(|debug| args.wanted.fits(debug));
    let wanted = there.map_or(args.wanted.clone(), |debug| args.wanted.in_session(debug));
    let settings = wanted.settings(&call.hub, None, |given| args.ask(given))?;
    let mut plan = Plan::of(&settings).map_err(Fault::bad_input)?;
    // There is a folder for them here, whether one for reports was named or not.
    plan.screenshots = settings.report.screenshots;
    plan.page_is_kept = true;
    if plan.files.is_empty() {
        let state =
            format!("No test file matches {} in {}.", args.files.join(", "), settings.project_root.value.display());
        // That a pattern matches nothing was just said.
        let why: Vec<_> = plan.warnings.into_iter().filter(|why| !why.starts_with("no test file matches")).collect();
        return Err(Fault::new(FaultCode::NotFound, state)
            .because(why.join("; "))
            .next("list_tests", "see which files there are"));
    }
    let (debug, began_it) = match there {
        Some(debug) => (Arc::clone(debug), false),
        None => (call.hub.begin(&claim.turn, settings.clone()).await?, true),
    };
    plan.warnings =
        debug.warnings.iter().cloned().chain(plan.warnings.iter().map(|text| words::of_a_call(text))).collect();
    let within = args.wait_seconds.map_or(WAIT_FOR_PAGE, Duration::from_secs).min(MAX_WAIT);
    if let Err(fault) = attached(&call, &debug, within).await {
        if began_it && fault.code() == FaultCode::Cancelled {
            call.hub.end(&debug).await;
        }
        return Err(fault);
    }
    let record = claim.record.clone();
    let done = run(&call, &debug, &settings, plan, claim).await;
    call.hub.tell_resources().await;
    let was_cancelled = call.cancelled.is_cancelled();
    if was_cancelled && began_it {
        call.hub.end(&debug).await;
    }
    done?;
    if was_cancelled {
        return Err(Fault::cancelled());
    }
    let summary = Summary::of(&record);
    match summary.fault(&debug) {
        Some(fault) => Err(fault),
        None => {
            let text = summary.sentence();
            Ok(Answer::new(summary, text).of(&debug))
        }
    }
}

/// Waits for a page, where none is attached, and tells how that goes.
async fn attached(call: &Call, debug: &Arc<Debug>, within: Duration) -> Result<(), Fault> {
    let deadline = Instant::now() + within;
    debug.attach();
    let mut watch = debug.watch();
    let mut told = String::new();
    loop {
        let view = watch.borrow_and_update().clone();
        if view.live_page().is_some() {
            return Ok(());
        }
        if view.is_settled() {
            return Err(failed(debug));
        }
        let message = waiting_words(debug, &view);
        if message != told {
            call.progress.tell(0.0, None, &message).await;
            told = message;
        }
        tokio::select! {
            () = call.cancelled.cancelled() => return Err(Fault::cancelled()),
            () = sleep_until(deadline) => return Err(too_late(debug, within)),
            changed = watch.changed() => if changed.is_err() { return Err(failed(debug)) },
        }
    }
}

/// Runs the plan in the session's pages and waits for its end, or brings it about where the client cancels.
async fn run(call: &Call, debug: &Arc<Debug>, settings: &Settings, plan: Plan, claim: Claim) -> Result<(), Fault> {
    let (record, stop) = (claim.record.clone(), claim.stop.clone());
    let mut all = reporters(settings, None).map_err(Fault::environment)?;
    all.push(Box::new(Json::to(Terminal::to_file(&record.file).map_err(Fault::environment)?)));
    all.extend(call.hub.feed().await);
    all.push(record.reporter(Arc::clone(debug), settings));
    let pages = debug.lend().await;
    let (events, receiver) = Events::scrubbed_by(call.scrub());
    let stopped = stop.clone();
    // A task of its own: a client that goes away must not leave a run half ended.
    let mut task = call.hub.tasks.spawn(async move {
        let reports = tokio::task::spawn_blocking(move || report(receiver, &mut all));
        execute(plan, Box::new(pages), events, stopped).await;
        let reported = reports.await;
        drop(claim);
        reported.map(|(_, problems)| problems.iter().map(ToString::to_string).collect::<Vec<_>>())
    });
    let mut standing = record.standing();
    let mut teller = Teller::new(call);
    let mut ticks = interval(TELL_EVERY);
    loop {
        tokio::select! {
            ended = &mut task => {
                if stop.signal().is_some() {
                    debug.unfinished.store(true, Ordering::SeqCst);
                }
                let now = standing.borrow().clone();
                teller.hear(now).await;
                return match ended.ok().and_then(Result::ok) {
                    Some(problems) if problems.is_empty() => Ok(()),
                    Some(problems) => Err(Fault::environment(problems.join("; "))),
                    None => Err(Fault::environment("The run broke off; the log says why.")),
                };
            }
            () = call.cancelled.cancelled(), if stop.signal().is_none() => stop.stop(Signal::Interrupt),
            // The record outlives the loop, so this never fails.
            Ok(()) = standing.changed() => {
                let now = standing.borrow_and_update().clone();
                teller.hear(now).await;
            }
            _ = ticks.tick() => teller.tell_in_time().await,
        }
    }
}

/// Tells the client how far a run is: each file, and what goes on within one now and then.
struct Teller<'a> {
    call: &'a Call,
    now: Standing,
    files: usize,
    /// When something was told last, and whether there is news since.
    told: Option<Instant>,
    news: bool,
}

impl<'a> Teller<'a> {
    fn new(call: &'a Call) -> Self {
        Self { call, now: Standing::default(), files: 0, told: None, news: false }
    }

    /// There is news: files that ended since the last look are told one by one, anything else when it is time.
    async fn hear(&mut self, now: Standing) {
        (self.now, self.news) = (now, true);
        while self.files < self.now.files {
            self.files += 1;
            self.tell().await;
        }
        self.tell_in_time().await;
    }

    /// Tells the news if the last is some time ago, and that the run goes on if that is long ago.
    async fn tell_in_time(&mut self) {
        let since = self.told.map(|told| told.elapsed());
        let due = if self.news { TELL_EVERY } else { STILL_EVERY };
        // Nothing can be said of a run that has not begun.
        if self.now.of > 0 && since.is_none_or(|since| since >= due) {
            self.tell().await;
        }
    }

    async fn tell(&mut self) {
        let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        let Standing { tests, failed, message, .. } = &self.now;
        let message = format!("{tests} tests, {failed} failed; {message}");
        (self.told, self.news) = (Some(Instant::now()), false);
        self.call.progress.tell(number(self.files), Some(number(self.now.of)), &message).await;
    }
}
