#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use crate::event::{
    AttachStage, ErrorKind, EventKind, FileResult, LossCause, NoticeLevel, RunEvent, TestError, TestResult,
    UncaughtOrigin,
};
use crate::exit::Exit;
use crate::report::fold::Fold;
use crate::report::reporter::Reporter;
use crate::report::testing::{
    Memory, Script, arbitrary_event, assertion, console, error, failed, notice, passed, play, sample, skipped,
};
use crate::report::text::is_odd;
use crate::report::{Pretty, PrettyOptions, ReportError, Terminal};

const A: &str = "src/a.ait.test.ts";
const B: &str = "src/b.ait.test.ts";

fn pretty(color: bool, events: &[RunEvent]) -> String {
    let memory = Memory::default();
    let root = "/project".into();
    let options = PrettyOptions { color, project_root: root, cwd: "/project".into(), report_dir: None };
    play(&mut Pretty::new(Terminal::to(Box::new(memory.clone())), options), events).unwrap();
    memory.text()
}

fn file_result(duration_ms: f64) -> FileResult {
    FileResult { duration_ms, ..FileResult::default() }
}

fn green() -> Script {
    Script::new(&[A])
        .page()
        .file(A, &["sum > adds", "sum > waits"])
        .test(A, "sum > adds", passed())
        .test(A, "sum > waits", skipped("no network"))
        .file_end(A, file_result(40.4))
}

#[test]
fn all_passed() {
    insta::assert_snapshot!(pretty(false, &green().end(Exit::Passed, "")));
}

#[test]
fn failures_are_repeated_in_full() {
    insta::assert_snapshot!(pretty(false, &sample()));
}

#[test]
fn in_colour() {
    insta::assert_snapshot!(pretty(true, &sample()).replace('\x1b', "ESC"));
}

#[test]
fn a_page_that_was_lost_and_what_came_outside_tests() {
    let caused = TestError { cause: Some(Box::new(error("socket closed"))), ..error("no answer") };
    let unsupported = TestError { kind: ErrorKind::Unsupported, ..error("vi.mock of a module cannot work in a page") };
    let in_hook = TestError { hook: Some("beforeEach".into()), code: Some("E_DENIED".into()), ..error("denied") };
    let lost = "the page crashed while \"leaves\" was running; the rest of the file goes on on a fresh page";
    let events = Script::new(&[A, B])
        .global(EventKind::AttachState { stage: AttachStage::Starting, message: "starting the relay".into() })
        .global(EventKind::AttachState { stage: AttachStage::Waiting, message: "waiting for a page".into() })
        .global(EventKind::AttachState { stage: AttachStage::Waiting, message: "waiting for a page".into() })
        .global(EventKind::AttachState { stage: AttachStage::Refused, message: "a wrong code was shown".into() })
        .page()
        .file(A, &["leaves", "mocks", "hooked"])
        .start(A, "leaves")
        .in_test(A, "leaves", EventKind::PageLost { cause: LossCause::Crashed, message: lost.into() })
        .test(A, "leaves", failed(caused))
        .test(A, "mocks", failed(unsupported))
        .test(A, "hooked", failed(in_hook))
        .in_test(A, "mocks", EventKind::Exception { origin: UncaughtOrigin::Rejection, error: error("late") })
        .global(EventKind::Exception { origin: UncaughtOrigin::Error, error: error("at load") })
        .in_file(A, notice("the file reloaded its page after its last test"))
        .global(EventKind::Notice { level: NoticeLevel::Warning, message: "two secrets differ".into() })
        .file_end(A, file_result(2500.0))
        .file_end(B, FileResult { not_run: Some("no page is left".into()), ..file_result(0.0) })
        .end(Exit::Environment, "the browser is gone");
    insta::assert_snapshot!(pretty(false, &events));
}

#[test]
fn interrupted() {
    let events = Script::new(&[A, B])
        .file(A, &["one", "two"])
        .test(A, "one", passed())
        .start(A, "two")
        .end(Exit::Interrupted, "interrupted");
    insta::assert_snapshot!(pretty(false, &events));
}

