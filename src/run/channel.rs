//! What an injected page says, in order, as one stream: the runtime's batches, the console, and what the protocol tells
//! of the page itself.

use std::collections::VecDeque;

use serde_json::Value;

use crate::bundle::SourceMaps;
use crate::cdp::{CdpEvent, EventStream, debugger, page_domain, runtime};
use crate::event::{EventKind, NoticeLevel};
use crate::wire::{BINDING, Batch, CAPTURE_PREFIX, PageEvent, PageFrame, TRANSPORT_BINDING, TransportPiece};

use super::records::Pieces;

/// One thing that was heard.
#[derive(Debug)]
pub(super) enum Heard {
    /// Events of the runtime.
    Page(Vec<PageEvent>),
    /// What the recorder says; the page waits for the number to be confirmed.
    Records { seq: u64, records: Vec<Value> },
    /// A line on the console.
    Console(ConsoleLine),
    /// Something a person should know about the channel itself.
    Notice(String),
    /// A native dialog opened.
    Dialog(page_domain::DialogOpening),
    /// The document was exchanged: runtime and globals are gone.
    NewDocument,
    /// JavaScript stopped, at our wish or at a `debugger` statement.
    Paused(debugger::Paused),
    /// Anything else; it shows that the page lives.
    Other,
}

/// A line on the page's console.
#[derive(Debug)]
pub(super) struct ConsoleLine {
    level: String,
    text: String,
    frame: Option<PageFrame>,
}

/// The stream of one document.
#[derive(Debug)]
pub(super) struct Channel {
    stream: EventStream,
    doc: String,
    /// Its runtime was heard: what came before was an earlier document's.
    begun: bool,
    next_seq: u64,
    pieces: Pieces,
    ready: VecDeque<Heard>,
    scripts: VecDeque<debugger::ScriptParsed>,
}

/// How many scripts are remembered by number, newest last: a page that waits runs the one it was sent last, or one of
/// its own app; an app that makes scripts without end must not fill the memory.
const MAX_SCRIPTS: usize = 512;

const CONSOLE_CALLED: &str = "Runtime.consoleAPICalled";

impl Channel {
    /// `doc` is the document's id as its runtime gave it, and `next_seq` the number of its next event. The stream began
    /// before the runtime was put in, which sends an empty batch then.
    pub(super) fn new(stream: EventStream, doc: String, next_seq: u64) -> Self {
        let (ready, scripts) = (VecDeque::new(), VecDeque::new());
        Self { stream, doc, begun: false, next_seq, pieces: Pieces::default(), ready, scripts }
    }

    /// The next thing; `None` when the session is over.
    pub(super) async fn next(&mut self) -> Option<Heard> {
        if let Some(heard) = self.ready.pop_front() {
            return Some(heard);
        }
        let event = self.stream.next().await?;
        Some(self.hear(event))
    }

    /// What has arrived already.
    pub(super) fn try_next(&mut self) -> Option<Heard> {
        if let Some(heard) = self.ready.pop_front() {
            return Some(heard);
        }
        let event = self.stream.try_next()?;
        Some(self.hear(event))
    }

    /// What was put back or kept for later.
    pub(super) fn kept(&mut self) -> Option<Heard> {
        self.ready.pop_front()
    }

    /// The document is gone: records that say what is missing of what it recorded.
    pub(super) fn missing(&mut self) -> Vec<Value> {
        self.pieces.missing()
    }

    /// How many things have arrived and were not heard yet.
    pub(super) fn waiting(&self) -> usize {
        self.ready.len() + self.stream.waiting()
    }

    /// Hears this later, before everything else.
    pub(super) fn put_back(&mut self, heard: Vec<Heard>) {
        heard.into_iter().rev().for_each(|one| self.ready.push_front(one));
    }

    /// Lets go of the console lines that wait, which are more than can be read; says how many.
    pub(super) fn skip_console(&mut self) -> u64 {
        let mut skipped = 0;
        for _ in 0..self.stream.waiting() {
            let Some(event) = self.stream.try_next() else { break };
            skipped += event.lost_before;
            if event.method == CONSOLE_CALLED {
                skipped += 1;
            } else {
                let heard = self.read(&event);
                self.ready.push_back(heard);
            }
        }
        skipped
    }

    /// Where JavaScript stopped.
    pub(super) fn frames_of(&self, paused: &debugger::Paused) -> Vec<PageFrame> {
        paused.page_frames(|id| self.scripts.iter().rfind(|script| script.script_id == id).map(|s| s.url.clone()))
    }

    fn hear(&mut self, event: CdpEvent) -> Heard {
        if event.lost_before > 0 {
            let lost = event.lost_before;
            let heard = self.read(&event);
            self.ready.push_back(heard);
            return Heard::Notice(dropped(lost));
        }
        self.read(&event)
    }

