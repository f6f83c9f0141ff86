//! `run_tests` and `start_attach` with a second Chrome as the phone.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use support::agent::Agent;
use support::phone::{LOADS_AGENT, Phone};
use support::server::FixtureServer;

use super::{project, server};

const HOLDS: &str = "it('holds', () => { expect(location.pathname).toBe('/attach'); });";
const FAILS: &str = "it('fails', () => { expect(1).toBe(2); });";
const WAITS: &str = "it('waits', async () => { console.log('ready'); await new Promise(() => {}); }, 0);";

/// The address of the dashboard in a text.
fn dashboard(text: &str) -> String {
    let address = &text[text.find("http://127.0.0.1:").unwrap_or_else(|| panic!("no address: {text}"))..];
    address.split([' ', '"']).next().unwrap().to_owned()
}

/// The link that a dashboard shows as a code.
pub(super) fn scan(dashboard: &str) -> String {
    let (host, path) = dashboard.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(stream, "GET /{path}events HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        let Some(news) = line.strip_prefix("data:").and_then(|data| serde_json::from_str::<Value>(data).ok()) else {
            continue;
        };
        if let Some(link) = find(&news, "link") {
            return link;
        }
    }
    panic!("the dashboard showed no code");
}

fn find(value: &Value, name: &str) -> Option<String> {
    match value {
        Value::Object(fields) => match fields.get(name).and_then(Value::as_str) {
            Some(found) => Some(found.to_owned()),
            None => fields.values().find_map(|value| find(value, name)),
        },
        Value::Array(items) => items.iter().find_map(|value| find(value, name)),
        _ => None,
    }
}

#[test]
fn a_run_shows_the_code_waits_for_the_phone_and_runs_there() {
    let project = project(&[("a.ait.test.ts", HOLDS), ("b.ait.test.ts", FAILS)]);
    let mut agent = Agent::start(server(project.path()));
    let id = agent.begin("run_tests", json!({ "files": ["a.ait.test.ts"], "wait_seconds": 60 }));
    let told = agent.until_progress(id, "The code is shown at");
    let link = scan(&dashboard(told["message"].as_str().unwrap()));
    let phone = Phone::open(&link);
    let answer = agent.envelope(id);
    assert_eq!(answer["data"]["verdict"], "passed", "{answer:#}");
    assert_eq!(answer["meta"]["mode"], "relay-hosted");

    // Attached already: it runs at once, and the session is the same afterwards.
    let before = agent.call("list_pages", json!({}));
    let again = agent.call("run_tests", json!({ "files": ["a.ait.test.ts"] }));
    assert_eq!(again["data"]["verdict"], "passed", "{again:#}");
    let pages = agent.call("list_pages", json!({}));
    assert_eq!(
        (pages["data"]["pages"][0]["id"].clone(), pages["data"]["pages"].as_array().unwrap().len()),
        (before["data"]["pages"][0]["id"].clone(), 1)
    );
    assert_eq!(pages["data"]["pages"][0]["state"], "live", "{pages:#}");
    let failed = agent.call("run_tests", json!({ "files": ["b.ait.test.ts"] }));
    assert_eq!(failed["data"]["verdict"], "failed", "{failed:#}");
    let failure = agent.call("get_test_failure", json!({}));
    assert!(failure["data"]["noScreenshot"].as_str().unwrap().contains("script in the page"), "{failure:#}");
    drop(phone);
    let outcome = agent.close();
    outcome.expect_code(0);
    let code = link.split("at=").nth(1).unwrap();
    assert!(!outcome.stdout.contains(code), "the code is in no result\n{}", outcome.stdout);
}

/// A launcher hands its parameters on to the app.
const LAUNCHER: &str = "<script>const { url, relay, at } = Object.fromEntries(new URLSearchParams(location.search));\
    location.href = `${url}&${new URLSearchParams({ relay, at })}`;</script>";

