//! devtools-test: run `.ait.test.ts` suites in a mini-app page on a phone, or in headless Chrome.
//!
//! The rooms and what each may use are described in `ARCHITECTURE.md`.
#![forbid(unsafe_code)]

pub mod assets;
pub mod attach;
pub mod bundle;
pub mod cdp;
pub mod chrome;
pub mod cli;
pub mod dashboard;
pub mod doctor;
pub mod event;
pub mod exit;
pub mod http;
pub mod ident;
pub mod mcp;
pub mod process;
pub mod relay;
pub mod replay;
pub mod report;
pub mod run;
pub mod secret;
pub mod session;
pub mod settings;
pub mod totp;
pub mod transport;
pub mod tunnel;
pub mod user_agent;
pub mod webkit;
pub mod wire;
