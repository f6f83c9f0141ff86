//! The local page on which a person follows a run and scans its code.
//!
//! ```text
//! RunEvents ──> Feed (a Reporter) ──────────────┐
//! Invitations ──> Invitations (AttachPresenter) ┴> State ──> Patch ──> server (SSE) ──> test-runner/src/dashboard
//!                                                            gate: who may ask for it
//! ```
//!
//! The page holds no rules of its own: it shows what [`State`](state::State) says. Each client is sent what changed
//! since it was last sent something, so a slow one skips what is old and nothing waits for it.
//!
//! The listener is the local one: debuggers will find `/json*` and `/devtools/*` here too; until then both are 404.

mod error;
mod feed;
mod gate;
mod page;
mod patch;
mod server;
mod state;
mod timeline;

pub use error::DashboardError;
pub use feed::{Feed, Invitations};
pub use server::Dashboard;
