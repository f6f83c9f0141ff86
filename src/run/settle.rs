//! Between two files: takes in what the page still has to say of the last one, and notices when the page was lost
//! meanwhile, so that it is no later file's fault.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, timeout_at};

use crate::bundle::SourceMaps;
use crate::cdp::runtime::{self, EvaluateOptions};
use crate::event::{EventKind, Events, LossCause, NoticeLevel};
use crate::ident::FileId;
use crate::wire::{PageEvent, RUNTIME_GLOBAL};

use super::channel::{Heard, dropped};
use super::inject::{Live, Recorded};
use super::records::Owners;
use super::stuck;

/// What was left to say.
#[derive(Debug, Default)]
pub(super) struct Leftover {
    /// Events, in order.
    pub(super) events: Vec<EventKind>,
    /// The page can no longer be used, and why.
    pub(super) lost: Option<(LossCause, String)>,
}

/// How long the page may take to hand over what it holds. It answers within a round trip; one that does not is found
/// out by the next file's clocks.
const FLUSH_WITHIN: Duration = Duration::from_secs(2);

/// How long the next file waits for what the recorder holds; the rest of it comes while that file runs.
const RECORDS_WITHIN: Duration = Duration::from_millis(250);
/// How long the end of a run waits for it, and that of one that was told to stop.
const LAST_RECORDS_WITHIN: Duration = Duration::from_secs(5);
const STOPPED_RECORDS_WITHIN: Duration = Duration::from_millis(300);
/// How long a page may take to let go of the recorder.
const RELEASE_WITHIN: Duration = Duration::from_millis(500);

/// How long console lines that came between two files are read; those that still wait are dropped and counted.
const TAKE_IN_WITHIN: Duration = Duration::from_millis(250);

/// What is needed to tell whose the page's words are.
pub(super) struct Between<'a> {
    pub(super) maps: &'a SourceMaps,
    pub(super) owners: &'a Owners,
    pub(super) events: &'a Events,
    /// The file that was running.
    pub(super) file: Option<&'a FileId>,
}

/// Asks the page for everything it holds and takes in what has arrived.
pub(super) async fn settle(live: &mut Live, between: &Between<'_>) -> Leftover {
    // Whether it answers does not matter here: what arrived before the answer does.
    let options = EvaluateOptions::default();
    drop(runtime::evaluate(&live.page.session, "void __ait.flush()", options, FLUSH_WITHIN).await);
    let mut left = take_in(live, between).await;
    drain(live, between, &mut left, RECORDS_WITHIN).await;
    left
}

/// The end of a run: takes in the last records, says how many did not come, and takes the recorder out of the page.
pub(super) async fn finish(live: &mut Live, between: &Between<'_>, stopped: bool) -> Leftover {
    let mut left = take_in(live, between).await;
    if live.page.abilities.debugger && left.lost.is_none() {
        runtime::keep_frames(&live.page.session, runtime::ALL_FRAMES, RELEASE_WITHIN).await;
    }
    if !matches!(live.recorded, Recorded::Since(_)) || left.lost.is_some() {
        return left;
    }
    let within = if stopped { STOPPED_RECORDS_WITHIN } else { LAST_RECORDS_WITHIN };
    let gap = match drain(live, between, &mut left, within).await {
        Some(0) => None,
        Some(missing) => Some(json!({ "kind": "gap", "messages": missing, "reason": "the run ended" })),
        None => Some(json!({ "kind": "gap", "reason": "the page did not answer when the run ended" })),
    };
    // Of a page that was lost meanwhile it has been told.
    if let Some(gap) = gap.filter(|_| left.lost.is_none()) {
        between.owners.emit(vec![gap], between.file, between.events).await;
    }
    let release = format!("{RUNTIME_GLOBAL}.release()");
    drop(runtime::evaluate(&live.page.session, &release, EvaluateOptions::default(), RELEASE_WITHIN).await);
    left
}

/// Has the recorder hand over what it holds; returns how many records have not come, if the page says that.
async fn drain(live: &mut Live, between: &Between<'_>, left: &mut Leftover, within: Duration) -> Option<u64> {
    let until = Instant::now() + within;
    let ask = format!("{RUNTIME_GLOBAL}.drain()");
    let mut missing = None;
    while matches!(live.recorded, Recorded::Since(_)) && left.lost.is_none() && Instant::now() < until {
        let options = EvaluateOptions { return_by_value: true, ..EvaluateOptions::default() };
        let within = until.saturating_duration_since(Instant::now());
        let Ok(answer) = runtime::evaluate(&live.page.session, &ask, options, within).await else { return None };
        let more = take_in(live, between).await;
        left.events.extend(more.events);
        left.lost = more.lost;
        missing = answer.as_u64();
        if missing.is_none_or(|missing| missing == 0) {
            break;
        }
        // Whether they arrived in time is seen by the next answer.
        drop(timeout_at(until, live.confirmations.arrived()).await);
    }
    missing
}

/// Takes in what has arrived, without asking for more.
pub(super) async fn take_in(live: &mut Live, between: &Between<'_>) -> Leftover {
    let Between { maps, owners, events, file } = between;
    let mut left = Leftover::default();
    let until = Instant::now() + TAKE_IN_WITHIN;
    // Once the time is up only what was kept is taken in: a page that never stops talking always has more.
    let mut over = false;
    while let Some(heard) = if over { live.channel.kept() } else { live.channel.try_next() } {
        if !over && Instant::now() > until {
            over = true;
            let skipped = live.channel.skip_console();
            if skipped > 0 {
                left.events.push(warning(dropped(skipped)));
            }
        }
        match heard {
            Heard::Page(events) => left.events.extend(events.into_iter().filter_map(|e| late_event(e, maps))),
            Heard::Records { seq, records } => {
                owners.emit(records, *file, events).await;
                live.confirmations.send(&live.page.session, seq, events);
            }
            Heard::Console(line) => left.events.push(line.into_event(maps)),
            Heard::Notice(message) => left.events.push(warning(message)),
            Heard::Dialog(dialog) => {
                dialog.dismiss(&live.page.session).await;
                let what =
                    format!("the page opened a native {} dialog while no test ran; it was dismissed", dialog.kind);
                left.events.push(warning(what));
            }
            Heard::Paused(_) => stuck::resume(&live.page).await,
            Heard::NewDocument => left.lost = Some(stuck::describe_new_document(&live.page).await),
            Heard::Other => {}
        }
    }
    if live.page.session.is_closed() {
        let reason = live.page.session.closed().await;
        left.lost = Some((stuck::cause_of(&reason), reason.to_string()));
    }
    if left.lost.is_some() {
        owners.emit(live.channel.missing(), *file, events).await;
    }
    left
}

/// Results of a run that was given up are of no use; an error that nobody caught is, whenever it came.
fn late_event(event: PageEvent, maps: &SourceMaps) -> Option<EventKind> {
    match event {
        PageEvent::Uncaught { origin, error, .. } => {
            Some(EventKind::Exception { origin, error: maps.map_error(&error) })
        }
        PageEvent::Notice { message, .. } => Some(warning(message)),
        _ => None,
    }
}

fn warning(message: String) -> EventKind {
    EventKind::Notice { level: NoticeLevel::Warning, message }
}
