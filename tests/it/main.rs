//! The built tool against a real Chrome, and the sources against what the documents say of them.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where it stopped")]

mod architecture;
mod archive;
mod attach_clock;
mod chrome;
mod cli;
mod coverage;
mod dashboard;
mod doctor;
mod documents;
mod endpoint;
mod hostile_phones;
mod links;
mod lost_pages;
mod mcp;
mod odd_pages;
mod parting;
mod proxy;
mod qr;
mod relay;
mod replay;
mod same_results;
mod screenshots;
mod secrecy;
mod secret;
mod signals;
mod survival;
mod traffic;
mod transport;
mod tunnel;
mod vitest_micro;
mod webkit;

use std::path::Path;

use support::tool::Tool;

/// The built tool.
const EXE: &str = env!("CARGO_BIN_EXE_devtools-test");

/// The built tool, about to be run in a folder.
fn tool(folder: &Path) -> Tool {
    Tool::new(EXE, folder)
}
