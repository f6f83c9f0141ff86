//! What tests wrote to their console.

use std::collections::HashMap;

use crate::event::RunEvent;
use crate::ident::{FileId, TestId};
use crate::report::text::{block, clip, line};

use super::failure::indent;
use super::style::Paint;

/// Console lines of one test (or of one file outside its tests) that are shown: enough to follow what it does, too few
/// for a chatty one to bury the others. The JSON reporter has them all.
const LINES_PER_TEST: usize = 100;
/// Lines and characters of one call that are shown.
const CALL_LINES: usize = 40;
const CALL_CHARS: usize = 4_000;

/// Whose console it is.
type Owner = (Option<FileId>, Option<TestId>);

/// Shows console lines under a heading that names whose they are.
#[derive(Debug, Default)]
pub(super) struct ConsoleLines {
    /// Owner and level of the last heading, while nothing else was printed since.
    heading: Option<(Owner, String)>,
    /// Lines shown per owner, while its file runs.
    shown: HashMap<Owner, usize>,
}

impl ConsoleLines {
    /// The text for one call; `None` where its owner had its share.
    pub(super) fn show(&mut self, event: &RunEvent, level: &str, text: &str, paint: Paint) -> Option<String> {
        let owner = (event.file.clone(), event.test.clone());
        let shown = self.shown.entry(owner.clone()).or_default();
        if *shown >= LINES_PER_TEST {
            return None;
        }
        let text = clip(text, CALL_LINES, CALL_CHARS);
        let text = block(&text);
        *shown += text.lines().count().max(1);
        let full = *shown >= LINES_PER_TEST;
        let mut out = String::new();
        let heading = (owner, level.to_owned());
        if self.heading.as_ref() != Some(&heading) {
            let whose = event.test.as_ref().map(|test| test.0.as_str());
            let whose = whose.or(event.file.as_ref().map(|file| file.0.as_str())).unwrap_or("the page");
            out.push_str(&format!("{} {}\n", paint.dim(format!("console.{}", line(level))), paint.dim(line(whose))));
            self.heading = Some(heading);
        }
        if text.is_empty() {
            out.push('\n');
        }
        indent(&mut out, &text, |text| match level {
            "error" | "assert" => paint.red(text),
            "warning" => paint.yellow(text),
            _ => text.to_owned(),
        });
        if full {
            out.push_str(&format!("  {}\n", paint.dim("... its further console lines are not shown here")));
        }
        Some(out)
    }

    /// Something else was printed: the next line needs its heading again.
    pub(super) fn interrupted(&mut self) {
        self.heading = None;
    }

    /// A file is over: its tests write no more.
    pub(super) fn forget(&mut self, file: &FileId) {
        self.shown.retain(|(owner, _), _| owner.as_ref() != Some(file));
    }
}
