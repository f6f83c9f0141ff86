//! Pages that are in the way of the tests, and pages that only look like it.

use support::server::FixtureServer;
use support::tool::Outcome;

use crate::tool;

const TEST: &str = "import { expect, it } from 'vitest';\nit('holds', () => { expect(1 + 1).toBe(2); });\n";

fn run_in(server: &FixtureServer, body: &str, policy: &str) -> Outcome {
    let project = tempfile::tempdir().unwrap();
    fs_err::write(project.path().join("a.ait.test.ts"), TEST).unwrap();
    let url = server.document(body, policy);
    tool(project.path()).args(["a.ait.test.ts", "--target", "chrome", "--page-url", &url]).run()
}

#[test]
fn a_page_in_which_no_test_can_run_is_named_for_it_once() {
    let server = FixtureServer::start();
    for (body, policy, words) in [
        ("<script>window.__ait = { mine: 1 };</script>", "", "the page has something of its own under window.__ait"),
        (
            "<script>Object.defineProperty(window, '__ait', { get() { throw new Error('mine'); } });</script>",
            "",
            "the page has something of its own under window.__ait",
        ),
        (
            "<script>Object.defineProperty(window, '__ait_emit', { value() {} });</script>",
            "",
            "something of its own in the place of window.__ait_emit",
        ),
        (
            "<script>setInterval(() => { delete window.__ait_emit; window.__ait_emit = () => {}; }, 1);</script>",
            "",
            "something of its own in the place of window.__ait_emit",
        ),
        ("<p>no script</p>", "sandbox", "the page forbids all scripts"),
    ] {
        let outcome = run_in(&server, body, policy);
        outcome.expect_code(2);
        // Once for the file that was not run, once as the reason of the run.
        assert_eq!(outcome.stdout.matches(words).count(), 2, "{body}\n{}", outcome.transcript());
        assert!(!outcome.stdout.contains("warning"), "{}", outcome.transcript());
    }
}

#[test]
fn a_page_that_has_replaced_what_is_asked_of_it_is_tested_all_the_same() {
    let server = FixtureServer::start();
    for (body, policy) in [
        (
            "<script>const no = { get() { throw new Error('no'); } };
            Object.defineProperty(document, 'title', no); Object.defineProperty(navigator, 'userAgent', no);</script>",
            "",
        ),
        ("<script>Object.defineProperty(window, 'crypto', { value: undefined });</script>", ""),
        ("<script>document.title = 'x'.repeat(5_000_000);</script>", ""),
        ("<script>window.close(); document.open();</script>", ""),
        ("<p>strict</p>", "default-src 'none'; sandbox allow-scripts"),
        ("<meta http-equiv='Content-Security-Policy' content=\"require-trusted-types-for 'script'\">", ""),
    ] {
        let outcome = run_in(&server, body, policy);
        outcome.expect_code(0);
        assert!(outcome.stdout.len() < 4_000, "{body}\n{}", outcome.transcript());
    }
}
