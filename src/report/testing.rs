//! Scripted runs for the tests of this room.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use serde_json::Value;

use crate::event::{
    AttachStage, Counts, ErrorKind, EventKind, FileResult, Frame, Location, LossCause, NoticeLevel, PageInfo,
    PageState, RunEvent, RunInfo, RunResult, TargetKind, TestError, TestInfo, TestMode, TestResult, TestState,
    UncaughtOrigin,
};
use crate::exit::Exit;
use crate::ident::{Cell, FileId, TestId};

use super::error::ReportError;
use super::fold::Fold;
use super::reporter::Reporter;

/// Builds the events of a run, each 10 ms after the one before.
pub(super) struct Script {
    events: Vec<RunEvent>,
}

impl Script {
    /// Starts a run of these files.
    pub(super) fn new(files: &[&str]) -> Self {
        let files = files.iter().map(|file| FileId((*file).into())).collect();
        let cell = Cell { sdk_line: "2.x".into(), platform: "mock".into() };
        Self { events: Vec::new() }.global(EventKind::RunStarted(RunInfo {
            tool_version: "0.1.0".into(),
            cell,
            target: TargetKind::Chrome,
            started_at: "2026-01-02T03:04:05.678Z".into(),
            files,
        }))
    }

    pub(super) fn global(self, kind: EventKind) -> Self {
        self.push(None, None, kind)
    }

    pub(super) fn page(self) -> Self {
        self.global(EventKind::PageAttached(PageInfo {
            url: "http://127.0.0.1:4000/".into(),
            title: "page".into(),
            user_agent: "Mozilla/5.0 Chrome/156.0".into(),
            engine: "Chrome 156.0".into(),
            device: "Linux x86_64".into(),
            app_version: None,
        }))
    }

    pub(super) fn file(self, file: &str, titles: &[&str]) -> Self {
        let tests = titles.iter().map(|title| info(file, title, TestMode::Run)).collect();
        self.in_file(file, EventKind::FileStarted { tests })
    }

    pub(super) fn in_file(self, file: &str, kind: EventKind) -> Self {
        self.push(Some(file), None, kind)
    }

    pub(super) fn in_test(self, file: &str, title: &str, kind: EventKind) -> Self {
        self.push(Some(file), Some(title), kind)
    }

    pub(super) fn start(self, file: &str, title: &str) -> Self {
        self.in_test(file, title, EventKind::TestStarted { path: path(title), attempt: 0 })
    }

    pub(super) fn test(self, file: &str, title: &str, mut result: TestResult) -> Self {
        result.path = path(title);
        self.in_test(file, title, EventKind::TestFinished(result))
    }

    pub(super) fn file_end(self, file: &str, result: FileResult) -> Self {
        self.in_file(file, EventKind::FileFinished(result))
    }

    /// Ends the run with what its events add up to.
    pub(super) fn end(self, exit: Exit, reason: &str) -> Vec<RunEvent> {
        let mut fold = Fold::default();
        self.events.iter().for_each(|event| fold.apply(event));
        let verdicts = |verdict| fold.files.iter().filter(|file| file.verdict() == verdict).count();
        use super::fold::FileVerdict::{Failed, NotRun};
        let (failed, not_run) = (verdicts(Failed), verdicts(NotRun));
        self.global(EventKind::RunFinished(RunResult {
            counts: fold.counts,
            files_passed: u32::try_from(fold.files.len() - failed - not_run).expect("few files"),
            files_failed: u32::try_from(failed).expect("few files"),
            files_not_run: u32::try_from(not_run).expect("few files"),
            exceptions: u32::try_from(fold.exceptions.len()).expect("few exceptions"),
            duration_ms: 1234.5,
            exit,
            reason: reason.into(),
        }))
        .events
    }

    pub(super) fn events(self) -> Vec<RunEvent> {
        self.events
    }

    fn push(mut self, file: Option<&str>, title: Option<&str>, kind: EventKind) -> Self {
        let test = title.map(|title| TestId(format!("{} > {title}", file.unwrap_or_default())));
        let at = self.events.len() as u64 * 10;
        self.events.push(RunEvent { at, file: file.map(|file| FileId(file.into())), test, kind });
        self
    }
}

fn path(title: &str) -> Vec<String> {
    title.split(" > ").map(String::from).collect()
}

pub(super) fn info(file: &str, title: &str, mode: TestMode) -> TestInfo {
    TestInfo { id: TestId(format!("{file} > {title}")), path: path(title), mode }
}

fn result(state: TestState) -> TestResult {
    TestResult { path: Vec::new(), state, duration_ms: 12.0, errors: Vec::new(), note: None, retries: 0 }
}

pub(super) fn passed() -> TestResult {
    result(TestState::Passed)
}

pub(super) fn skipped(note: &str) -> TestResult {
    TestResult { note: Some(note.into()), ..result(TestState::Skipped) }
}

pub(super) fn failed(error: TestError) -> TestResult {
    TestResult { errors: vec![error], ..result(TestState::Failed) }
}

pub(super) fn error(message: &str) -> TestError {
    TestError { name: "Error".into(), message: message.into(), ..TestError::default() }
}

/// An assertion with everything an error can carry.
pub(super) fn assertion() -> TestError {
    let at = |function: &str, line| Frame {
        function: function.into(),
        location: Location { file: "src/a.ait.test.ts".into(), line, column: 15 },
    };
    TestError {
        name: "AssertionError".into(),
        message: "expected 1 to be 2 // Object.is equality".into(),
        kind: ErrorKind::Assertion,
        diff: Some("- Expected\n+ Received\n\n- 2\n+ 1".into()),
        expected: Some("2".into()),
        actual: Some("1".into()),
        frames: vec![at("", 3), at("helper", 20)],
        code_frame: Some(
            " --> src/a.ait.test.ts:3:15\n  2 | test('adds', () => {\n  3 |   expect(1).toBe(2);\n    |             ^\n  4 | });".into(),
        ),
        ..TestError::default()
    }
}

