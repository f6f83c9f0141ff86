//! Every kind of link that leads to an app, opened as a person would, and those that would lead nowhere.

use std::path::Path;

use support::phone::Phone;
use support::server::FixtureServer;
use support::tool::{Outcome, Tool};

use crate::tool;

/// What an app was opened with is what it was to be opened with.
const TEST: &str = "import { expect, it } from 'vitest';
it('is opened as it was asked for', () => {
  expect(document.title).toBe('App in the field');
  const parameters = new URLSearchParams(location.search);
  for (const ours of ['debug', 'relay', 'at']) parameters.delete(ours);
  expect([...parameters]).toEqual([['q', 'a&b'], ['next', 'https://x.test/?at=1#f']]);
  expect(location.hash).toBe('#/route?at=7');
  expect(window.name).toBe(NAME);
});
";

/// The page an app has in the field, with everything that a link must not lose.
const APP: &str = "/pages/field-app.html?q=a%26b&next=https%3A%2F%2Fx.test%2F%3Fat%3D1%23f#/route?at=7";

fn project(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("package.json"), r#"{"name":"@org/my-app"}"#).unwrap();
    fs_err::write(folder.path().join("a.ait.test.ts"), TEST.replace("NAME", name)).unwrap();
    folder
}

fn run(project: &Path) -> Tool {
    tool(project).args(["a.ait.test.ts", "--show-url", "--attach-timeout", "60s"])
}

/// A run whose link is opened in a second Chrome.
fn scanned(tool: Tool) -> (String, Outcome) {
    let mut running = tool.start();
    let link = running.wait_for("the attach link", crate::attach_clock::link);
    let phone = Phone::open(&link);
    let outcome = running.wait();
    drop(phone);
    (link, outcome)
}

#[test]
fn a_scheme_url_opens_the_app_that_it_names() {
    let server = FixtureServer::start();
    let project = project("''");
    // With what an earlier run has left in it.
    let url = server.at(&APP.replace("?q=", "?relay=ws%3A%2F%2Fold.test&at=000000&q="));
    let (_, outcome) = scanned(run(project.path()).args(["--scheme-url", &url]));
    outcome.expect_code(0);
}

#[test]
fn a_launcher_opens_the_app_in_itself() {
    let server = FixtureServer::start();
    let project = project("'my-app'");
    let launcher = server.at("/pages/launcher.html?icon=x");
    let args = ["--attach-launcher", "--app-url", &server.at(APP), "--launcher-url", &launcher];
    let (link, outcome) = scanned(run(project.path()).args(args));
    outcome.expect_code(0);
    assert!(link.starts_with(&format!("{launcher}&url=http%3A%2F%2F127.0.0.1")), "{link}");
}

/// A run that shows no link, says why, and what to do.
fn refused(args: &[&str], why: &str, next: &str) {
    let project = project("''");
    let outcome = run(project.path()).args(["--qr-stdout"]).args(args).run();
    outcome.expect_code(2);
    let said = outcome.transcript();
    assert!(said.contains(why) && said.contains(next), "{args:?}: {said}");
    assert!(!said.contains("Attach link") && !said.contains('▀') && !said.contains("at="), "{args:?}: {said}");
}

/// O-46
#[test]
fn a_link_that_the_page_could_not_use_is_not_shown() {
    refused(
        &["--scheme-url", "intoss-private://my-app?x=1"],
        "only connects to the relay over TLS",
        "--tunnel cloudflared",
    );
    refused(&["--scheme-url", "https://app.test/"], "browsers forbid it", "--tunnel cloudflared");
    refused(
        &["--scheme-url", "intoss-private://my-app", "--tunnel", "lan", "--host", "127.0.0.1"],
        "over TLS",
        "https://my.host",
    );
    let launcher = ["--attach-launcher", "--app-url", "https://app.test/"];
    refused(&launcher, "browsers forbid it", "--tunnel https://my.host");
    refused(
        &["--attach-launcher", "--app-url", "http://127.0.0.1:1/"],
        "the launcher is a page with https",
        "--launcher-url",
    );
}

#[test]
fn a_name_that_nobody_chose_is_doubted_and_an_old_launcher_named() {
    let project = project("''");
    let started = |args: &[&str], said: &str| {
        let mut running = run(project.path()).args(args).start();
        running.wait_for(said, |line| line.contains(said).then_some(()));
    };
    started(&["--scheme-url", "intoss-private://web?_deploymentId=1"], "the deploy command");
    started(&["--attach-launcher", "--app-url", "https://app.test/"], "--launcher-url names another");
}

#[test]
fn contradictions_are_64() {
    let project = project("''");
    for args in [
        vec!["--attach-launcher"],
        vec!["--launcher-url", "https://l.test"],
        vec!["--attach-launcher", "--app-url", "https://a.test", "--scheme-url", "x://a"],
    ] {
        let outcome = run(project.path()).args(&args).run();
        outcome.expect_code(64);
        assert!(outcome.stderr.contains("--attach-launcher"), "{}", outcome.transcript());
    }
}
