//! What the dashboard shows, as a fold of the run's events and of the invitations. Pure.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Instant;

use serde::Serialize;

use super::timeline::Timeline;
use crate::attach::{Invitation, Waiting};
use crate::event::{AttachStage, EventKind, Location, NoticeLevel, RunEvent, TestError, TestState};
use crate::ident::{FileId, TestId};
use crate::report::Fold;

/// Console lines that are kept: what a person scrolls through, not a log.
const MAX_CONSOLE: usize = 500;
/// Notices that are kept.
const MAX_NOTICES: usize = 200;
/// Bytes of a console line or a notice that are kept; pages print whole documents.
const MAX_LINE: usize = 4096;
/// Failed tests that are shown with their errors. A person reads the first ones; ten thousand diffs and code frames
/// would be tens of megabytes for each tab.
const MAX_DETAILED: usize = 200;

/// The run so far, and what changed when.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) fold: Fold,
    /// Grows with every change.
    pub(super) revision: u64,
    pub(super) run_revision: u64,
    /// The stages of the attach that is under way, each once, in the order in which they came.
    pub(super) stages: Vec<Stage>,
    pub(super) waiting: Option<Waiting>,
    pub(super) invitation: Option<Shown>,
    pub(super) invitation_revision: u64,
    /// Why there is no invitation although one is awaited.
    pub(super) problem: Option<String>,
    pub(super) console: VecDeque<ConsoleLine>,
    pub(super) notices: VecDeque<NoticeLine>,
    pub(super) timeline: Timeline,
    /// Nothing more will come, unless another run begins.
    pub(super) over: bool,
    /// The revision with which this run began in place of one before it; who knows less is told everything.
    pub(super) begun: u64,
    file_revisions: HashMap<FileId, u64>,
    test_revisions: HashMap<TestId, u64>,
    detailed: HashSet<TestId>,
}

/// A stage that was reached.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stage {
    pub(super) stage: AttachStage,
    pub(super) message: String,
    pub(super) at: u64,
}

/// An invitation, and when it was shown.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) invitation: Invitation,
    pub(super) since: Instant,
}

/// A line of the page's console.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConsoleLine {
    /// Its revision: unique and growing.
    pub(super) n: u64,
    pub(super) level: String,
    pub(super) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) location: Option<Location>,
}

/// Something a person should know.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NoticeLine {
    /// Its revision: unique and growing.
    pub(super) n: u64,
    pub(super) at: u64,
    pub(super) kind: NoticeKind,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<TestError>,
}

/// What a notice is about.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum NoticeKind {
    Info,
    Warning,
    PageLost,
    Exception,
}

impl State {
    /// Counts one more event in.
    pub(super) fn apply(&mut self, event: &RunEvent) {
        self.revision += 1;
        if matches!(event.kind, EventKind::RunStarted(_)) && self.fold.info.is_some() {
            self.begin_anew();
        }
        self.fold.apply(event);
        match &event.kind {
            EventKind::RunStarted(_) => self.run_revision = self.revision,
            EventKind::AttachState { stage, message } => self.reach(*stage, message, event.at),
            EventKind::Console { level, text, location } => {
                let line = ConsoleLine {
                    n: self.revision,
                    level: level.clone(),
                    text: shortened(text),
                    location: location.clone(),
                };
                remember(&mut self.console, line, MAX_CONSOLE);
            }
            EventKind::Notice { level, message } => {
                let kind = if *level == NoticeLevel::Warning { NoticeKind::Warning } else { NoticeKind::Info };
                self.notice(event.at, kind, message, None);
            }
            EventKind::PageLost { message, .. } => self.notice(event.at, NoticeKind::PageLost, message, None),
            EventKind::Exception { error, .. } => self.notice(event.at, NoticeKind::Exception, "", Some(error)),
            EventKind::Transport { records } => self.timeline.take(records),
            EventKind::RunFinished(_) => {
                self.finish();
            }
            _ => self.touch(event),
        }
    }