    fn read(&mut self, event: &CdpEvent) -> Heard {
        match event.method.as_str() {
            "Runtime.bindingCalled" => self.read_binding(event),
            CONSOLE_CALLED => event.parse().map_or(Heard::Other, |call: runtime::ConsoleApiCalled| {
                Heard::Console(ConsoleLine {
                    level: call.kind.clone(),
                    text: call.text(),
                    frame: call.stack_trace.as_ref().and_then(|s| s.page_frames().into_iter().next()),
                })
            }),
            "Runtime.executionContextsCleared" | "Page.javascriptDialogOpening" if !self.begun => Heard::Other,
            "Runtime.executionContextsCleared" => Heard::NewDocument,
            "Page.javascriptDialogOpening" => event.parse().map_or(Heard::Other, Heard::Dialog),
            "Debugger.scriptParsed" => {
                if let Ok(script) = event.parse() {
                    self.scripts.push_back(script);
                    if self.scripts.len() > MAX_SCRIPTS {
                        self.scripts.pop_front();
                    }
                }
                Heard::Other
            }
            "Debugger.paused" => event.parse().map_or(Heard::Other, Heard::Paused),
            _ => Heard::Other,
        }
    }

    fn read_binding(&mut self, event: &CdpEvent) -> Heard {
        let Ok(call) = event.parse::<runtime::BindingCalled>() else { return Heard::Other };
        match call.name.as_str() {
            BINDING => self.read_batch(&call.payload),
            TRANSPORT_BINDING => self.read_piece(&call.payload),
            _ => Heard::Other,
        }
    }

    fn read_piece(&mut self, payload: &str) -> Heard {
        match TransportPiece::parse(payload) {
            Some(piece) if piece.doc == self.doc => Heard::Records { seq: piece.seq, records: self.pieces.take(piece) },
            _ => Heard::Other,
        }
    }

    fn read_batch(&mut self, payload: &str) -> Heard {
        // An app may call the binding too; what is not ours is not an error of the run.
        let Ok(batch) = Batch::parse(payload) else {
            return Heard::Notice("the page sent a message that this version of the tool cannot read".into());
        };
        if batch.doc != self.doc {
            return Heard::Other;
        }
        self.begun = true;
        let count = batch.events.len() as u64;
        // A reconnecting page may send a batch again: what was seen is skipped.
        let seen = self.next_seq.saturating_sub(batch.seq).min(count);
        let missing = batch.seq.saturating_sub(self.next_seq);
        self.next_seq = self.next_seq.max(batch.seq.saturating_add(count));
        let events = batch.events.into_iter().skip(usize::try_from(seen).unwrap_or(usize::MAX)).collect();
        if missing > 0 {
            self.ready.push_back(Heard::Page(events));
            return Heard::Notice(format!(
                "{missing} messages of the page were lost on the way; results may be missing"
            ));
        }
        Heard::Page(events)
    }
}

/// The words for what a page said in vain.
pub(super) fn dropped(lost: u64) -> String {
    format!("{lost} console lines or protocol events of the page were dropped: it wrote faster than they could be read")
}

impl ConsoleLine {
    /// The run event: a capture where the line is one, else the line.
    pub(super) fn into_event(self, maps: &SourceMaps) -> EventKind {
        let Some(rest) = self.text.strip_prefix(CAPTURE_PREFIX) else {
            let location = self.frame.as_ref().and_then(|frame| maps.map_frame(frame)).map(|frame| frame.location);
            return EventKind::Console { level: self.level, text: self.text, location };
        };
        match capture(rest) {
            Ok((category, payload)) => EventKind::Capture { category, payload },
            Err(why) => EventKind::Notice {
                level: NoticeLevel::Warning,
                message: format!("a capture line was ignored: {why}; write `{CAPTURE_PREFIX}<category> <JSON>`"),
            },
        }
    }
}

fn capture(rest: &str) -> Result<(String, Value), String> {
    let (category, json) = rest.split_once(' ').ok_or("it has no JSON behind its category")?;
    if category.is_empty() {
        return Err("its category is empty".into());
    }
    let payload = serde_json::from_str(json).map_err(|e| format!("its JSON cannot be read ({e})"))?;
    Ok((category.to_string(), payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capture_lines_need_a_category_and_json() {
        assert_eq!(capture("auth [1,2]"), Ok(("auth".into(), serde_json::json!([1, 2]))));
        assert_eq!(capture("auth null"), Ok(("auth".into(), Value::Null)));
        assert!(capture("auth").is_err());
        assert!(capture(" [1]").is_err());
        assert!(capture("auth [1").is_err());
    }
}
