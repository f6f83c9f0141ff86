//! What a target and its client say to each other, whatever the connection between them does. Pure: messages go in,
//! messages come out.
//!
//! Commands are numbered anew, so that a reply finds its asker. Both directions are counted per document: after a
//! reconnect each side sends what the other has not received, and nothing is executed twice. When another document
//! answers, the client sees what Chrome shows for a navigation: pending commands fail, `executionContextsCleared`
//! comes, and what it had enabled is enabled again.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;

use super::envelope::{Envelope, error_reply};

/// Bytes of commands kept until the page has confirmed them: one message of the largest size and some more.
const MAX_UNCONFIRMED: usize = 128 << 20;
/// Code of an error of the target itself, as Chrome uses it.
const SERVER_ERROR: i32 = -32000;
/// JSON-RPC code of a message that is no command.
const INVALID_REQUEST: i32 = -32600;
/// Chrome's words for commands that a navigation ended.
const NAVIGATED: &str = "Inspected target navigated or closed";

/// The agent's first message on every connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Hello {
    /// Random id of the document.
    pub(super) doc: String,
    /// `location.href`.
    pub(super) url: String,
    /// `document.title`.
    pub(super) title: String,
    /// `navigator.userAgent`.
    pub(super) user_agent: String,
    /// Version of the agent.
    pub(super) version: String,
    /// `document.visibilityState` is `visible`.
    pub(super) visible: bool,
    /// Commands this document has received.
    pub(super) received: u64,
}

/// What is to be sent now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    /// To the page, in this order.
    pub(super) to_page: Vec<String>,
    /// To the client, in this order.
    pub(super) to_client: Vec<String>,
}

/// A command on its way to the page.
#[derive(Clone, Debug)]
struct Sent {
    number: u64,
    text: String,
}

/// One target's conversation.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    doc: Option<String>,
    connected: bool,
    next_id: u64,
    /// Commands without a reply: our number, and the asker's id (none for commands of our own).
    pending: BTreeMap<u64, Option<String>>,
    /// What the client enabled, to be enabled again in the next document: key and the message after its id.
    sticky: Vec<(String, String)>,
    unconfirmed: VecDeque<Sent>,
    unconfirmed_bytes: usize,
    /// The document asks for the sources of commands, since it may not evaluate them.
    asks: bool,
    /// Commands that are confirmed and not answered, while the document may still ask for their sources.
    kept: BTreeMap<u64, String>,
    sent: u64,
    received: u64,
}

impl Conversation {
    /// Messages received from the current document.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// A command from the client.
    pub(super) fn client_says(&mut self, text: &str) -> Step {
        let mut step = Step::default();
        let Some(envelope) = Envelope::read(text) else {
            step.to_client.push(error_reply("null", INVALID_REQUEST, "a message must be one JSON object"));
            return step;
        };
        let (Some(id), Some(method)) = (envelope.id(), envelope.method.as_deref()) else {
            step.to_client.push(error_reply("null", INVALID_REQUEST, "a command needs an id and a method"));
            return step;
        };
        self.note_sticky(method, &envelope);
        let number = self.number(Some(id.to_owned()));
        if let Some(text) = envelope.with_id(text, &number.to_string()) {
            self.send(number, text, &mut step);
        }
        step
    }

    /// A message from the page.
    pub(super) fn page_says(&mut self, text: String) -> Step {
        self.received = self.received.saturating_add(1);
        let mut step = Step::default();
        let Some(envelope) = Envelope::read(&text) else { return step };
        match envelope.number() {
            // A reply nobody waits for (any more) is dropped, and so is a second one.
            Some(number) => {
                self.kept.remove(&number);
                if let Some(Some(asker)) = self.pending.remove(&number) {
                    step.to_client.extend(envelope.with_id(&text, &asker));
                }
            }
            None if envelope.method.is_some() => step.to_client.push(text),
            None => {}
        }
        step
    }

    /// The page confirmed that it received this many commands.
    pub(super) fn confirmed(&mut self, received: u64) {
        let first = self.sent - self.unconfirmed.len() as u64;
        for _ in first..received.min(self.sent) {
            let Some(Sent { number, text }) = self.unconfirmed.pop_front() else { break };
            self.unconfirmed_bytes -= text.len();
            if self.asks && self.pending.contains_key(&number) {
                self.kept.insert(number, text);
            }
        }
    }

    /// What the page is to evaluate by the command of this number: it may not, and asks for a script instead.
    pub(super) fn source(&mut self, number: u64) -> Option<String> {
        self.asks = true;
        let text = match self.unconfirmed.iter().find(|sent| sent.number == number) {
            Some(sent) => &sent.text,
            None => self.kept.get(&number)?,
        };
        let params: Evaluated = serde_json::from_str(Envelope::read(text)?.params?.get()).ok()?;
        params.expression.or_else(|| Some(format!("({}\n)", params.function_declaration?)))
    }

