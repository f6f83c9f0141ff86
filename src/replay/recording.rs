//! The recorded file, as far as it can be played: connections in the order in which they were made, each with what came
//! on it and when.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::ReplayError;

/// The version of the format that is understood.
const VERSION: u64 = 1;
/// What the recorder says of a request that the page's platform refused: nothing was sent, and it will refuse it again.
const REFUSED: &str = "refused by the platform";

/// What can be replayed.
#[derive(Debug, Default)]
pub struct Recording {
    pub(super) exchanges: Vec<Exchange>,
    /// Messages of which only the first part was kept.
    pub(super) cut: usize,
    /// Connections of which too little was seen to serve them again.
    pub(super) left_out: usize,
    /// Places where the recording itself says that something is missing.
    pub(super) gaps: usize,
}

/// One recorded connection.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Exchange {
    pub(super) key: Key,
    pub(super) answer: Answer,
    pub(super) steps: Vec<Step>,
    pub(super) end: End,
}

/// What a page has to ask for to be served a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
pub(super) struct Key {
    pub(super) kind: Kind,
    /// In capitals as the page wrote it; `GET` where there is none.
    pub(super) method: String,
    /// Without its fragment.
    pub(super) url: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    WebSocket,
    Fetch,
    EventSource,
}

/// How the server answered the first time.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    /// With a WebSocket of this subprotocol, or none.
    Socket { subprotocol: String },
    /// With a status, a type and a body.
    Body { after: Duration, status: u16, content_type: String },
    /// Not, as far as the page could tell.
    Failed { after: Duration },
    /// Not before the page gave up.
    Never,
}

/// Something that came.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) when: When,
    pub(super) data: Data,
}

/// Its place behind what happened before it on the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct When {
    /// Messages that the page had sent by then.
    pub(super) sent: usize,
    /// Since whatever came or was sent last.
    pub(super) pause: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    Text(String),
    Bytes(Vec<u8>),
    /// As it stands in an event stream.
    Event(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    /// By the page, or not within the recording.
    Held,
    /// As it should be; code and reason are those of a WebSocket.
    Proper { when: When, code: u16, reason: String },
    /// In the middle.
    Broken { when: When },
}

impl Recording {
    /// Reads a file that a run has written.
    ///
    /// # Errors
    /// See [`ReplayError`].
    pub fn read(path: &Path) -> Result<Self, ReplayError> {
        let text =
            fs_err::read_to_string(path).map_err(|error| ReplayError::Read { path: path.to_owned(), source: error })?;
        let recording = Self::parse(&text, path)?;
        if recording.exchanges.is_empty() {
            return Err(ReplayError::Empty { path: path.to_owned() });
        }
        Ok(recording)
    }

    pub(super) fn parse(text: &str, path: &Path) -> Result<Self, ReplayError> {
        let mut lines = Lines::default();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            lines.take(line).map_err(|why| ReplayError::Format { path: PathBuf::from(path), line: index + 1, why })?;
        }
        Ok(lines.recording())
    }

    /// What a person should know of what is not as it was.
    pub fn reservations(&self) -> Vec<String> {
        let mut told = Vec::new();
        if self.cut > 0 {
            let cut = self.cut;
            told.push(format!("of {cut} recorded messages only the first part was kept; that part is replayed"));
        }
        if self.left_out > 0 {
            let left_out = self.left_out;
            told.push(format!("{left_out} recorded connections are not replayed, since their bodies were never read"));
        }
        if self.gaps > 0 {
            told.push("the recording has gaps: what was exchanged there is not replayed".into());
        }
        told
    }
}

/// The lines of a file, put together.
#[derive(Default)]
struct Lines {
    began: bool,
    gaps: usize,
    order: Vec<String>,
    connections: HashMap<String, Value>,
    messages: HashMap<String, Vec<Value>>,
    /// Where a message is whose payload comes later.
    places: HashMap<String, (String, usize)>,
}

