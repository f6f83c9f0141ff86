//! Tools that look at the attached page, and that act in it, in a real Chrome.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::agent::Agent;
use support::server::FixtureServer;

use super::server;

/// A server whose browser is on a page of the fixture server.
fn on(page: &str) -> (Agent, FixtureServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let site = FixtureServer::start();
    let mut agent = Agent::start(server(folder.path()));
    let started = agent.call("start_debug", json!({ "mode": "local-browser", "page_url": site.at(page) }));
    assert_eq!(started["data"]["stage"], "attached", "{started}");
    (agent, site, folder)
}

/// What an expression gives.
fn value(agent: &mut Agent, expression: &str) -> Value {
    let answer = agent.call("evaluate", json!({ "expression": expression }));
    assert_eq!(answer["ok"], true, "{expression}: {answer}");
    answer["data"].clone()
}

/// O-39
#[test]
fn evaluate_awaits_calls_and_describes() {
    let (mut agent, _site, _folder) = on("/app/index.html");
    for (expression, expected) in [
        ("1 + 1", json!({ "type": "number", "value": 2, "exact": true })),
        ("const a = 20; a + 1", json!({ "type": "number", "value": 21, "exact": true })),
        ("{ a: [1, 'x'] };", json!({ "type": "Object", "value": { "a": [1, "x"] }, "exact": true })),
        ("{ let b = 2; b * 2 }", json!({ "type": "number", "value": 4, "exact": true })),
        ("async () => ({ ok: true })", json!({ "type": "Object", "value": { "ok": true }, "exact": true })),
        ("function () { return null }", json!({ "type": "null", "value": null, "exact": true })),
        ("Promise.resolve('later')", json!({ "type": "string", "value": "later", "exact": true })),
        ("undefined", json!({ "type": "undefined", "value": "[undefined]", "exact": false })),
        ("NaN", json!({ "type": "number", "value": "[NaN]", "exact": false })),
        ("10n ** 20n", json!({ "type": "bigint", "value": "[100000000000000000000n]", "exact": false })),
        (
            "new Map([[1, { b: 2n }]])",
            json!({ "type": "Map", "value": { "Map": [[1, { "b": "[2n]" }]] }, "exact": false }),
        ),
        (
            "const loop = {}; loop.me = loop; loop",
            json!({ "type": "Object", "value": { "me": "[circular]" }, "exact": false }),
        ),
        ("document.querySelector('main')", json!({ "type": "HTMLElement", "value": "[<main#app>]", "exact": false })),
        (
            "({ get bad() { throw new Error('no') }, good: 1 })",
            json!({ "type": "Object", "value": { "bad": "[throws Error: no]", "good": 1 }, "exact": false }),
        ),
    ] {
        assert_eq!(value(&mut agent, expression), expected, "{expression}");
    }
    let long = value(&mut agent, "'x'.repeat(9000)");
    assert_eq!((long["value"].as_str().unwrap().chars().count(), &long["exact"]), (4001, &json!(false)));
    assert_eq!(fs_err::read_to_string(long["file"].as_str().unwrap()).unwrap().len(), 9000);
    agent.close().expect_code(0);
}

/// O-39
#[test]
fn evaluate_says_what_went_wrong() {
    let (mut agent, _site, _folder) = on("/app/index.html");
    for (expression, code, says) in [
        ("throw new TypeError('not that')", "page_threw", "TypeError: not that"),
        ("Promise.reject(new RangeError('too far'))", "page_threw", "RangeError: too far"),
        ("async () => { throw 'a text' }", "page_threw", "a text"),
        ("1 +", "page_threw", "SyntaxError"),
        ("new Promise(() => {})", "timeout", "within 300 ms"),
        ("for (;;);", "page_frozen", "within 300 ms"),
    ] {
        let answer = agent.call("evaluate", json!({ "expression": expression, "timeout_ms": 300 }));
        assert_eq!(answer["error"]["code"], code, "{expression}: {answer}");
        assert!(answer["error"]["state"].as_str().unwrap().contains(says), "{expression}: {answer}");
    }
    // The loop was ended: the page is as good as before.
    assert_eq!(value(&mut agent, "1")["value"], 1);
    let dialog = agent.call("evaluate", json!({ "expression": "prompt('Who are you?') + '!'" }));
    assert_eq!(dialog["error"]["code"], "dialog_open", "{dialog}");
    assert_eq!(dialog["error"]["next"]["tool"], "handle_dialog");
    let handled = agent.call("handle_dialog", json!({ "action": "accept", "prompt_text": "me" }));
    assert_eq!(handled["data"], json!({ "type": "prompt", "message": "Who are you?" }));
    let none = agent.call("handle_dialog", json!({ "action": "dismiss" }));
    assert_eq!(none["error"]["code"], "not_found", "{none}");
    agent.close().expect_code(0);
}

