//! What of a page's traffic is seen, and what is said of the rest: in Chrome, over the relay, and in WebKit.

use std::time::Instant;

use devtools_test::transport::Payload;
use serde_json::json;
use support::phone::Phone;
use support::server::FixtureServer;
use support::tool::Outcome;

use crate::traffic::{PAGE_WITHIN, on_device, recorded, suite};

/// Runs a file in a page of its own: a Chrome goes to its address, a phone and a WebKit get it from the relay.
fn run(server: &FixtureServer, file: &str, target: &str, script: &str) -> Outcome {
    let page = server.document(script, "");
    let to = if target == "chrome" { "--page-url" } else { "--app-url" };
    let tool = suite(server, file, target).args([to, &page]);
    let outcome = if target == "device" { on_device(tool) } else { tool.run() };
    outcome.expect_code(0);
    outcome
}

/// O-26: what the page's first script does is recorded, and belongs to no test.
fn expect_first_script(target: &str) {
    let server = FixtureServer::start();
    let script = "<script>new WebSocket(location.origin.replace('http', 'ws') + '/ws/echo?hello=first');\
                  fetch('/api/status/200?a'); fetch('/api/status/200?b')</script>";
    let outcome = run(&server, "uncovered", target, script);
    let (connections, messages) = recorded(&outcome);
    let urls: Vec<&str> = connections.iter().map(|connection| connection.url.as_str()).collect();
    for part in ["hello=first", "200?a", "200?b"] {
        assert!(urls.iter().any(|url| url.ends_with(part)), "{urls:?}");
    }
    let hello = messages.iter().find(|(_, message)| message.payload() == Payload::Text("first"));
    assert!(hello.is_some_and(|(_, message)| message.test.is_none()), "{}", outcome.transcript());
    assert_eq!(outcome.artifact()["transport"]["documents"][0]["beforeContent"], true);
}

#[test]
fn the_first_script_of_a_page_is_recorded() {
    expect_first_script("chrome");
}

#[test]
fn the_first_script_of_a_page_behind_the_relay_is_recorded() {
    expect_first_script("device");
}

#[test]
fn the_first_script_of_a_page_in_webkit_is_recorded() {
    expect_first_script("webkit");
}

/// O-26: who comes late says since when it records, and that there was a socket before.
#[test]
fn a_late_recorder_says_from_when_it_covers() {
    let server = FixtureServer::start();
    let script = "<script>const socket = new WebSocket(location.origin.replace('http', 'ws') + '/ws/echo');\
                  setInterval(() => socket.readyState === 1 && socket.send('tick'), 5)</script>";
    let phone = Phone::open(&server.document(script, ""));
    let since = Instant::now();
    while phone.tap("typeof socket === 'object' && socket.readyState === 1") != json!(true) {
        assert!(since.elapsed() < PAGE_WITHIN, "the page of the phone opens its socket");
    }
    let endpoint = format!("http://127.0.0.1:{}", phone.port());
    let outcome = suite(&server, "uncovered", "chrome").args(["--cdp-endpoint", &endpoint]).run();
    outcome.expect_code(0);
    let text = outcome.transcript();
    assert!(text.contains("the recorder came") && text.contains("after the page had begun"), "{text}");
    let total = &outcome.artifact()["transport"];
    assert_eq!(total["documents"][0]["beforeContent"], false, "{total}");
    assert_eq!(total["notCovered"]["socket opened before the recorder"], 1, "{total}");
    // It leaves the page as it found it.
    let native = phone.tap("Object.hasOwn(window, 'WebSocket') && /native code/.test(WebSocket.prototype.send)");
    assert_eq!(native, json!(true));
    let asked = "WebSocket.prototype.close[Symbol.for('devtools-test.capture')]";
    let gone = phone.tap(&format!("String({asked})"));
    assert_eq!(gone, json!("undefined"));
}

/// O-27: one record for each call, whoever wraps `fetch` and when.
fn expect_one_record(target: &str) {
    let server = FixtureServer::start();
    let script = "<script>const native = fetch; window.calls = 0;\
                  window.fetch = (...args) => { window.calls++; return native(...args); }</script>";
    let (connections, _) = recorded(&run(&server, "wrapped", target, script));
    assert_eq!(connections.iter().filter(|connection| connection.url.ends_with("?once")).count(), 1);
}

/// Whatever stands where the recorder's patches are is neither called nor taken for the recorder, by whoever asks for it.
#[test]
fn the_recorder_is_found_without_a_call_of_the_page() {
    let server = FixtureServer::start();
    let script = "<script>window.closeCalls = window.cloneCalls = 0;\
                  const { close } = WebSocket.prototype, { clone } = Response.prototype;\
                  const any = new Proxy(function () {}, { get: () => any, apply: () => (window.cloneCalls++, any) });\
                  WebSocket.prototype.close = function (...args) { window.closeCalls++; return close.apply(this, args); };\
                  Response.prototype.clone = any;\
                  EventSource.prototype.close = () => 'mine';\
                  fetch('/api/status/200?first')</script>";
    let (connections, _) = recorded(&run(&server, "found", "chrome", script));
    let urls: Vec<&str> = connections.iter().map(|connection| connection.url.as_str()).collect();
    assert_eq!(urls.len(), 3, "each is recorded once, by one recorder: {urls:?}");
}

#[test]
fn a_wrapped_fetch_is_recorded_once() {
    expect_one_record("chrome");
}

#[test]
fn a_wrapped_fetch_behind_the_relay_is_recorded_once() {
    expect_one_record("device");
}

#[test]
fn a_wrapped_fetch_in_webkit_is_recorded_once() {
    expect_one_record("webkit");
}

/// O-43: what is not covered is counted, on the terminal and in the artifact.
fn expect_counted(target: &str) {
    let server = FixtureServer::start();
    let outcome = run(&server, "uncovered", target, "");
    let not_covered = outcome.artifact()["transport"]["notCovered"].clone();
    assert_eq!(not_covered, json!({ "frame": 1, "worker": 1 }));
    let text = outcome.transcript();
    assert!(text.contains("not covered: 1 frame, 1 worker"), "{text}");
}

#[test]
fn workers_and_frames_are_counted() {
    expect_counted("chrome");
}

#[test]
fn workers_and_frames_behind_the_relay_are_counted() {
    expect_counted("device");
}

#[test]
fn workers_and_frames_in_webkit_are_counted() {
    expect_counted("webkit");
}

/// O-28: the page keeps a bounded part of many requests, the report has all of them and says so.
#[test]
fn many_requests_are_all_told_and_few_are_kept() {
    const TIMES: usize = 1_200;
    let server = FixtureServer::start();
    let outcome = suite(&server, "many", "chrome").args(["--global".to_owned(), format!("__TIMES__={TIMES}")]).run();
    outcome.expect_code(0);
    let (connections, messages) = recorded(&outcome);
    assert_eq!((connections.len(), messages.len()), (TIMES, TIMES));
    let total = &outcome.artifact()["transport"];
    assert_eq!((&total["in"], &total["lost"], &total["cut"]), (&json!(TIMES), &json!(0), &json!(0)), "{total}");
    let of_test = outcome.artifact()["files"][0]["tests"][0]["transport"].clone();
    let rest = json!({ "others": 200, "messages": 200, "in": 200, "out": 0, "bytes": 400 });
    assert_eq!((of_test.as_array().unwrap().len(), &of_test[1_000]), (1_001, &rest));
}
