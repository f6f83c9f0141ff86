//! What a run hangs on, link by link, each with a verdict and the next step.
//!
//! ```text
//! observe (programs, ports, files), self_test (a relay of its own) ──> observations ──> verdicts (pure) ──> Diagnosis
//! ```

mod diagnosis;
mod examine;
mod observe;
mod programs;
mod self_test;
mod verdicts;

pub use diagnosis::{Check, Diagnosis, Verdict};
pub use examine::{DoctorOptions, examine};
