//! What the events of a run add up to.

use std::collections::HashMap;

use crate::event::{
    Counts, EventKind, FileResult, PageInfo, PageState, RunEvent, RunInfo, RunResult, TestError, TestInfo, TestMode,
    TestResult, TestState, UncaughtOrigin,
};
use crate::exit::Exit;
use crate::ident::{FileId, TestId};

use super::traffic::Traffic;

/// The run so far.
#[derive(Clone, Debug, Default)]
pub struct Fold {
    /// What is known since the start.
    pub info: Option<RunInfo>,
    /// The page that runs tests now, or ran the last one.
    pub page: Option<PageInfo>,
    /// How it is, unless it is well.
    pub page_state: Option<PageState>,
    /// The files, in the order in which they were announced.
    pub files: Vec<FileFold>,
    /// Errors outside any test's own flow.
    pub exceptions: Vec<OutsideError>,
    /// What the page exchanged.
    pub traffic: Traffic,
    /// Tests over so far.
    pub counts: Counts,
    /// The file and test that are running now.
    pub running: Option<Running>,
    /// Milliseconds of the last event.
    pub at: u64,
    /// The last event's content.
    pub result: Option<RunResult>,
    index: HashMap<FileId, usize>,
}

/// One file so far.
#[derive(Clone, Debug)]
pub struct FileFold {
    /// Which one.
    pub id: FileId,
    /// Its tests in order, those left out by the name pattern among them.
    pub tests: Vec<TestFold>,
    /// Its tests that are over.
    pub counts: Counts,
    /// How it ended.
    pub result: Option<FileResult>,
    index: HashMap<TestId, usize>,
}

/// One test so far.
#[derive(Clone, Debug)]
pub struct TestFold {
    /// Which one.
    pub id: TestId,
    /// Suites first, own title last.
    pub path: Vec<String>,
    /// What was to happen to it.
    pub mode: TestMode,
    /// How it ended.
    pub result: Option<TestResult>,
}

/// What runs at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The file.
    pub file: FileId,
    /// The test, where one has begun.
    pub test: Option<TestId>,
}

/// An error outside any test's own flow.
#[derive(Clone, Debug)]
pub struct OutsideError {
    /// The file that was running.
    pub file: Option<FileId>,
    /// The test that was running.
    pub test: Option<TestId>,
    /// How it came up.
    pub origin: UncaughtOrigin,
    /// What it is.
    pub error: TestError,
}

/// What a file came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileVerdict {
    /// It held.
    Passed,
    /// A test failed, or the file itself did.
    Failed,
    /// It held, and none of its tests ran.
    Skipped,
    /// It was not run, or not to its end.
    NotRun,
}

impl Fold {
    /// Whether the run was asked to end before it was through, or ended without a last word.
    pub fn is_interrupted(&self) -> bool {
        matches!(self.result.as_ref().map(|result| result.exit), None | Some(Exit::Interrupted | Exit::Terminated))
    }

    /// Counts one more event in.
    pub fn apply(&mut self, event: &RunEvent) {
        self.at = self.at.max(event.at);
        match &event.kind {
            EventKind::RunStarted(info) => {
                for id in &info.files {
                    self.file_mut(id);
                }
                self.info = Some(info.clone());
            }
            EventKind::PageAttached(page) => {
                self.page = Some(page.clone());
                self.page_state = None;
            }
            EventKind::PageState { state, .. } => self.page_state = (*state != PageState::Live).then_some(*state),
            EventKind::RunFinished(result) => {
                self.result = Some(result.clone());
                self.page_state = None;
            }
            EventKind::Exception { origin, error } => self.exceptions.push(OutsideError {
                file: event.file.clone(),
                test: event.test.clone(),
                origin: *origin,
                error: error.clone(),
            }),
            EventKind::Transport { records } => self.traffic.take(records, event.test.as_ref()),
            kind => {
                if let Some(file) = &event.file {
                    self.apply_to_file(file, event.test.as_ref(), kind);
                }
            }
        }
    }

    fn apply_to_file(&mut self, id: &FileId, test: Option<&TestId>, kind: &EventKind) {
        match (kind, test) {
            (EventKind::FileStarted { tests }, _) => {
                self.running = Some(Running { file: id.clone(), test: None });
                self.file_mut(id).collect(tests);
            }
            (EventKind::TestStarted { .. }, Some(test)) => {
                self.running = Some(Running { file: id.clone(), test: Some(test.clone()) });
            }
            (EventKind::TestFinished(result), Some(test)) => {
                if let Some(running) = &mut self.running {
                    running.test = None;
                }
                if result.state == TestState::Passed {
                    self.traffic.passed(test);
                }
                if self.file_mut(id).finish(test, result) {
                    self.counts.add(result);
                } else {
                    self.recount();
                }
            }
            (EventKind::FileFinished(result), _) => {
                self.running = None;
                self.file_mut(id).result = Some(result.clone());
            }
            _ => {}
        }
    }

    /// A file by its id.
    pub fn file(&self, id: &FileId) -> Option<&FileFold> {
        self.index.get(id).map(|at| &self.files[*at])
    }

    /// All failed tests, in order.
    pub fn failed(&self) -> impl Iterator<Item = (&FileFold, &TestFold, &TestResult)> {
        self.files.iter().flat_map(|file| file.failed().map(move |(test, result)| (file, test, result)))
    }

