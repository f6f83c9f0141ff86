//! A run in a few hundred tokens: the verdict, the first failures, and where the rest is.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::debug::Debug;
use super::envelope::{Fault, FaultCode};
use super::record::{Inner, Record, shown};
use super::store::cut;
use crate::event::{TestError, TestState};
use crate::exit::Exit;
use crate::report::TestFold;

/// Failures that are told; whoever mends one after the other reads the rest from `get_test_failure`.
const MAX_FAILURES: usize = 5;
/// Characters of one message.
const MAX_MESSAGE: usize = 200;
/// Warnings that are told.
const MAX_WARNINGS: usize = 3;

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    /// Its number, for other tools.
    run: u32,
    /// passed, failed, environment, nothing_ran or interrupted.
    verdict: &'static str,
    /// The verdict in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    /// Tests by verdict.
    tests: Tests,
    /// Files by verdict.
    files: Files,
    /// Errors outside any test.
    #[serde(skip_serializing_if = "is_zero")]
    outside_errors: u32,
    /// When it began.
    started_at: String,
    /// How long it took.
    duration_ms: u64,
    /// The cell, `<sdkLine>.<platform>`.
    cell: String,
    /// Where it ran.
    #[serde(skip_serializing_if = "String::is_empty")]
    page: String,
    /// The first failures.
    failures: Vec<Failure>,
    /// Failures that are not told here.
    #[serde(skip_serializing_if = "is_none")]
    failures_left_out: usize,
    /// Captures by category.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    captures: BTreeMap<String, u32>,
    /// What is worth acting on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// Every event of the run, one JSON object a line.
    file: String,
    /// The report folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    report_dir: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Tests {
    passed: u32,
    failed: u32,
    skipped: u32,
    todo: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Files {
    passed: u32,
    failed: u32,
    not_run: u32,
}

/// A failed test, or a file that failed by itself.
#[derive(Debug, Serialize, JsonSchema)]
struct Failure {
    /// The test's id, or the file's name.
    test: String,
    message: String,
    /// `file:line:column`.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

fn is_none(n: &usize) -> bool {
    *n == 0
}

impl Summary {
    /// What a run that is over came to.
    pub(super) fn of(record: &Record) -> Self {
        record.look(|run| {
            let fold = &run.fold;
            let result = fold.result.as_ref();
            let files = fold.files.iter().flat_map(|file| {
                let errors = file.result.iter().flat_map(|result| &result.errors);
                errors.map(move |error| failure(&file.id.0, error))
            });
            let tests = fold.failed().map(|(_, test, result)| match result.errors.first() {
                Some(error) => failure(&test.id.0, error),
                None => Failure { test: test.id.0.clone(), message: "It failed.".into(), at: None },
            });
            let outside = fold.exceptions.iter().map(|thrown| {
                let name = thrown.test.as_ref().map(|test| &test.0).or(thrown.file.as_ref().map(|file| &file.0));
                failure(name.map_or("outside any test", String::as_str), &thrown.error)
            });
            let mut failures: Vec<_> = files.chain(tests).chain(outside).collect();
            let failures_left_out = failures.len().saturating_sub(MAX_FAILURES);
            failures.truncate(MAX_FAILURES);
            Self {
                run: record.run,
                verdict: verdict(result.map(|result| result.exit)),
                reason: result.map(|result| short(&result.reason)).unwrap_or_default(),
                tests: Tests {
                    passed: fold.counts.passed,
                    failed: fold.counts.failed,
                    skipped: fold.counts.skipped,
                    todo: fold.counts.todo,
                },
                files: Files {
                    passed: result.map_or(0, |result| result.files_passed),
                    failed: result.map_or(0, |result| result.files_failed),
                    not_run: result.map_or(0, |result| result.files_not_run),
                },
                outside_errors: result.map_or(0, |result| result.exceptions),
                started_at: fold.info.as_ref().map(|info| info.started_at.clone()).unwrap_or_default(),
                duration_ms: fold.at,
                cell: fold.info.as_ref().map(|info| info.cell.file_stem()).unwrap_or_default(),
                page: fold.page.as_ref().map(|page| format!("{}, {}", page.engine, page.device)).unwrap_or_default(),
                failures,
                failures_left_out,
                captures: run.captures.iter().map(|(category, count)| (category.clone(), *count)).collect(),
                warnings: run.warnings.iter().take(MAX_WARNINGS).map(|warning| short(warning)).collect(),
                file: record.file.display().to_string(),
                report_dir: run.report_dir.as_ref().map(|dir| dir.display().to_string()),
            }
        })
    }

