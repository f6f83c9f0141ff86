//! `--target webkit`: what differs from Chrome, what must not, and what is left when it ends.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use support::procs;
use support::tool::{Outcome, Running, Tool};
use tempfile::TempDir;

use crate::tool;

/// How long an interrupted run may take to report and leave.
const TO_LEAVE: Duration = Duration::from_secs(3);
/// How long driver, browser and display may outlive a tool that was killed.
const TO_NOTICE: Duration = Duration::from_secs(5);

const FAILS: &str = r"import { expect, it } from 'vitest';
import { boom } from './helper';

it('compares', () => {
  expect({ b: 1 }).toEqual({ b: 2 });
});
it('throws in a helper', async () => {
  await null;
  boom('so');
});
it('is kept', () => {
  console.warn('seen', { a: [1] });
  expect(1).toBe(1);
});
it('leaves an error behind', async () => {
  setTimeout(() => {
    throw new RangeError('late');
  });
  await new Promise((done) => setTimeout(done, 50));
});
it('leaves a rejection behind', async () => {
  void Promise.reject(new Error('unheard'));
  await new Promise((done) => setTimeout(done, 50));
});
";
const HELPER: &str = r"export interface Lines {
  that: 'are gone from the bundle';
}

export function boom(why: string): never {
  throw new TypeError(`boom, ${why}`);
}
";

fn project(files: &[(&str, &str)]) -> TempDir {
    let project = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs_err::write(project.path().join(name), text).unwrap();
    }
    project
}

fn run(project: &TempDir, target: &str) -> Tool {
    let tool = tool(project.path()).args(["--target", target, "--reporter", "json"]);
    let report = tool.report_dir();
    tool.args(["--report-dir".as_ref(), report.as_os_str()])
}

/// What a person is told of failures, apart from columns: an engine names the start of a call, the other the place where
/// it is called. Frames that only one of them has are those behind an `await`, or further out than the first.
fn failures(outcome: &Outcome) -> Vec<String> {
    let mut told = Vec::new();
    for event in outcome.events() {
        let errors = match event["type"].as_str() {
            Some("testFinished") => event["errors"].as_array().cloned().unwrap_or_default(),
            Some("exception") => vec![event["error"].clone()],
            _ => Vec::new(),
        };
        for error in errors {
            let top = &error["frames"][0];
            told.push(format!(
                "{}: {} at {}:{} {}",
                error["name"].as_str().unwrap(),
                error["message"].as_str().unwrap(),
                top["file"].as_str().unwrap_or("?"),
                top["line"],
                event["origin"].as_str().unwrap_or_default(),
            ));
        }
        if event["type"] == "console" {
            told.push(format!("{} {}", event["level"], event["text"]));
        }
    }
    told
}

#[test]
fn failures_are_told_as_in_chrome() {
    let project = project(&[("a.ait.test.ts", FAILS), ("helper.ts", HELPER)]);
    let webkit = run(&project, "webkit").run();
    webkit.expect_code(1);
    let told = failures(&webkit);
    assert!(told.iter().any(|line| line.contains("boom, so at helper.ts:6")), "{told:#?}\n{}", webkit.transcript());
    let chrome = run(&project, "chrome").run();
    assert_eq!(told, failures(&chrome));
}

#[test]
fn a_page_that_loops_or_reloads_costs_one_test() {
    let loops = "import { expect, it } from 'vitest';\nit('before', () => {});\nit('loops', () => { for (;;) {} });\n\
                 it('after', () => { expect(document.body).not.toBeNull(); });\n";
    let reloads = loops.replace("for (;;) {}", "location.reload(); return new Promise(() => {});");
    let project = project(&[("a.ait.test.ts", loops), ("b.ait.test.ts", &reloads)]);
    let outcome = run(&project, "webkit").args(["--silence-timeout", "2s", "--timeout", "60s"]).run();
    outcome.expect_code(1);
    let artifact = outcome.artifact();
    let totals = &artifact["totals"];
    assert_eq!((&totals["passed"], &totals["failed"]), (&4.into(), &2.into()), "{}", outcome.transcript());
    let lost: Vec<String> = outcome
        .events()
        .iter()
        .filter(|event| event["type"] == "pageLost")
        .map(|event| event["cause"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(lost, ["frozen", "reloaded"]);
}

/// A run in a test that never ends.
fn waiting() -> (Running, TempDir) {
    let waits = "import { it } from 'vitest';\nit('waits', () => { console.log('ready'); return new Promise(() => {}); }, 0);\n";
    let project = project(&[("a.ait.test.ts", waits)]);
    let mut running = run(&project, "webkit").args(["--timeout", "100s"]).start();
    running.wait_for("the test", |line| line.contains("ready").then_some(()));
    (running, project)
}

#[test]
fn ctrl_c_leaves_nothing() {
    let (running, _project) = waiting();
    let asked = Instant::now();
    running.signal(Signal::INT);
    let outcome = running.wait();
    outcome.expect_code(130);
    assert!(asked.elapsed() < TO_LEAVE, "took {:?}\n{}", asked.elapsed(), outcome.transcript());
    let left: Vec<_> = fs_err::read_dir(outcome.scratch()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn after_sigkill_driver_browser_and_display_go() {
    let (running, _project) = waiting();
    let session = running.pid();
    let others = || -> Vec<String> {
        let all = procs::of_session(session).into_iter();
        all.filter(|process| process.pid != session).map(|process| process.command).collect()
    };
    for name in ["WebKitWebDriver", "MiniBrowser", "WebKitWebProcess"] {
        assert!(others().iter().any(|command| command.contains(name)), "{name} runs: {:?}", others());
    }
    running.signal(Signal::KILL);
    let killed = Instant::now();
    while !others().is_empty() {
        assert!(killed.elapsed() < TO_NOTICE, "still there: {:?}", others());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_does_not_start_is_named_with_what_to_do() {
    let project = project(&[("a.ait.test.ts", "import { it } from 'vitest';\nit('runs', () => {});\n")]);
    let missing = run(&project, "webkit").args(["--webdriver", "/no/such/driver"]).run();
    assert!(missing.transcript().contains("/no/such/driver") && missing.transcript().contains("--webdriver"));
    missing.expect_code(2);
    let ends = run(&project, "webkit").args(["--webdriver", "/bin/false"]).run();
    assert!(ends.transcript().contains("ended at once (exit status 1)"), "{}", ends.transcript());
    ends.expect_code(2);
}

#[test]
fn the_link_is_never_told() {
    let project = project(&[("a.ait.test.ts", "import { it } from 'vitest';\nit('runs', () => {});\n")]);
    let outcome = run(&project, "webkit").args(["-vvv", "--show-url", "--qr-stdout"]).run();
    outcome.expect_code(0);
    let said = outcome.transcript();
    assert!(said.contains("/attach") && !said.contains("at=") && !said.contains("/at/"), "{said}");
}
