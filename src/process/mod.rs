//! Programs that we start: found in `PATH`, known by pid and start time, with a folder of their own, and ended with all
//! they started, also when we are killed.

mod find;
mod guard;
mod id;
mod last_lines;
mod temp_folder;

pub use find::Finder;
pub use guard::Guarded;
pub use id::status_words;
pub use last_lines::LastLines;
pub use temp_folder::{TempFolder, sweep};
