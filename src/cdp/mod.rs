//! The Chrome DevTools Protocol client: envelope, sessions, and the few domains we use, over any text-frame transport.
//!
//! ```text
//! transport (pipe | websocket | memory) ──> Client (ids, replies, flat sessions) ──> Session (call, events, closed)
//! ```
//!
//! The other end may be a Chrome, an Android WebView, our own agent in a phone's page, or a stock chobitsu, so nothing
//! is taken for granted: unknown events and fields are skipped, replies are matched by id whatever else arrives, errors
//! may lack a code, and every call has a deadline.

pub mod debugger;
pub mod page;
pub mod page_domain;
pub mod runtime;
pub mod transport;

mod client;
mod envelope;
mod error;
mod events;
mod lenient;
mod remote_object;
mod room;
mod session;

pub use client::{Client, Stats};
pub use error::{CdpError, CloseReason};
pub use events::{CdpEvent, EventStream};
pub use remote_object::RemoteObject;
pub use room::{Room, Taken};
pub use session::Session;
pub use transport::Transport;
