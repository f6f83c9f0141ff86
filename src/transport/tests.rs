#![allow(clippy::unwrap_used)]
use std::io::Cursor;

use serde_json::{Value, json};

use super::*;

type Write = fn(&mut Timeline<Cursor<Vec<u8>>>, &Selection, &mut dyn std::io::Write) -> std::io::Result<()>;

fn file(records: &[Value]) -> Timeline<Cursor<Vec<u8>>> {
    let header =
        json!({ "kind": "header", "version": 1, "tool": "devtools-test", "toolVersion": "0.1.0", "startedAt": "t" });
    let text: String = std::iter::once(&header).chain(records).map(|record| format!("{record}\n")).collect();
    Timeline::read(Cursor::new(text.into_bytes())).unwrap()
}

fn connection(id: &str, protocol: &str, url: &str, metadata: Value) -> Value {
    json!({ "kind": "connection", "id": id, "protocol": protocol, "url": url, "state": "closed", "openedAt": 10.0,
        "closedAt": 40.0, "metadata": metadata })
}

fn message(n: u32, connection: &str, protocol: &str, direction: &str, payload: Value) -> Value {
    json!({ "kind": "message", "id": format!("s-m{n}"), "connectionId": connection, "n": n, "timestamp": 10 + n,
        "wallTime": 1_000_010 + n, "direction": direction, "protocol": protocol, "size": 3, "payload": payload,
        "payloadPreview": payload.as_str().unwrap_or("[binary 3 bytes]"), "test": "a > one", "metadata": {} })
}

fn bytes() -> Value {
    json!({ "type": "array-buffer", "byteLength": 3, "base64": "AAEC" })
}

fn sample() -> Timeline<Cursor<Vec<u8>>> {
    let mut blob =
        message(4, "s-c1", "websocket", "in", json!({ "type": "array-buffer", "byteLength": 0, "base64": "" }));
    blob["metadata"] = json!({ "kind": "blob" });
    blob["truncated"] = true.into();
    let mut whole = blob.clone();
    whole["kind"] = "payload".into();
    whole["payload"] = bytes();
    let mut tick = message(3, "s-c2", "eventsource", "in", json!("line\nnext \u{202e}"));
    tick["type"] = "tick".into();
    tick["metadata"] = json!({ "lastEventId": "7" });
    file(&[
        json!({ "kind": "coverage", "session": "s", "from": 2.0, "beforeContent": true, "began": 1_000_000.0, "frames": 1,
            "notRecorded": { "worker": 2 } }),
        connection(
            "s-c1",
            "websocket",
            "ws://host/ws?a=1",
            json!({ "subprotocol": "", "reason": "bye", "how": "close" }),
        ),
        message(1, "s-c1", "websocket", "out", json!("Hi")),
        message(2, "s-c1", "websocket", "in", bytes()),
        connection("s-c2", "eventsource", "http://host/events", json!({ "source": "eventsource" })),
        tick,
        blob,
        json!({ "kind": "gap", "messages": 5 }),
        whole,
        connection("s-c3", "fetch-stream", "http://host/data", json!({ "status": 200, "contentType": "text/plain" })),
        message(5, "s-c3", "fetch-stream", "in", json!("abc")),
        message(6, "s-c3", "fetch-stream", "in", json!("def")),
    ])
}

