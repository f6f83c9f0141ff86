//! Which messages are wanted.

use super::record::{Connection, Direction, Message, Payload, Protocol};

/// What `--filter` and `--grep` ask for; all of it must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    rules: Vec<Rule>,
    text: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Rule {
    Protocol(Protocol),
    Direction(Direction),
    /// Part of the address, lower case.
    Url(String),
    /// `c3` as the log has it, or the id.
    Connection(String),
    /// Part of the test's id, lower case.
    Test(String),
    /// Name of an event.
    Type(String),
    /// Milliseconds since the first document began.
    From(f64),
    To(f64),
}

impl Selection {
    /// Adds a rule `key=value`.
    ///
    /// # Errors
    /// What is right instead.
    pub fn filter(&mut self, text: &str) -> Result<(), String> {
        let expected = "give key=value with the key protocol, direction, url, connection, test, type, from or to";
        let (key, value) = text.split_once('=').ok_or(expected)?;
        let ms = || value.parse().map_err(|_| format!("{key} is a number of milliseconds, as the log has them"));
        let rule = match key {
            "protocol" => Rule::Protocol(match value {
                "websocket" => Protocol::Websocket,
                "fetch" | "fetch-stream" => Protocol::FetchStream,
                "eventsource" => Protocol::Eventsource,
                _ => return Err("protocol is websocket, fetch-stream or eventsource".into()),
            }),
            "direction" => Rule::Direction(match value {
                "in" => Direction::In,
                "out" => Direction::Out,
                _ => return Err("direction is in or out".into()),
            }),
            "url" => Rule::Url(value.to_lowercase()),
            "connection" => Rule::Connection(value.into()),
            "test" => Rule::Test(value.to_lowercase()),
            "type" => Rule::Type(value.into()),
            "from" => Rule::From(ms()?),
            "to" => Rule::To(ms()?),
            _ => return Err(expected.into()),
        };
        self.rules.push(rule);
        Ok(())
    }

    /// Wants only messages with this text in them; case makes no difference.
    pub fn grep(&mut self, text: &str) {
        self.text = Some(text.to_lowercase());
    }

    /// Whether nothing is left out.
    pub fn is_everything(&self) -> bool {
        self.rules.is_empty() && self.text.is_none()
    }

    /// Whether a message is wanted. `number` is its connection's in the file, from 1; `since` the milliseconds since the
    /// first document began.
    pub(super) fn wants(&self, message: &Message, connection: &Connection, number: usize, since: f64) -> bool {
        self.rules.iter().all(|rule| match rule {
            Rule::Protocol(protocol) => message.protocol == *protocol,
            Rule::Direction(direction) => message.direction == *direction,
            Rule::Url(part) => connection.url.to_lowercase().contains(part),
            Rule::Connection(name) => connection.id == *name || format!("c{number}") == *name,
            Rule::Test(part) => message.test.as_ref().is_some_and(|test| test.to_lowercase().contains(part)),
            Rule::Type(kind) => message.kind.as_deref().unwrap_or("message") == kind,
            Rule::From(ms) => since >= *ms,
            Rule::To(ms) => since <= *ms,
        }) && self.text.as_ref().is_none_or(|text| {
            let payload = match message.payload() {
                Payload::Text(payload) => payload,
                Payload::Bytes(_) => &message.payload_preview,
            };
            payload.to_lowercase().contains(text)
        })
    }
}
