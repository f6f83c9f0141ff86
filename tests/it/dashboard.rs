//! The dashboard in a real Chrome, and on the wire.

mod page;
mod pictures;
mod screen;
mod streams;
mod timeline;
pub(crate) mod tool;
