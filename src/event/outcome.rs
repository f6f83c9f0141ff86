//! How files and runs end, and how their tests are counted.

use serde::{Deserialize, Serialize};

use super::{ErrorKind, TestError, TestResult, TestState};
use crate::exit::Exit;

/// How a file ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileResult {
    /// Milliseconds from its first evaluate to its end.
    pub duration_ms: f64,
    /// Its tests, counted.
    pub counts: Counts,
    /// Errors that belong to the file and to no test: it could not be bundled or loaded, a suite hook failed, it had
    /// no test, its deadline struck. Not empty means that the file failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<TestError>,
    /// It was not run at all (bail, interrupt, no page left), and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
}

/// Tests, counted by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Passed.
    pub passed: u32,
    /// Failed.
    pub failed: u32,
    /// Of the failed: those where every error was [`ErrorKind::Unsupported`].
    pub unsupported: u32,
    /// Skipped.
    pub skipped: u32,
    /// Planned only.
    pub todo: u32,
}

impl Counts {
    /// Counts one more test.
    pub fn add(&mut self, result: &TestResult) {
        match result.state {
            TestState::Passed => self.passed += 1,
            TestState::Failed => {
                self.failed += 1;
                let all = |kind| !result.errors.is_empty() && result.errors.iter().all(|e| e.kind == kind);
                if all(ErrorKind::Unsupported) {
                    self.unsupported += 1;
                }
            }
            TestState::Skipped => self.skipped += 1,
            TestState::Todo => self.todo += 1,
        }
    }

    /// Adds another count to this one.
    pub fn merge(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.unsupported += other.unsupported;
        self.skipped += other.skipped;
        self.todo += other.todo;
    }

    /// All tests.
    pub fn total(self) -> u32 {
        self.passed + self.failed + self.skipped + self.todo
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    /// All tests, counted.
    pub counts: Counts,
    /// Files that ran and held.
    pub files_passed: u32,
    /// Files with a failed test or an error of their own.
    pub files_failed: u32,
    /// Files that were not run.
    pub files_not_run: u32,
    /// Errors outside any test.
    pub exceptions: u32,
    /// Milliseconds since the run started.
    pub duration_ms: f64,
    /// Verdict.
    pub exit: Exit,
    /// The verdict in words, empty when everything passed.
    pub reason: String,
}
