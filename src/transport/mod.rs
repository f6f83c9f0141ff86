//! The timeline of what a page exchanged, as it is written to a file and read again.
//!
//! A file is lines of JSON: one `header`, then records as the page's recorder wrote them (`test-runner/src/engine`):
//! `coverage`, `connection`, `message`, `payload` (a message again, now with its bytes) and `gap`. Whoever reads one
//! (reports, `devtools-test transport`, and all that come later) does so here.
//!
//! - `record`: one line.
//! - `timeline`: a file, with an index, so that its size does not matter.
//! - `selection`: which messages are wanted.
//! - `log`, `har`: what a timeline is turned into.

mod har;
mod log;
mod record;
mod selection;
mod timeline;

pub use har::write_har;
pub use log::{log_line, write_log};
pub use record::{Connection, Coverage, Direction, Message, Payload, Protocol, lost_in};
pub use selection::Selection;
pub use timeline::{Timeline, TimelineError, VERSION, write_jsonl};

#[cfg(test)]
mod tests;