    /// The connection is gone; commands wait for the next one.
    pub(super) fn disconnected(&mut self) {
        self.connected = false;
    }

    /// A connection of the page is open and said hello. Returns what follows, and whether the document is a new one.
    pub(super) fn connected(&mut self, hello: &Hello) -> (Step, bool) {
        let first = self.doc.is_none();
        let same = self.doc.as_deref() == Some(hello.doc.as_str());
        self.connected = true;
        if same {
            return (self.resume(hello.received), false);
        }
        self.doc = Some(hello.doc.clone());
        let mut step = Step::default();
        if !first {
            self.fail_pending(NAVIGATED, &mut step);
            step.to_client.push(r#"{"method":"Runtime.executionContextsCleared","params":{}}"#.to_owned());
            self.forget_sent();
            self.asks = false;
            self.sent = 0;
            self.received = 0;
            for (_, message) in self.sticky.clone() {
                let number = self.number(None);
                self.send(number, format!(r#"{{"id":{number},{message}"#), &mut step);
            }
        } else {
            // Commands that were given before the first connection.
            step.to_page.extend(self.unsent());
        }
        (step, !first)
    }

    /// The agent says that its messages up to this count will never come: it had no room to keep them.
    pub(super) fn skipped(&mut self, received: u64) {
        self.received = self.received.max(received);
    }

    /// The client is another one: replies to the former one's commands are dropped.
    pub(super) fn client_changed(&mut self) {
        for asker in self.pending.values_mut() {
            *asker = None;
        }
    }

    fn resume(&mut self, page_received: u64) -> Step {
        self.confirmed(page_received);
        let mut step = Step::default();
        if page_received < self.sent - self.unconfirmed.len() as u64 {
            // What the page missed is not kept any more: those commands will never run.
            self.fail_pending("The connection to the page was lost while too much was on its way", &mut step);
            self.forget_sent();
            self.sent = page_received;
        }
        step.to_page.extend(self.unsent());
        step
    }

    fn unsent(&self) -> impl Iterator<Item = String> {
        self.unconfirmed.iter().map(|sent| sent.text.clone())
    }

    fn forget_sent(&mut self) {
        self.unconfirmed.clear();
        self.unconfirmed_bytes = 0;
        self.kept.clear();
    }

    fn number(&mut self, asker: Option<String>) -> u64 {
        self.next_id += 1;
        self.pending.insert(self.next_id, asker);
        self.next_id
    }

    fn send(&mut self, number: u64, text: String, step: &mut Step) {
        self.sent += 1;
        self.unconfirmed_bytes += text.len();
        while self.unconfirmed_bytes > MAX_UNCONFIRMED {
            let Some(dropped) = self.unconfirmed.pop_front() else { break };
            self.unconfirmed_bytes -= dropped.text.len();
        }
        if self.connected {
            step.to_page.push(text.clone());
        }
        self.unconfirmed.push_back(Sent { number, text });
    }

    fn fail_pending(&mut self, reason: &str, step: &mut Step) {
        let askers = std::mem::take(&mut self.pending).into_values().flatten();
        step.to_client.extend(askers.map(|asker| error_reply(&asker, SERVER_ERROR, reason)));
    }

    /// Remembers what has to be done again in a new document.
    fn note_sticky(&mut self, method: &str, envelope: &Envelope<'_>) {
        let params = envelope.params.map_or("{}", |params| params.get());
        let binding = || {
            let name = serde_json::from_str::<Binding>(params).map(|binding| binding.name).unwrap_or_default();
            format!("binding {name}")
        };
        let domain = |suffix| method.strip_suffix(suffix).map(|domain: &str| format!("domain {domain}"));
        let (key, keep) = match method {
            "Runtime.addBinding" => (binding(), true),
            "Runtime.removeBinding" => (binding(), false),
            _ => match (domain(".enable"), domain(".disable")) {
                (Some(key), _) => (key, true),
                (_, Some(key)) => (key, false),
                _ => return,
            },
        };
        self.sticky.retain(|(known, _)| *known != key);
        if keep {
            let method = serde_json::Value::from(method);
            self.sticky.push((key, format!(r#""method":{method},"params":{params}}}"#)));
        }
    }
}

#[derive(Deserialize)]
struct Binding {
    name: String,
}

/// The parameters of `Runtime.evaluate` or `Runtime.callFunctionOn`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Evaluated {
    #[serde(default)]
    expression: Option<String>,
    #[serde(default)]
    function_declaration: Option<String>,
}

#[cfg(test)]
mod tests;
