//! One line per file, with its failed tests below.

use crate::event::Counts;
use crate::ident::full_title;
use crate::report::fold::{FileFold, FileVerdict};
use crate::report::text::{count, duration, line};

use super::failure::Failures;
use super::style::Paint;

/// Failed tests that are listed below a file; when more fail, they fail for one reason.
const LISTED: usize = 50;

/// The line of a file that is over.
pub(super) fn file_lines(file: &FileFold, failures: &Failures) -> String {
    let paint = failures.paint;
    let result = file.result.as_ref();
    let label = match file.verdict() {
        FileVerdict::Passed => paint.green("PASS"),
        FileVerdict::Failed => paint.red("FAIL"),
        FileVerdict::Skipped => paint.yellow("SKIP"),
        FileVerdict::NotRun => paint.yellow("NOT RUN"),
    };
    let mut out = format!("{label} {}", line(&file.id.0));
    if file.counts.total() > 0 {
        out.push_str(&format!("  {}", counts(file.counts, paint)));
    }
    match result.and_then(|result| result.not_run.as_deref()) {
        Some(why) => out.push_str(&format!("  {}", line(why))),
        None => {
            let ms = result.map_or(0.0, |result| result.duration_ms);
            // A file that could not be bundled took none.
            if ms > 0.0 {
                out.push_str(&format!("  {}", paint.dim(duration(ms))));
            }
        }
    }
    out.push('\n');
    for error in result.map_or(&[][..], |result| &result.errors) {
        out.push_str(&format!("  {} {}\n", paint.red("✗"), failures.short(error)));
    }
    failed_lines(&mut out, file, failures);
    for (test, result) in file.flaky().take(LISTED) {
        let retries = if result.retries == 1 { "1 retry".into() } else { format!("{} retries", result.retries) };
        out.push_str(&format!("  {} {}  passed after {retries}\n", paint.yellow("~"), line(&full_title(&test.path))));
    }
    out
}

fn failed_lines(out: &mut String, file: &FileFold, failures: &Failures) {
    let paint = failures.paint;
    let mut failed = file.failed();
    for (test, result) in failed.by_ref().take(LISTED) {
        let time = paint.dim(duration(result.duration_ms));
        out.push_str(&format!("  {} {}  {time}\n", paint.red("✗"), line(&full_title(&test.path))));
        if let Some(error) = result.errors.first() {
            out.push_str(&format!("    {}\n", paint.dim(failures.short(error))));
        }
    }
    match failed.count() {
        0 => {}
        more => out.push_str(&format!("  ... and {} more that failed\n", count(more, "test"))),
    }
}

/// `2 passed, 1 failed (1 unsupported), 1 skipped, 1 todo`; what is zero is left out.
pub(super) fn counts(counts: Counts, paint: Paint) -> String {
    let unsupported = match counts.unsupported {
        0 => String::new(),
        n => format!(" ({n} unsupported)"),
    };
    let parts = [
        (counts.passed, paint.green(format!("{} passed", counts.passed))),
        (counts.failed, paint.red(format!("{} failed{unsupported}", counts.failed))),
        (counts.skipped, paint.yellow(format!("{} skipped", counts.skipped))),
        (counts.todo, paint.yellow(format!("{} todo", counts.todo))),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|(n, _)| *n > 0).map(|(_, text)| text).collect();
    parts.join(", ")
}
