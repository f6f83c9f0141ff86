//! For people: one line per file as it ends, failures in full at the end, and a last line that says it all.
//!
//! Everything can be read without colour, and nothing that a page wrote reaches the terminal unescaped.
//!
//! - `reporter`: what is said when.
//! - `file_line`, `failure`, `summary`: a file, an error, the end.
//! - `traffic`: what the page exchanged.
//! - `console`: what tests wrote to their console.
//! - `progress`: the line that moves.
//! - `style`: colours, and paths that can be clicked.

mod console;
mod failure;
mod file_line;
mod progress;
mod reporter;
mod style;
mod summary;
mod traffic;

pub use reporter::Pretty;
pub use style::{Paint, PrettyOptions};
