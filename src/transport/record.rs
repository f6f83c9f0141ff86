//! One line of a timeline. What is missing or of another kind than expected counts as empty: a record is better read in
//! part than not at all.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// How much a record of kind `gap` says was lost: messages, or pieces of records of which nobody knows what they held.
/// Nothing where that cannot be known: the last messages of a document that went.
pub fn lost_in(gap: &Value) -> Option<u64> {
    gap["messages"].as_u64().or(gap["pieces"].as_u64())
}

/// By what something is exchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// `WebSocket`.
    #[default]
    Websocket,
    /// A body that `fetch` gave.
    FetchStream,
    /// Server-sent events, by `EventSource` or `fetch`.
    Eventsource,
}

impl Protocol {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Websocket => "websocket",
            Self::FetchStream => "fetch-stream",
            Self::Eventsource => "eventsource",
        }
    }
}

/// Which way a message went, seen from the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// To the page.
    #[default]
    In,
    /// From the page.
    Out,
}

/// What a message carried, as far as it was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// Text.
    Text(&'a str),
    /// Bytes, in base64.
    Bytes(&'a str),
}

/// A socket, a stream of events or a body, as it was last heard of.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Connection {
    /// Unique in all documents; starts with the id of its own.
    pub id: String,
    /// By what.
    pub protocol: Protocol,
    /// Resolved address.
    pub url: String,
    /// `connecting`, `open`, `closing` or `closed`.
    pub state: String,
    /// Milliseconds since its document began.
    pub opened_at: f64,
    /// The same, once it is closed.
    pub closed_at: Option<f64>,
    /// Close code of a WebSocket.
    pub close_code: Option<u16>,
    /// How often it was opened again.
    pub reconnect_count: u32,
    /// It turned out to be none: an answer without a body.
    pub removed: bool,
    /// What only some have: `status`, `method`, `contentType`, `subprotocol`, `how` it ended ...
    pub metadata: Map<String, Value>,
}

impl Connection {
    /// The id of its document.
    pub fn session(&self) -> &str {
        session(&self.id)
    }

    /// A text of its metadata.
    pub fn fact(&self, key: &str) -> &str {
        self.metadata.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// A number of its metadata.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.metadata.get(key).and_then(Value::as_u64)
    }
}

/// A message, a piece of a body, or an event.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Message {
    /// Unique in all documents.
    pub id: String,
    /// Of which connection.
    pub connection_id: String,
    /// Place in the order of its document.
    pub n: u64,
    /// Milliseconds since its document began.
    pub timestamp: f64,
    /// Milliseconds since 1970, by the page's clock.
    pub wall_time: f64,
    /// Which way.
    pub direction: Direction,
    /// By what.
    pub protocol: Protocol,
    /// Name of an event.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Bytes of the whole payload.
    pub size: u64,
    /// See [`Message::payload`].
    #[serde(rename = "payload")]
    pub raw_payload: Value,
    /// The first 100 characters, or `[binary N bytes]`.
    pub payload_preview: String,
    /// The payload is less than there was.
    pub truncated: bool,
    /// Id of the test that was running, where it was one.
    pub test: Option<String>,
    /// What only some have: `lastEventId` ...
    pub metadata: Map<String, Value>,
}

impl Message {
    /// What it carried.
    pub fn payload(&self) -> Payload<'_> {
        match &self.raw_payload {
            Value::String(text) => Payload::Text(text),
            bytes => Payload::Bytes(bytes["base64"].as_str().unwrap_or_default()),
        }
    }
}

/// What of a document is seen.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Coverage {
    /// The id of the document.
    pub session: String,
    /// Milliseconds since the document began at which the recorder was there.
    pub from: f64,
    /// The document's own scripts had hardly begun then.
    pub before_content: bool,
    /// Milliseconds since 1970 when the document began, by the page's clock.
    pub began: f64,
    /// Frames whose traffic is not seen.
    pub frames: u64,
    /// What else could not be seen: reason to count.
    pub not_recorded: BTreeMap<String, u64>,
}

/// Reads a record as a type; by way of a `Value`, see [`crate::wire::Batch::parse`].
pub(super) fn of<T: DeserializeOwned + Default>(record: &Value) -> T {
    T::deserialize(record).unwrap_or_default()
}

/// The document's part of an id.
pub(super) fn session(id: &str) -> &str {
    id.rsplit_once('-').map_or("", |(session, _)| session)
}
