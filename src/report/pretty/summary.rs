//! The end of a run: failures in full, and the last line.

use crate::event::{RunResult, TestError, UncaughtOrigin};
use crate::exit::Exit;
use crate::report::ReportError;
use crate::report::fold::{Fold, OutsideError};
use crate::report::text::{count, duration, line};

use super::failure::Failures;
use super::file_line::counts;
use super::traffic::last_messages;

/// Failures that are shown in full; the list above and the artifact have them all.
const SHOWN: usize = 100;

/// Everything that failed, in full; empty where nothing did.
pub(super) fn failures(fold: &Fold, failures: &Failures) -> String {
    let paint = failures.paint;
    let mut blocks = Vec::new();
    for file in &fold.files {
        let errors = file.result.as_ref().map_or(&[][..], |result| &result.errors);
        if !errors.is_empty() {
            blocks.push((line(&file.id.0).into_owned(), errors.iter().collect::<Vec<_>>(), None));
        }
        for (test, result) in file.failed() {
            blocks.push((line(&test.id.0).into_owned(), result.errors.iter().collect(), Some(&test.id)));
        }
    }
    for outside in &fold.exceptions {
        blocks.push((outside_title(outside), vec![&outside.error], None));
    }
    let mut out = String::new();
    for (title, errors, test) in blocks.iter().take(SHOWN) {
        out.push_str(&format!("\n{} {}\n", paint.red("FAIL"), paint.bold(title)));
        write_errors(&mut out, errors, failures);
        if let Some(test) = test {
            out.push_str(&last_messages(&fold.traffic, test, paint));
        }
    }
    if blocks.len() > SHOWN {
        let more = count(blocks.len() - SHOWN, "failure");
        out.push_str(&format!("\n... and {more} more, listed above below their files\n"));
    }
    out
}

fn write_errors(out: &mut String, errors: &[&TestError], failures: &Failures) {
    if errors.is_empty() {
        out.push_str("  it failed without an error\n");
    }
    for (n, error) in errors.iter().enumerate() {
        if n > 0 {
            out.push('\n');
        }
        out.push_str(&failures.full(error));
    }
}

/// What came up outside a test, and what ran meanwhile.
pub(super) fn outside_title(outside: &OutsideError) -> String {
    let what = match outside.origin {
        UncaughtOrigin::Error => "error outside any test",
        UncaughtOrigin::Rejection => "unhandled rejection",
        UncaughtOrigin::Unawaited => "assertion that nobody awaited",
    };
    match (&outside.test, &outside.file) {
        (Some(test), _) => format!("{what}, while {} was running", line(&test.0)),
        (None, Some(file)) => format!("{what}, in {}", line(&file.0)),
        (None, None) => what.into(),
    }
}

/// The last line: verdict, counts, time and, where it is not green, the reason.
pub(super) fn last_line(fold: &Fold, problems: &[ReportError], failures: &Failures) -> String {
    let paint = failures.paint;
    let result = fold.result.as_ref();
    let problem = problems.first().map(ToString::to_string);
    let exit = match result.map(|result| result.exit) {
        Some(Exit::Passed) if problem.is_some() => Some(Exit::Environment),
        exit => exit,
    };
    let label = match exit {
        Some(Exit::Passed) => paint.green("PASSED"),
        Some(Exit::Failed) => paint.red("FAILED"),
        Some(Exit::Environment) => paint.red("ERROR"),
        Some(Exit::NothingRan) => paint.red("NOTHING RAN"),
        Some(Exit::Usage) => paint.red("USAGE"),
        Some(Exit::Interrupted) => paint.yellow("INTERRUPTED"),
        Some(Exit::Terminated) => paint.yellow("TERMINATED"),
        None => paint.red("CUT OFF"),
    };
    let tests = result.map_or(fold.counts, |result| result.counts);
    let none_passed = if tests.passed > 0 {
        ""
    } else if tests.total() > 0 {
        "0 passed, "
    } else {
        "0 passed"
    };
    let tests = format!("{none_passed}{}", counts(tests, paint));
    // A run that was cut off lasted at least until the last thing that was heard of it.
    let ms = result.map_or(fold.at as f64, |result| result.duration_ms);
    let mut out = format!("{label}  {tests} in {}, {}", files(fold, result), duration(ms));
    let reason = result.map_or("the run ended without a result", |result| result.reason.as_str());
    let reasons = [Some(reason.to_owned()).filter(|reason| !reason.is_empty()), problem];
    for reason in reasons.into_iter().flatten() {
        out.push_str(&format!(": {}", line(&reason)));
    }
    out.push('\n');
    out
}

/// `3 files (1 failed, 1 not run)`.
fn files(fold: &Fold, result: Option<&RunResult>) -> String {
    let (failed, not_run) = result.map_or((0, 0), |result| (result.files_failed, result.files_not_run));
    let parts = [(failed, "failed"), (not_run, "not run")];
    let parts: Vec<String> = parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let details = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    format!("{}{details}", count(fold.files.len(), "file"))
}
