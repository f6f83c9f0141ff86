//! What to run, and within which limits.

use std::time::Duration;

use serde_json::Value;

use crate::bundle::{BundleOptions, TestFile};
use crate::event::TargetKind;
use crate::ident::{Cell, FileId};
pub use crate::settings::Limits;
use crate::wire::RunRequest;

/// Everything [`super::execute`] needs to know.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The files, in the order in which they run.
    pub files: Vec<TestFile>,
    /// How they are bundled.
    pub bundle: BundleOptions,
    /// The cell of the run, for reports.
    pub cell: Cell,
    /// Which kind of page was asked for.
    pub target: TargetKind,
    /// Globals to define in the page before anything else runs, `__AIT_CELL__` among them where a cell was given.
    pub globals: Vec<(String, Value)>,
    /// The deadlines.
    pub limits: Limits,
    /// Source of a JavaScript regular expression that selects tests by full title.
    pub name_pattern: Option<String>,
    /// Whether `only` may be used.
    pub allow_only: bool,
    /// Stop after so many failed tests.
    pub bail: Option<u32>,
    /// A run without a single test counts as passed.
    pub pass_with_no_tests: bool,
    /// What was noticed while the run was prepared; said as warnings at its start.
    pub warnings: Vec<String>,
}

impl Plan {
    pub(super) fn request(&self, run: u32, file: &FileId, skip_before: u32) -> RunRequest {
        RunRequest {
            run,
            file: file.0.clone(),
            test_timeout: millis(self.limits.test),
            hook_timeout: millis(self.limits.hook),
            name_pattern: self.name_pattern.clone(),
            allow_only: self.allow_only,
            skip_before,
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
