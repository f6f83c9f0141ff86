//! The scripts that run inside a page, built by `build.rs` from `test-runner/src/<name>/index.ts`.

/// The test runtime: installs the global [`crate::wire::RUNTIME_GLOBAL`], once per document.
pub const RUNTIME: &str = include_str!(concat!(env!("OUT_DIR"), "/runtime.js"));

/// The recorder of what the page exchanges: installs itself when it is evaluated, once per document. It ends with
/// `({});` before its `sourceURL`; options (`InstallOptions` of `engine/install.ts`) may take the place of the `{}`.
pub const INTERCEPTORS: &str = include_str!(concat!(env!("OUT_DIR"), "/interceptors.js"));

/// The agent: a small CDP endpoint that the relay serves as `target.js`.
pub const AGENT: &str = include_str!(concat!(env!("OUT_DIR"), "/agent.js"));

/// The dashboard's page, for the element `ait-dashboard`.
pub const DASHBOARD: &str = include_str!(concat!(env!("OUT_DIR"), "/dashboard.js"));
