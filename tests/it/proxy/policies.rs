//! Pages whose policy forbids what the agent does: it gets in, tests run, and nothing else is let in or reported.

use super::plain::{Call, Plain};
use super::*;

/// The app's own script that may run notes every violation; one that may not run would leave `window.evil`.
const SCRIPTS: &str = "<script nonce=\"app\">window.seen = []; addEventListener('securitypolicyviolation', \
                       event => seen.push(`${event.effectiveDirective} ${event.blockedURI}`));</script>\
                       <script>window.evil = true</script>";

const TEST: &str = "import { expect, it } from 'vitest';
it('runs where the policy forbids it', () => {
  expect(document.head.children[0].getAttribute('src')).toBe('/target.js');
  expect(window.evil).toBe(EVIL);
  expect(window.seen).toEqual(SEEN);
  expect(() => { throw new Error('here'); }).toThrow('here');
});
it.fails('knows where it fails', () => { expect(1).toBe(2); });
";

/// What a page with this policy says of our doing: nothing. `evil`: whether its second script runs.
fn app(headers: &[&str], in_the_page: Option<&str>) -> Plain {
    let headers: String = headers.iter().map(|policy| format!("{policy}\r\n")).collect();
    let meta = in_the_page.map(|policy| format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">"));
    let page = format!("<!doctype html><head>{}{SCRIPTS}<title>x</title></head><body>x", meta.unwrap_or_default());
    Plain::start(move |mut call: Call| match call.path() {
        "/" => call.answer("200 OK", &format!("Content-Type: text/html; charset=utf-8\r\n{headers}"), &page),
        _ => call.answer("404 Not Found", "", ""),
    })
}

/// The suite for a page in which the app's second script is refused, and nothing else.
fn strict(seen: &str) -> String {
    TEST.replace("EVIL", "undefined").replace("SEEN", seen)
}

const INLINE: &str = "['script-src-elem inline']";

fn passes_in_chrome(what: &str, app: &Plain, test: &str) {
    let project = project(test);
    let outcome = finished(scanned(tool(project.path(), &app.url())));
    assert_eq!(outcome.code, Some(0), "{what}\n{}", outcome.transcript());
    assert!(outcome.stdout.contains("2 passed"), "{what}\n{}", outcome.transcript());
}

#[test]
fn headers_are_widened_by_what_the_agent_needs_and_no_more() {
    for policy in [
        "script-src 'nonce-app'; connect-src 'none'",
        "default-src 'none'; script-src 'nonce-app' 'strict-dynamic'; object-src 'none'; base-uri 'none'",
        "default-src 'nonce-app'",
        "script-src-elem 'nonce-app'; script-src 'none'",
        "script-src 'nonce-app'; require-trusted-types-for 'script'; trusted-types 'none'",
        "sandbox allow-scripts; script-src 'nonce-app'",
    ] {
        let app = app(&[&format!("Content-Security-Policy: {policy}")], None);
        passes_in_chrome(policy, &app, &strict(INLINE));
    }
}

#[test]
fn several_policies_are_widened_each() {
    let two = ["Content-Security-Policy: script-src 'nonce-app', default-src 'nonce-app' 'unsafe-eval'"];
    // Each of them is asked about the script that may not run.
    passes_in_chrome("two in one", &app(&two, None), &strict("['script-src-elem inline', 'script-src-elem inline']"));
    let hashed =
        "Content-Security-Policy: script-src 'nonce-app' 'sha256-0000000000000000000000000000000000000000000='";
    let reported = "Content-Security-Policy-Report-Only: default-src 'nonce-app'";
    passes_in_chrome(
        "one is reported only",
        &app(&[hashed, reported], None),
        &strict("['script-src-elem inline', 'script-src-elem inline']"),
    );
    let inline = "Content-Security-Policy: script-src 'unsafe-inline'; connect-src 'self'";
    let test = TEST.replace("EVIL", "true").replace("SEEN", "[]");
    passes_in_chrome("what runs goes on running", &app(&[inline], None), &test);
}

#[test]
fn an_integrity_policy_lets_the_agent_in() {
    let headers =
        ["Content-Security-Policy: script-src 'nonce-app'", "Integrity-Policy: blocked-destinations=(script)"];
    passes_in_chrome("integrity", &app(&headers, None), &strict(INLINE));
}

#[test]
fn policies_in_the_page_are_widened_too() {
    let both = app(
        &["Content-Security-Policy: connect-src 'none'"],
        Some("script-src &#39;nonce-app&#39;; connect-src 'none'"),
    );
    passes_in_chrome("in the page", &both, &strict(INLINE));
}

#[test]
fn a_webkit_gets_in_as_well_and_knows_where_tests_fail() {
    let policy =
        "Content-Security-Policy: default-src 'none'; script-src 'nonce-app'; require-trusted-types-for 'script'";
    let in_the_page = "script-src 'nonce-app'; connect-src 'none'";
    let app = app(&[policy], Some(in_the_page));
    let test = "import { expect, it } from 'vitest';\nit('is refused', () => {\n  expect(window.evil).toBe(1);\n});\n";
    let project = project(test);
    let outcome = tool(project.path(), &app.url()).args(["--target", "webkit"]).run();
    outcome.expect_code(1);
    let said = outcome.transcript();
    assert!(said.contains("expected undefined to be 1") && said.contains("a.ait.test.ts:3"), "{said}");
}
