#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;
use crate::attach::{Invitation, Progress, Qr, Waiting};
use crate::event::RunEvent;
use crate::secret::Hidden;

/// Applies events, which are 10 ms apart.
fn apply(state: &mut State, events: &[Value]) {
    for (at, event) in events.iter().enumerate() {
        let mut event = event.clone();
        event["at"] = json!(at * 10);
        let event: RunEvent = serde_json::from_value(event).unwrap();
        state.apply(&event);
    }
}

fn patch(state: &State, known: u64) -> Value {
    let known = Known { revision: known, ..Known::default() };
    serde_json::to_value(state.patch(known, Instant::now()).0).unwrap()
}

fn started() -> Value {
    json!({ "type": "runStarted", "toolVersion": "0.1.0", "cell": { "sdkLine": "2.x", "platform": "ios" },
        "target": "device", "startedAt": "2026-01-02T03:04:05.678Z", "files": ["a.ts", "b.ts"] })
}

fn stage(stage: &str, message: &str) -> Value {
    json!({ "type": "attachState", "stage": stage, "message": message })
}

fn collected() -> Value {
    let test = |title: &str| json!({ "id": format!("a.ts > {title}"), "path": [title], "mode": "run" });
    json!({ "type": "fileStarted", "file": "a.ts", "tests": [test("holds"), test("breaks")] })
}

fn test(title: &str, more: Value) -> Value {
    let mut event = json!({ "file": "a.ts", "test": format!("a.ts > {title}"), "path": [title] });
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event
}

fn over(title: &str, state: &str, errors: Value) -> Value {
    test(title, json!({ "type": "testFinished", "state": state, "durationMs": 12.0, "errors": errors }))
}

fn error() -> Value {
    json!({ "name": "AssertionError", "message": "expected 1 to be 2", "kind": "assertion", "diff": "- 2\n+ 1",
        "codeFrame": "> 3 | expect(1).toBe(2)", "frames": [{ "function": "", "file": "a.ts", "line": 3, "column": 5 }] })
}

fn invitation(link: &str) -> Invitation {
    let link = Hidden::new(link);
    let qr = Qr::new(&link).unwrap();
    Invitation { link, qr, valid_for: Duration::from_secs(100), renewed: false }
}

#[test]
fn a_run_as_it_is_told_to_somebody_who_comes_late() {
    let mut state = State::default();
    apply(
        &mut state,
        &[
            started(),
            stage("starting", "Starting the relay."),
            stage("waiting", "Waiting for a page: scan the QR code."),
            stage("accepted", "A call with a right code came in."),
            json!({ "type": "pageAttached", "url": "http://h/", "title": "app", "userAgent": "UA",
                "engine": "Safari 18.5", "device": "iPhone, iOS 18.5" }),
            collected(),
            json!({ "type": "console", "level": "log", "text": "hello", "file": "a.ts", "test": "a.ts > holds" }),
            over("holds", "passed", json!([])),
            over("breaks", "failed", json!([error()])),
            json!({ "type": "notice", "level": "warning", "message": "look here" }),
            json!({ "type": "pageLost", "cause": "reloaded", "message": "The page loaded again." }),
            json!({ "type": "exception", "origin": "rejection", "error": error() }),
            json!({ "type": "fileFinished", "file": "a.ts", "durationMs": 40.0, "counts": { "passed": 1, "failed": 1,
                "unsupported": 0, "skipped": 0, "todo": 0 } }),
            json!({ "type": "fileFinished", "file": "b.ts", "durationMs": 0.0, "counts": { "passed": 0, "failed": 0,
                "unsupported": 0, "skipped": 0, "todo": 0 }, "notRun": "bail" }),
            json!({ "type": "runFinished", "counts": { "passed": 1, "failed": 1, "unsupported": 0, "skipped": 0,
                "todo": 0 }, "filesPassed": 0, "filesFailed": 1, "filesNotRun": 1, "exceptions": 1,
                "durationMs": 140.0, "exit": "failed", "reason": "1 test failed" }),
        ],
    );
    insta::assert_snapshot!(serde_json::to_string_pretty(&patch(&state, 0)).unwrap());
}

