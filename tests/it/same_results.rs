//! The sample suite in Chrome and over the relay, where a second Chrome or a WebKit plays the phone: one report.

use serde_json::Value;
use support::phone::Phone;
use support::server::FixtureServer;
use support::tool::{Outcome, Tool};

use crate::attach_clock::link;
use crate::tool;

/// What a report says about the place and the time it was made; everything else must be the same.
const OF_THE_PLACE: [&str; 7] = ["startedAt", "duration", "targetKind", "device", "engine", "userAgent", "pageUrl"];
/// Ids of what was recorded, and into how many pieces a body came apart.
const OF_THE_RECORDER: [&str; 4] = ["documents", "connection", "messages", "in"];

/// The suite promises at least so much, so that two empty reports are not taken for the same results.
const MIN_FILES: u64 = 12;
const MIN_TESTS: u64 = 80;

fn sample(server: &FixtureServer, target: &str) -> Tool {
    let tool = tool(&support::repo()).args([
        "fixtures/sample/**/*.ait.test.ts",
        "--target",
        target,
        "--cell-platform",
        "mock",
    ]);
    let (report, url) = (tool.report_dir(), server.url());
    tool.args(["--report-dir".as_ref(), report.as_os_str()])
        .args(["--global".to_owned(), format!("__FIXTURE_URL__=\"{url}\"")])
}

/// The report without what belongs to the place; numbers of milliseconds and printed addresses of scripts go as well.
fn comparable(outcome: &Outcome) -> Value {
    let mut artifact = outcome.artifact();
    strip(&mut artifact);
    artifact
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|key, _| !OF_THE_PLACE.contains(&key.as_str()) && !OF_THE_RECORDER.contains(&key.as_str()));
            object.values_mut().for_each(strip);
        }
        Value::Array(array) => array.iter_mut().for_each(strip),
        _ => {}
    }
}

/// A run over the relay, with a second Chrome as the phone.
fn on_device(server: &FixtureServer) -> Outcome {
    let mut running = sample(server, "device").args(["--show-url", "--attach-timeout", "60s"]).start();
    let link = running.wait_for("the attach link", link);
    let phone = Phone::open(&link);
    let outcome = running.wait();
    drop(phone);
    outcome
}

fn captures(outcome: &Outcome) -> Vec<std::ffi::OsString> {
    let folder = outcome.report_dir().join(".ait-capture");
    let mut names: Vec<_> = fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

#[test]
fn chrome_device_and_webkit_give_the_same_report() {
    let server = FixtureServer::start();
    let in_chrome = sample(&server, "chrome").run();
    in_chrome.expect_code(0);
    let chrome = comparable(&in_chrome);
    assert!(chrome["totals"]["files"].as_u64().unwrap() >= MIN_FILES, "{}", chrome["totals"]);
    assert!(chrome["totals"]["passed"].as_u64().unwrap() >= MIN_TESTS, "{}", chrome["totals"]);
    assert_eq!(in_chrome.artifact()["targetKind"], "chrome");
    assert!(!captures(&in_chrome).is_empty(), "the suite leaves captures");

    for (target, other) in [("device", on_device(&server)), ("webkit", sample(&server, "webkit").run())] {
        other.expect_code(0);
        assert_eq!(other.artifact()["targetKind"], target);
        let report = comparable(&other);
        for (ours, theirs) in chrome["files"].as_array().unwrap().iter().zip(report["files"].as_array().unwrap()) {
            assert_eq!(ours, theirs, "{target}: {}", ours["file"]);
        }
        assert_eq!(chrome, report, "{target}");
        assert_eq!(captures(&in_chrome), captures(&other), "{target}");
    }
}
