//! The exit code of a run and its reason in words.

use crate::event::{Counts, RunResult};
use crate::exit::Exit;

use super::stop::Signal;

/// What a run adds up to. Filled as it goes.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) counts: Counts,
    pub(super) files_passed: u32,
    pub(super) files_failed: u32,
    pub(super) files_not_run: u32,
    /// Of the failed files: those that only had no test.
    pub(super) files_empty: u32,
    pub(super) exceptions: u32,
    /// No page could be had any more, and why.
    pub(super) page_gone: Option<String>,
    /// The browser itself died under a test: that is the test's failure more than the environment's.
    pub(super) browser_died: bool,
    /// `--bail` struck.
    pub(super) bailed: bool,
}

impl Tally {
    /// Closes the books.
    pub(super) fn result(self, signal: Option<Signal>, pass_with_no_tests: bool, duration_ms: f64) -> RunResult {
        let (exit, reason) = self.verdict(signal, pass_with_no_tests);
        RunResult {
            counts: self.counts,
            files_passed: self.files_passed,
            files_failed: self.files_failed,
            files_not_run: self.files_not_run,
            exceptions: self.exceptions,
            duration_ms,
            exit,
            reason,
        }
    }

    fn verdict(&self, signal: Option<Signal>, pass_with_no_tests: bool) -> (Exit, String) {
        match signal {
            Some(Signal::Interrupt) => return (Exit::Interrupted, "interrupted".into()),
            Some(Signal::Terminate) => return (Exit::Terminated, "terminated".into()),
            None => {}
        }
        if let Some(why) = &self.page_gone
            && !(self.browser_died && self.counts.failed > 0)
        {
            return (Exit::Environment, why.clone());
        }
        let only_empty = self.files_failed == self.files_empty && self.exceptions == 0 && self.counts.failed == 0;
        if self.counts.passed + self.counts.failed == 0 && only_empty && self.files_not_run == 0 {
            if pass_with_no_tests {
                return (Exit::Passed, String::new());
            }
            return (Exit::NothingRan, self.why_nothing_ran());
        }
        let red = self.red();
        if red.is_empty() { (Exit::Passed, String::new()) } else { (Exit::Failed, red.join(", ")) }
    }

    fn why_nothing_ran(&self) -> String {
        let skipped = self.counts.skipped + self.counts.todo;
        if self.files_passed + self.files_failed == 0 {
            "no test file was found".into()
        } else if skipped > 0 {
            format!("no test ran: all {skipped} were skipped or are only planned")
        } else if self.files_empty > 0 {
            "no test ran: no file has a test".into()
        } else {
            "no test ran: none was selected".into()
        }
    }

    fn red(&self) -> Vec<String> {
        let mut red = Vec::new();
        let mut say = |n: u32, one: &str, many: &str| {
            if n > 0 {
                red.push(format!("{n} {}", if n == 1 { one } else { many }));
            }
        };
        say(self.counts.failed, "test failed", "tests failed");
        say(self.files_failed, "file failed", "files failed");
        say(self.exceptions, "error outside any test", "errors outside any test");
        say(self.files_not_run, "file was not run", "files were not run");
        if self.bailed {
            red.push("stopped by --bail".into());
        }
        if let Some(why) = &self.page_gone {
            red.push(why.clone());
        }
        red
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(tally: Tally) -> Exit {
        tally.result(None, false, 0.0).exit
    }

    #[test]
    fn nothing_that_proves_nothing_is_green() {
        assert_eq!(exit(Tally::default()), Exit::NothingRan);
        let skipped = Tally { counts: Counts { skipped: 3, ..Counts::default() }, files_passed: 1, ..Tally::default() };
        assert_eq!(exit(skipped), Exit::NothingRan);
        let empty = Tally { files_failed: 2, files_empty: 2, ..Tally::default() };
        assert_eq!(exit(empty), Exit::NothingRan);
        assert_eq!(Tally::default().result(None, true, 0.0).exit, Exit::Passed);
    }

    #[test]
    fn an_empty_file_among_others_is_red() {
        let passed = Counts { passed: 1, ..Counts::default() };
        let tally = Tally { counts: passed, files_passed: 1, files_failed: 1, files_empty: 1, ..Tally::default() };
        assert_eq!(exit(tally), Exit::Failed);
    }

    #[test]
    fn a_file_that_cannot_be_loaded_is_red_even_if_nothing_ran() {
        assert_eq!(exit(Tally { files_failed: 1, ..Tally::default() }), Exit::Failed);
        assert_eq!(exit(Tally { exceptions: 1, files_passed: 1, ..Tally::default() }), Exit::Failed);
    }

    #[test]
    fn a_page_lost_for_good_is_the_environment_unless_the_browser_died_under_a_test() {
        let failed = Counts { failed: 1, ..Counts::default() };
        let gone = || Tally { counts: failed, files_failed: 1, page_gone: Some("gone".into()), ..Tally::default() };
        assert_eq!(exit(gone()), Exit::Environment);
        assert_eq!(exit(Tally { browser_died: true, ..gone() }), Exit::Failed);
    }

    #[test]
    fn the_signal_wins_and_the_words_name_everything() {
        let tally = Tally { counts: Counts { failed: 1, ..Counts::default() }, files_failed: 1, ..Tally::default() };
        assert_eq!(tally.result(Some(Signal::Terminate), false, 0.0).exit, Exit::Terminated);
        let tally = Tally { counts: Counts { failed: 2, ..Counts::default() }, files_failed: 1, ..Tally::default() };
        assert_eq!(tally.result(None, false, 0.0).reason, "2 tests failed, 1 file failed");
    }
}
