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
    let step = run.lost(LossCause::Crashed, "the page crashed", None, |_| 5.0);
    let [(Some(id), EventKind::TestFinished(result))] = &step.events[..] else { panic!("{step:?}") };
    assert_eq!((id.0.as_str(), result.state), ("a.ait.test.ts > two", TestState::Failed));
    assert_eq!(result.errors[0].message, "the page crashed");
    assert_eq!(run.restart(true), Some(vec![0, 1]));
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
    let step = run.lost(LossCause::Reloaded, "the page reloaded itself", None, |_| 0.0);
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
    assert!(run.lost(LossCause::Busy, "the file took longer than its limit", None, |_| 0.0).events.is_empty());
    assert_eq!(run.restart(false), None);
    let result = run.finish(None);
    assert_eq!(result.errors[0].message, "the file took longer than its limit");
}

#[test]
fn a_loss_between_tests_is_the_files_and_the_rest_is_not_run() {
    let mut run = file(&["one", "two"]);
    assert!(run.lost(LossCause::Navigated, "gone", None, |_| 0.0).events.is_empty());
    assert_eq!(run.restart(false), None);
    let messages: Vec<_> = run.finish(None).errors.into_iter().map(|error| error.message).collect();
    assert_eq!(messages, ["gone", "2 more tests were not run: the page was lost while none ran"]);
}

#[test]
fn a_file_whose_every_test_takes_its_page_down_comes_to_an_end() {
    let titles: Vec<String> = (0..9).map(|n| n.to_string()).collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut run = file(&titles);
    let mut next = 0;
    for _ in 0..MAX_RESTARTS {
        start(&mut run, next);
        run.lost(LossCause::Busy, "loop", None, |_| 0.0);
        next = u32::try_from(run.restart(true).unwrap().len()).unwrap();
    }
    start(&mut run, next);
    run.lost(LossCause::Busy, "loop", None, |_| 0.0);
    assert_eq!(run.restart(true), None);
    let result = run.finish(None);
    assert_eq!(result.counts.failed, MAX_RESTARTS + 1);
    assert_eq!(result.errors[0].message, "5 more tests were not run: the file has lost its page 4 times");
}

#[test]
fn other_tests_after_a_loss_are_an_error_of_the_file() {
    let mut run = file(&["one", "two"]);
    start(&mut run, 0);
    run.lost(LossCause::Busy, "loop", None, |_| 0.0);
    assert!(run.page_said(collected(&["one", "three"]), &maps()).given_up);
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
    assert_eq!(run.lost(LossCause::Frozen, "gone", None, |_| 0.0).failed, 2);
    assert_eq!(run.restart(true), Some(vec![0, 1]));
}

#[test]
fn what_neither_ran_nor_ended_is_run_after_a_loss_and_nothing_else() {
    let mut run = file(&["slow", "ended", "waits", "slow, too", "waits, too"]);
    for test in [0, 1, 3] {
        start(&mut run, test);
    }
    end(&mut run, 1, TestState::Passed);
    let step = run.lost(LossCause::Reloaded, "gone", None, |index| index as f64);
    let of = |said: &Said| match &said.1 {
        EventKind::TestFinished(result) => (result.path[0].clone(), result.duration_ms),
        other => panic!("{other:?}"),
    };
    let lost: Vec<_> = step.events.iter().map(of).collect();
    assert_eq!(lost, [("slow".to_owned(), 0.0), ("slow, too".to_owned(), 3.0)]);
    assert_eq!(run.restart(true), Some(vec![0, 1, 3]));
}

#[test]
fn a_file_that_ends_without_each_result_names_what_is_missing() {
    let mut run = file(&["a", "b", "c", "d", "e"]);
    start(&mut run, 0);
    end(&mut run, 0, TestState::Passed);
    run.page_said(PageEvent::FileEnd { run: 1, ms: 1.0, load_error: None }, &maps());
    let message = &run.finish(None).errors[0].message;
    assert!(message.contains("'b', 'c', 'd' and 1 more"), "{message}");
}
