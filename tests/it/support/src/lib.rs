//! What the integration tests share: a server for the page under test, and the tool run as a person runs it.
//!
//! - [`server`]: the sample mini-app, odd pages, and every kind of traffic a page can have
//! - [`tool`]: the built binary with a time limit, a temporary folder of its own, and a look at what it leaves behind
//! - [`phone`]: a second Chrome that plays the phone
//! - [`cloudflared`]: a tunnel from this machine to itself, which can misbehave
//! - [`meddler`]: a debugging socket that speaks like a Chrome of the future
//! - [`agent`]: a client of the MCP server that writes its JSON by hand
//! - [`wire`]: a way to the relay that can be cut
//! - [`case`]: a folder of `fixtures/cases` as a test
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)]

pub mod agent;
pub mod case;
pub mod cloudflared;
pub mod meddler;
pub mod phone;
pub mod procs;
pub mod server;
pub mod tool;
pub mod wire;

use std::path::PathBuf;

/// The folder of the repository.
pub fn repo() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(3).expect("the crate lies in tests/it/support").to_path_buf()
}

/// The folder `fixtures`.
pub fn fixtures() -> PathBuf {
    repo().join("fixtures")
}

/// chii's own `target.js`, as `scripts/setup` got it.
pub fn stock_script() -> String {
    let path = repo().join("target/setup/chii-1.15.5/target.js");
    fs_err::read_to_string(path).unwrap_or_else(|error| panic!("{error}; scripts/setup gets it"))
}
