#![allow(clippy::unwrap_used)]
use camino::Utf8PathBuf;

use super::*;
use crate::wire::CollectedTest;

fn maps() -> SourceMaps {
    SourceMaps::new(Utf8PathBuf::from("/project"))
}

fn file(titles: &[&str]) -> FileRun {
    let mut run = FileRun::new(FileId("a.ait.test.ts".into()), Scrub::default());
    let step = run.page_said(collected(titles), &maps());
    assert!(matches!(step.events[..], [(None, EventKind::FileStarted { .. })]));
    run
}

fn collected(titles: &[&str]) -> PageEvent {
    let tests = titles.iter().map(|t| CollectedTest { path: vec![(*t).into()], mode: TestMode::Run }).collect();
    PageEvent::Collected { run: 1, tests, only: false }
}

fn start(run: &mut FileRun, test: u32) -> Step {
    run.page_said(PageEvent::TestStart { run: 1, test, attempt: 0, limit: 0 }, &maps())
}

fn end(run: &mut FileRun, test: u32, state: TestState) -> Step {
    let event = PageEvent::TestEnd { run: 1, test, state, ms: 1.0, errors: vec![], note: None, retries: 0 };
    run.page_said(event, &maps())
}

#[test]
fn results_are_booked_once_and_only_for_tests_that_exist() {
    let mut run = file(&["one", "two"]);
    start(&mut run, 0);
    assert_eq!(run.running_title().as_deref(), Some("one"));
    assert_eq!(end(&mut run, 0, TestState::Failed).failed, 1);
    assert!(end(&mut run, 0, TestState::Passed).events.is_empty(), "a result that comes again is not a second one");
    assert!(end(&mut run, 9, TestState::Passed).events.is_empty());
    assert_eq!(run.finish(None).counts, Counts { failed: 1, ..Counts::default() });
}

#[test]
fn a_loss_costs_the_running_test_and_the_file_goes_on_behind_it() {
    let mut run = file(&["one", "two", "three"]);
    start(&mut run, 0);
    end(&mut run, 0, TestState::Passed);
    start(&mut run, 1);
    let step = run.lost(LossCause::Crashed, "the page crashed", None, 5.0);
    let [(Some(id), EventKind::TestFinished(result))] = &step.events[..] else { panic!("{step:?}") };
    assert_eq!((id.0.as_str(), result.state), ("a.ait.test.ts > two", TestState::Failed));
    assert_eq!(result.errors[0].message, "the page crashed");
    assert_eq!(run.restart(true), Some(2));
    assert!(run.page_said(collected(&["one", "two", "three"]), &maps()).events.is_empty(), "started only once");
    start(&mut run, 2);
    end(&mut run, 2, TestState::Passed);
    let result = run.finish(None);
    assert_eq!((result.counts.passed, result.counts.failed, result.errors.len()), (2, 1, 0));
}

#[test]
fn a_reload_after_the_last_test_is_only_a_notice() {
    let mut run = file(&["one"]);
    start(&mut run, 0);
    end(&mut run, 0, TestState::Passed);
    let step = run.lost(LossCause::Reloaded, "the page reloaded itself", None, 0.0);
    let [(None, EventKind::Notice { message, .. })] = &step.events[..] else { panic!("{step:?}") };
    assert!(message.contains("not started again"), "{message}");
    assert_eq!(run.restart(false), None);
    assert!(run.finish(None).errors.is_empty());
}

#[test]
fn a_hook_after_the_last_test_that_never_ends_is_the_files_failure() {
    let mut run = file(&["a"]);
    start(&mut run, 0);
    end(&mut run, 0, TestState::Passed);
    assert!(run.lost(LossCause::Busy, "the file took longer than its limit", None, 0.0).events.is_empty());
    assert_eq!(run.restart(false), None);
    let result = run.finish(None);
    assert_eq!(result.errors[0].message, "the file took longer than its limit");
}

#[test]
fn a_loss_between_tests_is_the_files_and_the_rest_is_not_run() {
    let mut run = file(&["one", "two"]);
    assert!(run.lost(LossCause::Navigated, "gone", None, 0.0).events.is_empty());
    assert_eq!(run.restart(false), None);
    assert_eq!(run.finish(None).errors[0].message, "gone");
}

#[test]
fn a_file_whose_every_test_takes_its_page_down_comes_to_an_end() {
    let titles: Vec<String> = (0..9).map(|n| n.to_string()).collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut run = file(&titles);
    let mut next = 0;
    for _ in 0..MAX_RESTARTS {
        start(&mut run, next);
        run.lost(LossCause::Busy, "loop", None, 0.0);
        next = run.restart(true).unwrap();
    }
    start(&mut run, next);
    run.lost(LossCause::Busy, "loop", None, 0.0);
    assert_eq!(run.restart(true), None);
    let result = run.finish(None);
    assert_eq!(result.counts.failed, MAX_RESTARTS + 1);
    assert_eq!(result.errors[0].message, "5 more tests were not run: the file has lost its page 4 times");
}

#[test]
fn other_tests_after_a_loss_are_an_error_of_the_file() {
    let mut run = file(&["one", "two"]);
    start(&mut run, 0);
    run.lost(LossCause::Busy, "loop", None, 0.0);
    assert!(run.page_said(collected(&["one", "three"]), &maps()).ended);
    assert!(run.finish(None).errors[0].message.contains("other tests"));
}

#[test]
fn a_dialog_is_the_running_tests_failure_whatever_it_says_itself() {
    let mut run = file(&["one"]);
    start(&mut run, 0);
    assert!(run.fail_running("dialog".into()));
    assert_eq!(end(&mut run, 0, TestState::Passed).failed, 1);
    assert!(!run.fail_running("dialog".into()), "without a test it is the file's");
    assert_eq!(run.finish(None).errors.len(), 1);
}

#[test]
fn tests_that_run_together_are_lost_together() {
    let mut run = file(&["one", "two", "three"]);
    start(&mut run, 0);
    start(&mut run, 1);
    assert_eq!(run.lost(LossCause::Frozen, "gone", None, 0.0).failed, 2);
    assert_eq!(run.restart(true), Some(2));
}
