//! Bundles small projects and runs what comes out in node, with a stand-in for the page's runtime.
#![allow(missing_docs, clippy::unwrap_used)]

mod imports;
mod jobs;
mod language;
mod project;
mod refusals;
mod sdk;
