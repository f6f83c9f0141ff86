//! The pure state of one file: what the page said becomes events and, at the end, a result. It outlives the page: after
//! a loss the file goes on in another one, with the tests that have not run yet.

use crate::bundle::SourceMaps;
use crate::event::{
    Counts, ErrorKind, EventKind, FileResult, LossCause, NoticeLevel, TestError, TestInfo, TestMode, TestResult,
    TestState,
};
use crate::ident::{FileId, TestId, TestIds, full_title};
use crate::secret::Scrub;
use crate::wire::{CollectedTest, PageError, PageEvent};

/// How often a file may go on in another page before the rest of it is given up: enough for a few tests that each take
/// their page down, and an end for a file whose every test does.
const MAX_RESTARTS: u32 = 3;

/// An event, with the test it belongs to.
pub(super) type Said = (Option<TestId>, EventKind);

/// What one event of the page means for the driver.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// Events to send on.
    pub(super) events: Vec<Said>,
    /// The file is over.
    pub(super) ended: bool,
    /// The rest of the file is not wanted, though the page goes on with it.
    pub(super) given_up: bool,
    /// How many tests failed with this event.
    pub(super) failed: u32,
}

/// One file on its way.
#[derive(Debug)]
pub(super) struct FileRun {
    file: FileId,
    scrub: Scrub,
    tests: Vec<Test>,
    collected: bool,
    /// Tests that have started and not ended, in order of their start; several only with `concurrent`.
    running: Vec<usize>,
    restarts: u32,
    counts: Counts,
    errors: Vec<TestError>,
    pending_failure: Vec<TestError>,
    duration_ms: f64,
    empty: bool,
}

#[derive(Debug)]
struct Test {
    info: TestInfo,
    finished: bool,
}

impl FileRun {
    /// `scrub` says what must not be read in titles: they are told apart by what is left of them.
    pub(super) fn new(file: FileId, scrub: Scrub) -> Self {
        Self {
            file,
            scrub,
            tests: Vec::new(),
            collected: false,
            running: Vec::new(),
            restarts: 0,
            counts: Counts::default(),
            errors: Vec::new(),
            pending_failure: Vec::new(),
            duration_ms: 0.0,
            empty: false,
        }
    }

    /// Takes in one event of the page.
    pub(super) fn page_said(&mut self, event: PageEvent, maps: &SourceMaps) -> Step {
        match event {
            PageEvent::Collected { tests, .. } => self.on_collected(tests),
            PageEvent::TestStart { test, attempt, .. } => self.on_test_start(test, attempt),
            PageEvent::TestEnd { test, state, ms, errors, note, retries, .. } => {
                let errors = errors.iter().map(|e| maps.map_error(e)).collect();
                self.on_test_end(test, TestResult { path: vec![], state, duration_ms: ms, errors, note, retries })
            }
            PageEvent::Phase { .. } | PageEvent::TestFailing { .. } => Step::default(),
            PageEvent::SuiteError { suite, error, .. } => {
                self.errors.push(suite_error(&suite, maps.map_error(&error)));
                Step::default()
            }
            PageEvent::Uncaught { test, origin, error, .. } => {
                let error = maps.map_error(&error);
                let test = test.and_then(|t| self.id(t));
                Step { events: vec![(test, EventKind::Exception { origin, error })], ..Step::default() }
            }
            PageEvent::Notice { message, .. } => {
                let notice = EventKind::Notice { level: NoticeLevel::Warning, message };
                Step { events: vec![(self.running_id(), notice)], ..Step::default() }
            }
            PageEvent::FileEnd { ms, load_error, .. } => self.on_file_end(ms, load_error, maps),
        }
    }

    fn on_collected(&mut self, mut tests: Vec<CollectedTest>) -> Step {
        tests.iter_mut().flat_map(|test| &mut test.path).for_each(|title| self.scrub.clean(title));
        if self.collected {
            let same = tests.len() == self.tests.len()
                && tests.iter().zip(&self.tests).all(|(now, before)| now.path == before.info.path);
            if !same {
                self.errors.push(plain_error(
                    "the file declared other tests when it was loaded again after its page was lost, so the rest of it \
                     cannot be told apart; let the tests it declares not depend on what ran before",
                ));
                return Step { given_up: true, ..Step::default() };
            }
            return Step::default();
        }
        self.collected = true;
        let mut ids = TestIds::default();
        self.tests = tests
            .into_iter()
            .map(|t| {
                let id = ids.next(&self.file, &t.path);
                Test { finished: t.mode == TestMode::Filtered, info: TestInfo { id, path: t.path, mode: t.mode } }
            })
            .collect();
        let started = EventKind::FileStarted { tests: self.tests.iter().map(|t| t.info.clone()).collect() };
        Step { events: vec![(None, started)], ..Step::default() }
    }