fn written<W>(write: W, selection: &Selection) -> String
where
    W: Fn(&mut Timeline<Cursor<Vec<u8>>>, &Selection, &mut dyn std::io::Write) -> std::io::Result<()>,
{
    let mut out = Vec::new();
    write(&mut sample(), selection, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn selection(filters: &[&str], text: Option<&str>) -> Selection {
    let mut selection = Selection::default();
    filters.iter().for_each(|filter| selection.filter(filter).unwrap());
    text.into_iter().for_each(|text| selection.grep(text));
    selection
}

#[test]
fn a_log_has_a_line_for_each_message() {
    insta::assert_snapshot!(written(write_log, &Selection::default()));
}

#[test]
fn an_archive_has_what_devtools_read() {
    let har: Value = serde_json::from_str(&written(write_har, &Selection::default())).unwrap();
    let entries = har["log"]["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 3);
    let frames = &entries[0]["_webSocketMessages"];
    assert_eq!(frames[0], json!({ "type": "send", "time": 1000.011, "opcode": 1, "data": "Hi" }));
    assert_eq!((&frames[1]["opcode"], &frames[1]["data"]), (&json!(2), &json!("AAEC")));
    assert_eq!(frames[2]["data"], "AAEC", "the bytes of a blob come later");
    assert_eq!(entries[0]["_resourceType"], "websocket");
    assert_eq!(entries[0]["response"]["status"], 101);
    assert_eq!(entries[0]["request"]["queryString"], json!([{ "name": "a", "value": "1" }]));
    assert_eq!(entries[0]["startedDateTime"], "1970-01-01T00:16:40.010Z");
    assert_eq!(entries[0]["time"], 30.0);
    let event = &entries[1]["_eventSourceMessages"][0];
    assert_eq!((&event["eventName"], &event["eventId"]), (&json!("tick"), &json!("7")));
    assert_eq!(entries[2]["response"]["content"], json!({ "size": 6, "mimeType": "text/plain", "text": "abcdef" }));
}

/// An answer without a body, or one from an address that is not to be recorded.
#[test]
fn a_connection_that_turned_out_to_be_none_is_not_named() {
    let records = [
        connection("s-c1", "fetch-stream", "http://host/none", json!({})),
        connection("s-c2", "fetch-stream", "http://host/some", json!({ "status": 200 })),
        json!({ "kind": "connection", "id": "s-c1", "removed": true }),
        json!({ "kind": "connection", "id": "s-c9", "removed": true }),
        message(1, "s-c2", "fetch-stream", "in", json!("abc")),
    ];
    for write in [write_log as Write, write_har, write_jsonl] {
        let mut out = Vec::new();
        write(&mut file(&records), &Selection::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("host/some") && !text.contains("host/none"), "{text}");
    }
}

#[test]
fn messages_are_selected_by_what_is_known_of_them() {
    let count = |filters: &[&str], text: Option<&str>| {
        let log = written(write_log, &selection(filters, text));
        log.lines().filter(|line| !line.starts_with('#')).count()
    };
    assert_eq!(count(&[], None), 6);
    assert_eq!(count(&["protocol=websocket"], None), 3);
    assert_eq!(count(&["protocol=websocket", "direction=out"], None), 1);
    assert_eq!(count(&["url=EVENTS"], None), 1);
    assert_eq!(count(&["connection=c3"], None), 2);
    assert_eq!(count(&["connection=s-c3"], None), 2);
    assert_eq!(count(&["type=tick"], None), 1);
    assert_eq!(count(&["from=12", "to=14"], None), 3);
    assert_eq!(count(&["test=ONE"], None), 6);
    assert_eq!(count(&["test=two"], None), 0);
    assert_eq!(count(&[], Some("hi")), 1);
    for wrong in ["", "x", "size=3", "protocol=xhr", "direction=up", "from=now"] {
        assert!(Selection::default().filter(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_was_selected_is_a_timeline_again() {
    let text = written(write_jsonl, &selection(&["protocol=websocket"], None));
    let mut again = Timeline::read(Cursor::new(text.into_bytes())).unwrap();
    assert_eq!((again.len(), again.connections().len(), again.lost()), (3, 1, 5));
    assert_eq!(again.message(2).unwrap().payload(), Payload::Bytes("AAEC"));
    assert_eq!(again.connections()[0].url, "ws://host/ws?a=1");
}

#[test]
fn what_is_no_timeline_is_refused() {
    let read = |text: &str| Timeline::read(Cursor::new(text.as_bytes().to_vec())).unwrap_err().to_string();
    assert!(read("").contains("no timeline"));
    assert!(read("{\"a\":1}\n").contains("no timeline"));
    assert!(read("{\"kind\":\"header\",\"version\":9}\n").contains("format 9"));
}

/// A file that is one line, and tells how much of it was read.
#[derive(Debug)]
struct OneLine(u64);

impl std::io::Read for OneLine {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.0 += into.len() as u64;
        assert!(self.0 < 1 << 24, "nobody reads so much to see that it is no header");
        into.fill(b' ');
        Ok(into.len())
    }
}

impl std::io::Seek for OneLine {
    fn seek(&mut self, _: std::io::SeekFrom) -> std::io::Result<u64> {
        Ok(0)
    }
}

#[test]
fn a_line_without_an_end_is_not_read_to_its_end() {
    assert!(Timeline::read(OneLine(0)).unwrap_err().to_string().contains("no timeline"));
}

#[test]
fn damaged_lines_are_counted_and_the_rest_is_read() {
    let header = "{\"kind\":\"header\",\"version\":1}\n";
    let record = message(1, "s-c1", "websocket", "in", json!("x"));
    let mut text = format!("{header}garbage\n{record}\n").into_bytes();
    text.extend_from_slice(&[0xff, 0xfe, b'\n']);
    let mut timeline = Timeline::read(Cursor::new(text)).unwrap();
    assert_eq!((timeline.len(), timeline.lost()), (1, 2));
    let mut log = Vec::new();
    write_log(&mut timeline, &Selection::default(), &mut log).unwrap();
    let log = String::from_utf8(log).unwrap();
    assert!(log.contains("\n0.000 IN [websocket] message - x"), "times from the first message on: {log}");
}

/// `head -c` cuts a file within a character, and leaves its last line without an end.
#[test]
fn what_is_read_of_a_damaged_file_is_written_again() {
    let mut records =
        vec![json!({ "kind": "header", "version": 1 }), message(1, "s-c1", "websocket", "in", json!("x"))];
    records.push(connection("s-c1", "websocket", "ws://host/", json!({})));
    let mut text = records.iter().map(|record| format!("{record}\n")).collect::<String>().into_bytes();
    for end in [&b"\xed\x95"[..], b""] {
        text.extend_from_slice(end);
        let mut timeline = Timeline::read(Cursor::new(text.clone())).unwrap();
        let mut out = Vec::new();
        write_jsonl(&mut timeline, &Selection::default(), &mut out).unwrap();
        let again = Timeline::read(Cursor::new(out)).unwrap();
        assert_eq!((again.len(), again.connections()[0].url.as_str()), (1, "ws://host/"));
        assert_eq!(again.lost(), u64::from(!end.is_empty()));
        // Now with a whole line that has no end.
        text.truncate(text.len() - end.len());
        text.truncate(text.trim_ascii_end().len());
    }
}

#[test]
fn an_archive_says_what_was_cut() {
    let cut = |mut message: Value| {
        message["truncated"] = true.into();
        message
    };
    let mut timeline = file(&[
        connection("s-c1", "websocket", "ws://host/", json!({})),
        cut(message(1, "s-c1", "websocket", "in", json!("x"))),
        connection("s-c2", "fetch-stream", "http://host/", json!({})),
        cut(message(2, "s-c2", "fetch-stream", "in", json!("x"))),
    ]);
    let mut out = Vec::new();
    write_har(&mut timeline, &Selection::default(), &mut out).unwrap();
    let har: Value = serde_json::from_slice(&out).unwrap();
    let entries = &har["log"]["entries"];
    let comments = [&entries[0]["_webSocketMessages"][0], &entries[1]["response"]["content"]];
    assert!(comments.iter().all(|one| one["comment"].as_str().unwrap().starts_with("cut")), "{har:#}");
}
