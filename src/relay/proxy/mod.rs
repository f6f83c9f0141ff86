//! The app itself behind the relay (`--app-url`): its dev server is asked as a browser on this machine would ask it, and
//! its pages get the agent as the first script of their head.
//!
//! ```text
//! phone ──> relay::http (own routes, gate) ──> forward ──> one upstream, never another
//!                                                │ request    what the upstream is told
//!                                                │ response   what the phone is told: redirects, cookies
//!                                                │ policy     content security policies
//!                                                └ document   HTML on its way: decoded, agent put in ── inject
//! ```
//!
//! Everything but pages passes byte for byte. `request`, `response`, `policy` and `inject` are pure.

mod address;
mod connect;
mod document;
mod forward;
mod inject;
mod policy;
mod request;
mod response;

pub use address::{AppAddress, AppAddressError, is_this_machine};
pub(super) use forward::{AppProxy, forward};
