//! What is remembered of a run: a fold of its events, with what each failed test's page said while it ran.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::debug::Debug;
use super::store::{Kind, shorten};
use crate::event::{EventKind, Location, NoticeLevel, RunEvent, TestState};
use crate::ident::TestId;
use crate::report::{Fold, ReportError, Reporter, screenshot_file};
use crate::run::can_picture;
use crate::settings::Settings;

/// Lines and messages of one failed test that are kept, and shown: the last ones before it failed say why.
const MAX_WINDOW: usize = 20;
/// Bytes of one text in them: a payload may be megabytes long, and hundreds of tests may fail. The file has it whole.
const MAX_WINDOW_TEXT: usize = 300;
/// Warnings of a run that are kept.
const MAX_WARNINGS: usize = 20;

/// A run, under way or over. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// Its number in this server.
    pub(super) run: u32,
    /// Every event of it, one JSON object a line.
    pub(super) file: PathBuf,
    inner: Arc<Mutex<Inner>>,
    progress: Arc<watch::Sender<Standing>>,
}

/// What a run came to so far.
#[derive(Debug, Default)]
pub(super) struct Inner {
    /// The fold of its events.
    pub(super) fold: Fold,
    /// What was worth acting on.
    pub(super) warnings: Vec<String>,
    /// Captures by category.
    pub(super) captures: HashMap<String, u32>,
    /// What happened while a failed test ran.
    pub(super) windows: HashMap<TestId, Window>,
    /// Where its reports are.
    pub(super) report_dir: Option<PathBuf>,
    /// The page when a test had failed, by the file of the picture.
    pub(super) screenshots: HashMap<TestId, PathBuf>,
    /// Why no pictures are made, where none are.
    pub(super) no_screenshots: Option<&'static str>,
    /// What happens while the test runs that is running.
    current: Window,
}

/// What happened while a test ran.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    /// The last lines on the console.
    pub(super) console: VecDeque<Value>,
    /// The last transport records.
    pub(super) transport: VecDeque<Value>,
}

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Standing {
    /// Files that are over.
    pub(super) files: usize,
    /// All files.
    pub(super) of: usize,
    /// Tests that are over.
    pub(super) tests: u32,
    /// Failed tests.
    pub(super) failed: u32,
    /// What is going on.
    pub(super) message: String,
    /// Nothing more will come.
    pub(super) over: bool,
}

impl Record {
    /// A run that begins.
    pub(super) fn new(run: u32, file: PathBuf) -> Self {
        Self { run, file, inner: Arc::default(), progress: Arc::new(watch::Sender::new(Standing::default())) }
    }

    /// Looks at what it came to so far.
    pub(super) fn look<R>(&self, look: impl FnOnce(&Inner) -> R) -> R {
        look(&self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How far it is, and how that changes.
    pub(super) fn standing(&self) -> watch::Receiver<Standing> {
        self.progress.subscribe()
    }

    /// What hears its events.
    pub(super) fn reporter(&self, debug: Arc<Debug>, settings: &Settings) -> Box<dyn Reporter> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        // That is where other reporters write to.
        inner.report_dir = settings.report.dir.as_ref().map(|dir| dir.value.clone());
        inner.no_screenshots = match debug.view().live_page() {
            _ if !settings.report.screenshots => Some("they are turned off"),
            Some(page) if !can_picture(page) => {
                Some("a script in the page, which is all that is reached, cannot make one")
            }
            _ => None,
        };
        drop(inner);
        Box::new(Recorder { record: self.clone(), debug })
    }
}

/// Hears a run for its record and for the session it runs in.
struct Recorder {
    record: Record,
    debug: Arc<Debug>,
}

impl Recorder {
    fn remember(&self, inner: &mut Inner, event: &RunEvent) {
        let store = &self.debug.store;
        let test = event.test.as_ref().or(inner.fold.running.as_ref().and_then(|running| running.test.as_ref()));
        let test = test.map(|test| test.0.clone());
        match &event.kind {
            EventKind::TestStarted { .. } => inner.current = Window::default(),
            EventKind::Console { level, text, location } => {
                let place = location.as_ref().map(shown);
                push(&mut inner.current.console, json!(format!("[{level}] {text}")));
                let line = json!({ "level": level, "text": text, "location": place, "test": test });
                store.add(Kind::Console, line);
            }
            EventKind::Transport { records } => {
                for record in records {
                    push(&mut inner.current.transport, record.clone());
                    let mut record = record.clone();
                    if let (Value::Object(fields), Some(test)) = (&mut record, &test) {
                        fields.entry("test").or_insert_with(|| test.clone().into());
                    }
                    store.add(Kind::Transport, record);
                }
            }
            EventKind::Exception { error, .. } => {
                let stack: Vec<String> =
                    error.frames.iter().map(|frame| format!("{} {}", frame.function, shown(&frame.location))).collect();
                let thrown = json!({ "name": error.name, "text": error.message, "stack": stack, "test": test });
                store.add(Kind::Exceptions, thrown);
            }
            EventKind::Screenshot { png, .. } => {
                if let Some(test) = &event.test
                    && let Some(path) = self.keep(inner, test, png)
                {
                    inner.screenshots.insert(test.clone(), path);
                }
            }
            EventKind::TestFinished(result) if result.state == TestState::Failed => {
                if let Some(test) = &event.test {
                    inner.windows.insert(test.clone(), std::mem::take(&mut inner.current));
                }
            }
            EventKind::Capture { category, .. } => *inner.captures.entry(category.clone()).or_default() += 1,
            EventKind::Notice { level: NoticeLevel::Warning, message } | EventKind::PageLost { message, .. }
                if inner.warnings.len() < MAX_WARNINGS =>
            {
                inner.warnings.push(message.clone());
            }
            EventKind::AttachState { stage, message } => self.debug.change(|view| view.reach(*stage, message)),
            _ => {}
        }
    }