    fn on_test_start(&mut self, test: u32, attempt: u32) -> Step {
        let index = test as usize;
        let Some(known) = self.tests.get(index) else { return Step::default() };
        if !self.running.contains(&index) {
            self.running.push(index);
        }
        let started = EventKind::TestStarted { path: known.info.path.clone(), attempt };
        Step { events: vec![(Some(known.info.id.clone()), started)], ..Step::default() }
    }

    fn on_test_end(&mut self, test: u32, mut result: TestResult) -> Step {
        let index = test as usize;
        let blamed = self.running.last() == Some(&index);
        self.running.retain(|&i| i != index);
        if blamed && !self.pending_failure.is_empty() {
            result.state = TestState::Failed;
            result.errors.append(&mut self.pending_failure);
        }
        self.finish_test(index, result)
    }

    fn finish_test(&mut self, index: usize, mut result: TestResult) -> Step {
        let Some(known) = self.tests.get_mut(index).filter(|t| !t.finished) else { return Step::default() };
        known.finished = true;
        result.path = known.info.path.clone();
        self.counts.add(&result);
        let failed = u32::from(result.state == TestState::Failed);
        Step { events: vec![(Some(known.info.id.clone()), EventKind::TestFinished(result))], failed, ..Step::default() }
    }

    fn on_file_end(&mut self, ms: f64, load_error: Option<PageError>, maps: &SourceMaps) -> Step {
        self.duration_ms += ms;
        match load_error {
            Some(error) => self.errors.push(maps.map_error(&error)),
            None if self.unfinished() > 0 => self.errors.push(plain_error(self.missing())),
            None => {}
        }
        let only_empty = self.errors.iter().all(|error| NO_TEST.iter().any(|start| error.message.starts_with(start)));
        // A file whose code was loaded and gave no test may end before it tells what it collected.
        let told = self.collected || !self.errors.is_empty();
        self.empty = told && self.tests.is_empty() && only_empty;
        Step { ended: true, ..Step::default() }
    }

    /// The words for tests that the page has run, if it has, and whose results did not come.
    fn missing(&self) -> String {
        let titles = self.tests.iter().filter(|test| !test.finished).map(|test| full_title(&test.info.path));
        let titles: Vec<String> = titles.map(|title| format!("'{title}'")).collect();
        let shown = titles.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = titles.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(
            "the page ended the file, but no result came for {shown}{more}: what it said was lost on the way. Run the file \
             again; if a test writes very much to the console, have it write less"
        )
    }

    /// A failure of the host's own to be added to the test that is running when it ends (a dialog, for example).
    /// Returns false when no test is running; the failure is then the file's.
    pub(super) fn fail_running(&mut self, message: String) -> bool {
        let error = plain_error(message);
        if !self.running.is_empty() {
            self.pending_failure.push(error);
            return true;
        }
        self.errors.push(error);
        false
    }

    /// The page was lost, or taken away because a deadline struck. The running test fails with `message`; without one
    /// the file does, unless all its tests were finished. `stuck_at` is where the page was stuck, where that is known.
    /// `ran_ms` says for how long a test has run.
    pub(super) fn lost(
        &mut self,
        cause: LossCause,
        message: &str,
        stuck_at: Option<&TestError>,
        ran_ms: impl Fn(usize) -> f64,
    ) -> Step {
        let mut error = plain_error(message);
        if let Some(stuck) = stuck_at {
            error.frames.clone_from(&stuck.frames);
            error.code_frame.clone_from(&stuck.code_frame);
        }
        let running = std::mem::take(&mut self.running);
        if running.is_empty() {
            // What never ends is a failure of its own; a page that leaves after its work is not.
            if self.all_finished() && !matches!(cause, LossCause::Busy | LossCause::Frozen) {
                let message = lost_after_the_last_test(cause);
                let notice = EventKind::Notice { level: NoticeLevel::Warning, message };
                return Step { events: vec![(None, notice)], ..Step::default() };
            }
            self.errors.push(error);
            return Step::default();
        }
        let mut step = Step::default();
        for index in running {
            let mut errors = std::mem::take(&mut self.pending_failure);
            errors.push(error.clone());
            let result = TestResult {
                path: vec![],
                state: TestState::Failed,
                duration_ms: ran_ms(index),
                errors,
                note: None,
                retries: 0,
            };
            let one = self.finish_test(index, result);
            step.events.extend(one.events);
            step.failed += one.failed;
        }
        step
    }