    /// The fault it comes to where not one test was over because there was no page.
    pub(super) fn fault(&self, debug: &Debug) -> Option<Fault> {
        let ran = self.tests.passed + self.tests.failed + self.tests.skipped + self.tests.todo;
        if self.verdict != "environment" || ran > 0 {
            return None;
        }
        let code = if debug.is_attached() { FaultCode::PageFrozen } else { FaultCode::PageLost };
        let next = if debug.mode.needs_person() { "start_attach" } else { "start_debug" };
        let fault = Fault::new(code, "No test was run.").because(self.reason.clone());
        Some(fault.next(next, "get a page that answers, then run again"))
    }

    /// `failed: 3 of 300 tests failed ...`.
    pub(super) fn sentence(&self) -> String {
        let Tests { passed, failed, skipped, .. } = self.tests;
        let mut text = format!("{}: {passed} passed, {failed} failed, {skipped} skipped", self.verdict);
        text.push_str(&format!(" in {:.1} s.", std::time::Duration::from_millis(self.duration_ms).as_secs_f64()));
        if let Some(first) = self.failures.first() {
            let mut first = format!(" First: {}", first.test);
            cut(&mut first, MAX_MESSAGE);
            text.push_str(&format!("{first}. get_test_failure tells the whole of it."));
        } else if self.verdict != "passed" {
            text.push_str(&format!(" {}.", self.reason.trim_end_matches('.')));
        }
        for warning in &self.warnings {
            text.push_str(&format!(" Note: {}.", warning.trim_end_matches('.')));
        }
        text
    }
}

/// Every test of a run with its state, in order.
pub(super) fn all_tests(run: &Inner) -> Vec<Value> {
    run.fold.files.iter().flat_map(|file| tests_of(&file.tests)).collect()
}

/// Tests with the state each is in.
pub(super) fn tests_of(tests: &[TestFold]) -> impl Iterator<Item = Value> {
    let state = |state| match state {
        TestState::Passed => "passed",
        TestState::Failed => "failed",
        TestState::Skipped => "skipped",
        TestState::Todo => "todo",
    };
    tests.iter().map(move |test| {
        let last = test.result.as_ref().map_or("not run", |result| state(result.state));
        json!({ "test": test.id.0, "last": last })
    })
}

fn verdict(exit: Option<Exit>) -> &'static str {
    match exit {
        Some(Exit::Passed) => "passed",
        Some(Exit::Failed) => "failed",
        Some(Exit::NothingRan) => "nothing_ran",
        Some(Exit::Interrupted | Exit::Terminated) => "interrupted",
        Some(Exit::Environment | Exit::Usage) | None => "environment",
    }
}

fn failure(name: &str, error: &TestError) -> Failure {
    let message =
        if error.name.is_empty() { error.message.clone() } else { format!("{}: {}", error.name, error.message) };
    let mut test = name.to_owned();
    cut(&mut test, MAX_MESSAGE);
    Failure { test, message: short(&message), at: error.frames.first().map(|frame| shown(&frame.location)) }
}

fn short(text: &str) -> String {
    let mut text = text.to_owned();
    cut(&mut text, MAX_MESSAGE);
    text
}
