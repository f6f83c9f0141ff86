//! A folder of `fixtures/cases` as a test: `case.toml` says how to run the tool in it, `expected.txt`,
//! `expected.stderr.txt` and `expected.json` what must come out.
//!
//! `expected.json` is held against the artifact: an object needs the keys it names, an array has the same length, the
//! text `[..]` stands for any value and inside a text for any characters. The text files are held against the streams
//! line by line; a line `...` stands for any lines, `[..]` in a line for any characters.

mod expect;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::server::FixtureServer;
use crate::tool::{Outcome, Tool};

pub use expect::{json_mismatch, text_mismatch};

/// `case.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What it shows, in one sentence.
    about: String,
    /// Patterns of the files to run.
    #[serde(default = "every_file")]
    files: Vec<String>,
    /// More arguments. `{fixture}` becomes the address of the fixture server.
    #[serde(default)]
    args: Vec<String>,
    /// Variables of the environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Path on the fixture server of the page to run in; without it the tool's own page.
    page: Option<String>,
    /// Exit code.
    exit: i32,
    /// How long it may take.
    #[serde(default = "one_minute")]
    timeout_s: u64,
}

fn every_file() -> Vec<String> {
    vec!["*.ait.test.ts".to_owned()]
}

fn one_minute() -> u64 {
    60
}

/// Runs the case in the folder `dir` with the tool `exe`; an error says what was not as expected.
pub fn run(exe: &str, dir: &Path) -> Result<(), String> {
    let text = fs_err::read_to_string(dir.join("case.toml")).map_err(|error| error.to_string())?;
    let case: Case = toml::from_str(&text).map_err(|error| error.to_string())?;
    let server = FixtureServer::start();
    let fill = |text: &String| text.replace("{fixture}", &server.url());
    let mut tool = Tool::new(exe, dir).patience(Duration::from_secs(case.timeout_s));
    tool = tool.args(&case.files).args(["--target", "chrome"]).args(case.args.iter().map(fill));
    if let Some(page) = &case.page {
        tool = tool.args(["--page-url", &server.at(page)]);
    }
    for (name, value) in &case.env {
        tool = tool.env(name, fill(value));
    }
    let wants_artifact = dir.join("expected.json").exists();
    if wants_artifact {
        let report = tool.report_dir();
        tool = tool.args(["--report-dir".as_ref(), report.as_os_str()]);
    }
    let outcome = tool.run();
    let faults = faults(&case, dir, &outcome, wants_artifact)?;
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("{}\n\n{}\n\n{}", case.about, faults.join("\n\n"), outcome.transcript()))
}

fn faults(case: &Case, dir: &Path, outcome: &Outcome, wants_artifact: bool) -> Result<Vec<String>, String> {
    let mut faults = Vec::new();
    if outcome.code != Some(case.exit) {
        faults.push(format!("exit code {:?}, expected {}", outcome.code, case.exit));
    }
    if !outcome.left_behind.is_empty() {
        faults.push(format!("left behind: {:?}", outcome.left_behind));
    }
    for (name, actual) in [("expected.txt", &outcome.stdout), ("expected.stderr.txt", &outcome.stderr)] {
        if let Ok(expected) = fs_err::read_to_string(dir.join(name)) {
            faults.extend(text_mismatch(&expected, actual).map(|fault| format!("{name}: {fault}")));
        }
    }
    if wants_artifact {
        let text = fs_err::read(dir.join("expected.json")).map_err(|error| error.to_string())?;
        let expected = serde_json::from_slice(&text).map_err(|error| format!("expected.json: {error}"))?;
        let actual = outcome.artifact();
        if let Some(fault) = json_mismatch(&expected, &actual) {
            faults.push(format!("expected.json: {fault}\n--- artifact\n{actual:#}"));
        }
    }
    Ok(faults)
}