    /// Whether the file goes on in another page: the tests that are not to be run there, or `None` when it is over. Says
    /// why in the file's errors when tests are given up. `in_test`: the loss was a test's, not the file's own.
    pub(super) fn restart(&mut self, in_test: bool) -> Option<Vec<u32>> {
        if !self.collected || self.all_finished() {
            return None;
        }
        if !in_test || self.restarts == MAX_RESTARTS {
            let left = self.unfinished();
            let tests = if left == 1 { "test was" } else { "tests were" };
            let why = match in_test {
                true => format!("the file has lost its page {} times", MAX_RESTARTS + 1),
                false => "the page was lost while none ran".to_owned(),
            };
            self.errors.push(plain_error(format!("{left} more {tests} not run: {why}")));
            return None;
        }
        self.restarts += 1;
        Some((0..).zip(&self.tests).filter(|(_, test)| test.finished).map(|(index, _)| index).collect())
    }

    /// The id of the test that is running (the one that started last).
    pub(super) fn running_id(&self) -> Option<TestId> {
        self.running.last().map(|&i| self.tests[i].info.id.clone())
    }

    /// The title of the test that is running.
    pub(super) fn running_title(&self) -> Option<String> {
        self.running.last().map(|&i| full_title(&self.tests[i].info.path))
    }

    /// The title of a test.
    pub(super) fn title(&self, test: u32) -> Option<String> {
        self.tests.get(test as usize).map(|test| full_title(&test.info.path))
    }

    /// The ids of its tests, in their order.
    pub(super) fn test_ids(&self) -> Vec<TestId> {
        self.tests.iter().map(|test| test.info.id.clone()).collect()
    }

    pub(super) fn id(&self, test: u32) -> Option<TestId> {
        self.tests.get(test as usize).map(|t| t.info.id.clone())
    }

    fn all_finished(&self) -> bool {
        self.collected && self.unfinished() == 0
    }

    /// How many of its tests have no result.
    pub(super) fn unfinished(&self) -> usize {
        self.tests.iter().filter(|t| !t.finished).count()
    }

    /// Adds an error of the file itself.
    pub(super) fn fail(&mut self, error: TestError) {
        self.errors.push(error);
    }

    /// Whether the file has no test at all; it is then no failure by itself but proves nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.empty
    }

    /// The end. `interrupted` says why the rest of the file was not run.
    pub(super) fn finish(self, interrupted: Option<String>) -> FileResult {
        FileResult { duration_ms: self.duration_ms, counts: self.counts, errors: self.errors, not_run: interrupted }
    }

    /// Milliseconds a page that was lost had spent on the file.
    pub(super) fn spent(&mut self, ms: f64) {
        self.duration_ms += ms;
    }
}

/// So many tests are named in a message.
const SHOWN: usize = 3;

/// How Vitest's runner begins to say that a file, or a suite in it, has no test.
const NO_TEST: [&str; 2] = ["No test suite found in file", "No test found in suite"];

/// An error of the host's own.
pub(super) fn plain_error(message: impl Into<String>) -> TestError {
    TestError { name: "Error".into(), message: message.into(), kind: ErrorKind::Error, ..TestError::default() }
}

fn lost_after_the_last_test(cause: LossCause) -> String {
    let what = match cause {
        LossCause::Reloaded => "the page was reloaded",
        LossCause::Navigated => "the page went to another document",
        _ => "the page was lost",
    };
    format!("{what} after the last test of the file had finished; its results are kept and it is not started again")
}

fn suite_error(suite: &[String], mut error: TestError) -> TestError {
    if !suite.is_empty() {
        error.message = format!("{} (in suite '{}')", error.message, full_title(suite));
    }
    error
}

#[cfg(test)]
mod tests;
