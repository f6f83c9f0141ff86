//! `start_attach`: has a page on a phone attach.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::ContentBlock;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};

use super::session::{Standing, failed, word};
use super::wanted::Wanted;
use crate::mcp::call::Call;
use crate::mcp::debug::Debug;
use crate::mcp::envelope::{Answer, Answered, Fault, FaultCode};
use crate::mcp::mode::Mode;
use crate::mcp::tool::{About, Effect, Tool};
use crate::mcp::view::{Stage, View};

/// The code is there this soon, a tunnel that starts slowly included; an answer without it helps nobody.
const CODE_WITHIN: Duration = Duration::from_secs(20);
/// The longest wait that can be asked for.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// The tools of this family.
pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new(
        About {
            name: "start_attach",
            title: "Have a phone attach",
            description: "Show the code by which a page on a phone attaches, and say where a person sees it. Returns as \
                          soon as the code is there; with wait_seconds it waits for the page and tells each stage as \
                          progress. Call it again to see how it goes, or to attach anew after a page was lost.",
            effect: Effect::Changes,
        },
        start_attach,
    )]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct StartAttach {
    #[serde(flatten)]
    wanted: Wanted,
    /// Seconds to wait for the page (default 0: only until the code is there).
    #[serde(default, alias = "wait_timeout_seconds")]
    wait_seconds: Option<u64>,
}

async fn start_attach(call: Call, args: StartAttach) -> Answered<Standing> {
    let debug = session_for(&call, &args).await?;
    debug.attach();
    let asked = args.wait_seconds.map(Duration::from_secs).filter(|wait| !wait.is_zero());
    let deadline = Instant::now() + asked.unwrap_or(CODE_WITHIN).min(MAX_WAIT);
    let mut watch = debug.watch();
    let mut told = String::new();
    loop {
        let view = watch.borrow_and_update().clone();
        if view.live_page().is_some() || (asked.is_none() && view.shown) {
            break;
        }
        if view.is_settled() {
            return Err(failed(&debug));
        }
        let message = waiting_words(&debug, &view);
        if message != told {
            call.progress.tell(0.0, None, &message).await;
            told = message;
        }
        tokio::select! {
            // The page is still welcome: whoever cancels a look does not call the person off.
            () = call.cancelled.cancelled() => return Err(Fault::cancelled()),
            () = sleep_until(deadline) => match asked {
                Some(within) => return Err(too_late(&debug, within)),
                None => break,
            },
            changed = watch.changed() => if changed.is_err() { return Err(failed(&debug)) },
        }
    }
    let standing = Standing::of(&debug);
    let text = standing.sentence();
    let mut answer = Answer::new(standing, text).of(&debug);
    if call.hub.qr_in_results() {
        let shown = debug.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let image = |png: Vec<u8>| ContentBlock::image(STANDARD.encode(png), "image/png");
        answer.more.extend(shown.iter().map(|invitation| image(invitation.qr.png())));
    }
    Ok(answer)
}

/// The session to attach to: the one that is there, unless another is asked for.
async fn session_for(call: &Call, args: &StartAttach) -> Result<Arc<Debug>, Fault> {
    if let Some(debug) = call.debug.as_ref().filter(|debug| debug.mode.needs_person() && args.wanted.fits(debug)) {
        return Ok(Arc::clone(debug));
    }
    if args.wanted.mode() == Some(Mode::LocalBrowser) {
        return Err(Fault::bad_input("A browser of this machine needs no attach.")
            .next("start_debug", "start it with mode local-browser"));
    }
    let settings = args.wanted.settings(&call.hub, None, |_| {})?;
    // A server that was started for a local browser has one attach nevertheless.
    let settings = match Mode::of(&settings).needs_person() {
        true => settings,
        false => args.wanted.settings(&call.hub, Some(Mode::RelayHosted), |_| {})?,
    };
    call.hub.begin(&call.turn()?, settings).await
}

/// What is waited for, and what a person has to do. Changes only when there is something new to say.
pub(super) fn waiting_words(debug: &Debug, view: &View) -> String {
    let mut words = view.message.clone();
    if view.shown
        && let Some(dashboard) = &debug.dashboard
    {
        words.push_str(&format!(" The code is shown at {}", dashboard.expose()));
    }
    if let Some(wait) = view.wait.as_ref().filter(|wait| !wait.seen.is_empty() && view.stage == Stage::Waiting) {
        words.push_str(&format!(" ({})", wait.seen));
    }
    words
}

/// Nobody came, but may still.
pub(super) fn too_late(debug: &Debug, within: Duration) -> Fault {
    let view = debug.view();
    let seen = view.wait.map(|wait| wait.seen).unwrap_or_default();
    let fault = match view.no_way {
        Some(why) => Fault::new(FaultCode::TunnelDown, "Nothing leads to the relay.").because(why),
        None => {
            let state = format!("No page attached within {} s; the code stays valid.", within.as_secs());
            Fault::new(FaultCode::AttachTimeout, state).because(seen)
        }
    };
    fault.next("start_attach", "wait on with wait_seconds once the person is ready").with(serde_json::json!({
        "mode": word(debug.mode),
        "dashboard": debug.dashboard.as_ref().map(|address| address.expose()),
    }))
}
