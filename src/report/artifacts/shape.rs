//! The shape of a cell's artifact. Fields that programs in the field read (`cell`, `startedAt`, `duration`, `totals`,
//! `files[].{file,error,duration,passed,failed,skipped,tests,mode}`, `tests[].{name,status,duration,error,note}`) keep
//! their names and meanings; everything else stands beside them.

use serde::Serialize;

use crate::event::{Counts, PageInfo, TargetKind, TestError, TestMode, TestResult, TestState, UncaughtOrigin};
use crate::exit::Exit;
use crate::ident::{Cell, full_title};
use crate::report::capture::CaptureFile;
use crate::report::fold::{FileFold, Fold, TestFold};
use crate::report::screenshots::Screenshots;
use crate::report::traffic::Traffic;

use super::traffic::{TestConnection, Transport};

/// The whole file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Artifact<'a> {
    cell: &'a Cell,
    started_at: &'a str,
    /// Milliseconds its files took.
    duration: f64,
    totals: Totals,
    files: Vec<File<'a>>,
    tool_version: &'a str,
    target_kind: TargetKind,
    #[serde(flatten)]
    page: Option<Page<'a>>,
    /// How the whole run ended; `None` where it was cut off before it could say.
    exit: Option<Exit>,
    exit_code: Option<u8>,
    reason: &'a str,
    exceptions: Vec<Exception<'a>>,
    captures: Vec<CaptureEntry<'a>>,
    /// What the page exchanged, in files of both artifacts.
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<Transport<'a>>,
}

/// What is known of the page that ran the last test.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    device: &'a str,
    engine: &'a str,
    user_agent: &'a str,
    page_url: &'a str,
}

/// Counts of the files of this artifact. Tests that are only planned are not among the skipped.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    #[serde(flatten)]
    counts: Tally,
    total: u32,
    files: usize,
    files_failed: usize,
    files_not_run: usize,
}

#[derive(Serialize)]
struct Tally {
    passed: u32,
    failed: u32,
    skipped: u32,
    todo: u32,
    /// Of the failed.
    unsupported: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    file: &'a str,
    /// What failed about the file itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    duration: f64,
    #[serde(flatten)]
    counts: Tally,
    tests: Vec<Test<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    /// Why it was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_run: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [TestError],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Test<'a> {
    name: String,
    status: Status,
    duration: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retries: Option<u32>,
    id: &'a str,
    path: &'a [String],
    /// The page when it had failed, inside the report folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    screenshot: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transport: Vec<TestConnection>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [TestError],
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Status {
    Pass,
    Fail,
    Skip,
    Todo,
    /// It was to run, but its file did not come to it. Counted nowhere.
    NotRun,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Exception<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<&'a str>,
    origin: UncaughtOrigin,
    error: &'a TestError,
}

/// A capture file of this run.
#[derive(Serialize)]
struct CaptureEntry<'a> {
    category: &'a str,
    file: &'a str,
    records: usize,
}

impl<'a> Artifact<'a> {
    /// The artifact of the manual or of the other files; `None` before the run has started.
    pub(super) fn of(
        fold: &'a Fold,
        manual: bool,
        captures: &'a [CaptureFile<'a>],
        screenshots: &Screenshots,
    ) -> Option<Self> {
        let info = fold.info.as_ref()?;
        let files: Vec<&FileFold> = fold.files.iter().filter(|file| file.id.is_manual() == manual).collect();
        let result = fold.result.as_ref();
        // An error that came up while no file was running belongs to the artifact that every run writes.
        let own = |file: &Option<crate::ident::FileId>| file.as_ref().is_some_and(|file| file.is_manual()) == manual;
        Some(Self {
            cell: &info.cell,
            started_at: &info.started_at,
            duration: round(files.iter().filter_map(|file| file.result.as_ref()).map(|r| r.duration_ms).sum()),
            totals: Totals::of(&files),
            files: files
                .iter()
                .map(|file| File::of(file, manual, &|test| Test::of(test, &fold.traffic, screenshots, &info.cell)))
                .collect(),
            tool_version: &info.tool_version,
            target_kind: info.target,
            page: fold.page.as_ref().map(Page::of),
            exit: result.map(|result| result.exit),
            exit_code: result.map(|result| result.exit.code()),
            reason: result.map_or("the run was cut off", |result| &result.reason),
            exceptions: fold.exceptions.iter().filter(|e| own(&e.file)).map(Exception::of).collect(),
            captures: captures.iter().filter(|file| file.manual == manual).map(CaptureEntry::of).collect(),
            transport: Transport::of(&fold.traffic),
        })
    }
}

