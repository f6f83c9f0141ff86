//! How a call or a session can fail.

use std::sync::Arc;
use std::time::Duration;

/// Why a session, or the whole connection, is over. The text says it in words, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// The connection closed.
    #[error("the connection closed: {0}")]
    Disconnected(Arc<str>),
    /// The page was closed.
    #[error("the page was closed: {0}")]
    TargetClosed(Arc<str>),
    /// The page's renderer crashed.
    #[error("the page crashed: {0}")]
    Crashed(Arc<str>),
    /// The page lives, but our session with it was ended by somebody else.
    #[error("the session with the page was ended: {0}")]
    Detached(Arc<str>),
    /// Another page took its place.
    #[error("the page was replaced by another page: {0}")]
    Replaced(Arc<str>),
    /// The browser itself ended.
    #[error("the browser ended: {0}")]
    BrowserGone(Arc<str>),
}

/// Why a call failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CdpError {
    /// The session ended before the reply came, or was over already.
    #[error("{reason}")]
    Closed {
        /// Why.
        reason: CloseReason,
    },
    /// No reply in time.
    #[error("no reply to {method} within {within:?}")]
    Deadline {
        /// CDP method.
        method: &'static str,
        /// The deadline that struck.
        within: Duration,
    },
    /// The other end answered with an error.
    #[error("{method} failed: {message}")]
    Protocol {
        /// CDP method.
        method: &'static str,
        /// JSON-RPC code, where the other end sent one.
        code: Option<i64>,
        /// What it said.
        message: String,
    },
    /// The reply, or the parameters, could not be understood.
    #[error("{method}: the reply could not be read: {message}")]
    BadReply {
        /// CDP method.
        method: &'static str,
        /// What was wrong with it.
        message: String,
    },
}

/// What Chrome and our agent say when a document went away under an evaluate.
const CONTEXT_GONE: [&str; 5] = [
    "Execution context was destroyed",
    "Cannot find default execution context",
    "Cannot find context with specified id",
    "Inspected target navigated or closed",
    "Promise was collected",
];

/// What Chrome says in a document whose policy lets no script run.
const SCRIPTS_FORBIDDEN: &str = "Script execution is prohibited";

/// JSON-RPC 2.0, section 5.1: the method does not exist.
const METHOD_NOT_FOUND: i64 = -32601;

impl CdpError {
    /// The session is over.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }

    /// The document the call was for is no longer there; another may be on its way.
    pub fn is_context_gone(&self) -> bool {
        matches!(self, Self::Protocol { message, .. } if CONTEXT_GONE.iter().any(|text| message.contains(text)))
    }

    /// The policy of the document lets no script run in it.
    pub fn is_scripts_forbidden(&self) -> bool {
        matches!(self, Self::Protocol { message, .. } if message.contains(SCRIPTS_FORBIDDEN))
    }

    /// The other end does not know the method. Stock chobitsu sends no code but the words `... unimplemented`.
    pub fn is_unsupported(&self) -> bool {
        match self {
            Self::Protocol { code: Some(METHOD_NOT_FOUND), .. } => true,
            Self::Protocol { code: None, message, .. } => message.ends_with(" unimplemented"),
            _ => false,
        }
    }
}
