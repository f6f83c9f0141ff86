//! Flags, environment and file, resolved into one set of settings.
//!
//! A flag beats the environment, the environment beats `devtools-test.toml`, the file beats the default. Every value
//! keeps where it came from ([`Source`]), so that an error blames what the person wrote. This is the only room that
//! reads the environment; it does so through a function that is passed in.
//!
//! - `given`: what one source (the flags, or the file) says, not yet checked.
//! - `file`: finds and reads `devtools-test.toml`.
//! - `source`: a value and where it came from.
//! - `duration`, `capture`, `cell`, `globals`, `pattern`, `replay`, `reporters`, `look`: one kind of value each, parsed and checked.
//! - `attach`, `tunnel`: which link leads to the page, and how a phone is to reach the relay.
//! - `outputs`: that no two outputs go into one file.
//! - `lookup`: who says something about a setting.
//! - `resolve`: puts everything together.

mod attach;
mod capture;
mod cell;
mod dashboard;
mod duration;
mod error;
mod file;
mod given;
mod globals;
mod look;
mod lookup;
mod outputs;
mod pattern;
mod replay;
mod reporters;
mod resolve;
mod resolved;
mod source;
mod surroundings;
mod tunnel;

pub use dashboard::{DASHBOARD_PORTS, DashboardSettings};
pub use error::SettingsError;
pub use file::{FILE_NAME, FileGiven, nearest_package};
pub use given::Given;
pub use replay::ReplaySettings;
pub use reporters::{ReporterChoice, ReporterKind};
pub use resolve::{project_root, resolve};
pub use resolved::{
    AttachSettings, Limits, LinkWish, LogSettings, Look, ReportSettings, Selection, Settings, TargetSettings,
};
pub use source::{Source, Sourced};
pub use surroundings::{Environment, Surroundings};
pub use tunnel::{TunnelSettings, TunnelWish};

/// Reads `devtools-test.toml` where there is one and resolves everything.
pub fn load(flags: Given, around: &Surroundings<'_>) -> Result<Settings, SettingsError> {
    let root = resolve::project_root(&flags, around)?;
    let file = file::read_near(&root)?;
    resolve(flags, file, around)
}
