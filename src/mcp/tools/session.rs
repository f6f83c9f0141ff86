//! Starting a session and asking how it stands.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::wanted::Wanted;
use crate::mcp::call::Call;
use crate::mcp::debug::Debug;
use crate::mcp::envelope::{Answer, Answered, Fault, FaultCode, Next};
use crate::mcp::mode::Mode;
use crate::mcp::store::Kind;
use crate::mcp::tool::{About, Effect, Tool};
use crate::mcp::view::Stage;

/// How long `start_debug` waits for a browser of this machine.
const BROWSER_WITHIN: Duration = Duration::from_secs(60);

/// The tools of this family.
pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            About {
                name: "start_debug",
                title: "Start a debug session",
                description: "Choose where pages come from, in place of what was there. local-browser starts a headless \
                              browser and is ready at once; the relay modes prepare for a page on a phone, which \
                              start_attach then waits for. Not needed before run_tests, which starts what it needs.",
                effect: Effect::Changes,
            },
            start_debug,
        )
        .alone(),
        Tool::new(
            About {
                name: "get_debug_status",
                title: "How things stand",
                description: "The session, its page, the run that is under way and what to do next, in one cheap call. \
                              Use it first when anything is unclear.",
                effect: Effect::Reads,
            },
            get_debug_status,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct StartDebug {
    #[serde(flatten)]
    wanted: Wanted,
    /// The page to open (local-browser; default: an empty page).
    #[serde(default)]
    page_url: Option<String>,
}

/// How a session stands, as every tool that starts one tells it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Standing {
    /// How its pages come about.
    mode: Mode,
    /// How far it is.
    stage: Stage,
    /// The same in a sentence.
    message: String,
    /// The page that is attached.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<PageShown>,
    /// Where a person sees the code to scan. Show it to the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    dashboard: Option<String>,
    /// Calls with a wrong or expired code.
    #[serde(skip_serializing_if = "is_zero")]
    refused: u32,
    /// What a person should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A page, fit to be shown.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PageShown {
    id: String,
    url: String,
    title: String,
    engine: String,
    device: String,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Standing {
    pub(super) fn of(debug: &Debug) -> Self {
        let view = debug.view();
        let page = view.live_page().map(|page| PageShown {
            id: view.page_id(),
            url: page.info.url.clone(),
            title: page.info.title.clone(),
            engine: page.info.engine.clone(),
            device: page.info.device.clone(),
        });
        let awaits = debug.mode.needs_person() && page.is_none();
        Self {
            mode: debug.mode,
            stage: view.stage,
            message: view.message.clone(),
            page,
            dashboard: debug.dashboard.as_ref().filter(|_| awaits).map(|address| address.expose().to_owned()),
            refused: view.refused,
            warnings: debug.warnings.clone(),
        }
    }

    pub(super) fn sentence(&self) -> String {
        let mut text = format!("{}: {}.", word(self.mode), self.message.trim_end_matches('.'));
        if let Some(page) = &self.page {
            text.push_str(&format!(" Page: {} ({}).", page.url, page.engine));
        }
        if let Some(dashboard) = &self.dashboard {
            text.push_str(&format!(" Ask the person to open {dashboard} and scan the code."));
        }
        text
    }
}

/// A name as it stands in JSON.
pub(super) fn word(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

async fn start_debug(call: Call, args: StartDebug) -> Answered<Standing> {
    let turn = call.turn()?;
    let settings = args.wanted.settings(&call.hub, None, |given| {
        given.page_url = args.page_url.or(given.page_url.take());
    })?;
    let debug = call.hub.begin(&turn, settings).await?;
    if !debug.mode.needs_person() {
        debug.attach();
        let settled = tokio::select! {
            settled = debug.settled(BROWSER_WITHIN) => settled,
            () = call.cancelled.cancelled() => return Err(Fault::cancelled()),
        };
        if !settled || !debug.is_attached() {
            return Err(failed(&debug));
        }
    }
    let standing = Standing::of(&debug);
    let mut text = standing.sentence();
    if debug.mode.needs_person() {
        text = format!("{} is prepared. Next: call start_attach (or run_tests).", word(debug.mode));
    }
    Ok(Answer::new(standing, text).of(&debug))
}

/// No page came.
pub(super) fn failed(debug: &Debug) -> Fault {
    let view = debug.view();
    let limit = debug.settings.attach.timeout.as_ref().map(|timeout| timeout.value);
    let too_late = view.began.zip(limit).is_some_and(|(began, limit)| began.elapsed() >= limit);
    match view.no_way {
        Some(why) => Fault::new(FaultCode::TunnelDown, "Nothing leads to the relay.").because(why),
        None if debug.mode.needs_person() && too_late => {
            Fault::new(FaultCode::AttachTimeout, "No page attached in time.").because(view.message)
        }
        None => Fault::new(FaultCode::AttachFailed, "No page can be had.").because(view.message),
    }
    .next(if debug.mode.needs_person() { "start_attach" } else { "start_debug" }, "try again once the cause is gone")
}

#[derive(Debug, Deserialize, JsonSchema)]
struct GetDebugStatus {
    /// How many of the last errors to give (10 unless said, at most 50).
    #[serde(default)]
    recent_errors_limit: Option<usize>,
}

/// Everything at a glance.
#[derive(Debug, Serialize, JsonSchema)]
struct Status {
    /// Version of this server.
    version: &'static str,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<Standing>,
    /// The run that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunStanding>,
    /// The last errors nobody caught, newest last.
    recent_errors: Vec<Value>,
    /// What to call next, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_recommended_action: Option<Next>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RunStanding {
    run: u32,
    files: usize,
    files_over: usize,
    tests_over: u32,
    failed: u32,
    now: String,
}

async fn get_debug_status(call: Call, args: GetDebugStatus) -> Answered<Status> {
    let limit = args.recent_errors_limit.unwrap_or(10).min(50);
    let session = call.debug.as_deref().map(Standing::of);
    let run = call.hub.running().map(|record| {
        let standing = record.standing().borrow().clone();
        RunStanding {
            run: record.run,
            files: standing.of,
            files_over: standing.files,
            tests_over: standing.tests,
            failed: standing.failed,
            now: standing.message,
        }
    });
    let recent_errors = call.debug.as_ref().map_or_else(Vec::new, |debug| {
        let errors = debug.store.list(Kind::Exceptions).entries;
        let skip = errors.len().saturating_sub(limit);
        errors.into_iter().skip(skip).map(|entry| entry.value).collect()
    });
    let next = recommended(session.as_ref(), run.is_some());
    let mut text = session.as_ref().map_or_else(|| "No session.".to_owned(), Standing::sentence);
    if let Some(run) = &run {
        text.push_str(&format!(" Run {}: {} of {} files over.", run.run, run.files_over, run.files));
    }
    if let Some(next) = &next {
        text.push_str(&format!(" Next: {} ({}).", next.tool, next.reason));
    }
    let version = env!("CARGO_PKG_VERSION");
    Ok(Answer::new(Status { version, session, run, recent_errors, next_recommended_action: next }, text))
}

/// The next step; none where everything is as it should be.
fn recommended(session: Option<&Standing>, runs: bool) -> Option<Next> {
    let next = |tool, reason: &str| Some(Next { tool, reason: reason.to_owned() });
    let Some(session) = session else {
        return next("run_tests", "it starts what it needs; or start_debug to look around first");
    };
    match session.stage {
        _ if runs => None,
        Stage::Attached => None,
        Stage::Waiting => next("start_attach", "wait for the person to scan the code"),
        Stage::Starting => next("get_debug_status", "it is being started"),
        Stage::Idle | Stage::Lost | Stage::Failed if session.mode.needs_person() => {
            next("start_attach", "have a page attach")
        }
        _ => next("start_debug", "start it again"),
    }
}
