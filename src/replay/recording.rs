//! The recorded file, as far as it can be played: connections in the order in which they were made, each with what came
//! on it and when.

use std::collections::HashMap;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::ReplayError;
use crate::transport::{Connection, Direction, Message, Payload, Protocol, Timeline, TimelineError};

/// Close code of a socket that was closed without one (RFC 6455, section 7.4.1).
const NO_CODE: u16 = 1005;
/// A pause above this is none that anybody recorded, and no timer takes every number.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
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
    /// Answers whose bodies the page let go unread.
    pub(super) unread: usize,
    /// The recording says of itself that something is missing.
    pub(super) gaps: bool,
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
    /// In a way that was not seen: its server has to be asked again.
    Unseen,
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
    /// By the page, which asked a WebSocket to close and got no answer.
    Unanswered,
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
        let unreadable = |error: TimelineError| ReplayError::Read { path: path.to_owned(), source: error };
        let file = fs_err::File::open(path).map_err(|error| unreadable(error.into()))?;
        let recording =
            Self::of(Timeline::read(file).map_err(unreadable)?).map_err(|error| unreadable(error.into()))?;
        if recording.exchanges.iter().all(|exchange| exchange.answer == Answer::Unseen) {
            return Err(ReplayError::Empty { path: path.to_owned() });
        }
        Ok(recording)
    }

    pub(super) fn of<R: Read + Seek>(mut timeline: Timeline<R>) -> io::Result<Self> {
        let mut messages: HashMap<String, Vec<Message>> = HashMap::new();
        for index in 0..timeline.len() {
            let message = timeline.message(index)?;
            messages.entry(message.connection_id.clone()).or_default().push(message);
        }
        let mut recording = Self { gaps: timeline.lost() + timeline.cut_short() > 0, ..Self::default() };
        // Of one without an address no page will ask.
        for connection in timeline.connections().iter().filter(|one| !is_refused(one) && !one.url.is_empty()) {
            let mut messages = messages.remove(&connection.id).unwrap_or_default();
            messages.sort_by_key(|message| message.n);
            let is_cut = |message: &&Message| message.truncated && message.direction == Direction::In;
            recording.cut += messages.iter().filter(is_cut).count();
            let exchange = Exchange::of(connection, &messages);
            recording.left_out += usize::from(exchange.answer == Answer::Unseen && !connection.removed);
            recording.unread += usize::from(is_unread(connection, &messages));
            recording.exchanges.push(exchange);
        }
        Ok(recording)
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
            told.push(format!("{left_out} recorded connections are not replayed, since their bodies were not seen"));
        }
        if self.unread > 0 {
            let unread = self.unread;
            told.push(format!("{unread} recorded answers were never read; they are replayed without their bodies"));
        }
        if self.gaps {
            told.push("the recording has gaps: what was exchanged there is not replayed".into());
        }
        told
    }
}

impl Exchange {
    fn of(connection: &Connection, messages: &[Message]) -> Self {
        let how = connection.fact("how");
        let is_events = connection.protocol == Protocol::Eventsource;
        let kind = match connection.protocol {
            Protocol::Websocket => Kind::WebSocket,
            Protocol::Eventsource if connection.fact("source") != "fetch" => Kind::EventSource,
            Protocol::Eventsource | Protocol::FetchStream => Kind::Fetch,
        };
        let url = connection.url.split('#').next().unwrap_or_default().to_owned();
        let method = match connection.fact("method") {
            "" => "GET".to_owned(),
            method => method.to_owned(),
        };
        let mut clock = Clock { last: connection.opened_at, sent: 0 };
        let answer = answer(kind, connection, messages.is_empty(), &mut clock);
        let mut steps = Vec::new();
        let mut last_id = "";
        for message in messages {
            let when = clock.at(Some(message.timestamp));
            match message.direction {
                Direction::Out => clock.sent += 1,
                Direction::In if is_events => steps.push(Step { when, data: event(message, &mut last_id) }),
                Direction::In => steps.extend(data(message).map(|data| Step { when, data })),
            }
        }
        let end = if connection.removed || is_unread(connection, messages) {
            End::Proper { when: When::default(), code: NO_CODE, reason: String::new() }
        } else {
            end(kind, how, connection, clock.at(connection.closed_at))
        };
        Self { key: Key { kind, method, url }, answer, steps, end }
    }
}

