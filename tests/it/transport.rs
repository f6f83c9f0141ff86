//! What a page can notice of the recorder, and what the recorder notices of a page, in Chrome and in WebKit.

use std::time::Duration;

use support::server::FixtureServer;
use support::tool::Outcome;

use crate::tool;

/// The suite promises at least so many tests.
const MIN_TESTS: u64 = 1050;

/// Runs `fixtures/transport`, whose pages are recorded by the script that is in the binary.
fn run(target: &str) -> Outcome {
    let server = FixtureServer::start_with(devtools_test::assets::INTERCEPTORS);
    // A machine that does much else takes several times the minute of an idle one.
    let tool = tool(&support::repo())
        .args(["fixtures/transport/*.ait.test.ts", "--target", target, "--timeout", "400s"])
        .patience(Duration::from_secs(460));
    let (report, url) = (tool.report_dir(), server.url());
    tool.args(["--report-dir".as_ref(), report.as_os_str()])
        .args(["--global".to_owned(), format!("__FIXTURE_URL__=\"{url}\"")])
        .run()
}

fn expect_all_passed(outcome: &Outcome) {
    outcome.expect_code(0);
    let passed = outcome.artifact()["totals"]["passed"].as_u64().unwrap();
    assert!(passed >= MIN_TESTS, "{passed} passed");
}

#[test]
fn chrome_pages_cannot_tell() {
    expect_all_passed(&run("chrome"));
}

#[test]
fn webkit_pages_cannot_tell() {
    expect_all_passed(&run("webkit"));
}
