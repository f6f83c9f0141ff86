#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn connection(id: &str, state: &str) -> Value {
    json!({ "kind": "connection", "id": id, "protocol": "websocket", "url": "wss://h/", "state": state })
}

fn message(n: usize, payload: &Value) -> Value {
    json!({ "kind": "message", "id": format!("m{n}"), "connectionId": "c1", "protocol": "websocket",
        "direction": if n.is_multiple_of(2) { "in" } else { "out" }, "type": "text", "size": 7, "payload": payload,
        "payloadPreview": "preview", "wallTime": 1000.5, "test": format!("a > {}", n / 2) })
}

fn shown(timeline: &Timeline, known: Cursor) -> (Value, Cursor) {
    let (view, next) = timeline.view(known);
    (serde_json::to_value(view).unwrap(), next)
}

#[test]
fn a_reader_is_told_what_is_new() {
    let mut timeline = Timeline::default();
    assert_eq!(shown(&timeline, Cursor::default()), (Value::Null, Cursor::default()));
    timeline.take(&[connection("c1", "open"), message(0, &json!("a")), message(1, &json!("b"))]);
    let (told, known) = shown(&timeline, Cursor::default());
    assert_eq!(
        told,
        json!({ "first": 0, "total": 2, "lost": 0, "cutShort": 0, "tests": ["a > 0"],
            "connections": [{ "n": 0, "protocol": "websocket", "url": "wss://h/", "state": "open" }],
            "messages": [[0, 0, false, "text", 7, "preview", 0, 1000.5], [1, 0, true, "text", 7, "preview", 0, 1000.5]] })
    );
    assert_eq!(shown(&timeline, known), (Value::Null, known));
    timeline.take(&[connection("c1", "closed"), json!({ "kind": "gap", "messages": 3 }), message(2, &json!("c"))]);
    timeline.take(&[json!({ "kind": "gap", "reason": "nobody knows" })]);
    let (told, _) = shown(&timeline, known);
    assert_eq!((&told["lost"], &told["connections"][0]["state"]), (&json!(3), &json!("closed")));
    assert_eq!(told["cutShort"], 1);
    assert_eq!((&told["messages"][0][0], &told["tests"]), (&json!(2), &json!(["a > 1"])));
}

#[test]
fn what_turned_out_to_be_no_connection_leaves_its_place() {
    let mut timeline = Timeline::default();
    let removed = |id: &str| json!({ "kind": "connection", "id": id, "removed": true });
    timeline.take(&[removed("c0"), connection("c1", "open"), connection("c2", "open"), removed("c2")]);
    let (told, known) = shown(&timeline, Cursor::default());
    let states: Vec<&Value> = told["connections"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["open", "removed"]);
    for _ in 0..2 * MAX_CONNECTIONS {
        timeline.take(&[connection("c3", "open"), removed("c3")]);
    }
    timeline.take(&[connection("c4", "open")]);
    let (told, _) = shown(&timeline, known);
    assert_eq!(told["connections"], json!([{ "n": 1, "protocol": "websocket", "url": "wss://h/", "state": "open" }]));
}

#[test]
fn messages_of_connections_beyond_all_places_are_kept() {
    let mut timeline = Timeline::default();
    let many: Vec<Value> = (0..MAX_CONNECTIONS + 5).map(|n| connection(&format!("c{n}"), "open")).collect();
    timeline.take(&many);
    let mut late = message(0, &json!("x"));
    late["connectionId"] = format!("c{}", MAX_CONNECTIONS + 3).into();
    timeline.take(&[late, json!({ "kind": "gap", "pieces": 5 })]);
    let (told, _) = shown(&timeline, Cursor::default());
    assert_eq!(told["connections"].as_array().unwrap().len(), MAX_CONNECTIONS + 1);
    assert_eq!((&told["messages"][0][1], &told["lost"]), (&json!(MAX_CONNECTIONS), &json!(5)));
}

#[test]
fn many_come_in_batches_and_the_oldest_go() {
    let mut timeline = Timeline::default();
    let many: Vec<Value> = (0..MAX_MESSAGES + 10).map(|n| message(n, &json!("x"))).collect();
    timeline.take(&many);
    let mut known = Cursor::default();
    let mut seen = 0;
    while timeline.has_more(known) {
        let (told, next) = shown(&timeline, known);
        let rows = told["messages"].as_array().unwrap().len();
        assert!(rows <= BATCH && told["first"] == 10);
        seen += rows;
        known = next;
    }
    assert_eq!(seen, MAX_MESSAGES);
    assert!(timeline.payload(9).is_none() && timeline.payload(10).is_some());
}

#[test]
fn a_payload_may_come_late_or_be_too_long() {
    let mut timeline = Timeline::default();
    let mut first = message(0, &json!({ "type": "array-buffer", "byteLength": 0, "base64": "" }));
    first["truncated"] = json!(true);
    timeline.take(&[first, message(1, &json!("한".repeat(MAX_PAYLOAD)))]);
    assert_eq!(timeline.payload(0), Some(Payload { text: "".into(), binary: true, cut: true }));
    let long = timeline.payload(1).unwrap();
    assert!(long.cut && long.text.len() <= MAX_PAYLOAD);
    let mut whole = message(0, &json!({ "type": "array-buffer", "byteLength": 3, "base64": "AQID" }));
    whole["kind"] = json!("payload");
    timeline.take(&[whole]);
    assert_eq!(timeline.payload(0), Some(Payload { text: "AQID".into(), binary: true, cut: false }));
    assert_eq!(timeline.total(), 2);
}

#[test]
fn texts_are_found_in_payload_and_type() {
    let mut timeline = Timeline::default();
    let mut ping = message(2, &json!("none"));
    ping["type"] = json!("Needle");
    timeline.take(&[message(0, &json!("a NEEDLE in hay")), message(1, &json!("hay")), ping]);
    let (all, total) = timeline.texts(0);
    assert_eq!((Searched::find(&all, "needle"), total), (vec![0, 2], 3));
    assert_eq!(Searched::find(&timeline.texts(1).0, "needle"), [2]);
    assert_eq!(Searched::find(&timeline.texts(9).0, ""), [0_u64; 0]);
}
