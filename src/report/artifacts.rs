//! The files in the report folder: `<sdkLine>.<platform>.json`, `.manual.json` for files that need a person, what tests
//! captured, and pictures of those that failed.

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
use super::screenshots::{self, Screenshots};
use shape::Artifact;

/// Writes a cell's artifacts when the run is over, in place of those of the cell's earlier run.
pub struct Artifacts {
    folder: ReportFolder,
    captures: Captures,
    screenshots: Screenshots,
}

/// What is read of an earlier run's artifact: the names of the files beside it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Earlier {
    captures: Vec<EarlierCapture>,
    files: Vec<EarlierFile>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EarlierFile {
    tests: Vec<EarlierTest>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EarlierTest {
    screenshot: Option<String>,
}

#[derive(Deserialize)]
struct EarlierCapture {
    file: String,
}

impl Artifacts {
    /// Writes into this folder.
    pub fn new(folder: ReportFolder) -> Self {
        Self { folder, captures: Captures::default(), screenshots: Screenshots::default() }
    }

    /// Writes what can be written; the first thing that could not is the error.
    fn write(&self, fold: &Fold, cell: &Cell) -> Result<(), ReportError> {
        let captures = self.captures.files(cell);
        let mut stale = BTreeSet::new();
        for manual in [false, true] {
            stale.extend(self.earlier(&artifact_name(cell, manual)));
        }
        let mut outcome = Ok(());
        for file in &captures {
            let name = format!("{CAPTURE_FOLDER}/{}", file.name);
            stale.remove(&name);
            outcome = outcome.and(self.folder.write_json(&name, &file.records).map(drop));
        }
        for (name, png) in self.screenshots.files(cell) {
            stale.remove(&name);
            outcome = outcome.and(self.folder.write(&name, png));
        }
        for name in stale {
            outcome = outcome.and(self.folder.remove(&name));
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
        match Artifact::of(fold, manual, captures, &self.screenshots) {
            Some(artifact) if wanted => self.folder.write_json(&name, &artifact).map(drop),
            _ => self.folder.remove(&name),
        }
    }

    /// The files that an earlier run of the cell lists. A file that is no artifact of ours lists none.
    fn earlier(&self, name: &str) -> Vec<String> {
        let text = std::fs::read(self.folder.file(name)).unwrap_or_default();
        let Earlier { captures, files } = serde_json::from_slice(&text).unwrap_or_default();
        // The list may have been edited: nothing outside the folders of ours is ever removed.
        let captures = captures.into_iter().map(|capture| capture.file);
        let captures = captures.filter(|name| name.ends_with(".json") && !name.contains(['/', '\\']));
        let screenshots = files.into_iter().flat_map(|file| file.tests).filter_map(|test| test.screenshot);
        let screenshots = screenshots.filter(|name| screenshots::is_ours(name));
        captures.map(|name| format!("{CAPTURE_FOLDER}/{name}")).chain(screenshots).collect()
    }
}

fn artifact_name(cell: &Cell, manual: bool) -> String {
    format!("{}{}", cell.file_stem(), if manual { ".manual.json" } else { ".json" })
}

impl Reporter for Artifacts {
    fn on_event(&mut self, event: &RunEvent, _: &Fold) {
        self.screenshots.hear(event);
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