impl<'a> Page<'a> {
    fn of(page: &'a PageInfo) -> Self {
        Self { device: &page.device, engine: &page.engine, user_agent: &page.user_agent, page_url: &page.url }
    }
}

impl<'a> Exception<'a> {
    fn of(outside: &'a crate::report::fold::OutsideError) -> Self {
        Self {
            file: outside.file.as_ref().map(|file| file.0.as_str()),
            test: outside.test.as_ref().map(|test| test.0.as_str()),
            origin: outside.origin,
            error: &outside.error,
        }
    }
}

impl<'a> CaptureEntry<'a> {
    fn of(file: &'a CaptureFile<'a>) -> Self {
        Self { category: file.category, file: &file.name, records: file.records.len() }
    }
}

impl Totals {
    fn of(files: &[&FileFold]) -> Self {
        use crate::report::fold::FileVerdict::{Failed, NotRun};
        let mut counts = Counts::default();
        files.iter().for_each(|file| counts.merge(file.counts));
        let verdicts = |verdict| files.iter().filter(|file| file.verdict() == verdict).count();
        Self {
            total: counts.total(),
            counts: Tally::of(counts),
            files: files.len(),
            files_failed: verdicts(Failed),
            files_not_run: verdicts(NotRun),
        }
    }
}

impl Tally {
    fn of(counts: Counts) -> Self {
        let Counts { passed, failed, unsupported, skipped, todo } = counts;
        Self { passed, failed, skipped, todo, unsupported }
    }
}

impl<'a> File<'a> {
    fn of(file: &'a FileFold, manual: bool, test: &dyn Fn(&'a TestFold) -> Option<Test<'a>>) -> Self {
        let result = file.result.as_ref();
        let errors = result.map_or(&[][..], |result| &result.errors);
        Self {
            file: &file.id.0,
            error: errors.first().map(short),
            duration: round(result.map_or(0.0, |result| result.duration_ms)),
            counts: Tally::of(file.counts),
            tests: file.tests.iter().filter_map(test).collect(),
            mode: manual.then_some("manual"),
            not_run: result.and_then(|result| result.not_run.as_deref()),
            errors,
        }
    }
}

impl<'a> Test<'a> {
    /// `None` for a test that the name pattern left out.
    fn of(test: &'a TestFold, traffic: &Traffic, screenshots: &Screenshots, cell: &Cell) -> Option<Self> {
        let result = test.result.as_ref();
        if result.is_none() && test.mode == TestMode::Filtered {
            return None;
        }
        let errors = result.map_or(&[][..], |result| &result.errors);
        let status = result.map_or(Status::NotRun, Status::of);
        Some(Self {
            name: full_title(&test.path),
            status,
            duration: round(result.map_or(0.0, |result| result.duration_ms)),
            // A test that passed in the end keeps the errors of its earlier attempts.
            error: errors.first().filter(|_| status == Status::Fail).map(short),
            note: result.and_then(|result| result.note.as_deref()),
            retries: result.map(|result| result.retries).filter(|retries| *retries > 0),
            id: &test.id.0,
            path: &test.path,
            screenshot: screenshots.file(cell, &test.id),
            transport: TestConnection::of(traffic, &test.id),
            errors,
        })
    }
}

impl Status {
    fn of(result: &TestResult) -> Self {
        match result.state {
            TestState::Passed => Status::Pass,
            TestState::Failed => Status::Fail,
            TestState::Skipped => Status::Skip,
            TestState::Todo => Status::Todo,
        }
    }
}

/// One line on an error, as the field knows it.
fn short(error: &TestError) -> String {
    match &error.hook {
        Some(hook) => format!("{hook} failed: {}", error.message),
        None => error.message.clone(),
    }
}

/// Microseconds are the most a page's clock gives; more digits would be noise.
fn round(ms: f64) -> f64 {
    (ms * 1000.0).round() / 1000.0
}
