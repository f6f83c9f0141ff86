//! Pictures of the page when tests failed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::{EventKind, RunEvent, TestState};
use crate::ident::{Cell, TestId, file_name_part};

use super::capture::fnv1a;

/// Folder of the pictures inside the report folder.
const FOLDER: &str = "screenshots";

/// Where the picture of a test is inside a report folder: the same in every run, and no two tests share one.
pub fn screenshot_file(cell: &Cell, test: &TestId) -> String {
    format!("{FOLDER}/{}-{:08x}.{}.png", file_name_part(&test.0), fnv1a(&test.0), cell.file_stem())
}

/// Whether a name in an artifact is that of a picture of ours; the file may have been edited.
pub(super) fn is_ours(name: &str) -> bool {
    let inside = name.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix('/'));
    inside.is_some_and(|file| file.ends_with(".png") && !file.contains(['/', '\\']))
}

/// The pictures of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Screenshots(BTreeMap<TestId, Arc<[u8]>>);

impl Screenshots {
    /// Takes in a picture. That of a test which passes in the end, when it is tried again, is of no use.
    pub(super) fn hear(&mut self, event: &RunEvent) {
        let Some(test) = &event.test else { return };
        match &event.kind {
            EventKind::Screenshot { png, .. } => drop(self.0.insert(test.clone(), Arc::clone(png))),
            EventKind::TestFinished(result) if result.state != TestState::Failed => drop(self.0.remove(test)),
            _ => {}
        }
    }

    /// The picture of a test, by the name of its file.
    pub(super) fn file(&self, cell: &Cell, test: &TestId) -> Option<String> {
        self.0.contains_key(test).then(|| screenshot_file(cell, test))
    }

    /// All of them, with the names of their files.
    pub(super) fn files<'a>(&'a self, cell: &'a Cell) -> impl Iterator<Item = (String, &'a [u8])> {
        self.0.iter().map(|(test, png)| (screenshot_file(cell, test), &**png))
    }
}