impl Lines {
    fn take(&mut self, line: &str) -> Result<(), String> {
        let record: Value = serde_json::from_str(line).map_err(|error| format!("no JSON ({error})"))?;
        let kind = record["kind"].as_str().unwrap_or_default();
        if !self.began {
            if kind != "header" {
                return Err("this is no recorded timeline, which starts with a header".into());
            }
            if record["version"].as_u64() != Some(VERSION) {
                return Err(format!("version {} of the format is not known here", record["version"]));
            }
            self.began = true;
        }
        match kind {
            "connection" => self.connection(record),
            "message" => self.message(record),
            "payload" => self.payload(record),
            "gap" => self.gaps += 1,
            // What else is told is for people.
            _ => {}
        }
        Ok(())
    }

    fn connection(&mut self, record: Value) {
        let id = text(&record, "id").to_owned();
        if record["removed"] == true {
            self.connections.remove(&id);
            return;
        }
        if self.connections.insert(id.clone(), record).is_none() && !self.order.contains(&id) {
            self.order.push(id);
        }
    }

    fn message(&mut self, record: Value) {
        let connection = text(&record, "connectionId").to_owned();
        let list = self.messages.entry(connection.clone()).or_default();
        self.places.insert(text(&record, "id").to_owned(), (connection, list.len()));
        list.push(record);
    }

    fn payload(&mut self, record: Value) {
        let Some((connection, at)) = self.places.get(text(&record, "id")) else { return };
        if let Some(message) = self.messages.get_mut(connection).and_then(|list| list.get_mut(*at)) {
            *message = record;
        }
    }

    fn recording(mut self) -> Recording {
        let mut recording = Recording { gaps: self.gaps, ..Recording::default() };
        for id in std::mem::take(&mut self.order) {
            let Some(connection) = self.connections.remove(&id) else { continue };
            let mut messages = self.messages.remove(&id).unwrap_or_default();
            messages.sort_by_key(|message| message["n"].as_u64());
            let incoming = messages.iter().filter(|message| message["direction"] == "in");
            let cut = incoming.filter(|message| message["truncated"] == true).count();
            match Exchange::of(&connection, &messages) {
                Some(exchange) => {
                    recording.cut += cut;
                    recording.exchanges.push(exchange);
                }
                None if is_refused(&connection) => {}
                None => recording.left_out += 1,
            }
        }
        recording
    }
}

impl Exchange {
    /// `None` where the recording does not say what to serve.
    fn of(connection: &Value, messages: &[Value]) -> Option<Self> {
        let metadata = &connection["metadata"];
        let how = text(metadata, "how");
        let from_fetch = text(metadata, "source") == "fetch";
        let kind = match (text(connection, "protocol"), from_fetch) {
            ("websocket", _) => Kind::WebSocket,
            ("eventsource", false) => Kind::EventSource,
            _ => Kind::Fetch,
        };
        if is_refused(connection) || (kind == Kind::Fetch && matches!(how, "unobserved" | "abandoned")) {
            return None;
        }
        let url = text(connection, "url").split('#').next().unwrap_or_default().to_owned();
        let method = metadata["method"].as_str().unwrap_or("GET").to_owned();
        let as_events = text(connection, "protocol") == "eventsource";
        let mut clock = Clock::from(connection["openedAt"].as_f64().unwrap_or_default());
        let answer = answer(kind, connection, messages, &mut clock);
        let mut steps = Vec::new();
        for message in messages {
            let when = clock.at(message["timestamp"].as_f64());
            if message["direction"] == "out" {
                clock.sent += 1;
            } else if let Some(data) = data(message, as_events) {
                steps.push(Step { when, data });
            }
        }
        let end = end(kind, how, connection, clock.at(connection["closedAt"].as_f64()));
        Some(Self { key: Key { kind, method, url }, answer, steps, end })
    }
}

fn is_refused(connection: &Value) -> bool {
    text(&connection["metadata"], "error").starts_with(REFUSED)
}

/// Where in the recording we are, on one connection.
struct Clock {
    last: f64,
    sent: usize,
}

impl Clock {
    fn from(began: f64) -> Self {
        Self { last: began, sent: 0 }
    }

