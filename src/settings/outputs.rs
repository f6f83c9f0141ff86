//! The files a run writes, so that no two of its outputs are written into one.

use std::path::{Path, PathBuf};

use crate::ident::Cell;

use super::error::SettingsError;
use super::resolved::{LogSettings, ReportSettings};

/// Refuses two outputs in one file.
pub(super) fn check(
    report: &ReportSettings,
    log: &LogSettings,
    qr_file: Option<&Path>,
    cell: &Cell,
) -> Result<(), SettingsError> {
    let mut taken: Vec<(&str, PathBuf)> = Vec::new();
    let reporters = report.reporters.iter().filter_map(|choice| Some(("--reporter", choice.file.as_deref()?)));
    let log = log.file.as_deref().map(|file| ("--log-file", file));
    let qr_file = qr_file.map(|file| ("--qr-file", file));
    let artifacts = report.dir.iter().flat_map(|dir| {
        let stem = cell.file_stem();
        [dir.join(format!("{stem}.json")), dir.join(format!("{stem}.manual.json"))]
    });
    let artifacts: Vec<PathBuf> = artifacts.collect();
    let artifacts = artifacts.iter().map(|file| ("--report-dir", file.as_path()));
    for (what, file) in reporters.chain(log).chain(qr_file).chain(artifacts) {
        let place = place(file);
        if let Some((before, _)) = taken.iter().find(|(_, other)| *other == place) {
            let file = file.display();
            return Err(SettingsError::Conflict(if *before == what {
                format!("two of {what} would write to {file}; give each a file of its own")
            } else {
                format!("{before} and {what} would both write to {file}; give each a file of its own")
            }));
        }
        taken.push((what, place));
    }
    Ok(())
}

/// The same for every way to write the path of one file, links followed as far as they are there.
fn place(file: &Path) -> PathBuf {
    let real = |path: &Path| path.canonicalize().ok();
    let beside = || Some(real(file.parent()?)?.join(file.file_name()?));
    real(file).or_else(beside).unwrap_or_else(|| file.components().collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::settings::{ReporterChoice, ReporterKind, Sourced};

    fn refused(dir: &Path, reporters: &[&str], log: Option<&str>) -> Option<String> {
        let choice = |file: &&str| ReporterChoice { kind: ReporterKind::Json, file: Some(dir.join(file)) };
        let report = ReportSettings {
            reporters: reporters.iter().map(choice).collect(),
            dir: Some(Sourced::default_of(dir.join("report"))),
            screenshots: true,
        };
        let log = LogSettings { filter: None, file: log.map(|file| dir.join(file)) };
        let cell = Cell { sdk_line: "2.x".into(), platform: "ios".into() };
        check(&report, &log, Some(&dir.join("code.png")), &cell).err().map(|error| error.to_string())
    }

    #[test]
    fn two_outputs_in_one_file_are_refused_however_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        std::fs::create_dir(dir.join("report")).unwrap();
        let says = |reporters: &[&str], log| refused(dir, reporters, log).unwrap_or_default();
        assert!(says(&["a", "./a"], None).contains("two of --reporter would write to"));
        assert!(says(&["new/x", "new/./x"], None).contains("two of --reporter"));
        assert!(says(&["a"], Some("report/../a")).contains("--reporter and --log-file would both write to"));
        assert!(says(&["report/2.x.ios.json"], None).contains("--reporter and --report-dir would both"));
        assert!(says(&[], Some("report/2.x.ios.manual.json")).contains("--log-file and --report-dir"));
        assert!(says(&["code.png"], None).contains("--reporter and --qr-file would both"));
        assert_eq!(refused(dir, &["a", "b"], Some("c")), None);
        #[cfg(unix)]
        {
            std::fs::write(dir.join("a"), "").unwrap();
            std::os::unix::fs::symlink(dir.join("a"), dir.join("link")).unwrap();
            assert!(says(&["a", "link"], None).contains("two of --reporter"));
        }
    }
}
