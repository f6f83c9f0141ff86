//! Find, launch and own a Chrome; connect to one that somebody else started.
//!
//! ```text
//! find ──> launch (pipe, process group, profile) ──> Browser ──┐
//! --cdp-endpoint ──> endpoint (http or ws) ────────────────────┴──> cdp::Client ──> pages (cdp::page::PageSource)
//! ```

mod endpoint;
mod error;
mod find;
mod launch;
mod open;
mod others;
mod own_page;
mod pages;

pub use endpoint::{EndpointOptions, EndpointPages};
pub use error::ChromeError;
pub use find::find;
pub use launch::{Browser, LaunchOptions};
pub use others::{OpenPage, OpenPages, attach_beside, let_go, open_pages};
pub use pages::{ChromeOptions, ChromePages};
