//! The built tool against a real Chrome, and the sources against what the documents say of them.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where it stopped")]

mod architecture;
mod chrome;
mod relay;
