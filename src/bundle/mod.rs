//! Test files: discover, bundle, map positions back, draw code frames.
//!
//! [`discover()`] turns what was typed into a list of files, [`Pipeline`] bundles them ahead of the run on threads of
//! its own (`crates/bundler`), [`SourceMaps`] turns what the page says of an error into the user's own words: file,
//! line, column and a code frame.

mod discover;
mod error;
mod frame;
mod maps;
mod paths;
mod pipeline;

pub use bundler::{Bundle, DEFAULT_SDK_PACKAGE, DEFAULT_TARGET};
pub use discover::{Discovery, TestFile, discover};
pub use error::BundleError;
pub use maps::SourceMaps;
pub use pipeline::{BundleOptions, Pipeline};
