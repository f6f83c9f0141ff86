//! Whole processes, side by side in one run: the tool on suites of several sizes, against the bare start of the same
//! Chrome (`about:blank`, one evaluate, quit). Numbers are medians; ratios say more than seconds on a shared machine.
//!
//! `scripts/bench` runs it; `--rounds N` sets how often each is measured (default 5).
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a program for the terminal")]

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use devtools_test::cdp::runtime::{EvaluateOptions, evaluate};
use devtools_test::chrome::{Browser, LaunchOptions, find};
use serde_json::json;

const TOOL: &str = env!("CARGO_BIN_EXE_devtools-test");
const ROUNDS: usize = 5;
const WITHIN: Duration = Duration::from_secs(30);
/// Files and tests per file.
const SUITES: [(usize, usize); 5] = [(1, 1), (12, 10), (100, 1), (10, 1000), (1, 10_000)];

/// One run of the tool.
#[derive(Clone, Copy, Default)]
struct Measured {
    /// Until the last line of its report was there.
    summary: Duration,
    /// From there until the process had ended.
    exit: Duration,
    /// Peak resident memory of the tool's own process, in KiB.
    memory: u64,
}

fn main() {
    let rounds = rounds();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folders: Vec<_> = SUITES.iter().map(|&(files, tests)| suite(files, tests)).collect();
    let mut bare = Vec::new();
    let mut measured = vec![Vec::new(); SUITES.len()];
    for round in 0..=rounds {
        let started = bare_start(&runtime);
        let runs: Vec<Measured> = folders.iter().map(|folder| run(folder.path())).collect();
        // The first round only warms the caches of the file system.
        if round > 0 {
            bare.push(started);
            for (all, run) in measured.iter_mut().zip(runs) {
                all.push(run);
            }
        }
    }
    print(median(&bare, |d| d), &measured);
}

fn rounds() -> usize {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--rounds").skip(1);
    arguments.next().and_then(|n| n.parse().ok()).filter(|n| (1..=100).contains(n)).unwrap_or(ROUNDS)
}

fn suite(files: usize, tests: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("package.json"), "{}").unwrap();
    for file in 0..files {
        let mut text = String::from("import { describe, expect, it } from 'vitest';\ndescribe('suite', () => {\n");
        for test in 0..tests {
            writeln!(text, "  it('test {test}', () => {{ expect({test} + 1).toBe({}); }});", test + 1).unwrap();
        }
        text.push_str("});\n");
        std::fs::write(folder.path().join(format!("f{file:03}.ait.test.ts")), text).unwrap();
    }
    folder
}

fn bare_start(runtime: &tokio::runtime::Runtime) -> Duration {
    let program = find(None, std::env::var("PATH").ok().as_deref()).unwrap();
    let started = Instant::now();
    runtime.block_on(async {
        let browser = Browser::launch(&LaunchOptions { program, no_sandbox: false }).await.unwrap();
        let created: serde_json::Value =
            browser.client().root().call("Target.createTarget", json!({ "url": "about:blank" }), WITHIN).await.unwrap();
        let session = browser.client().attach(created["targetId"].as_str().unwrap()).await.unwrap();
        let two = evaluate(&session, "1 + 1", EvaluateOptions::default(), WITHIN).await.unwrap();
        assert_eq!(two, json!(2));
        browser.close().await;
    });
    started.elapsed()
}

fn run(folder: &Path) -> Measured {
    let started = Instant::now();
    let mut child = Command::new(TOOL)
        .args(["**/*.ait.test.ts", "--target", "chrome", "--color", "never"])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut measured = Measured::default();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        if line.unwrap().starts_with("PASSED") {
            measured.summary = started.elapsed();
            measured.memory = peak_memory(&status);
        }
    }
    assert!(child.wait().unwrap().success(), "the suite must pass");
    measured.exit = started.elapsed() - measured.summary;
    measured
}

/// `VmHWM` of proc(5); it only grows, so at the end it is the peak.
fn peak_memory(status: &str) -> u64 {
    let text = std::fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)).and_then(|kib| kib.parse().ok()).unwrap_or_default()
}

fn median<T: Copy, V: Ord + Copy>(all: &[T], value: impl Fn(T) -> V) -> V {
    let mut values: Vec<V> = all.iter().map(|&one| value(one)).collect();
    values.sort_unstable();
    values[values.len() / 2]
}

fn print(bare: Duration, measured: &[Vec<Measured>]) {
    println!("bare start to quit of the same Chrome: {:.3} s", bare.as_secs_f64());
    println!("{:>6} x {:<6} {:>10} {:>8} {:>10} {:>9}", "files", "tests", "summary", "ratio", "then exit", "memory");
    for (&(files, tests), runs) in SUITES.iter().zip(measured) {
        let summary = median(runs, |run| run.summary);
        let exit = median(runs, |run| run.exit);
        let memory = median(runs, |run| run.memory) >> 10;
        let ratio = summary.as_secs_f64() / bare.as_secs_f64();
        let (summary, exit) = (summary.as_secs_f64(), exit.as_secs_f64());
        println!("{files:>6} x {tests:<6} {summary:>8.3} s {ratio:>8.2} {exit:>8.3} s {memory:>5} MiB");
    }
    let of = |index: usize| median(&measured[index], |run| run.summary).as_secs_f64();
    println!("each file more:  {:.2} ms  (100 x 1 against 1 x 1)", (of(2) - of(0)) / 99.0 * 1e3);
    println!("each test more:  {:.3} ms  (1 x 10,000 against 1 x 1)", (of(4) - of(0)) / 9_999.0 * 1e3);
}