#[test]
fn only_what_changed_is_told() {
    let mut state = State::default();
    apply(&mut state, &[started(), collected(), over("holds", "passed", json!([]))]);
    let known = state.revision;
    apply(&mut state, &[test("breaks", json!({ "type": "testStarted", "attempt": 0 }))]);
    let running = patch(&state, known);
    assert_eq!(running["whole"], json!(false));
    assert_eq!(running.get("run"), None, "it did not change");
    assert_eq!(running.get("invitation"), None, "nor did that");
    assert_eq!(running["running"], json!({ "file": "a.ts", "test": "a.ts > breaks" }));
    let names = |patch: &Value| -> Vec<String> {
        let tests = patch["files"].as_array().unwrap().iter().flat_map(|file| file["tests"].as_array().unwrap());
        tests.map(|test| test["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&running), ["a.ts > breaks"]);
    assert_eq!(names(&patch(&state, 0)), ["a.ts > holds", "a.ts > breaks"]);
    assert_eq!(patch(&state, state.revision)["files"], json!([]));
}

#[test]
fn an_invitation_lives_until_it_is_taken_back() {
    let mut state = State::default();
    let now = Instant::now();
    state.invite(&invitation("http://127.0.0.1:1/attach?at=123456"), now);
    let at = |state: &State, known, seconds| {
        let known = Known { revision: known, ..Known::default() };
        serde_json::to_value(state.patch(known, now + Duration::from_secs(seconds)).0).unwrap()["invitation"].clone()
    };
    assert_eq!(at(&state, 0, 0)["link"], "http://127.0.0.1:1/attach?at=123456");
    assert_eq!(at(&state, 0, 30)["remainingMs"], 70_000);
    assert_eq!(at(&state, 0, 300)["remainingMs"], 0);
    let known = state.revision;
    state.withdraw("The tunnel is down.");
    let taken = patch(&state, known);
    assert!(taken.as_object().unwrap().contains_key("invitation") && taken["invitation"].is_null());
    assert_eq!(taken["problem"], "The tunnel is down.");
    state.invite(&invitation("http://127.0.0.1:1/attach?at=654321"), now);
    assert_eq!(patch(&state, 0)["problem"], Value::Null);
    state.end_wait();
    assert_eq!(patch(&state, 0)["invitation"], Value::Null);
}

#[test]
fn nothing_waits_after_the_end() {
    let mut state = State::default();
    state.invite(&invitation("http://127.0.0.1:1/attach?at=123456"), Instant::now());
    state.wait(&Waiting {
        elapsed: Duration::from_secs(1),
        left: None,
        seen: String::new(),
        progress: Progress::Nobody,
        refused: 2,
        expired: 1,
        leftovers: 0,
        locked: Some(Duration::from_secs(9)),
    });
    let waiting = json!({ "elapsedMs": 1000, "leftMs": null, "progress": "nobody", "refused": 2, "expired": 1, "leftovers": 0, "lockedMs": 9000 });
    assert_eq!(patch(&state, 0)["waiting"], waiting);
    state.finish();
    let told = patch(&state, 0);
    assert_eq!((&told["over"], &told["waiting"], &told["invitation"]), (&json!(true), &Value::Null, &Value::Null));
}

#[test]
fn a_page_that_comes_back_goes_the_way_again() {
    let mut state = State::default();
    let stages = |state: &State| -> Vec<String> {
        let stages = patch(state, 0)["stages"].as_array().unwrap().clone();
        stages.iter().map(|stage| stage["stage"].as_str().unwrap().to_owned()).collect()
    };
    let refused = || stage("refused", "Wrong code.");
    apply(&mut state, &[stage("starting", ""), stage("waiting", ""), refused(), refused(), stage("waiting", "")]);
    assert_eq!(stages(&state), ["starting", "waiting"], "each once");
    apply(&mut state, &[stage("attached", ""), stage("reattaching", "Scan again."), stage("waiting", "")]);
    assert_eq!(stages(&state), ["reattaching", "waiting"]);
}

#[test]
fn what_a_page_prints_has_bounds() {
    let mut state = State::default();
    let line = |text: &str| json!({ "type": "console", "level": "log", "text": text });
    apply(&mut state, &(0..600).map(|n| line(&n.to_string())).collect::<Vec<_>>());
    apply(&mut state, &[line(&"한".repeat(5000))]);
    let console = patch(&state, 0)["console"].as_array().unwrap().clone();
    assert_eq!(console.len(), 500);
    let last = console[499]["text"].as_str().unwrap();
    assert!(last.len() < 4200 && last.ends_with("한…"));
}

#[test]
fn the_first_failures_are_told_in_full() {
    let mut state = State::default();
    apply(&mut state, &[started()]);
    let failures: Vec<Value> = (0..250).map(|n| over(&n.to_string(), "failed", json!([error()]))).collect();
    apply(&mut state, &failures);
    let told = patch(&state, 0);
    let tests = told["files"][0]["tests"].as_array().unwrap();
    assert_eq!(tests.iter().filter(|test| test["cut"] == json!(true)).count(), 50);
    assert_eq!(tests[0]["errors"].as_array().unwrap().len(), 1);
    assert_eq!(tests[249]["errors"], json!([]));
}
