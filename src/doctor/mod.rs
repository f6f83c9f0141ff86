//! What a run hangs on, link by link, each with a verdict and the next step.
//!
//! ```text
//! observe (ports, files), programs, clock, self_test (a relay of its own and the way to it)
//!     ──> observations ──> verdicts (pure) ──> Diagnosis
//! ```

mod clock;
mod diagnosis;
mod examine;
mod observe;
mod programs;
mod self_test;
mod verdicts;

pub use diagnosis::{Check, Diagnosis, Verdict};
pub use examine::{DoctorOptions, WELL_KNOWN_CLOCKS, Way, examine};
