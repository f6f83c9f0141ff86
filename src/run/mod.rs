//! The run core: plan, inject, execute, recover. It knows a [`crate::cdp::page::PageSource`] and nothing of how pages
//! come about, and says everything it has to say as [`crate::event::RunEvent`]s.
//!
//! - `plan`: what to run and within which limits.
//! - `inject`: makes a page ready (binding, globals, runtime), each step confirmed by reading back.
//! - `channel`: what an injected page says, in order, as one stream.
//! - `file_run`: the pure state of one file: what the page said becomes events and a result.
//! - `watch`: the pure clockwork of deadlines: when is a page stuck, and why.
//! - `records`: what the page's recorder says; `rows`: its messages, which come as lists.
//! - `drive`: runs one file in a page, over as many pages as it takes.
//! - `ping`: asks a quiet page whether it answers.
//! - `stuck`: finds out what a page that does not go on is doing.
//! - `settle`: between two files.
//! - `screenshot`: a picture of the page when a test fails.
//! - `execute`: runs all files.
//! - `verdict`: the exit code and its reason.

mod channel;
mod drive;
mod execute;
mod file_run;
mod inject;
mod ping;
mod plan;
mod records;
mod rows;
mod screenshot;
mod settle;
mod stop;
mod stuck;
mod verdict;
mod watch;

pub use execute::execute;
pub use plan::{Limits, Plan, PlanError};
pub use screenshot::{MAX_SCREENSHOTS, can_picture};
pub use stop::{Signal, Stop};