/// An answer that nothing of the page can read any more, and nothing did.
fn is_unread(connection: &Connection, messages: &[Message]) -> bool {
    connection.fact("how") == "abandoned" && messages.is_empty()
}

fn is_refused(connection: &Connection) -> bool {
    connection.fact("error").starts_with(REFUSED)
}

/// Where in the recording we are, on one connection.
struct Clock {
    last: f64,
    sent: usize,
}

impl Clock {
    /// A moment, in milliseconds of the recording, seen from the one before it.
    fn at(&mut self, moment: Option<f64>) -> When {
        let moment = moment.unwrap_or(self.last).max(self.last);
        let pause = Duration::try_from_secs_f64((moment - self.last) / 1000.0);
        let pause = pause.map_or(LONGEST, |pause| pause.min(LONGEST));
        self.last = moment;
        When { sent: self.sent, pause }
    }
}

fn answer(kind: Kind, connection: &Connection, is_empty: bool, clock: &mut Clock) -> Answer {
    let began = clock.last;
    let closed = connection.closed_at;
    let has_failed = connection.fact("how") == "error";
    match kind {
        Kind::WebSocket => match connection.metadata.get("subprotocol").and_then(Value::as_str) {
            Some(subprotocol) => Answer::Socket { subprotocol: subprotocol.to_owned() },
            None if connection.fact("closedBy") == "page" || closed.is_none() => Answer::Never,
            None => Answer::Failed { after: clock.at(closed).pause },
        },
        Kind::EventSource if is_empty && has_failed => Answer::Failed { after: clock.at(closed).pause },
        Kind::EventSource => {
            Answer::Body { after: Duration::ZERO, status: 200, content_type: "text/event-stream".into() }
        }
        Kind::Fetch if connection.fact("how") == "unobserved" => Answer::Unseen,
        Kind::Fetch => match connection.number("status").and_then(|status| u16::try_from(status).ok()) {
            Some(status) => {
                let headers = connection.metadata.get("headersMs").and_then(Value::as_f64).map(|ms| began + ms);
                let content_type = as_utf8(connection.fact("contentType"));
                Answer::Body { after: clock.at(headers).pause, status, content_type }
            }
            None if connection.removed => Answer::Unseen,
            None if has_failed => Answer::Failed { after: clock.at(closed).pause },
            None => Answer::Never,
        },
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

fn end(kind: Kind, how: &str, connection: &Connection, when: When) -> End {
    if connection.state != "closed" {
        return End::Held;
    }
    let was_clean = connection.metadata.get("wasClean") == Some(&Value::Bool(true));
    if connection.fact("closedBy") == "page" {
        return if how == "close" && !was_clean { End::Unanswered } else { End::Held };
    }
    let proper = |code, reason: &str| End::Proper { when, code, reason: reason.to_owned() };
    match (kind, how) {
        (Kind::WebSocket, "close") if was_clean => {
            proper(connection.close_code.unwrap_or(NO_CODE), connection.fact("reason"))
        }
        (Kind::WebSocket, "close") | (Kind::Fetch, "error") => End::Broken { when },
        (Kind::Fetch, "end") | (Kind::EventSource, "error") => proper(NO_CODE, ""),
        _ => End::Held,
    }
}

/// What is served for a message.
fn data(message: &Message) -> Option<Data> {
    match message.payload() {
        Payload::Bytes(base64) => STANDARD.decode(base64).ok().map(Data::Bytes),
        Payload::Text(text) => Some(Data::Text(text.to_owned())),
    }
}

/// An event as it stands in a stream. `last_id` is what the one before left: an event that says none keeps it.
fn event<'a>(message: &'a Message, last_id: &mut &'a str) -> Data {
    let fact = |key: &str| message.metadata.get(key);
    let mut event = String::new();
    let mut field = |name: &str, value: &str| event.extend([name, ": ", value, "\n"]);
    if let Some(retry) = fact("retry").and_then(Value::as_u64) {
        field("retry", &retry.to_string());
    }
    let id = fact("lastEventId").and_then(Value::as_str).unwrap_or_default();
    if id != *last_id {
        field("id", id);
        *last_id = id;
    }
    if let Some(kind) = message.kind.as_deref().filter(|kind| *kind != "message") {
        field("event", kind);
    }
    if let Payload::Text(content) = message.payload() {
        content.split('\n').for_each(|line| field("data", line));
    }
    event.push('\n');
    Data::Event(event)
}

#[cfg(test)]
#[path = "recording_tests.rs"]
mod tests;