    /// Where the picture of a test is: in the report folder, when the run is over, or else in one of the server's own.
    fn keep(&self, inner: &Inner, test: &TestId, png: &[u8]) -> Option<PathBuf> {
        let name = screenshot_file(&inner.fold.info.as_ref()?.cell, test);
        if let Some(dir) = &inner.report_dir {
            return Some(dir.join(name));
        }
        let path = self.record.file.with_extension("").join(name);
        let kept = path.parent().map_or(Ok(()), fs_err::create_dir_all).and_then(|()| fs_err::write(&path, png));
        kept.inspect_err(|error| tracing::warn!(%error, "a picture cannot be kept")).ok().map(|()| path)
    }

    fn stand(&self, event: &RunEvent, fold: &Fold) {
        let message = match (&event.kind, &event.file) {
            (EventKind::AttachState { message, .. }, _) => message.clone(),
            (EventKind::FileFinished(_), Some(file)) => format!("{file} is over"),
            (EventKind::FileStarted { .. }, Some(file)) => format!("{file} runs"),
            (EventKind::TestFinished(result), Some(file)) => format!("{file}: {}", result.path.join(" > ")),
            (EventKind::PageLost { message, .. }, _) => message.clone(),
            (EventKind::RunStarted(_) | EventKind::RunFinished(_), _) => String::new(),
            _ => return,
        };
        self.record.progress.send_replace(Standing {
            files: fold.files_over(),
            of: fold.files.len(),
            tests: fold.counts.total(),
            failed: fold.counts.failed,
            message,
            over: false,
        });
    }
}

impl Reporter for Recorder {
    fn on_event(&mut self, event: &RunEvent, fold: &Fold) {
        {
            let mut inner = self.record.inner.lock().unwrap_or_else(PoisonError::into_inner);
            self.remember(&mut inner, event);
            inner.fold.apply(event);
        }
        self.stand(event, fold);
    }

    fn finish(&mut self, _: &Fold, _: &[ReportError]) -> Result<(), ReportError> {
        self.record.progress.send_modify(|standing| standing.over = true);
        Ok(())
    }
}

fn push(list: &mut VecDeque<Value>, mut value: Value) {
    shorten(&mut value, MAX_WINDOW_TEXT);
    if list.len() >= MAX_WINDOW {
        list.pop_front();
    }
    list.push_back(value);
}

/// `src/a.ait.test.ts:3:7`.
pub(super) fn shown(location: &Location) -> String {
    format!("{}:{}:{}", location.file, location.line, location.column)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_kept_of_a_failed_test_is_small_whatever_its_page_said() {
        let large = "x".repeat(1 << 20);
        let mut window = Window::default();
        for n in 0..2 * MAX_WINDOW {
            push(&mut window.console, json!(large));
            let payload = json!({ "type": "array-buffer", "byteLength": 1 << 20, "base64": large });
            push(&mut window.transport, json!({ "n": n, "payload": payload, "metadata": { "list": [large] } }));
        }
        assert_eq!((window.console.len(), window.transport.len()), (MAX_WINDOW, MAX_WINDOW));
        let kept: usize = window.console.iter().chain(&window.transport).map(|value| value.to_string().len()).sum();
        assert!(kept < 1 << 20, "{kept} bytes");
        assert_eq!(window.transport.back().unwrap()["n"], 2 * MAX_WINDOW - 1);
    }
}
