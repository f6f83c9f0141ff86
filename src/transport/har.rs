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

/// What stands where something is missing.
const CUT: &str = "cut: only a start of the payload was kept";

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
        let connection = timeline.connections()[number].clone();
        if connection.removed || connection.url.is_empty() {
            continue;
        }
        let mut entry = Entry::of(connection);
        if selection.is_everything() {
            entry.begin(first, out)?;
        }
        for index in indices {
            if let Some(message) = timeline.wanted(index, selection)? {
                entry.begin(first, out)?;
                entry.take(&message, out)?;
            }
        }
        if entry.begun {
            entry.end(timeline, out)?;
            first = false;
        }
    }
    writeln!(out, "\n]}}}}")
}

/// An entry on its way out. Messages are written as they come, and what they add up to behind them: a socket may have had
/// more than fits into memory.
struct Entry {
    connection: Connection,
    begun: bool,
    messages: u64,
    last: Option<f64>,
    size: u64,
    cut: bool,
    body: Body,
}

impl Entry {
    fn of(connection: Connection) -> Self {
        Self { connection, begun: false, messages: 0, last: None, size: 0, cut: false, body: Body::default() }
    }

    fn list(&self) -> Option<&'static str> {
        match self.connection.protocol {
            Protocol::Websocket => Some("_webSocketMessages"),
            Protocol::Eventsource => Some("_eventSourceMessages"),
            Protocol::FetchStream => None,
        }
    }

    /// Once, however often it is said.
    fn begin(&mut self, first: bool, out: &mut dyn Write) -> io::Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        write!(out, "{}\n{{", if first { "" } else { "," })?;
        self.list().map_or(Ok(()), |list| write!(out, "\"{list}\":["))
    }

    fn take(&mut self, message: &Message, out: &mut dyn Write) -> io::Result<()> {
        let comma = if self.messages == 0 { "" } else { "," };
        match self.connection.protocol {
            Protocol::Websocket => write!(out, "{comma}{}", frame(message))?,
            Protocol::Eventsource => write!(out, "{comma}{}", event(message))?,
            Protocol::FetchStream => self.body.take(message),
        }
        self.messages += 1;
        self.last = Some(message.timestamp);
        self.size = self.size.saturating_add(message.size);
        self.cut |= message.truncated;
        Ok(())
    }

    fn end<R: Read + Seek>(mut self, timeline: &Timeline<R>, out: &mut dyn Write) -> io::Result<()> {
        if self.list().is_some() {
            write!(out, "],")?;
        }
        let opened = timeline.wall_time(&self.connection, self.connection.opened_at);
        let rest = self.rest(opened).to_string();
        // An object of its own: what is written already goes before its first field.
        write!(out, "{}", rest.strip_prefix('{').unwrap_or(&rest))
    }

    fn rest(&mut self, opened: f64) -> Value {
        let connection = &self.connection;
        let last = self.last.unwrap_or(connection.opened_at);
        let time = (connection.closed_at.unwrap_or(last) - connection.opened_at).max(0.0);
        let wait = connection.metadata.get("headersMs").and_then(Value::as_f64).unwrap_or(0.0).min(time);
        json!({
            "startedDateTime": date(opened),
            "time": time,
            "request": request(connection),
            "response": self.response(),
            "cache": {},
            "timings": {
                "blocked": -1, "dns": -1, "ssl": -1, "connect": -1, "send": 0, "wait": wait, "receive": time - wait,
            },
            "_resourceType": resource_type(&self.connection),
            "_connectionId": self.connection.id,
        })
    }

    fn response(&mut self) -> Value {
        let connection = &self.connection;
        let opened = connection.state == "open" || connection.metadata.contains_key("subprotocol") || self.messages > 0;
        let (status, words) = match (connection.protocol, connection.number("status")) {
            (_, Some(status)) => (status, ""),
            (Protocol::Websocket, None) if opened => (101, "Switching Protocols"),
            (Protocol::Eventsource, None) if opened => (200, "OK"),
            _ => (0, ""),
        };
        let error = connection.fact("error").to_owned();
        let mut response = json!({
            "status": status,
            "statusText": words,
            "httpVersion": "",
            "headers": [],
            "cookies": [],
            "content": self.content(),
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": -1,
        });
        if !error.is_empty() {
            response["_error"] = error.into();
        }
        response
    }

    fn content(&mut self) -> Value {
        let connection = &self.connection;
        let mut content = Map::new();
        let kind = match connection.fact("contentType") {
            "" if connection.protocol == Protocol::Eventsource => "text/event-stream",
            "" => "x-unknown",
            kind => kind,
        };
        content.insert("size".into(), connection.number("bodyBytes").unwrap_or(self.size).into());
        content.insert("mimeType".into(), kind.into());
        if connection.protocol == Protocol::FetchStream {
            std::mem::take(&mut self.body).into(&mut content);
        }
        if self.cut {
            content.insert("comment".into(), CUT.into());
        }
        content.into()
    }
}

/// A body, where it was seen: texts as they are, as soon as there are bytes all of it as base64.
#[derive(Default)]
struct Body {
    bytes: Vec<u8>,
    is_binary: bool,
}

impl Body {
    fn take(&mut self, message: &Message) {
        match message.payload() {
            Payload::Text(text) => self.bytes.extend_from_slice(text.as_bytes()),
            Payload::Bytes(text) => {
                self.is_binary = true;
                self.bytes.extend(BASE64_STANDARD.decode(text).unwrap_or_default());
            }
        }
    }

    fn into(self, content: &mut Map<String, Value>) {
        if self.is_binary {
            content.insert("encoding".into(), "base64".into());
            content.insert("text".into(), BASE64_STANDARD.encode(&self.bytes).into());
        } else {
            content.insert("text".into(), String::from_utf8(self.bytes).unwrap_or_default().into());
        }
    }
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

fn frame(message: &Message) -> Value {
    let (opcode, data) = match message.payload() {
        Payload::Text(text) => (1, text),
        Payload::Bytes(text) => (2, text),
    };
    let kind = match message.direction {
        Direction::In => "receive",
        Direction::Out => "send",
    };
    let frame = json!({ "type": kind, "time": message.wall_time / 1000.0, "opcode": opcode, "data": data });
    told(frame, message)
}

fn event(message: &Message) -> Value {
    let data = match message.payload() {
        Payload::Text(text) | Payload::Bytes(text) => text,
    };
    let event = json!({
        "time": message.wall_time / 1000.0,
        "eventName": message.kind.as_deref().unwrap_or("message"),
        "eventId": message.metadata.get("lastEventId").and_then(Value::as_str).unwrap_or_default(),
        "data": data,
    });
    told(event, message)
}

/// Says so where only a start of the payload is there.
fn told(mut entry: Value, message: &Message) -> Value {
    if message.truncated {
        entry["comment"] = CUT.into();
    }
    entry
}

fn date(ms: f64) -> String {
    // What a page says may be any number; there is a word only for times up to the end of the year 9999.
    let since = Duration::try_from_secs_f64(ms.clamp(0.0, 253_402_300_799_999.0) / 1000.0).unwrap_or_default();
    humantime::format_rfc3339_millis(UNIX_EPOCH + since).to_string()
}
