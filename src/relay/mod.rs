//! The relay a page on a phone dials into.
//!
//! ```text
//! page ──http──> door ──> http (route + gate) ──> target.js, hosted page, version report
//!                                   └──> proxy: the app's own server, where there is one behind the relay
//!                                   └──> scripts: what a page runs that may not `eval`
//!      ───ws───> leg (one connection) ──> attendant (one target) <── memory transport ── cdp::Client
//!      ──http──> stream (the same)         conversation (pure)
//! ```
//!
//! A target outlives its connections: a page that reconnects goes on where it was, one that loads again looks to its
//! client like a navigation in Chrome. `route`, `gate`, `choice`, `registry` and `conversation` are pure; the others are thin.

mod attendant;
mod choice;
mod conversation;
mod door;
mod envelope;
mod gate;
mod http;
mod hub;
mod leg;
mod limit;
mod proxy;
mod queue;
mod registry;
mod route;
mod scripts;
mod server;
mod stock;
mod stream;
mod target;

pub use attendant::RECONNECT_LIMIT;
pub use choice::Choice;
pub use hub::{Echo, RelayStatus};
pub use proxy::{AppAddress, AppAddressError, is_this_machine};
pub use registry::TargetId;
pub use server::{DEFAULT_KEEP_ALIVE, Relay, RelayError, RelayOptions};
pub use target::{Target, TargetInfo, TargetState, TargetView};
