//! What the page exchanged, as the dashboard keeps it: the last messages, each with the start of its payload. Pure.
//! Twin of `test-runner/src/dashboard/messages.ts`.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::transport::lost_in;

/// Messages that are kept. More than a person scrolls through; the report has them all.
const MAX_MESSAGES: usize = 100_000;
/// Bytes of payloads that are kept, all messages together.
const MAX_BYTES: usize = 64 << 20;
/// Bytes of one payload that are kept: some screens full.
const MAX_PAYLOAD: usize = 64 << 10;
/// Bytes of a payload that stand in the line of its message; the page makes previews of a hundred characters.
const MAX_PREVIEW: usize = 400;
/// Connections that are told apart; a page that opens more polls.
const MAX_CONNECTIONS: usize = 10_000;
/// Messages of one patch: a megabyte at most, so that results are never long behind them.
const BATCH: usize = 5_000;

/// The timeline.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// The last messages; the first of them is number `first`.
    messages: VecDeque<Message>,
    first: u64,
    bytes: usize,
    connections: Vec<Connection>,
    connection_index: HashMap<String, usize>,
    /// Places of connections that turned out to be none.
    free: Vec<usize>,
    tests: Vec<String>,
    test_index: HashMap<String, usize>,
    /// Messages by the page's id whose payload is still to come.
    incomplete: HashMap<String, u64>,
    /// Messages that were lost on the way.
    lost: u64,
    /// Documents whose last messages may be missing.
    cut_short: u64,
    /// Grows with every change.
    revision: u64,
}

/// How far a reader knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    messages: u64,
    tests: usize,
    revision: u64,
}

#[derive(Debug)]
struct Connection {
    protocol: String,
    url: String,
    state: String,
    changed: u64,
}

#[derive(Debug)]
struct Message {
    connection: usize,
    out: bool,
    kind: String,
    size: u64,
    preview: String,
    test: Option<usize>,
    /// Milliseconds since 1970, by the page's clock.
    wall: f64,
    payload: Payload,
}

/// What is kept of a payload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Payload {
    text: Arc<str>,
    /// `text` is base64.
    binary: bool,
    /// There was more of it.
    cut: bool,
}

/// One message of the stream's part about it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TimelineView<'a> {
    /// Number of the first message that is kept.
    first: u64,
    /// Messages so far, those included that are not kept.
    total: u64,
    lost: u64,
    cut_short: u64,
    /// Those that changed.
    connections: Vec<ConnectionView<'a>>,
    /// Those that are new, in the order in which messages name them by number.
    tests: &'a [String],
    messages: Vec<Row<'a>>,
}

#[derive(Debug, Serialize)]
struct ConnectionView<'a> {
    n: usize,
    protocol: &'a str,
    url: &'a str,
    state: &'a str,
}

/// Number, connection, whether the page sent it, type, size in bytes, preview, test, time.
#[derive(Debug, Serialize)]
struct Row<'a>(u64, usize, bool, &'a str, u64, &'a str, Option<usize>, f64);

impl Timeline {
    /// Counts records of the page's recorder in.
    pub(super) fn take(&mut self, records: &[Value]) {
        for record in records {
            self.revision += 1;
            match text(record, "kind") {
                "connection" if record["removed"] == true => self.forget(text(record, "id")),
                "connection" => drop(self.connect(record)),
                "message" => self.add(record),
                "payload" => self.complete(record),
                "gap" => match lost_in(record) {
                    Some(lost) => self.lost = self.lost.saturating_add(lost),
                    None => self.cut_short += 1,
                },
                _ => {}
            }
        }
    }

    /// What a reader does not know yet, a batch at most, and how far it knows it then. `None` for nothing.
    pub(super) fn view(&self, known: Cursor) -> (Option<TimelineView<'_>>, Cursor) {
        if known.revision == self.revision && !self.has_more(known) {
            return (None, known);
        }
        let from = known.messages.max(self.first);
        let skip = usize::try_from(from - self.first).unwrap_or(usize::MAX);
        let messages: Vec<Row<'_>> =
            (from..).zip(self.messages.iter().skip(skip)).take(BATCH).map(|(n, message)| message.row(n)).collect();
        let next = from + messages.len() as u64;
        let connections = self.connections.iter().enumerate().filter(|(_, one)| one.changed > known.revision);
        let view = TimelineView {
            first: self.first,
            total: self.total(),
            lost: self.lost,
            cut_short: self.cut_short,
            connections: connections.map(|(n, one)| one.view(n)).collect(),
            tests: self.tests.get(known.tests..).unwrap_or_default(),
            messages,
        };
        (Some(view), Cursor { messages: next, tests: self.tests.len(), revision: self.revision })
    }

    /// Whether there are messages beyond what a reader knows.
    pub(super) fn has_more(&self, known: Cursor) -> bool {
        known.messages < self.total()
    }

    /// What is kept of a message's payload.
    pub(super) fn payload(&self, n: u64) -> Option<Payload> {
        self.message(n).map(|message| message.payload.clone())
    }