#[test]
fn a_pass_after_a_retry_is_told() {
    let flaky = |retries| TestResult { retries, errors: vec![error("first try")], ..passed() };
    let script = Script::new(&[A]).file(A, &["one", "two"]).test(A, "one", flaky(1)).test(A, "two", flaky(2));
    let text = pretty(false, &script.file_end(A, file_result(1.0)).end(Exit::Passed, ""));
    assert!(text.contains("\n  ~ one  passed after 1 retry\n  ~ two  passed after 2 retries\n"), "{text}");
    assert!(!text.contains("first try"), "{text}");
}

#[test]
fn nothing_ran() {
    insta::assert_snapshot!(pretty(false, &Script::new(&[]).end(Exit::NothingRan, "no test ran: no file has a test")));
}

#[test]
fn a_run_without_an_end_says_so() {
    let text = pretty(false, &green().events());
    assert!(text.ends_with("1 skipped in 1 file, 50 ms: the run ended without a result\n"), "{text}");
}

#[test]
fn hostile_and_foreign_text() {
    let title = "한글 👩‍👩‍👧 \u{202e}desrever\x1b]0;owned\x07\nsecond line";
    let hostile = TestError { name: "\x1b[2J".into(), message: "a\r\nb\x1b[1A\u{9b}31m".into(), ..assertion() };
    let events = Script::new(&[A])
        .file(A, &[title])
        .in_test(A, title, console("log", "plain\n\x1b[31mred\x1b[0m\r100%"))
        .test(A, title, failed(hostile))
        .file_end(A, file_result(1.0))
        .end(Exit::Failed, "1 test failed");
    let text = pretty(false, &events);
    assert!(!text.contains(|c| is_odd(c) && c != '\n'), "{text:?}");
    insta::assert_snapshot!(text);
}

#[test]
fn console_lines_are_grouped_and_bounded() {
    let mut script = Script::new(&[A]).file(A, &["one", "two"]);
    script = script.in_file(A, console("info", "loading"));
    script = script.in_test(A, "one", console("log", "first")).in_test(A, "one", console("log", ""));
    script = script.in_test(A, "one", console("error", "second"));
    for n in 0..300 {
        script = script.in_test(A, "two", console("log", &format!("line {n}")));
    }
    let text = pretty(false, &script.end(Exit::Passed, ""));
    insta::assert_snapshot!(text.replace("line ", "line #").lines().take(14).collect::<Vec<_>>().join("\n"));
    assert_eq!(text.matches("line ").count(), 100);
    assert_eq!(text.matches("its further console lines are not shown here").count(), 1);
}

#[test]
fn many_failures_are_bounded() {
    let titles: Vec<String> = (0..300).map(|n| format!("test {n}")).collect();
    let mut script = Script::new(&[A]).file(A, &titles.iter().map(String::as_str).collect::<Vec<_>>());
    for title in &titles {
        script = script.test(A, title, failed(error(&"x".repeat(100_000))));
    }
    let text = pretty(false, &script.file_end(A, file_result(1.0)).end(Exit::Failed, "300 tests failed"));
    assert!(text.contains("... and 250 tests more that failed"), "{text}");
    assert!(text.contains("... and 200 failures more"), "{text}");
    assert!(text.len() < 1_000_000, "{}", text.len());
}

#[test]
fn a_report_that_could_not_be_written_is_the_reason() {
    let memory = Memory::default();
    let terminal = Terminal::to(Box::new(memory.clone()));
    let mut reporter = Pretty::new(terminal, PrettyOptions { report_dir: Some("out".into()), ..Default::default() });
    let mut fold = Fold::default();
    green().end(Exit::Passed, "").iter().for_each(|event| fold.apply(event));
    let problem = ReportError::File { path: "out/2.x.mock.json".into(), reason: std::io::Error::other("disk full") };
    reporter.finish(&fold, &[problem]).unwrap();
    let text = memory.text();
    assert!(text.contains("ERROR  1 passed, 1 skipped in 1 file"), "{text}");
    assert!(text.contains(": cannot write the report out/2.x.mock.json: disk full"), "{text}");
}

proptest! {
    #[test]
    fn no_event_writes_an_escape(events in proptest::collection::vec(arbitrary_event(), 0..8)) {
        let text = pretty(false, &events);
        prop_assert!(!text.contains(|c| is_odd(c) && !matches!(c, '\n' | '\t')), "{:?}", text);
        prop_assert!(text.ends_with('\n'));
    }
}
