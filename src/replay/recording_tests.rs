#![allow(clippy::unwrap_used)]
use std::io::Cursor;

use serde_json::json;

use super::*;

const HEADER: &str = r#"{"kind":"header","version":1}"#;

fn parse(records: &[Value]) -> Recording {
    let lines: Vec<String> = std::iter::once(HEADER.into()).chain(records.iter().map(Value::to_string)).collect();
    let file = Cursor::new(lines.join("\n"));
    Recording::of(Timeline::read(file).unwrap()).unwrap()
}

fn millis(sent: usize, pause: u64) -> When {
    When { sent, pause: Duration::from_millis(pause) }
}

fn message(connection: &str, n: u32, at: f64, direction: &str, payload: Value) -> Value {
    json!({ "kind": "message", "id": format!("m{n}"), "connectionId": connection, "n": n, "timestamp": at,
        "direction": direction, "payload": payload, "metadata": {} })
}

#[test]
fn a_socket_answers_after_what_it_answered_to() {
    let open = json!({ "kind": "connection", "id": "c", "protocol": "websocket", "url": "ws://x/", "state": "open",
        "openedAt": 100.0, "metadata": { "subprotocol": "v1" } });
    let mut closed = open.clone();
    closed["state"] = json!("closed");
    closed["closedAt"] = json!(160.0);
    closed["closeCode"] = json!(4001);
    closed["metadata"] = json!({ "subprotocol": "v1", "wasClean": true, "reason": "why", "how": "close" });
    let bytes = json!({ "type": "array-buffer", "byteLength": 2, "base64": "AQI=" });
    let mut blob = message("c", 3, 150.0, "in", json!({ "type": "array-buffer", "byteLength": 2, "base64": "" }));
    blob["metadata"] = json!({ "kind": "blob" });
    let recording = parse(&[
        open,
        message("c", 1, 110.0, "in", json!("hello")),
        message("c", 2, 120.0, "out", json!("ask")),
        blob,
        closed,
        json!({ "kind": "payload", "id": "m3", "connectionId": "c", "n": 3, "timestamp": 150.0, "direction": "in",
            "payload": bytes, "metadata": {} }),
    ]);
    let [exchange] = &recording.exchanges[..] else { panic!("{recording:?}") };
    assert_eq!(exchange.key, Key { kind: Kind::WebSocket, method: "GET".into(), url: "ws://x/".into() });
    assert_eq!(exchange.answer, Answer::Socket { subprotocol: "v1".into() });
    assert_eq!(
        exchange.steps,
        [
            Step { when: millis(0, 10), data: Data::Text("hello".into()) },
            Step { when: millis(1, 30), data: Data::Bytes(vec![1, 2]) },
        ]
    );
    assert_eq!(exchange.end, End::Proper { when: millis(1, 10), code: 4001, reason: "why".into() });
}

fn fetched(id: &str, metadata: Value) -> Value {
    json!({ "kind": "connection", "id": id, "protocol": "fetch-stream", "url": "http://x/a#part", "state": "closed",
        "openedAt": 0.0, "closedAt": 50.0, "metadata": metadata })
}

#[test]
fn bodies_answers_and_ends() {
    let recording = parse(&[
        fetched(
            "a",
            json!({ "source": "fetch", "method": "POST", "status": 201, "headersMs": 20.0, "how": "end",
            "contentType": "text/plain; charset=windows-1252" }),
        ),
        message("a", 1, 30.0, "in", json!("é")),
        fetched("b", json!({ "source": "fetch", "how": "error", "error": "TypeError: Failed to fetch" })),
        fetched("c", json!({ "source": "fetch", "how": "abort" })),
        fetched("d", json!({ "source": "fetch", "status": 200, "how": "unobserved" })),
        fetched(
            "e",
            json!({ "source": "fetch", "how": "error", "error": "refused by the platform before anything was sent" }),
        ),
        json!({ "kind": "connection", "id": "f", "removed": true }),
        json!({ "kind": "gap", "messages": 2 }),
    ]);
    let [a, b, c, d] = &recording.exchanges[..] else { panic!("{recording:?}") };
    assert_eq!(a.key, Key { kind: Kind::Fetch, method: "POST".into(), url: "http://x/a".into() });
    let after = Duration::from_millis(20);
    assert_eq!(a.answer, Answer::Body { after, status: 201, content_type: "text/plain; charset=utf-8".into() });
    assert_eq!(a.steps, [Step { when: millis(0, 10), data: Data::Text("é".into()) }]);
    assert_eq!(a.end, End::Proper { when: millis(0, 20), code: NO_CODE, reason: String::new() });
    assert_eq!(b.answer, Answer::Failed { after: Duration::from_millis(50) });
    assert_eq!(c.answer, Answer::Never);
    assert_eq!(d.answer, Answer::Unseen);
    assert_eq!(recording.left_out, 1);
    let told = recording.reservations();
    assert!(told.len() == 2 && told[0].contains("1 recorded connections") && told[1].contains("gaps"), "{told:?}");
}