#[test]
fn the_sdk_is_called_as_the_app_would() {
    let (mut agent, _site, _folder) = on("/app/index.html");
    let locale = agent.call("call_sdk", json!({ "name": "getLocale" }));
    assert_eq!(locale["data"], json!({ "ok": true, "value": "ko-KR" }), "{locale}");
    let refused = agent.call("call_sdk", json!({ "name": "getLocale", "args": [1] }));
    assert_eq!(refused["error"]["code"], "bad_input", "{refused}");
    let stored = agent.call("call_sdk", json!({ "name": "Storage.setItem", "args": ["k", "v"] }));
    assert!(stored["data"]["ok"] == true && stored["data"]["warning"].is_string(), "{stored}");
    let failed = agent.call("call_sdk", json!({ "name": "Storage.getItem", "args": [""] }));
    assert_eq!(failed["data"]["ok"], false);
    assert_eq!(failed["data"]["error"]["code"], "INVALID_KEY", "{failed}");
    let unknown = agent.call("call_sdk", json!({ "name": "noSuchThing" }));
    assert_eq!(unknown["error"]["code"], "not_found");
    assert!(unknown["error"]["details"]["known"].to_string().contains("getLocale"), "{unknown}");
    value(&mut agent, "window.__sdk.late = () => { setTimeout(() => { throw new Error('behind the back') }, 20) }");
    let late = agent.call("call_sdk", json!({ "name": "late" }));
    assert_eq!(late["data"]["recentException"]["text"], "behind the back", "{late}");
    agent.close().expect_code(0);
}

#[test]
fn what_a_page_shows_is_told_in_roles_and_in_markup() {
    let (mut agent, _site, _folder) = on("/app/index.html");
    value(
        &mut agent,
        "document.body.innerHTML = '<h1>Shop</h1><div><button id=buy disabled>Buy <b>now</b></button>\
         <label>Name <input value=Kim></label><p hidden>secret</p><a href=\"/x\">more</a></div>'",
    );
    let snapshot = agent.call("take_snapshot", json!({}));
    let lines: Vec<_> = snapshot["data"]["snapshot"].as_str().unwrap().lines().map(str::to_owned).collect();
    for wanted in [
        r#"- heading "Shop" level=1 ["#,
        r#"- button "Buy now" disabled ["#,
        r#"- textbox "Name" value="Kim" ["#,
        r#"- link "more" href="/x" ["#,
    ] {
        assert!(lines.iter().any(|line| line.contains(wanted)), "{wanted}: {lines:#?}");
    }
    assert!(!lines.iter().any(|line| line.contains("secret")), "{lines:#?}");
    let button = lines.iter().find(|line| line.contains("button")).unwrap();
    let (_, button) = button.rsplit_once('[').unwrap();
    let button = button.trim_end_matches(']');
    let id = agent.call("evaluate", json!({ "expression": "element => element.id", "ref": button }));
    assert_eq!(id["data"]["value"], "buy", "{id}");
    let again = agent.call("take_snapshot", json!({ "ref": button }));
    assert!(again["data"]["snapshot"].as_str().unwrap().contains(button), "{again}");
    let gone = agent.call("take_snapshot", json!({ "selector": "#nowhere" }));
    assert_eq!(gone["error"]["code"], "not_found", "{gone}");

    let document = agent.call("get_dom_document", json!({ "selector": "div" }));
    let html = document["data"]["html"].as_str().unwrap();
    assert!(html.starts_with("<div>\n  <button id=\"buy\" disabled=\"\">\n"), "{html}");
    value(&mut agent, "document.body.innerHTML = '<p>row</p>'.repeat(5000)");
    let cut = agent.call("get_dom_document", json!({ "max_chars": 500 }));
    assert!(cut["data"]["html"].as_str().unwrap().len() < 600, "{cut}");
    assert!(cut["data"]["left_out"].as_u64().unwrap() > 4900, "{cut}");
    let cut = agent.call("take_snapshot", json!({ "max_chars": 500 }));
    assert!(cut["data"]["left_out"].as_u64().unwrap() > 4900, "{cut}");

    value(&mut agent, "window.__sdk.SafeAreaInsets = { get: async () => ({ top: 44, bottom: 34 }) }");
    let area = agent.call("measure_safe_area", json!({}));
    assert_eq!(
        (&area["data"]["source"], &area["data"]["sdkInsets"]["bottom"]),
        (&json!("sdk"), &json!(34.0)),
        "{area}"
    );
    assert!(area["data"]["innerWidth"].as_f64().unwrap() > 0.0);
    agent.close().expect_code(0);
}