#[test]
fn each_mode_leads_to_a_page_that_runs_tests() {
    let project = project(&[("a.ait.test.ts", "it('holds', () => { expect(1).toBe(1); });")]);
    let site = FixtureServer::start();
    let app = site.document(&format!("<script>{LOADS_AGENT}</script>"), "");
    let launcher = site.document(LAUNCHER, "");
    let mut agent = Agent::start(server(project.path()).args(["--target", "chrome"]));
    for arguments in [
        json!({ "mode": "relay-hosted" }),
        json!({ "mode": "relay-hosted", "app_url": site.at("/app/index.html") }),
        json!({ "mode": "relay-scheme", "scheme_url": app }),
        json!({ "mode": "relay-launcher", "app_url": app, "launcher_url": launcher }),
        json!({ "mode": "local-browser" }),
    ] {
        let started = agent.call("start_debug", arguments.clone());
        assert_eq!((&started["ok"], &started["meta"]["mode"]), (&json!(true), &arguments["mode"]), "{started:#}");
        let phone = (arguments["mode"] != "local-browser").then(|| {
            let shown = agent.call("start_attach", json!({}));
            Phone::open(&scan(shown["data"]["dashboard"].as_str().unwrap_or_else(|| panic!("{arguments}: {shown:#}"))))
        });
        let run = agent.call("run_tests", json!({ "files": ["a.ait.test.ts"], "wait_seconds": 60 }));
        assert_eq!((&run["data"]["verdict"], &run["meta"]["mode"]), (&json!("passed"), &arguments["mode"]), "{run:#}");
        drop(phone);
    }
    agent.close().expect_code(0);
}

#[test]
fn a_second_phone_is_told_of_and_the_first_stays() {
    let project = project(&[]);
    let mut agent = Agent::start(server(project.path()));
    let shown = agent.call("start_attach", json!({}));
    let link = scan(shown["data"]["dashboard"].as_str().unwrap());
    let phone = Phone::open(&link);
    assert_eq!(agent.call("start_attach", json!({ "wait_seconds": 60 }))["ok"], true);
    let second = Phone::open(&link);
    let until = Instant::now() + Duration::from_secs(30);
    let pages = loop {
        let pages = agent.call("list_pages", json!({}));
        if pages["data"].get("notes").is_some() {
            break pages;
        }
        assert!(Instant::now() < until, "{pages:#}");
    };
    assert!(pages["data"]["notes"].to_string().contains("turned away"), "{pages:#}");
    assert_eq!(pages["data"]["pages"].as_array().unwrap().len(), 1, "{pages:#}");
    assert_eq!(
        (&pages["data"]["pages"][0]["id"], &pages["data"]["pages"][0]["state"]),
        (&json!("page-1"), &json!("live"))
    );
    drop((phone, second));
    agent.close().expect_code(0);
}

#[test]
fn start_attach_returns_with_the_code_and_waits_when_asked_to() {
    let project = project(&[]);
    let mut agent = Agent::start(server(project.path()));
    let shown = agent.call("start_attach", json!({}));
    assert_eq!(shown["data"]["stage"], "waiting", "{shown:#}");
    let late = agent.call("start_attach", json!({ "wait_seconds": 1 }));
    assert_eq!(late["error"]["code"], "attach_timeout", "{late:#}");
    assert_eq!(late["error"]["next"]["tool"], "start_attach");
    let missing = agent.call("get_debug_status", json!({}));
    assert_eq!(missing["data"]["next_recommended_action"]["tool"], "start_attach", "{missing:#}");
    let phone = Phone::open(&scan(shown["data"]["dashboard"].as_str().unwrap()));
    let attached = agent.call("start_attach", json!({ "wait_seconds": 60 }));
    assert_eq!(attached["data"]["stage"], "attached", "{attached:#}");
    let status = agent.call("get_debug_status", json!({}));
    assert_eq!(status["data"].get("next_recommended_action"), None, "{status:#}");
    drop(phone);
    agent.close().expect_code(0);
}

/// Has a phone attach, and takes it away while the first test of `a` runs there. Gives the number of that call, and the
/// dashboard's address.
fn lost_in_a_test(agent: &mut Agent, timeout_ms: u32) -> (u64, String) {
    let shown = agent.call("start_attach", json!({}));
    let dashboard = shown["data"]["dashboard"].as_str().unwrap().to_owned();
    let phone = Phone::open(&scan(&dashboard));
    let attached = agent.call("start_attach", json!({ "wait_seconds": 60 }));
    assert_eq!(attached["ok"], true, "{attached:#}");
    let id = agent.begin("run_tests", json!({ "files": ["a.ait.test.ts"], "timeout_ms": timeout_ms }));
    let until = Instant::now() + Duration::from_secs(30);
    while agent.call("list_console_messages", json!({ "contains": "ready" }))["data"]["matching"] != 1 {
        assert!(Instant::now() < until, "the test does not begin");
    }
    drop(phone);
    (id, dashboard)
}

