//! The files in the report folder: `<sdkLine>.<platform>.json`, `.manual.json` for files that need a person, and what
//! tests captured.

mod shape;
mod traffic;

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::event::{EventKind, RunEvent};
use crate::ident::{Cell, FileId};

use super::capture::{CAPTURE_FOLDER, CaptureFile, Captures};
use super::error::ReportError;
use super::fold::Fold;
use super::folder::ReportFolder;
use super::reporter::Reporter;
use shape::Artifact;

/// Writes a cell's artifacts when the run is over, in place of those of the cell's earlier run.
pub struct Artifacts {
    folder: ReportFolder,
    captures: Captures,
}

/// What is read of an earlier run's artifact: the names of its capture files.
#[derive(Deserialize)]
struct Earlier {
    #[serde(default)]
    captures: Vec<EarlierCapture>,
}

#[derive(Deserialize)]
struct EarlierCapture {
    file: String,
}

impl Artifacts {
    /// Writes into this folder.
    pub fn new(folder: ReportFolder) -> Self {
        Self { folder, captures: Captures::default() }
    }

    /// Writes what can be written; the first thing that could not is the error.
    fn write(&self, fold: &Fold, cell: &Cell) -> Result<(), ReportError> {
        let captures = self.captures.files(cell);
        let mut stale = BTreeSet::new();
        for manual in [false, true] {
            stale.extend(self.earlier_captures(&artifact_name(cell, manual)));
        }
        let mut outcome = Ok(());
        for file in &captures {
            stale.remove(&file.name);
            let written = self.folder.write_json(&format!("{CAPTURE_FOLDER}/{}", file.name), &file.records);
            outcome = outcome.and(written.map(drop));
        }
        for name in stale {
            outcome = outcome.and(self.folder.remove(&format!("{CAPTURE_FOLDER}/{name}")));
        }
        for manual in [false, true] {
            outcome = outcome.and(self.write_artifact(fold, cell, manual, &captures));
        }
        outcome
    }

    fn write_artifact(
        &self,
        fold: &Fold,
        cell: &Cell,
        manual: bool,
        captures: &[CaptureFile<'_>],
    ) -> Result<(), ReportError> {
        let name = artifact_name(cell, manual);
        let has_files = fold.files.iter().any(|file| file.id.is_manual() == manual);
        // A run without any file still leaves word of how it ended.
        let wanted = has_files || (!manual && fold.files.is_empty());
        match Artifact::of(fold, manual, captures) {
            Some(artifact) if wanted => self.folder.write_json(&name, &artifact).map(drop),
            _ => self.folder.remove(&name),
        }
    }

    /// Names of the capture files that an earlier run of the cell lists. A file that is no artifact of ours lists none.
    fn earlier_captures(&self, name: &str) -> Vec<String> {
        let text = std::fs::read(self.folder.file(name)).unwrap_or_default();
        let earlier: Option<Earlier> = serde_json::from_slice(&text).ok();
        let names = earlier.into_iter().flat_map(|earlier| earlier.captures).map(|capture| capture.file);
        // The list may have been edited: nothing outside the capture folder is ever removed.
        names.filter(|name| name.ends_with(".json") && !name.contains(['/', '\\'])).collect()
    }
}

fn artifact_name(cell: &Cell, manual: bool) -> String {
    format!("{}{}", cell.file_stem(), if manual { ".manual.json" } else { ".json" })
}

impl Reporter for Artifacts {
    fn on_event(&mut self, event: &RunEvent, _: &Fold) {
        if let EventKind::Capture { category, payload } = &event.kind {
            let manual = event.file.as_ref().is_some_and(FileId::is_manual);
            self.captures.add(category, manual, payload);
        }
    }

    fn finish(&mut self, fold: &Fold, _: &[ReportError]) -> Result<(), ReportError> {
        match &fold.info {
            Some(info) => self.write(fold, &info.cell),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
