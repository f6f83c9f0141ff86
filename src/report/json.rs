//! Every event as one line of JSON.

use crate::event::RunEvent;

use super::error::ReportError;
use super::fold::Fold;
use super::reporter::Reporter;
use super::terminal::Terminal;
use super::text::is_odd;

/// Writes events as they come, so that the file can be followed and holds what was seen when a run is cut short.
pub struct Json {
    output: Terminal,
}

impl Json {
    /// Writes to stdout, or to a file.
    pub fn to(output: Terminal) -> Self {
        Self { output }
    }
}

impl Reporter for Json {
    fn on_event(&mut self, event: &RunEvent, _: &Fold) {
        self.output.print(&json_line(event));
    }

    fn finish(&mut self, _: &Fold, _: &[ReportError]) -> Result<(), ReportError> {
        self.output.problem().map_or(Ok(()), Err)
    }
}

/// One event as one line. Characters that a terminal obeys, or that some readers take for the end of a line
/// (U+2028, U+0085), are escaped: in JSON they can only stand inside a string.
fn json_line(event: &RunEvent) -> String {
    // Values that came from a page are maps with text keys; serialising them cannot fail.
    let text = serde_json::to_string(event).unwrap_or_default();
    let mut line = if text.contains(is_odd) {
        text.chars().fold(String::with_capacity(text.len() + 16), |mut out, c| {
            if is_odd(c) {
                out.push_str(&format!("\\u{:04x}", u32::from(c)))
            } else {
                out.push(c)
            }
            out
        })
    } else {
        text
    };
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::event::{EventKind, NoticeLevel};
    use crate::report::testing::{arbitrary_event, play, sample};
    use proptest::prelude::*;

    #[test]
    fn a_file_holds_one_object_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sub/events.jsonl");
        let events = sample();
        play(&mut Json::to(Terminal::to_file(&path).unwrap()), &events).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let back: Vec<RunEvent> = text.lines().map(parse).collect();
        assert_eq!(back, events);
    }

    #[test]
    fn a_file_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let message = Terminal::to_file(dir.path()).err().unwrap().to_string();
        assert!(message.starts_with("cannot write the report "), "{message}");
    }

    #[test]
    fn what_a_terminal_or_a_line_reader_obeys_is_escaped() {
        let message = "a\x1b[2J\u{9b}2J\u{2028}\u{85}\x7f\nb".to_string();
        let kind = EventKind::Notice { level: NoticeLevel::Info, message };
        let line = json_line(&RunEvent { at: 1, file: None, test: None, kind });
        assert!(line.contains("a\\u001b[2J\\u009b2J\\u2028\\u0085\\u007f\\nb"), "{line}");
    }

    /// By way of a `Value`, for the reason that [`crate::wire::Batch::parse`] gives.
    fn parse(line: &str) -> RunEvent {
        serde_json::from_str::<serde_json::Value>(line).and_then(serde_json::from_value).unwrap()
    }

    proptest! {
        #[test]
        fn every_line_is_valid_json(event in arbitrary_event()) {
            let line = json_line(&event);
            prop_assert_eq!(line.matches(is_odd).collect::<Vec<_>>(), ["\n"]);
            prop_assert_eq!(parse(&line), event);
        }
    }
}
