//! A timeline as HTTP Archive 1.2, with `_webSocketMessages` and `_eventSourceMessages` as Chrome DevTools exports and
//! imports them.

use std::io::{self, Read, Seek, Write};
use std::time::{Duration, UNIX_EPOCH};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Map, Value, json};
use url::Url;

use super::record::{Connection, Direction, Message, Payload, Protocol};
use super::selection::Selection;
use super::timeline::Timeline;

/// Writes the connections of the wanted messages (all connections where every message is), one at a time.
///
/// # Errors
/// What reading or writing came to.
pub fn write_har<R: Read + Seek>(
    timeline: &mut Timeline<R>,
    selection: &Selection,
    out: &mut dyn Write,
) -> io::Result<()> {
    let version = timeline.header()["toolVersion"].as_str().unwrap_or_default().to_owned();
    let creator = json!({ "name": "devtools-test", "version": version });
    write!(out, "{{\"log\":{{\"version\":\"1.2\",\"creator\":{creator},\"pages\":[],\"entries\":[")?;
    let mut of_connection = vec![Vec::new(); timeline.connections().len()];
    for index in 0..timeline.len() {
        of_connection[timeline.connection_of(index)].push(index);
    }
    let mut first = true;
    for (number, indices) in of_connection.into_iter().enumerate() {
        let mut messages = Vec::new();
        for index in indices {
            messages.extend(timeline.wanted(index, selection)?);
        }
        let connection = &timeline.connections()[number];
        if connection.removed || connection.url.is_empty() || (messages.is_empty() && !selection.is_everything()) {
            continue;
        }
        let entry = entry(connection, timeline.wall_time(connection, connection.opened_at), &messages);
        write!(out, "{}\n{entry}", if first { "" } else { "," })?;
        first = false;
    }
    writeln!(out, "\n]}}}}")
}

fn entry(connection: &Connection, opened: f64, messages: &[Message]) -> Value {
    let last = messages.last().map_or(connection.opened_at, |message| message.timestamp);
    let time = (connection.closed_at.unwrap_or(last) - connection.opened_at).max(0.0);
    let wait = connection.metadata.get("headersMs").and_then(Value::as_f64).unwrap_or(0.0).min(time);
    let mut entry = json!({
        "startedDateTime": date(opened),
        "time": time,
        "request": request(connection),
        "response": response(connection, messages),
        "cache": {},
        "timings": {
            "blocked": -1, "dns": -1, "ssl": -1, "connect": -1, "send": 0, "wait": wait, "receive": time - wait,
        },
        "_resourceType": resource_type(connection),
        "_connectionId": connection.id,
    });
    match connection.protocol {
        Protocol::Websocket => entry["_webSocketMessages"] = messages.iter().map(frame).collect(),
        Protocol::Eventsource => entry["_eventSourceMessages"] = messages.iter().map(event).collect(),
        Protocol::FetchStream => {}
    }
    entry
}

fn resource_type(connection: &Connection) -> &'static str {
    match connection.protocol {
        Protocol::Websocket => "websocket",
        Protocol::Eventsource if connection.fact("source") != "fetch" => "eventsource",
        _ => "fetch",
    }
}

fn request(connection: &Connection) -> Value {
    let query: Vec<Value> = Url::parse(&connection.url).map_or_else(
        |_| Vec::new(),
        |url| url.query_pairs().map(|(name, value)| json!({ "name": name, "value": value })).collect(),
    );
    let method = connection.fact("method");
    json!({
        "method": if method.is_empty() { "GET" } else { method },
        "url": connection.url,
        "httpVersion": "",
        "headers": [],
        "queryString": query,
        "cookies": [],
        "headersSize": -1,
        "bodySize": connection.metadata.get("requestBody").and_then(|body| body["size"].as_i64()).unwrap_or(-1),
    })
}

fn response(connection: &Connection, messages: &[Message]) -> Value {
    let (status, words) = match (connection.protocol, connection.number("status")) {
        (_, Some(status)) => (status, ""),
        (Protocol::Websocket, None) if opened(connection, messages) => (101, "Switching Protocols"),
        (Protocol::Eventsource, None) if opened(connection, messages) => (200, "OK"),
        _ => (0, ""),
    };
    let mut response = json!({
        "status": status,
        "statusText": words,
        "httpVersion": "",
        "headers": [],
        "cookies": [],
        "content": content(connection, messages),
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": -1,
    });
    let error = connection.fact("error");
    if !error.is_empty() {
        response["_error"] = error.into();
    }
    response
}

fn opened(connection: &Connection, messages: &[Message]) -> bool {
    connection.state == "open" || connection.metadata.contains_key("subprotocol") || !messages.is_empty()
}

/// The body, where it was seen: texts as they are, bytes as base64.
fn content(connection: &Connection, messages: &[Message]) -> Value {
    let mut content = Map::new();
    let kind = match connection.fact("contentType") {
        "" if connection.protocol == Protocol::Eventsource => "text/event-stream",
        "" => "x-unknown",
        kind => kind,
    };
    let size: u64 = messages.iter().fold(0, |size: u64, message| size.saturating_add(message.size));
    content.insert("size".into(), connection.number("bodyBytes").unwrap_or(size).into());
    content.insert("mimeType".into(), kind.into());
    if connection.protocol != Protocol::FetchStream {
        return content.into();
    }
    let texts = messages.iter().all(|message| matches!(message.payload(), Payload::Text(_)));
    if texts {
        let text: String =
            messages.iter().map(|m| if let Payload::Text(text) = m.payload() { text } else { "" }).collect();
        content.insert("text".into(), text.into());
    } else {
        let mut bytes = Vec::new();
        for message in messages {
            match message.payload() {
                Payload::Text(text) => bytes.extend_from_slice(text.as_bytes()),
                Payload::Bytes(text) => bytes.extend(BASE64_STANDARD.decode(text).unwrap_or_default()),
            }
        }
        content.insert("text".into(), BASE64_STANDARD.encode(&bytes).into());
        content.insert("encoding".into(), "base64".into());
    }
    content.into()
}

fn frame(message: &Message) -> Value {
    let (opcode, data) = match message.payload() {
        Payload::Text(text) => (1, text),
        Payload::Bytes(text) => (2, text),
    };
    let kind = match message.direction {
        Direction::In => "receive",
        Direction::Out => "send",
    };
    json!({ "type": kind, "time": message.wall_time / 1000.0, "opcode": opcode, "data": data })
}

fn event(message: &Message) -> Value {
    let data = match message.payload() {
        Payload::Text(text) | Payload::Bytes(text) => text,
    };
    json!({
        "time": message.wall_time / 1000.0,
        "eventName": message.kind.as_deref().unwrap_or("message"),
        "eventId": message.metadata.get("lastEventId").and_then(Value::as_str).unwrap_or_default(),
        "data": data,
    })
}

fn date(ms: f64) -> String {
    // What a page says may be any number; there is a word only for times up to the end of the year 9999.
    let since = Duration::try_from_secs_f64(ms.clamp(0.0, 253_402_300_799_999.0) / 1000.0).unwrap_or_default();
    humantime::format_rfc3339_millis(UNIX_EPOCH + since).to_string()
}