#[test]
fn a_picture_comes_as_image_and_as_file() {
    let (mut agent, _site, _folder) = on("/app/index.html");
    let id = agent.ask("tools/call", json!({ "name": "take_screenshot", "arguments": {} }));
    let result = agent.answer(id);
    assert_eq!(result["content"][1]["type"], "image", "{result}");
    let file = fs_err::read(result["structuredContent"]["data"]["file"].as_str().unwrap()).unwrap();
    assert!(file.starts_with(b"\x89PNG"));
    let small = agent.call("take_screenshot", json!({ "format": "jpeg", "image": false }));
    assert_eq!(small["data"]["inline"], false);
    let wrong = agent.call("take_screenshot", json!({ "format": "gif" }));
    assert_eq!(wrong["error"]["code"], "bad_input");
    agent.close().expect_code(0);
}

#[test]
fn a_page_is_led_elsewhere_and_back() {
    let (mut agent, site, _folder) = on("/app/index.html");
    let there = agent.call("navigate", json!({ "url": "/app/index.html?two" }));
    assert_eq!(there["data"]["url"], site.at("/app/index.html?two"), "{there}");
    let pages = agent.call("get_debug_status", json!({}));
    assert!(pages.to_string().contains("index.html?two"), "{pages}");
    value(&mut agent, "window.left = 1");
    assert_eq!(agent.call("navigate", json!({ "url": "#part" }))["ok"], true);
    assert_eq!(value(&mut agent, "left")["value"], 1, "the document stays");
    assert_eq!(agent.call("navigate", json!({}))["ok"], true);
    assert_eq!(value(&mut agent, "typeof left")["value"], "undefined", "it was loaded again");
    let code = agent.call("navigate", json!({ "url": "javascript:alert(1)" }));
    assert_eq!(code["error"]["code"], "bad_input", "{code}");
    let nothing = agent.call("navigate", json!({ "url": "http://127.0.0.1:1/" }));
    assert_eq!(nothing["error"]["code"], "not_found", "{nothing}");
    agent.close().expect_code(0);
}

#[test]
fn a_popup_is_listed_and_can_be_worked_with_and_left_again() {
    let (mut agent, site, folder) = on("/app/index.html");
    let text = "import { expect, it } from 'vitest';\nit('is in the popup', () => { expect(location.search).toBe('?popup'); });\n";
    fs_err::write(folder.path().join("a.ait.test.ts"), text).unwrap();
    let alone = agent.call("list_pages", json!({}));
    assert_eq!(alone["data"]["pages"].as_array().unwrap().len(), 1, "{alone:#}");
    value(&mut agent, "globalThis.first = true; globalThis.popup = open('/app/index.html?popup'); 1");
    let listed = agent.call("list_pages", json!({}));
    let [first, popup] = &listed["data"]["pages"].as_array().unwrap()[..] else { panic!("{listed:#}") };
    assert_eq!(
        (&first["attached"], &popup["attached"], &popup["state"]),
        (&json!(true), &json!(false), &json!("open"))
    );
    assert_eq!(popup["url"], site.at("/app/index.html?popup"), "{listed:#}");
    let selected = agent.call("select_page", json!({ "id": popup["id"] }));
    assert_eq!(selected["data"]["url"], popup["url"], "{selected:#}");
    let status = agent.call("get_debug_status", json!({}));
    assert_eq!(status["data"]["session"]["page"]["id"], popup["id"], "{status:#}");
    value(&mut agent, "console.log('from the popup')");
    let run = agent.call("run_tests", json!({ "files": ["a.ait.test.ts"] }));
    assert_eq!(run["data"]["verdict"], "passed", "{run:#}");
    let back = agent.call("select_page", json!({ "id": first["id"] }));
    assert_eq!(back["ok"], true, "{back:#}");
    assert_eq!(value(&mut agent, "popup.close(), globalThis.first")["value"], true);
    let gone = agent.call("select_page", json!({ "id": popup["id"] }));
    assert_eq!(gone["error"]["code"], "not_found", "{gone:#}");
    let lines = agent.call("list_console_messages", json!({}));
    assert!(lines.to_string().contains("from the popup"), "{lines:#}");
    agent.close().expect_code(0);
}

/// The console lines, once there are so many.
fn console_of(agent: &mut Agent, total: u64) -> Value {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let lines = agent.call("list_console_messages", json!({}));
        if lines["data"]["total"] == total {
            return lines;
        }
        assert!(Instant::now() < deadline, "{lines}");
    }
}