#[test]
fn a_phone_that_is_lost_in_the_middle_ends_the_run_with_what_is_known() {
    let project = project(&[("a.ait.test.ts", WAITS)]);
    let mut agent = Agent::start(server(project.path()).args(["--attach-timeout", "20s", "--silence-timeout", "3s"]));
    let (id, _) = lost_in_a_test(&mut agent, 60_000);
    let answer = agent.envelope(id);
    assert_ne!(answer["data"]["verdict"], "passed", "{answer:#}");
    let failures = answer["data"]["failures"].to_string();
    assert!(
        failures.contains("a.ait.test.ts > waits") && failures.contains("page"),
        "it says what became of it: {answer:#}"
    );
    let status = agent.call("get_debug_status", json!({}));
    assert_eq!(status["data"]["next_recommended_action"]["tool"], "start_attach", "{status:#}");
    agent.close().expect_code(0);
}

/// A phone that is lost in a run: the run is cancelled while it waits for another.
#[test]
fn a_run_that_is_cancelled_while_it_waits_for_a_lost_page_leaves_a_session_to_attach_to() {
    let project = project(&[("a.ait.test.ts", WAITS), ("b.ait.test.ts", HOLDS)]);
    let mut agent = Agent::start(server(project.path()).args(["--silence-timeout", "3s"]));
    let (id, dashboard) = lost_in_a_test(&mut agent, 120_000);
    agent.until_progress(id, "scan the code again");
    // Once the code is shown the wait is under way.
    scan(&dashboard);
    agent.cancel(id);
    let until = Instant::now() + Duration::from_secs(20);
    while agent.call("get_debug_status", json!({}))["data"].get("run").is_some() {
        assert!(Instant::now() < until, "the run goes on");
    }
    let status = agent.call("get_debug_status", json!({}));
    assert_eq!(status["data"]["session"]["stage"], "failed", "{status:#}");
    assert_eq!(status["data"]["next_recommended_action"]["tool"], "start_attach", "{status:#}");

    let id = agent.begin("run_tests", json!({ "files": ["b.ait.test.ts"], "wait_seconds": 40 }));
    agent.until_progress(id, "The code is shown at");
    let phone = Phone::open(&scan(&dashboard));
    let answer = agent.envelope(id);
    assert_eq!(answer["data"]["verdict"], "passed", "{answer:#}");
    drop(phone);
    agent.close().expect_code(0);
}

#[test]
fn a_cancelled_wait_for_a_phone_leaves_no_relay() {
    let project = project(&[("a.ait.test.ts", HOLDS)]);
    let mut agent = Agent::start(server(project.path()));
    let id = agent.begin("run_tests", json!({ "files": ["a.ait.test.ts"] }));
    agent.until_progress(id, "The code is shown at");
    agent.cancel(id);
    let until = Instant::now() + Duration::from_secs(20);
    while agent.call("get_debug_status", json!({}))["data"].get("run").is_some() {
        assert!(Instant::now() < until, "the run goes on");
    }
    let status = agent.call("get_debug_status", json!({}));
    assert_eq!(status["data"].get("session"), None, "{status:#}");
    agent.close().expect_code(0);
}

#[test]
fn the_code_is_in_a_result_only_where_the_server_was_told_to_put_it_there() {
    let project = project(&[]);
    for (arguments, blocks) in [(&[][..], 1), (&["--qr-in-results"][..], 2)] {
        let mut agent = Agent::start(server(project.path()).args(arguments));
        let id = agent.begin("start_attach", json!({}));
        let content = agent.answer(id)["content"].clone();
        assert_eq!(content.as_array().unwrap().len(), blocks, "{content:#}");
        if let Some(image) = content[1]["data"].as_str() {
            assert_eq!(content[1]["mimeType"], "image/png");
            let link = crate::dashboard::tool::scan(&BASE64_STANDARD.decode(image).unwrap());
            assert!(link.contains("/attach?") && link.contains("at="), "{link}");
        }
        agent.close().expect_code(0);
    }
}
