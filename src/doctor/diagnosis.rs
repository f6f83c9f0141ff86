//! What was found, for people and programs.

use serde::Serialize;

/// How a link of the chain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// There was nothing to look at.
    Skipped,
    /// It holds.
    Ok,
    /// A run may work without it, or not for everybody.
    Warning,
    /// A run that needs it fails.
    Failed,
}

impl Verdict {
    /// One word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }
}

/// One link of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its name, for programs: `secret`, `clock`, ...
    pub check: &'static str,
    /// How it is.
    pub verdict: Verdict,
    /// What was found.
    pub found: String,
    /// What to do about it, where something is to be done.
    pub next: Option<String>,
}

impl Check {
    pub(super) fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Ok, found: found.into(), next: None }
    }

    pub(super) fn skipped(check: &'static str, found: impl Into<String>) -> Self {
        Self { verdict: Verdict::Skipped, ..Self::ok(check, found) }
    }

    pub(super) fn warning(check: &'static str, found: impl Into<String>) -> Self {
        Self { verdict: Verdict::Warning, ..Self::ok(check, found) }
    }

    pub(super) fn failed(check: &'static str, found: impl Into<String>) -> Self {
        Self { verdict: Verdict::Failed, ..Self::ok(check, found) }
    }

    pub(super) fn next(self, next: impl Into<String>) -> Self {
        Self { next: Some(next.into()), ..self }
    }
}

/// Everything that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// Version of the tool.
    pub version: &'static str,
    /// The worst of all.
    pub verdict: Verdict,
    /// Each, in the order of the chain.
    pub checks: Vec<Check>,
}

impl Diagnosis {
    pub(super) fn new(checks: Vec<Check>) -> Self {
        let verdict = checks.iter().map(|check| check.verdict).max().unwrap_or(Verdict::Ok);
        Self { version: env!("CARGO_PKG_VERSION"), verdict, checks }
    }
}