#[test]
fn answers_without_a_body_keep_their_places() {
    let mut empty = fetched("a", json!({ "source": "fetch", "status": 204, "headersMs": 5.0 }));
    empty["removed"] = true.into();
    let mut filtered = fetched("b", json!({ "source": "fetch" }));
    filtered["removed"] = true.into();
    let recording = parse(&[
        empty,
        filtered,
        // As versions before wrote it.
        fetched("c", json!({ "source": "fetch" })),
        json!({ "kind": "connection", "id": "c", "removed": true }),
        fetched("d", json!({ "source": "fetch", "status": 200, "how": "abandoned" })),
        fetched("e", json!({ "source": "fetch", "status": 200, "how": "abandoned" })),
        message("e", 1, 30.0, "in", json!("begun")),
    ]);
    let [a, b, c, d, e] = &recording.exchanges[..] else { panic!("{recording:?}") };
    let none = End::Proper { when: When::default(), code: NO_CODE, reason: String::new() };
    assert!(matches!(a.answer, Answer::Body { status: 204, .. }) && a.steps.is_empty() && a.end == none, "{a:?}");
    assert_eq!((&b.answer, &c.answer), (&Answer::Unseen, &Answer::Unseen));
    assert!(matches!(d.answer, Answer::Body { status: 200, .. }) && d.steps.is_empty() && d.end == none, "{d:?}");
    assert_eq!((e.steps.len(), &e.end), (1, &End::Held));
    assert_eq!((recording.left_out, recording.unread), (0, 1));
}

#[test]
fn times_that_nobody_recorded_are_taken_for_long_ones() {
    let mut late = message("s", 1, f64::MAX, "in", json!("x"));
    late["protocol"] = json!("websocket");
    let open = json!({ "kind": "connection", "id": "s", "protocol": "websocket", "url": "ws://x/", "state": "open",
        "openedAt": 0.0, "metadata": { "subprotocol": "" } });
    let recording = parse(&[open, late]);
    let pause = recording.exchanges[0].steps[0].when.pause;
    assert_eq!(pause, LONGEST);
    assert!(crate::replay::Speed::Times(0.001).pause(pause) > LONGEST * 999);
}

#[test]
fn events_stand_as_in_a_stream() {
    let source = json!({ "kind": "connection", "id": "s", "protocol": "eventsource", "url": "http://x/s", "state": "open",
        "openedAt": 0.0, "metadata": { "source": "eventsource" } });
    let mut tick = message("s", 1, 5.0, "in", json!("a\nb"));
    tick["type"] = json!("tick");
    tick["metadata"] = json!({ "lastEventId": "7" });
    let mut tock = message("s", 2, 6.0, "in", json!("c"));
    tock["type"] = json!("message");
    tock["metadata"] = json!({ "lastEventId": "7" });
    let recording = parse(&[source, tick, tock]);
    let [exchange] = &recording.exchanges[..] else { panic!("{recording:?}") };
    let event = Data::Event("id: 7\nevent: tick\ndata: a\ndata: b\n\n".into());
    // The id is kept by itself.
    let next = Data::Event("data: c\n\n".into());
    let steps = [Step { when: millis(0, 5), data: event }, Step { when: millis(0, 1), data: next }];
    assert_eq!(exchange.steps, steps);
    assert_eq!((exchange.key.kind, &exchange.end), (Kind::EventSource, &End::Held));
}