pub(super) fn notice(message: &str) -> EventKind {
    EventKind::Notice { level: NoticeLevel::Info, message: message.into() }
}

pub(super) fn finished() -> EventKind {
    EventKind::RunFinished(RunResult {
        counts: Counts::default(),
        files_passed: 0,
        files_failed: 0,
        files_not_run: 0,
        exceptions: 0,
        duration_ms: 1.0,
        exit: Exit::NothingRan,
        reason: "no test ran".into(),
    })
}

pub(super) fn console(level: &str, text: &str) -> EventKind {
    EventKind::Console { level: level.into(), text: text.into(), location: None }
}

pub(super) fn capture(category: &str, payload: Value) -> EventKind {
    EventKind::Capture { category: category.into(), payload }
}

/// A run in which a bit of everything happens.
pub(super) fn sample() -> Vec<RunEvent> {
    let a = "src/a.ait.test.ts";
    Script::new(&[a, "src/b.ait.test.ts"])
        .page()
        .file(a, &["sum > adds", "sum > waits"])
        .start(a, "sum > adds")
        .in_test(a, "sum > adds", console("log", "hello"))
        .test(a, "sum > adds", failed(assertion()))
        .test(a, "sum > waits", skipped("no network"))
        .in_file(a, capture("clipboard", serde_json::json!([{ "api": "read" }])))
        .file_end(a, FileResult { duration_ms: 40.0, ..FileResult::default() })
        .file_end("src/b.ait.test.ts", FileResult { errors: vec![error("Unexpected token")], ..FileResult::default() })
        .end(Exit::Failed, "1 test failed, 2 files failed")
}

/// Runs a reporter through events.
pub(super) fn play(reporter: &mut dyn Reporter, events: &[RunEvent]) -> Result<(), ReportError> {
    let mut fold = Fold::default();
    for event in events {
        fold.apply(event);
        reporter.on_event(event, &fold);
    }
    reporter.finish(&fold, &[])
}

/// Text that was written.
#[derive(Clone, Default)]
pub(super) struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("no panic").clone()).expect("text")
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Any text, with much of what hurts.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[\\x00-\\x1f\\x7f-\\x9f\u{202e}\u{2028}a-c한👩‍👧\\r\\n\\t]{0,12}",
        Just("\x1b]0;title\x07\x1b[2J".to_owned()),
    ]
}

fn leaf_error() -> impl Strategy<Value = TestError> {
    (text(), text(), proptest::option::of(text()), text(), 0..9_u32).prop_map(
        |(name, message, diff, function, line)| TestError {
            name,
            message,
            code: diff.clone(),
            expected: diff.clone(),
            code_frame: diff.clone(),
            hook: diff.clone(),
            diff,
            frames: vec![Frame { function: function.clone(), location: Location { file: function, line, column: 1 } }],
            ..TestError::default()
        },
    )
}

fn any_error() -> impl Strategy<Value = TestError> {
    (leaf_error(), leaf_error()).prop_map(|(error, cause)| TestError { cause: Some(Box::new(cause)), ..error })
}

fn any_result() -> impl Strategy<Value = TestResult> {
    let state = prop_oneof![Just(TestState::Passed), Just(TestState::Failed), Just(TestState::Skipped)];
    (proptest::collection::vec(text(), 1..3), state, any_error(), proptest::option::of(text()), 0..9_u16).prop_map(
        |(path, state, error, note, half_ms)| TestResult {
            path,
            state,
            duration_ms: f64::from(half_ms) / 2.0,
            errors: if state == TestState::Failed { vec![error] } else { Vec::new() },
            note,
            retries: u32::from(half_ms),
        },
    )
}

fn any_kind() -> impl Strategy<Value = EventKind> {
    prop_oneof![
        text().prop_map(|message| EventKind::AttachState { stage: AttachStage::Refused, message }),
        (text(), text()).prop_map(|(url, device)| EventKind::PageAttached(PageInfo {
            url: url.clone(),
            title: url,
            device: device.clone(),
            engine: device.clone(),
            app_version: Some(device),
            ..PageInfo::default()
        })),
        text().prop_map(|message| EventKind::PageState { state: PageState::Hidden, message }),
        (text(), text()).prop_map(|(level, text)| EventKind::Console { level, text, location: None }),
        any_error().prop_map(|error| EventKind::Exception { origin: UncaughtOrigin::Rejection, error }),
        (text(), text()).prop_map(|(category, text)| capture(&category, Value::String(text))),
        text().prop_map(|message| EventKind::Notice { level: NoticeLevel::Warning, message }),
        text().prop_map(|message| EventKind::PageLost { cause: LossCause::Crashed, message }),
        any_result().prop_map(EventKind::TestFinished),
        (any_error(), proptest::option::of(text())).prop_map(|(error, not_run)| EventKind::FileFinished(FileResult {
            errors: vec![error],
            not_run,
            ..FileResult::default()
        })),
        text().prop_map(|reason| match finished() {
            EventKind::RunFinished(result) => EventKind::RunFinished(RunResult { reason, ..result }),
            other => other,
        }),
    ]
}

/// Any event.
pub(super) fn arbitrary_event() -> impl Strategy<Value = RunEvent> {
    let file = proptest::option::of(text().prop_map(FileId));
    (0..9_u64, file, proptest::option::of(text().prop_map(TestId)), any_kind())
        .prop_map(|(at, file, test, kind)| RunEvent { at, file, test, kind })
}