    /// What is searched: the texts of the messages from number `from` on, and how many there are so far.
    pub(super) fn texts(&self, from: u64) -> (Vec<Searched>, u64) {
        let skip = usize::try_from(from.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let messages = (self.first.max(from)..).zip(self.messages.iter().skip(skip));
        let texts = messages.map(|(n, message)| Searched {
            n,
            kind: message.kind.clone(),
            text: if message.payload.binary { Arc::default() } else { Arc::clone(&message.payload.text) },
        });
        (texts.collect(), self.total())
    }

    fn total(&self) -> u64 {
        self.first + self.messages.len() as u64
    }

    fn message(&self, n: u64) -> Option<&Message> {
        self.messages.get(usize::try_from(n.checked_sub(self.first)?).ok()?)
    }

    /// The place of the connection that a record is about.
    fn connect(&mut self, record: &Value) -> usize {
        let id = text(record, if text(record, "kind") == "connection" { "id" } else { "connectionId" });
        let place = match self.connection_index.get(id) {
            Some(place) => *place,
            None => self.place(id, text(record, "protocol")),
        };
        if place == MAX_CONNECTIONS {
            return place;
        }
        if text(record, "kind") == "connection" {
            let one = &mut self.connections[place];
            one.changed = self.revision;
            for (field, name) in [(&mut one.protocol, "protocol"), (&mut one.url, "url"), (&mut one.state, "state")] {
                if let Some(text) = record[name].as_str() {
                    text[..text.floor_char_boundary(MAX_PREVIEW)].clone_into(field);
                }
            }
        }
        place
    }

    /// A place for a connection that is new; the last one is that of all for which there is none left.
    fn place(&mut self, id: &str, protocol: &str) -> usize {
        let (protocol, url, state) = (protocol.to_owned(), String::new(), String::new());
        let mut one = Connection { protocol, url, state, changed: self.revision };
        let place = self.free.pop().unwrap_or(self.connections.len()).min(MAX_CONNECTIONS);
        if place < MAX_CONNECTIONS {
            self.connection_index.insert(id.to_owned(), place);
        } else {
            one.url = format!("(further connections than the first {MAX_CONNECTIONS})");
        }
        if place == self.connections.len() {
            self.connections.push(one);
        } else if place < MAX_CONNECTIONS {
            self.connections[place] = one;
        }
        place
    }

    /// A connection turned out to be none: an answer without a body.
    fn forget(&mut self, id: &str) {
        let Some(place) = self.connection_index.remove(id) else { return };
        let one = &mut self.connections[place];
        "removed".clone_into(&mut one.state);
        one.changed = self.revision;
        self.free.push(place);
    }

    fn add(&mut self, record: &Value) {
        let connection = self.connect(record);
        let payload = Payload::of(record);
        if payload.cut {
            self.incomplete.insert(text(record, "id").to_owned(), self.total());
        }
        let preview = text(record, "payloadPreview");
        let message = Message {
            connection,
            out: text(record, "direction") == "out",
            kind: text(record, "type").to_owned(),
            size: record["size"].as_u64().unwrap_or_default(),
            preview: preview[..preview.floor_char_boundary(MAX_PREVIEW)].to_owned(),
            test: record["test"].as_str().map(|test| self.test(test)),
            wall: record["wallTime"].as_f64().unwrap_or_default(),
            payload,
        };
        self.bytes += message.payload.text.len();
        self.messages.push_back(message);
        while self.messages.len() > MAX_MESSAGES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.messages.pop_front() else { break };
            self.bytes -= oldest.payload.text.len();
            self.first += 1;
        }
        if self.incomplete.len() > MAX_MESSAGES {
            let first = self.first;
            self.incomplete.retain(|_, n| *n >= first);
        }
    }

    /// A message again, now with more of its payload.
    fn complete(&mut self, record: &Value) {
        let Some(n) = self.incomplete.remove(text(record, "id")) else { return };
        let place = n.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        let Some(message) = place.and_then(|place| self.messages.get_mut(place)) else { return };
        let payload = Payload::of(record);
        self.bytes = self.bytes + payload.text.len() - message.payload.text.len();
        message.payload = payload;
    }

    fn test(&mut self, id: &str) -> usize {
        if let Some(known) = self.test_index.get(id) {
            return *known;
        }
        self.tests.push(id.to_owned());
        self.test_index.insert(id.to_owned(), self.tests.len() - 1);
        self.tests.len() - 1
    }
}

impl Connection {
    fn view(&self, n: usize) -> ConnectionView<'_> {
        ConnectionView { n, protocol: &self.protocol, url: &self.url, state: &self.state }
    }
}

impl Message {
    fn row(&self, n: u64) -> Row<'_> {
        Row(n, self.connection, self.out, &self.kind, self.size, &self.preview, self.test, self.wall)
    }
}

impl Payload {
    fn of(record: &Value) -> Self {
        let payload = &record["payload"];
        let (text, binary) = match payload.as_str() {
            Some(text) => (text, false),
            None => (payload["base64"].as_str().unwrap_or_default(), true),
        };
        // A piece of base64 is one of whole bytes: four letters are three of them, and the limit is a multiple of four.
        let end = text.floor_char_boundary(MAX_PAYLOAD);
        let cut = end < text.len() || record["truncated"] == true;
        Self { text: text[..end].into(), binary, cut }
    }
}

/// A message to be searched, apart from the timeline, so that nobody waits for a search.
#[derive(Debug)]
pub(super) struct Searched {
    n: u64,
    kind: String,
    text: Arc<str>,
}

impl Searched {
    /// The numbers of those that have a text in their type or payload; case makes no difference.
    pub(super) fn find(all: &[Self], text: &str) -> Vec<u64> {
        let wanted = text.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        all.iter().filter(|one| has(&one.kind) || has(&one.text)).map(|one| one.n).collect()
    }
}

fn text<'a>(record: &'a Value, name: &str) -> &'a str {
    record[name].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