    /// A moment, in milliseconds of the recording, seen from the one before it.
    fn at(&mut self, moment: Option<f64>) -> When {
        let moment = moment.unwrap_or(self.last).max(self.last);
        let pause = Duration::try_from_secs_f64((moment - self.last) / 1000.0).unwrap_or_default();
        self.last = moment;
        When { sent: self.sent, pause }
    }
}

fn answer(kind: Kind, connection: &Value, messages: &[Value], clock: &mut Clock) -> Answer {
    let metadata = &connection["metadata"];
    let closed = connection["closedAt"].as_f64();
    let began = clock.last;
    if kind == Kind::WebSocket {
        return match metadata["subprotocol"].as_str() {
            Some(subprotocol) => Answer::Socket { subprotocol: subprotocol.to_owned() },
            None if metadata["closedBy"] == "page" || closed.is_none() => Answer::Never,
            None => Answer::Failed { after: clock.at(closed).pause },
        };
    }
    if kind == Kind::EventSource {
        if messages.is_empty() && text(metadata, "how") == "error" {
            return Answer::Failed { after: clock.at(closed).pause };
        }
        return Answer::Body { after: Duration::ZERO, status: 200, content_type: "text/event-stream".into() };
    }
    let status = metadata["status"].as_u64().and_then(|status| u16::try_from(status).ok());
    match status {
        Some(status) => Answer::Body {
            after: clock.at(metadata["headersMs"].as_f64().map(|ms| began + ms)).pause,
            status,
            content_type: as_utf8(text(metadata, "contentType")),
        },
        None if text(metadata, "how") == "error" => Answer::Failed { after: clock.at(closed).pause },
        None => Answer::Never,
    }
}

/// Texts are kept as texts, and served as UTF-8 whatever they came as.
fn as_utf8(content_type: &str) -> String {
    let mut parts = content_type.split(';');
    let essence = parts.next().unwrap_or_default().to_owned();
    parts.fold(essence, |kept, part| {
        let (name, _) = part.split_once('=').unwrap_or((part, ""));
        let other = !name.trim().eq_ignore_ascii_case("charset");
        if other { format!("{kept};{part}") } else { format!("{kept}; charset=utf-8") }
    })
}

fn end(kind: Kind, how: &str, connection: &Value, when: When) -> End {
    let metadata = &connection["metadata"];
    if connection["state"] != "closed" || metadata["closedBy"] == "page" {
        return End::Held;
    }
    let proper = |code, reason: &str| End::Proper { when, code, reason: reason.to_owned() };
    match (kind, how) {
        (Kind::WebSocket, "close") if metadata["wasClean"] == true => {
            let code = connection["closeCode"].as_u64().and_then(|code| u16::try_from(code).ok());
            proper(code.unwrap_or(1005), text(metadata, "reason"))
        }
        (Kind::WebSocket, "close") | (Kind::Fetch, "error") => End::Broken { when },
        (Kind::Fetch, "end") | (Kind::EventSource, "error") => proper(0, ""),
        _ => End::Held,
    }
}

/// What is served for a message.
fn data(message: &Value, as_events: bool) -> Option<Data> {
    let payload = &message["payload"];
    let Some(content) = payload.as_str() else {
        return STANDARD.decode(text(payload, "base64")).ok().map(Data::Bytes);
    };
    Some(if as_events { Data::Event(event(message, content)) } else { Data::Text(content.to_owned()) })
}

/// An event as it stands in a stream.
fn event(message: &Value, content: &str) -> String {
    let metadata = &message["metadata"];
    let mut event = String::new();
    let mut field = |name: &str, value: &str| event.extend([name, ": ", value, "\n"]);
    if let Some(retry) = metadata["retry"].as_u64() {
        field("retry", &retry.to_string());
    }
    field("id", text(metadata, "lastEventId"));
    if let Some(kind) = message["type"].as_str().filter(|kind| *kind != "message") {
        field("event", kind);
    }
    content.split('\n').for_each(|line| field("data", line));
    event.push('\n');
    event
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
#[path = "recording_tests.rs"]
mod tests;
