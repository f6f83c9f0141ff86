//! What a client of the stream is sent: everything that changed since what it knows. Twin of
//! `test-runner/src/dashboard/state.ts`.

use std::time::Instant;

use serde::Serialize;

use super::state::{ConsoleLine, NoticeLine, Stage, State};
use super::timeline::{Cursor, TimelineView};
use crate::attach::{Progress, Waiting};
use crate::event::{Counts, PageInfo, PageState, RunInfo, RunResult, TestError, TestMode, TestState};
use crate::report::{FileFold, FileVerdict, TestFold};

/// One message of the stream. Small things are in every one; files, tests and lines only where they changed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Patch<'a> {
    /// It is all there is: what was known before is to be forgotten.
    whole: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a RunInfo>,
    stages: &'a [Stage],
    waiting: Option<WaitingView>,
    problem: Option<&'a str>,
    /// Left out where it did not change; null where it was taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    invitation: Option<Option<InvitationView<'a>>>,
    page: Option<&'a PageInfo>,
    /// How it is, unless it is well.
    page_state: Option<PageState>,
    counts: Counts,
    running: Option<RunningView<'a>>,
    result: Option<&'a RunResult>,
    over: bool,
    files: Vec<FileView<'a>>,
    console: Vec<&'a ConsoleLine>,
    notices: Vec<&'a NoticeLine>,
    /// Left out where nothing is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<TimelineView<'a>>,
}

/// How far a reader knows the run; at its default, nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) revision: u64,
    pub(super) timeline: Cursor,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WaitingView {
    elapsed_ms: u64,
    left_ms: Option<u64>,
    progress: &'static str,
    refused: u32,
    expired: u32,
    leftovers: u32,
    /// Milliseconds for which no code is taken.
    locked_ms: Option<u64>,
}

/// The one place, with the terminal's QR code, where a link is shown: the stream is behind the path's token.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct InvitationView<'a> {
    link: &'a str,
    /// Modules of a side.
    side: usize,
    /// The dark ones, as the path of an SVG in which a module is one unit wide.
    path: String,
    /// Milliseconds for which it is still accepted.
    remaining_ms: u64,
    renewed: bool,
}

#[derive(Debug, Serialize)]
struct RunningView<'a> {
    file: &'a str,
    test: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FileView<'a> {
    id: &'a str,
    /// `passed`, `failed`, `skipped`, `notRun`; none while it is awaited or runs.
    verdict: Option<&'static str>,
    counts: Counts,
    duration_ms: Option<f64>,
    not_run: Option<&'a str>,
    errors: &'a [TestError],
    tests: Vec<TestView<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TestView<'a> {
    id: &'a str,
    path: &'a [String],
    mode: TestMode,
    state: Option<TestState>,
    duration_ms: Option<f64>,
    note: Option<&'a str>,
    retries: u32,
    errors: &'a [TestError],
    /// It failed, but so many did before that its errors are only in the reports.
    cut: bool,
}

impl State {
    /// What a reader does not know yet, and how far it knows the run then.
    pub(super) fn patch(&self, reader: Known, now: Instant) -> (Patch<'_>, Known) {
        let fold = &self.fold;
        // Of the run before, nothing is left to be known.
        let reader = if reader.revision < self.begun { Known::default() } else { reader };
        let known = reader.revision;
        let (timeline, cursor) = self.timeline.view(reader.timeline);
        let patch = Patch {
            whole: known == 0,
            run: fold.info.as_ref().filter(|_| self.run_revision > known),
            stages: &self.stages,
            waiting: self.waiting.as_ref().map(waiting_view),
            problem: self.problem.as_deref(),
            invitation: (known == 0 || self.invitation_revision > known).then(|| self.invitation_view(now)),
            page: fold.page.as_ref(),
            page_state: fold.page_state,
            counts: fold.counts,
            running: fold.running.as_ref().filter(|_| !self.over).map(|running| RunningView {
                file: &running.file.0,
                test: running.test.as_ref().map(|test| test.0.as_str()),
            }),
            result: fold.result.as_ref(),
            over: self.over,
            files: fold
                .files
                .iter()
                .filter(|file| known == 0 || self.file_revision(&file.id) > known)
                .map(|file| self.file_view(file, known))
                .collect(),
            console: self.console.iter().filter(|line| line.n > known).collect(),
            notices: self.notices.iter().filter(|line| line.n > known).collect(),
            timeline,
        };
        (patch, Known { revision: self.revision, timeline: cursor })
    }

    fn invitation_view(&self, now: Instant) -> Option<InvitationView<'_>> {
        let shown = self.invitation.as_ref()?;
        let invitation = &shown.invitation;
        Some(InvitationView {
            link: invitation.link.expose(),
            side: invitation.qr.columns(),
            path: invitation.qr.svg_path(),
            remaining_ms: millis(invitation.valid_for.saturating_sub(now.saturating_duration_since(shown.since))),
            renewed: invitation.renewed,
        })
    }

    fn file_view<'a>(&'a self, file: &'a FileFold, known: u64) -> FileView<'a> {
        let result = file.result.as_ref();
        let verdict = result.map(|_| match file.verdict() {
            FileVerdict::Passed => "passed",
            FileVerdict::Failed => "failed",
            FileVerdict::Skipped => "skipped",
            FileVerdict::NotRun => "notRun",
        });
        FileView {
            id: &file.id.0,
            verdict,
            counts: file.counts,
            duration_ms: result.map(|result| result.duration_ms),
            not_run: result.and_then(|result| result.not_run.as_deref()),
            errors: result.map_or(&[], |result| &result.errors),
            tests: file
                .tests
                .iter()
                .filter(|test| known == 0 || self.test_revision(&test.id) > known)
                .map(|test| self.test_view(test))
                .collect(),
        }
    }

    fn test_view<'a>(&self, test: &'a TestFold) -> TestView<'a> {
        let result = test.result.as_ref();
        let errors = result.map_or(&[][..], |result| &result.errors);
        let shown = errors.is_empty() || self.is_detailed(&test.id);
        TestView {
            id: &test.id.0,
            path: &test.path,
            mode: test.mode,
            state: result.map(|result| result.state),
            duration_ms: result.map(|result| result.duration_ms),
            note: result.and_then(|result| result.note.as_deref()),
            retries: result.map_or(0, |result| result.retries),
            errors: if shown { errors } else { &[] },
            cut: !shown,
        }
    }
}

fn waiting_view(waiting: &Waiting) -> WaitingView {
    WaitingView {
        elapsed_ms: millis(waiting.elapsed),
        left_ms: waiting.left.map(millis),
        progress: match waiting.progress {
            // In which words is told by the stage, or by the problem.
            Progress::NoWay(_) => "noWay",
            Progress::Nobody => "nobody",
            Progress::Accepted => "accepted",
            Progress::AgentLoaded => "agentLoaded",
            Progress::PassedOver => "passedOver",
            Progress::Silent => "silent",
        },
        refused: waiting.refused,
        expired: waiting.expired,
        leftovers: waiting.leftovers,
        locked_ms: waiting.locked.map(millis),
    }
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