    /// Files that are over or will not run any more.
    pub fn files_over(&self) -> usize {
        self.files.iter().filter(|file| file.result.is_some()).count()
    }

    fn file_mut(&mut self, id: &FileId) -> &mut FileFold {
        let next = self.files.len();
        let at = *self.index.entry(id.clone()).or_insert(next);
        if at == next {
            self.files.push(FileFold {
                id: id.clone(),
                tests: Vec::new(),
                counts: Counts::default(),
                result: None,
                index: HashMap::new(),
            });
        }
        &mut self.files[at]
    }

    fn recount(&mut self) {
        self.counts = Counts::default();
        for file in &self.files {
            self.counts.merge(file.counts);
        }
    }
}

impl FileFold {
    /// Its failed tests, in order.
    pub fn failed(&self) -> impl Iterator<Item = (&TestFold, &TestResult)> {
        self.over().filter(|(_, result)| result.state == TestState::Failed)
    }

    /// Its tests that passed only after a retry, in order.
    pub fn flaky(&self) -> impl Iterator<Item = (&TestFold, &TestResult)> {
        self.over().filter(|(_, result)| result.state == TestState::Passed && result.retries > 0)
    }

    fn over(&self) -> impl Iterator<Item = (&TestFold, &TestResult)> {
        self.tests.iter().filter_map(|test| Some((test, test.result.as_ref()?)))
    }

    /// What it came to so far.
    pub fn verdict(&self) -> FileVerdict {
        let own_errors = self.result.as_ref().is_some_and(|result| !result.errors.is_empty());
        let not_run = self.result.as_ref().is_none_or(|result| result.not_run.is_some());
        match () {
            () if own_errors || self.counts.failed > 0 => FileVerdict::Failed,
            () if not_run => FileVerdict::NotRun,
            () if self.counts.passed == 0 => FileVerdict::Skipped,
            () => FileVerdict::Passed,
        }
    }

    /// Takes the tests of a fresh collection over. Results stay: a file goes on on another page after its page was
    /// lost, and is collected there once more.
    fn collect(&mut self, tests: &[TestInfo]) {
        for info in tests {
            if let Some(known) = self.index.get(&info.id) {
                self.tests[*known].mode = info.mode;
            } else {
                self.push(info.id.clone(), info.path.clone(), info.mode);
            }
        }
    }

    fn push(&mut self, id: TestId, path: Vec<String>, mode: TestMode) -> usize {
        let at = self.tests.len();
        self.index.insert(id.clone(), at);
        self.tests.push(TestFold { id, path, mode, result: None });
        at
    }

    /// Whether this is the first result of the test.
    fn finish(&mut self, id: &TestId, result: &TestResult) -> bool {
        let known = self.index.get(id).copied();
        let at = known.unwrap_or_else(|| self.push(id.clone(), result.path.clone(), TestMode::Run));
        let before = self.tests[at].result.replace(result.clone());
        if before.is_none() {
            self.counts.add(result);
            return true;
        }
        self.counts = Counts::default();
        for result in self.tests.iter().filter_map(|test| test.result.as_ref()) {
            self.counts.add(result);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::report::testing::{Script, error, failed, passed};

    fn folded(script: Script) -> Fold {
        let mut fold = Fold::default();
        script.events().iter().for_each(|event| fold.apply(event));
        fold
    }

    #[test]
    fn counts_and_verdicts() {
        let fold = folded(
            Script::new(&["a", "b", "c"])
                .file("a", &["one", "two"])
                .test("a", "one", passed())
                .test("a", "two", failed(error("no")))
                .file_end("a", FileResult::default())
                .file_end("b", FileResult { errors: vec![error("syntax")], ..FileResult::default() })
                .file_end("c", FileResult { not_run: Some("bail".into()), ..FileResult::default() }),
        );
        assert_eq!((fold.counts.passed, fold.counts.failed), (1, 1));
        let verdicts: Vec<_> = fold.files.iter().map(FileFold::verdict).collect();
        assert_eq!(verdicts, [FileVerdict::Failed, FileVerdict::Failed, FileVerdict::NotRun]);
        assert_eq!(fold.failed().map(|(_, test, _)| test.id.0.as_str()).collect::<Vec<_>>(), ["a > two"]);
    }

    #[test]
    fn a_second_result_replaces_the_first() {
        let fold = folded(Script::new(&["a"]).file("a", &["one"]).test("a", "one", failed(error("no"))).test(
            "a",
            "one",
            passed(),
        ));
        assert_eq!((fold.counts.passed, fold.counts.failed, fold.counts.total()), (1, 0, 1));
    }

    #[test]
    fn a_file_that_goes_on_on_another_page_keeps_what_was_finished() {
        let fold = folded(
            Script::new(&["a"]).file("a", &["one", "two"]).test("a", "one", passed()).file("a", &["one", "two"]).test(
                "a",
                "two",
                passed(),
            ),
        );
        let file = &fold.files[0];
        assert_eq!(file.tests.len(), 2);
        assert!(file.tests.iter().all(|test| test.result.is_some()));
    }

    #[test]
    fn knows_what_is_running() {
        let script = || Script::new(&["a"]).file("a", &["one"]).start("a", "one");
        assert_eq!(folded(script()).running.unwrap().test.unwrap().0, "a > one");
        assert_eq!(folded(script().test("a", "one", passed())).running.unwrap().test, None);
        assert_eq!(folded(script().file_end("a", FileResult::default())).running, None);
    }
}
