//! What to run, and within which limits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::assets;
use crate::bundle::{BundleError, BundleOptions, TestFile, discover};
use crate::event::TargetKind;
use crate::ident::{Cell, FileId};
pub use crate::settings::Limits;
use crate::settings::Settings;
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
    /// The script that records what the page exchanges, where that is wanted.
    pub recorder: Option<String>,
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
    /// Take a picture of the page when a test fails, where its browser can.
    pub screenshots: bool,
    /// Somebody works with the page when the run is over: one that is lost at its end is replaced, too.
    pub page_is_kept: bool,
    /// What was noticed while the run was prepared; said as warnings at its start.
    pub warnings: Vec<String>,
}

/// Why no plan can be made.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The files cannot be found.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// Tests are named after their path.
    #[error("the path {} is not Unicode; tests in it cannot be named", .0.display())]
    NotUnicode(PathBuf),
}

/// What tests read their cell from.
const CELL_GLOBAL: &str = "__AIT_CELL__";
/// Files are run one after the other: more bundles at a time than this are never ahead of them for long.
const MAX_BUNDLE_JOBS: usize = 4;

impl Plan {
    /// Finds the files that the settings select, and puts together what running them takes.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn of(settings: &Settings) -> Result<Self, PlanError> {
        let selection = &settings.selection;
        let root = utf8(&settings.project_root.value)?;
        let found = discover(root, utf8(&selection.base)?, &selection.patterns, selection.manual)?;
        let mut warnings: Vec<String> =
            found.unmatched.iter().map(|pattern| format!("no test file matches {pattern}")).collect();
        if found.manual_left_out > 0 && found.files.is_empty() {
            let left_out = found.manual_left_out;
            warnings.push(format!("files that need a person were left out ({left_out}); --manual runs them"));
        }
        let mut globals = settings.globals.clone();
        if let Some(cell) = &settings.cell {
            let cell = serde_json::json!({ "sdkLine": cell.sdk_line, "platform": cell.platform });
            globals.retain(|(key, _)| key != CELL_GLOBAL);
            globals.insert(0, (CELL_GLOBAL.into(), cell));
        }
        Ok(Self {
            files: found.files,
            bundle: BundleOptions {
                root: Utf8PathBuf::from(root),
                sdk_packages: settings.sdk_packages.clone(),
                target: settings.bundle_targets.value.clone(),
                jobs: std::thread::available_parallelism().map_or(1, usize::from).min(MAX_BUNDLE_JOBS),
            },
            cell: settings.cell_or_default(),
            target: settings.target.kind,
            globals,
            recorder: settings.capture.as_ref().map(assets::recorder),
            limits: settings.limits,
            name_pattern: selection.name_pattern.as_ref().map(|pattern| pattern.value.clone()),
            allow_only: selection.allow_only,
            bail: selection.bail,
            pass_with_no_tests: selection.pass_with_no_tests,
            screenshots: settings.report.screenshots && settings.report.dir.is_some(),
            page_is_kept: false,
            warnings,
        })
    }

    pub(super) fn request(&self, run: u32, file: &FileId, skip: Vec<u32>, hold_failing: bool) -> RunRequest {
        RunRequest {
            run,
            file: file.0.clone(),
            test_timeout: millis(self.limits.test),
            hook_timeout: millis(self.limits.hook),
            name_pattern: self.name_pattern.clone(),
            allow_only: self.allow_only,
            skip,
            hold_failing,
        }
    }
}

fn utf8(path: &Path) -> Result<&Utf8Path, PlanError> {
    Utf8Path::from_path(path).ok_or_else(|| PlanError::NotUnicode(path.to_path_buf()))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
