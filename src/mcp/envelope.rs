//! The one shape of every result, and the faults a tool can answer with.

use rmcp::model::{CallToolResult, ContentBlock};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::debug::Debug;
use super::mode::Mode;
use super::words;

/// What every tool answers with, as `structuredContent`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Envelope<T> {
    /// Whether it did what it was asked for.
    pub(super) ok: bool,
    /// What was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<T>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Fault>,
    /// What the answer is about.
    pub(super) meta: Meta,
}

/// What an answer is about: the session as it was when the call came, whatever happened to it since.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Meta {
    /// The tool.
    pub(super) tool: &'static str,
    /// How pages of the session come about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<Mode>,
    /// Whether a page was attached.
    pub(super) attached: bool,
}

/// What a tool gives back when all went well.
#[derive(Debug)]
pub(super) struct Answer<T> {
    /// The data of the envelope.
    pub(super) data: T,
    /// The same in a sentence or two.
    pub(super) text: String,
    /// Anything that is no text.
    pub(super) more: Vec<ContentBlock>,
    /// The session it is about, where the call began one.
    session: Option<(Mode, bool)>,
}

impl<T> Answer<T> {
    /// Data and a sentence.
    pub(super) fn new(data: T, text: impl Into<String>) -> Self {
        Self { data, text: text.into(), more: Vec::new(), session: None }
    }

    /// About another session than the one that was there when the call came.
    pub(super) fn of(mut self, debug: &Debug) -> Self {
        self.session = Some((debug.mode, debug.is_attached()));
        self
    }
}

/// What a tool answers with.
pub(super) type Answered<T> = Result<Answer<T>, Fault>;

/// What kind of fault; programs branch on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum FaultCode {
    /// The arguments, or the settings they lead to, are wrong.
    BadInput,
    /// No session was started, or its page is not there yet.
    PageMissing,
    /// The page is gone.
    PageLost,
    /// The page is there and does not answer.
    PageFrozen,
    /// Nobody attached in time.
    AttachTimeout,
    /// No page can be had.
    AttachFailed,
    /// Nothing leads to the relay at the moment.
    TunnelDown,
    /// The page is on a host in which nothing is evaluated.
    HostNotAllowed,
    /// A run is under way.
    Busy,
    /// Nothing of that name is known.
    NotFound,
    /// The page threw.
    PageThrew,
    /// The page did not come to an end in time.
    Timeout,
    /// A native dialog keeps the page from running.
    DialogOpen,
    /// This page, or the way to it, cannot do that.
    Unsupported,
    /// The call was cancelled.
    Cancelled,
    /// This machine refused something.
    Environment,
}

/// Why a call came to nothing.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct Fault(Box<Known>);

/// What is known of a fault.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Known {
    /// What kind.
    code: FaultCode,
    /// What is the case.
    state: String,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    cause: String,
    /// What to call next.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Next>,
    /// What is known besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

/// A call that helps.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Next {
    /// A tool of this server.
    pub(super) tool: &'static str,
    /// What it is for.
    pub(super) reason: String,
}

impl Fault {
    /// A fault, and what is the case.
    pub(super) fn new(code: FaultCode, state: impl Into<String>) -> Self {
        Self(Box::new(Known { code, state: state.into(), cause: String::new(), next: None, details: None }))
    }

    /// What kind.
    pub(super) fn code(&self) -> FaultCode {
        self.0.code
    }

    /// What is the case.
    pub(super) fn state(&self) -> &str {
        &self.0.state
    }

    /// The arguments are wrong.
    pub(super) fn bad_input(state: impl std::fmt::Display) -> Self {
        Self::new(FaultCode::BadInput, state.to_string())
    }

    /// The client does not want the answer any more.
    pub(super) fn cancelled() -> Self {
        Self::new(FaultCode::Cancelled, "The call was cancelled.")
    }

    /// This machine refused something.
    pub(super) fn environment(state: impl std::fmt::Display) -> Self {
        Self::new(FaultCode::Environment, state.to_string())
    }

    /// With its cause.
    pub(super) fn because(mut self, cause: impl Into<String>) -> Self {
        self.0.cause = cause.into();
        self
    }

    /// With the call that helps.
    pub(super) fn next(mut self, tool: &'static str, reason: impl Into<String>) -> Self {
        self.0.next = Some(Next { tool, reason: reason.into() });
        self
    }

    /// With what is known besides.
    pub(super) fn with(mut self, details: Value) -> Self {
        self.0.details = Some(details);
        self
    }

    fn in_words_of_a_call(mut self) -> Self {
        for text in [&mut self.0.state, &mut self.0.cause] {
            *text = words::of_a_call(text);
        }
        self
    }

    fn text(&self) -> String {
        let mut text = self.0.state.clone();
        if !self.0.cause.is_empty() {
            text.push_str(&format!(" Cause: {}.", self.0.cause.trim_end_matches('.')));
        }
        if let Some(next) = &self.0.next {
            text.push_str(&format!(" Next: call {} ({}).", next.tool, next.reason));
        }
        text
    }
}

/// Puts an answer into its envelope.
pub(super) fn seal<T: Serialize>(answered: Answered<T>, mut meta: Meta) -> CallToolResult {
    if let Ok(Answer { session: Some((mode, attached)), .. }) = &answered {
        (meta.mode, meta.attached) = (Some(*mode), *attached);
    }
    let (envelope, text, more) = match answered {
        Ok(Answer { data, text, more, .. }) => (Envelope { ok: true, data: Some(data), error: None, meta }, text, more),
        Err(fault) => {
            let fault = fault.in_words_of_a_call();
            let text = fault.text();
            (Envelope { ok: false, data: None, error: Some(fault), meta }, text, Vec::new())
        }
    };
    let mut content = vec![ContentBlock::text(text)];
    content.extend(more);
    let mut result = if envelope.ok { CallToolResult::success(content) } else { CallToolResult::error(content) };
    // Numbers, texts and lists: nothing in it can fail to be written.
    result.structured_content = Some(serde_json::to_value(envelope).unwrap_or_default());
    result
}
