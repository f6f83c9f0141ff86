//! `--app-url`: the app's own server behind the relay.

mod answers;
mod noise;
mod pages;
mod plain;
mod policies;
mod requests;
mod sockets;
mod tool;
mod vite;

use std::path::Path;

use support::phone::Phone;
use support::tool::{Outcome, Running, Tool};

use crate::attach_clock::link;

/// The tool with one test file, told to serve the app behind the relay.
fn project(test: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("a.ait.test.ts"), test).unwrap();
    folder
}

fn tool(project: &Path, app: &str) -> Tool {
    crate::tool(project).args(["a.ait.test.ts", "--app-url", app, "--show-url", "--attach-timeout", "60s"])
}

/// A run whose link is opened in a second Chrome.
fn scanned(tool: Tool) -> (Running, Phone) {
    let mut running = tool.start();
    let link = running.wait_for("the attach link", link);
    (running, Phone::open(&link))
}

fn finished((running, phone): (Running, Phone)) -> Outcome {
    let outcome = running.wait();
    drop(phone);
    outcome
}
