//! Reporters: each a fold of the run's events.
//!
//! All of them hear the same [`crate::event::RunEvent`]s in the same order, and all that is counted or remembered on the way
//! is in one [`Fold`], so that no two outputs can disagree.
//!
//! - `reporter`: the trait, and the loop that feeds all reporters of a run.
//! - `assemble`: the reporters that the settings ask for.
//! - `fold`: what the events add up to.
//! - `compare`: what became of each test from one run to another.
//! - `traffic`: what the page's records add up to.
//! - `pretty`: for people.
//! - `json`: every event as one line of JSON.
//! - `artifacts`, `capture`, `records`: the files in the report folder.
//! - `screenshots`: pictures of failing tests there.
//! - `folder`: that folder, and files that are written whole or not at all.
//! - `terminal`: stdout, shared with a progress line.
//! - `text`: makes what came from a page harmless and visible.

mod artifacts;
mod assemble;
mod capture;
mod compare;
mod error;
mod fold;
mod folder;
mod json;
mod pretty;
mod records;
mod reporter;
mod screenshots;
mod terminal;
mod text;
mod traffic;

#[cfg(test)]
mod testing;

pub use artifacts::Artifacts;
pub use assemble::reporters;
pub use compare::Comparison;
pub use error::ReportError;
pub use fold::{FileFold, FileVerdict, Fold, OutsideError, Running, TestFold};
pub use folder::ReportFolder;
pub use json::Json;
pub use pretty::{Paint, Pretty, PrettyOptions};
pub use records::Records;
pub use reporter::{Reporter, report};
pub use screenshots::screenshot_file;
pub use terminal::Terminal;
pub use text::{block, line};
pub use traffic::{Place, Traffic, Volume};
