//! The archive of a run, imported by the code with which Chrome DevTools imports one: a Chrome serves its own DevTools.

use std::time::Instant;

use serde_json::{Value, json};
use support::phone::Phone;
use support::server::FixtureServer;

use crate::traffic::{PAGE_WITHIN, recorded, suite};

/// Where a Chrome serves the part of its DevTools that imports archives. Some builds come without DevTools.
const IMPORTER: &str = "/devtools/models/har/har.js";

/// Imports an archive, and leaves what DevTools made of it in `window.imported`.
const IMPORT: &str = r"import(location.href).then(async ({ HARFormat, Importer }) => {
    const requests = Importer.Importer.requestsFromHARLog(new HARFormat.HARRoot(ARCHIVE).log);
    const told = async (request) => {
        const content = await request.requestContentData();
        return {
            url: request.url(),
            kind: request.resourceType().name(),
            status: request.statusCode,
            body: content.isTextContent ? content.text : content.base64,
            frames: request.frames(),
            events: request.eventSourceMessages(),
        };
    };
    return Promise.all(requests.map(told));
}).then((list) => { window.imported = list }, (error) => { window.imported = String(error.stack) }), 0";

/// What DevTools shows of an archive; `None` where this Chrome has no DevTools.
fn imported(archive: &Value) -> Option<Value> {
    let browser = Phone::open("about:blank");
    let module = format!("http://127.0.0.1:{}{IMPORTER}", browser.port());
    browser.tap(&format!("location.href = {}", json!(module)));
    let since = Instant::now();
    let within = || assert!(since.elapsed() < PAGE_WITHIN, "DevTools answer");
    while browser.tap("location.href !== 'about:blank' && document.readyState === 'complete'") != json!(true) {
        within();
    }
    if browser.tap("document.body.innerText.includes('HARRoot')") != json!(true) {
        return None;
    }
    browser.tap(&IMPORT.replace("ARCHIVE", &archive.to_string()));
    loop {
        let list = browser.tap("window.imported");
        if !list.is_null() {
            return Some(list);
        }
        within();
    }
}

/// Numbers as text differ between writers; of times, microseconds count.
fn timed(list: &Value) -> Vec<Value> {
    let mut list = list.as_array().unwrap().clone();
    for one in &mut list {
        one["time"] = format!("{:.6}", one["time"].as_f64().unwrap()).into();
    }
    list
}

#[test]
#[expect(clippy::print_stderr, reason = "whoever runs the tests should know what was not tried")]
fn devtools_imports_what_was_recorded() {
    let server = FixtureServer::start();
    let outcome = suite(&server, "archive", "chrome").run();
    outcome.expect_code(0);
    let text = fs_err::read_to_string(outcome.report_dir().join("transport.2.x.mock.har")).unwrap();
    let Some(list) = imported(&serde_json::from_str(&text).unwrap()) else {
        eprintln!("skipped: this Chrome does not serve DevTools at {IMPORTER}");
        return;
    };
    let list = list.as_array().unwrap_or_else(|| panic!("{list}"));
    let (_, messages) = recorded(&outcome);
    let seconds = |index: usize| json!(messages[index].1.wall_time / 1000.0);

    let kinds: Vec<_> =
        list.iter().map(|one| (one["kind"].as_str().unwrap(), one["status"].as_u64().unwrap())).collect();
    let fetched = ("fetch", 200);
    assert_eq!(kinds, [("websocket", 101), ("eventsource", 200), fetched, fetched, fetched], "and none for the 204");

    let frame = |index: usize, kind: &str, code: u8, text: &str| json!({ "type": kind, "time": seconds(index), "opCode": code, "mask": kind == "send", "text": text });
    let said = "to \"quote\" 😀\n";
    let frames = [
        frame(0, "send", 1, said),
        frame(1, "send", 2, "AAEC/w=="),
        frame(2, "receive", 1, said),
        frame(3, "receive", 2, "AAEC/w=="),
    ];
    assert_eq!(timed(&list[0]["frames"]), timed(&json!(frames)));

    let event = |index: usize, name: &str, data: &str| json!({ "time": seconds(index), "eventName": name, "eventId": "7", "data": data });
    let events = |from: usize| json!([event(from, "tick", "one é\ntwo"), event(from + 1, "message", "{\"a\": 1}")]);
    assert_eq!(timed(&list[1]["events"]), timed(&events(4)));
    assert_eq!(timed(&list[2]["events"]), timed(&events(6)), "also those that `fetch` read");
    assert_eq!((&list[3]["body"], &list[4]["body"]), (&json!("é"), &json!("AP8=")));
}