/// O-38
#[test]
fn lists_are_short_filtered_and_outlive_the_page() {
    let (mut agent, site, _folder) = on("/app/index.html");
    for from in [0, 500, 1000, 1500] {
        let code = "console[i % 100 ? 'log' : 'warn'](`line ${i} of a page that talks much`)";
        value(&mut agent, &format!("for (let i = {from}; i < {from} + 500; i++) {code}"));
        console_of(&mut agent, from + 500);
    }
    value(&mut agent, "setTimeout(() => { throw new Error('before the crash') })");
    let missing = site.at("/no/such/file");
    value(&mut agent, &format!("fetch('{missing}').then(r => r.status)"));
    let lines = console_of(&mut agent, 2000);
    assert!(lines.to_string().chars().count() < 6000, "{}", lines.to_string().len());
    let loud = agent.call("list_console_messages", json!({ "level": "warn", "contains": "LINE 19", "limit": 5 }));
    assert_eq!(
        (loud["data"]["matching"].as_u64(), loud["data"]["items"].as_array().unwrap().len()),
        (Some(1), 1),
        "{loud}"
    );
    let failed = agent.call("list_network_requests", json!({ "failed": true }));
    assert!(failed["data"]["items"].to_string().contains("/no/such/file"), "{failed}");
    let none = agent.call("list_transport_messages", json!({ "cursor": "x" }));
    assert_eq!(none["error"]["code"], "bad_input");

    let many = "(async () => { for (let n = 0; n < 20; n++) await Promise.all(Array.from({ length: 250 }, (_, i) => \
        fetch(`/api/items?n=${n}-${i}`).then((r) => r.arrayBuffer()))); return 'asked'; })()";
    let asked = agent.call("evaluate", json!({ "expression": many, "timeout_ms": 100_000 }));
    assert_eq!(asked["data"]["value"], "asked", "{asked}");
    let requests = agent.call("list_network_requests", json!({ "contains": "/api/items" }));
    assert_eq!(requests["data"]["matching"], 5000, "{requests}");
    assert!(requests.to_string().chars().count() < 6000, "{}", requests.to_string().len());
    assert_eq!(
        requests["data"]["left_out"].as_u64(),
        Some(5000 - requests["data"]["items"].as_array().unwrap().len() as u64)
    );
    agent.close().expect_code(0);
}

/// O-39
#[test]
#[cfg(target_os = "linux")]
fn what_a_page_threw_before_it_crashed_is_still_known() {
    let (mut agent, _site, _folder) = on("/app/index.html");
    let console = "setTimeout(() => { console.log('thrown soon'); throw new Error('before the crash') })";
    value(&mut agent, console);
    console_of(&mut agent, 1);
    for process in agent.running().processes() {
        if process.command.contains("--type=renderer") {
            let pid = rustix::process::Pid::from_raw(process.pid).unwrap();
            // Another may have ended with it.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    let lost = loop {
        let answer = agent.call("evaluate", json!({ "expression": "1", "timeout_ms": 300 }));
        if answer["error"]["code"] == "page_lost" {
            break answer;
        }
        assert!(Instant::now() < deadline, "{answer:#}");
    };
    assert_eq!(lost["error"]["next"]["tool"], "start_debug", "{lost:#}");
    let exceptions = agent.call("list_exceptions", json!({}));
    assert!(exceptions["data"]["items"].to_string().contains("before the crash"), "{exceptions:#}");
    let again = agent.call("start_debug", json!({ "mode": "local-browser" }));
    assert_eq!(again["data"]["stage"], "attached", "{again:#}");
    agent.close().expect_code(0);
}

#[test]
fn without_a_page_every_tool_says_what_to_call() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(server(folder.path()));
    for (tool, arguments) in [
        ("evaluate", json!({ "expression": "1" })),
        ("call_sdk", json!({ "name": "getLocale" })),
        ("list_console_messages", json!({})),
        ("list_exceptions", json!({})),
        ("list_network_requests", json!({})),
        ("list_transport_messages", json!({})),
        ("take_snapshot", json!({})),
        ("get_dom_document", json!({})),
        ("measure_safe_area", json!({})),
        ("take_screenshot", json!({})),
        ("navigate", json!({ "url": "http://127.0.0.1/" })),
        ("handle_dialog", json!({ "action": "accept" })),
    ] {
        let answer = agent.call(tool, arguments);
        assert_eq!(answer["error"]["code"], "page_missing", "{tool}: {answer}");
        assert_eq!(answer["error"]["next"]["tool"], "start_debug", "{tool}: {answer}");
    }
    agent.close().expect_code(0);
}
