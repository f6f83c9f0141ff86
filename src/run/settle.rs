//! Between two files: takes in what the page still has to say of the last one, and notices when the page was lost
//! meanwhile, so that it is no later file's fault.

use std::time::Duration;

use crate::bundle::SourceMaps;
use crate::cdp::runtime::{self, EvaluateOptions};
use crate::event::{EventKind, LossCause, NoticeLevel};
use crate::wire::PageEvent;

use super::channel::Heard;
use super::inject::Live;
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

/// Asks the page for everything it holds and takes in what has arrived.
pub(super) async fn settle(live: &mut Live, maps: &SourceMaps) -> Leftover {
    // Whether it answers does not matter here: what arrived before the answer does.
    let options = EvaluateOptions::default();
    drop(runtime::evaluate(&live.page.session, "void __ait.flush()", options, FLUSH_WITHIN).await);
    take_in(live, maps).await
}

/// Takes in what has arrived, without asking for more.
pub(super) async fn take_in(live: &mut Live, maps: &SourceMaps) -> Leftover {
    let mut left = Leftover::default();
    while let Some(heard) = live.channel.try_next() {
        match heard {
            Heard::Page(events) => left.events.extend(events.into_iter().filter_map(|e| late_event(e, maps))),
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
