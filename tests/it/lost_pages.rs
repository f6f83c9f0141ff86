//! Pages and browsers that stop answering in the middle of a test.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use support::procs::Process;
use support::tool::{Outcome, Running};

use crate::tool;

/// A run of these files in an own Chrome, waited for until a test says `ready`.
fn until_ready(files: &[(&str, &str)], args: &[&str]) -> (Running, tempfile::TempDir) {
    let project = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let text = format!("import {{ expect, it }} from 'vitest';\n{text}");
        fs_err::write(project.path().join(name), text).unwrap();
    }
    let tool = tool(project.path()).args(["*.ait.test.ts", "--target", "chrome"]).args(args);
    let report = tool.report_dir();
    let mut running = tool.args(["--report-dir".as_ref(), report.as_os_str()]).start();
    running.wait_for("a test that is ready", |line| line.contains("ready").then_some(()));
    (running, project)
}

/// The renderers of a run's browser.
fn renderers(running: &Running) -> Vec<Process> {
    let found: Vec<_> = running.processes().into_iter().filter(|p| p.command.contains("--type=renderer")).collect();
    assert!(!found.is_empty(), "a renderer runs: {:?}", running.processes());
    found
}

fn send(process: &Process, signal: Signal) {
    // It may be gone by now, which is as good.
    let _ = kill_process(Pid::from_raw(process.pid).unwrap(), signal);
}

fn error_of(outcome: &Outcome, file: usize, test: usize) -> String {
    let artifact = outcome.artifact();
    artifact["files"][file]["tests"][test]["error"].as_str().unwrap_or_else(|| panic!("{artifact:#}")).to_owned()
}

/// The run of [`WAITS`] and [`NEXT`] loses the one test that waits, and says this of it.
fn costs_one_test(running: Running, says: &str) {
    let outcome = running.wait();
    outcome.expect_code(1);
    assert!(outcome.took < Duration::from_secs(30), "{:?}", outcome.took);
    let totals = outcome.artifact()["totals"].clone();
    assert_eq!((&totals["passed"], &totals["failed"]), (&3.into(), &1.into()), "{}", outcome.transcript());
    let error = error_of(&outcome, 0, 1);
    assert!(error.contains(says), "{error}");
}

const WAITS: &str = "it('before', () => {});\n\
    it('waits', async () => { console.log('ready'); await new Promise(() => {}); }, 0);\n\
    it('after', () => { expect(1).toBe(1); });\n";
const NEXT: &str = "it('next file', () => { expect(document.body).not.toBeNull(); });\n";

/// O-03
#[test]
#[cfg(target_os = "linux")]
fn a_frozen_renderer_costs_one_test() {
    let files = [("a.ait.test.ts", WAITS), ("b.ait.test.ts", NEXT)];
    let (running, _project) = until_ready(&files, &["--timeout", "60s", "--silence-timeout", "2s"]);
    for renderer in renderers(&running) {
        send(&renderer, Signal::STOP);
    }
    costs_one_test(running, "--silence-timeout");
}

/// O-10
#[test]
#[cfg(target_os = "linux")]
fn a_page_that_comes_back_goes_on_and_the_likely_cause_is_said() {
    let sleeps = "it('sleeps', async () => { console.log('ready');\n\
        for (let i = 0; i < 60; i += 1) await new Promise((r) => setTimeout(r, 100)); });\n";
    let files = [("a.ait.test.ts", sleeps), ("b.ait.test.ts", NEXT)];
    let (mut running, _project) = until_ready(&files, &["--silence-timeout", "30s", "--timeout", "60s"]);
    let stopped = renderers(&running);
    for renderer in &stopped {
        send(renderer, Signal::STOP);
    }
    running.wait_for("the likely cause", |line| line.contains("background").then_some(()));
    for renderer in &stopped {
        send(renderer, Signal::CONT);
    }
    let outcome = running.wait();
    outcome.expect_code(0);
    assert_eq!(outcome.artifact()["totals"]["passed"], 2, "{}", outcome.transcript());
}

/// O-04
#[test]
#[cfg(target_os = "linux")]
fn a_browser_that_dies_ends_every_wait() {
    let files = [("a.ait.test.ts", WAITS), ("b.ait.test.ts", NEXT), ("c.ait.test.ts", NEXT)];
    let (running, _project) = until_ready(&files, &["--timeout", "100s"]);
    for process in running.processes().iter().filter(|process| process.pid != running.pid()) {
        send(process, Signal::KILL);
    }
    let outcome = running.wait();
    assert!(outcome.took < Duration::from_secs(30), "{:?}", outcome.took);
    assert_eq!(outcome.left_behind, [], "{}", outcome.transcript());
    let artifact = outcome.artifact();
    assert_eq!(outcome.code, Some(1), "{artifact:#}");
    assert_eq!(artifact["files"][0]["tests"][0]["status"], "pass", "{artifact:#}");
    assert_eq!(artifact["files"][0]["tests"][1]["status"], "fail", "{artifact:#}");
    assert_eq!(artifact["totals"]["filesNotRun"], 2, "{artifact:#}");
    let error = error_of(&outcome, 0, 1);
    assert!(error.contains("browser"), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_crashed_renderer_costs_one_test() {
    let files = [("a.ait.test.ts", WAITS), ("b.ait.test.ts", NEXT)];
    let (running, _project) = until_ready(&files, &["--timeout", "100s"]);
    for renderer in renderers(&running) {
        send(&renderer, Signal::KILL);
    }
    costs_one_test(running, "crash");
}
