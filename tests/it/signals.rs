//! What ends a run from outside: Ctrl-C, SIGTERM, and SIGKILL, after which nobody can clean up but the next run.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use support::procs;
use support::tool::{Running, Tool};

use crate::tool;

/// How long an interrupted run may take to report and leave.
const TO_LEAVE: Duration = Duration::from_secs(3);
/// How long the browser may outlive a tool that was killed.
const TO_NOTICE: Duration = Duration::from_secs(5);

/// The profiles in a folder; a browser that was killed may leave other things there.
fn profiles(folder: &Path) -> usize {
    let entries = fs_err::read_dir(folder).unwrap();
    entries.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("devtools-test-")).count()
}

/// A run whose first test is over and whose second never ends.
fn busy() -> (Running, tempfile::TempDir) {
    busy_in(None)
}

/// The same, in this temporary folder.
fn busy_in(scratch: Option<&Path>) -> (Running, tempfile::TempDir) {
    let project = tempfile::tempdir().unwrap();
    let test = "import { it } from 'vitest';\n\
                it('is over', () => {});\n\
                it('never ends', () => { console.log('second test runs'); return new Promise(() => {}); }, 0);\n";
    fs_err::write(project.path().join("a.ait.test.ts"), test).unwrap();
    let tool: Tool = tool(project.path()).args(["a.ait.test.ts", "--target", "chrome", "--timeout", "100s"]);
    let tool = scratch.into_iter().fold(tool, |tool, folder| tool.env("TMPDIR", folder));
    let report = tool.report_dir();
    let mut running = tool.args(["--report-dir".as_ref(), report.as_os_str()]).start();
    running.wait_for("the second test", |line| line.contains("second test runs").then_some(()));
    (running, project)
}

fn ends_with(signal: Signal, code: i32) {
    let (running, _project) = busy();
    let asked = Instant::now();
    running.signal(signal);
    let outcome = running.wait();
    assert!(asked.elapsed() < TO_LEAVE, "took {:?}\n{}", asked.elapsed(), outcome.transcript());
    outcome.expect_code(code);
    let artifact = outcome.artifact();
    assert_eq!(artifact["exitCode"], code);
    assert_eq!(artifact["totals"]["passed"], 1, "{artifact:#}");
    assert_eq!(artifact["files"][0]["tests"][0]["name"], "is over");
    let last = outcome.stdout.lines().last().unwrap_or_default();
    assert!(last.contains("1 passed"), "the last line counts: {last:?}");
    assert_eq!(profiles(&outcome.scratch()), 0, "no profile is left");
}

#[test]
fn ctrl_c_reports_what_was_finished() {
    ends_with(Signal::INT, 130);
}

#[test]
fn sigterm_reports_what_was_finished() {
    ends_with(Signal::TERM, 143);
}

/// More lines than can be read: neither the clocks nor Ctrl-C may wait until they have been.
#[test]
fn a_page_that_never_stops_talking_has_its_limits_and_can_be_interrupted() {
    let project = tempfile::tempdir().unwrap();
    let test =
        "import { it } from 'vitest';\nit('talks', () => { for (let i = 0; ; i++) console.log('line ' + i); });\n";
    fs_err::write(project.path().join("a.ait.test.ts"), test).unwrap();
    let talking = |timeout: &str| {
        let args = ["a.ait.test.ts", "--target", "chrome", "--reporter", "json", "--timeout", timeout];
        let mut running = tool(project.path()).args(args).start();
        running.wait_for("a line of the page", |line| line.contains("\"line 100\"").then_some(Instant::now()));
        running
    };
    let mut running = talking("3s");
    let talks = Instant::now();
    let lost = running.wait_for("the end of the page", |line| line.contains("pageLost").then(|| line.to_owned()));
    assert!(talks.elapsed() < Duration::from_secs(15), "took {:?}", talks.elapsed());
    assert!(lost.contains("--timeout 3s") && lost.contains("writes to the console faster"), "{lost}");
    drop(running);

    let running = talking("60s");
    std::thread::sleep(Duration::from_secs(2));
    let asked = Instant::now();
    running.signal(Signal::INT);
    let outcome = running.wait();
    assert!(asked.elapsed() < TO_LEAVE * 2, "took {:?}", asked.elapsed());
    outcome.expect_code(130);
    let finished = |event: &serde_json::Value| event["type"] == "runFinished";
    assert!(outcome.events().iter().any(finished), "the run was given up");
}

#[test]
#[cfg(target_os = "linux")]
fn after_sigkill_the_browser_goes_and_the_next_start_sweeps() {
    let (running, project) = busy();
    let session = running.pid();
    let scratch = running.scratch();
    assert!(running.processes().len() > 1, "a browser runs");
    running.signal(Signal::KILL);
    let killed = Instant::now();
    while procs::of_session(session).iter().any(|process| process.pid != session) {
        assert!(killed.elapsed() < TO_NOTICE, "still there: {:?}", procs::of_session(session));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(profiles(&scratch) > 0, "a killed tool cannot remove its profile");

    fs_err::write(project.path().join("b.ait.test.ts"), "import { it } from 'vitest';\nit('runs', () => {});\n")
        .unwrap();
    let next = tool(project.path()).env("TMPDIR", &scratch).args(["b.ait.test.ts", "--target", "chrome"]).run();
    next.expect_code(0);
    assert_eq!(profiles(&scratch), 0, "the next start swept the profile of the killed one");
}

/// O-16
#[test]
#[cfg(target_os = "linux")]
fn twenty_killed_runs_leave_a_temp_folder_that_the_next_start_sweeps() {
    let scratch = tempfile::tempdir().unwrap();
    for _ in 0..20 {
        let (running, _project) = busy_in(Some(scratch.path()));
        running.signal(Signal::KILL);
        let outcome = running.wait();
        assert_eq!((outcome.code, outcome.left_behind.as_slice()), (None, [].as_slice()), "{}", outcome.transcript());
        // Each start sweeps what the one before has left.
        assert!(profiles(scratch.path()) <= 1, "{}", profiles(scratch.path()));
    }
    let project = tempfile::tempdir().unwrap();
    fs_err::write(project.path().join("b.ait.test.ts"), "import { it } from 'vitest';\nit('runs', () => {});\n")
        .unwrap();
    tool(project.path())
        .env("TMPDIR", scratch.path())
        .args(["b.ait.test.ts", "--target", "chrome"])
        .run()
        .expect_code(0);
    let left: Vec<_> = fs_err::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}
