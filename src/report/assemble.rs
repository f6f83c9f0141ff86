//! The reporters that the settings ask for.

use super::artifacts::Artifacts;
use super::error::ReportError;
use super::folder::ReportFolder;
use super::json::Json;
use super::pretty::{Pretty, PrettyOptions};
use super::records::Records;
use super::reporter::Reporter;
use super::terminal::Terminal;
use crate::settings::{ReporterKind, Settings};

/// The reporters, the one on stdout last; without `stdout` those that write to files alone. Whatever they write to is
/// opened here, so that what cannot be written is known before the run.
///
/// # Errors
/// A file or the report folder cannot be written.
pub fn reporters(settings: &Settings, stdout: Option<&Terminal>) -> Result<Vec<Box<dyn Reporter>>, ReportError> {
    let mut all: Vec<Box<dyn Reporter>> = Vec::new();
    if let Some(dir) = &settings.report.dir {
        let folder = ReportFolder::prepare(dir.value.clone())?;
        all.push(Box::new(Artifacts::new(folder.clone())));
        all.push(Box::new(Records::new(folder)));
    }
    let (files, on_stdout): (Vec<_>, Vec<_>) = settings.report.reporters.iter().partition(|c| c.file.is_some());
    for choice in files.into_iter().chain(on_stdout) {
        let (output, color) = match (&choice.file, stdout) {
            (Some(file), _) => (Terminal::to_file(file)?, false),
            (None, Some(stdout)) => (stdout.clone(), settings.look.color),
            (None, None) => continue,
        };
        all.push(match choice.kind {
            ReporterKind::Json => Box::new(Json::to(output)),
            ReporterKind::Pretty => Box::new(Pretty::new(output, pretty_options(settings, color))),
        });
    }
    Ok(all)
}

fn pretty_options(settings: &Settings, color: bool) -> PrettyOptions {
    PrettyOptions {
        color,
        project_root: settings.project_root.value.clone(),
        cwd: settings.cwd.clone(),
        report_dir: settings.report.dir.as_ref().map(|dir| dir.value.clone()),
    }
}