    /// An invitation is shown.
    pub(super) fn invite(&mut self, invitation: &Invitation, now: Instant) {
        self.problem = None;
        self.set_invitation(Some(Shown { invitation: invitation.clone(), since: now }));
    }

    /// What was shown leads nowhere any more.
    pub(super) fn withdraw(&mut self, why: &str) {
        self.problem = Some(why.to_owned());
        self.set_invitation(None);
    }

    /// The wait goes on.
    pub(super) fn wait(&mut self, waiting: &Waiting) {
        self.revision += 1;
        self.waiting = Some(waiting.clone());
    }

    /// The wait is over.
    pub(super) fn end_wait(&mut self) {
        self.waiting = None;
        self.problem = None;
        self.set_invitation(None);
    }

    /// Nothing more will come.
    pub(super) fn finish(&mut self) {
        self.over = true;
        self.end_wait();
    }

    /// When a file, or a test of it, changed last.
    pub(super) fn file_revision(&self, id: &FileId) -> u64 {
        self.file_revisions.get(id).copied().unwrap_or(self.run_revision)
    }

    /// When a test changed last.
    pub(super) fn test_revision(&self, id: &TestId) -> u64 {
        self.test_revisions.get(id).copied().unwrap_or_default()
    }

    /// Whether a failed test is shown with its errors.
    pub(super) fn is_detailed(&self, id: &TestId) -> bool {
        self.detailed.contains(id)
    }

    /// Another run begins: nothing of the one before stays but how the page came about.
    fn begin_anew(&mut self) {
        self.begun = self.revision;
        (self.fold, self.timeline, self.over) = (Fold::default(), Timeline::default(), false);
        (self.console, self.notices) = (VecDeque::new(), VecDeque::new());
        (self.file_revisions, self.test_revisions) = (HashMap::new(), HashMap::new());
        self.detailed = HashSet::new();
    }

    fn set_invitation(&mut self, shown: Option<Shown>) {
        self.revision += 1;
        self.invitation = shown;
        self.invitation_revision = self.revision;
    }

    fn reach(&mut self, stage: AttachStage, message: &str, at: u64) {
        let message = shortened(message);
        // How many were turned away, and why, is part of the wait.
        if stage == AttachStage::Refused {
            return;
        }
        if matches!(stage, AttachStage::Starting | AttachStage::Reattaching) {
            self.stages.clear();
        }
        self.stages.retain(|reached| reached.stage != stage);
        self.stages.push(Stage { stage, message, at });
    }

    fn notice(&mut self, at: u64, kind: NoticeKind, message: &str, error: Option<&TestError>) {
        let line = NoticeLine { n: self.revision, at, kind, message: shortened(message), error: error.cloned() };
        remember(&mut self.notices, line, MAX_NOTICES);
    }

    /// Marks what belongs to a file as changed.
    fn touch(&mut self, event: &RunEvent) {
        let Some(file) = &event.file else { return };
        match &event.kind {
            EventKind::FileStarted { tests } => {
                self.test_revisions.extend(tests.iter().map(|test| (test.id.clone(), self.revision)));
            }
            EventKind::TestStarted { .. } | EventKind::TestFinished(_) => {
                let Some(test) = &event.test else { return };
                self.test_revisions.insert(test.clone(), self.revision);
                let failed =
                    matches!(&event.kind, EventKind::TestFinished(result) if result.state == TestState::Failed);
                if failed && self.detailed.len() < MAX_DETAILED {
                    self.detailed.insert(test.clone());
                }
            }
            EventKind::FileFinished(_) => {}
            _ => return,
        }
        self.file_revisions.insert(file.clone(), self.revision);
    }
}

fn remember<T>(list: &mut VecDeque<T>, item: T, max: usize) {
    if list.len() >= max {
        list.pop_front();
    }
    list.push_back(item);
}

fn shortened(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_LINE);
    let rest = if end < text.len() { "…" } else { "" };
    format!("{}{rest}", &text[..end])
}
