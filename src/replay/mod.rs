//! Serves what was recorded of one run to the pages of another: a server on this machine that plays the recorded
//! connections in their time, and a script that leads the page's connections there.
//!
//! - `recording`: the recorded file, as far as it can be played
//! - `claims`: which connection of a page is which recorded one
//! - `lanes`: the ports that connections are played at, so that none has to wait for another
//! - `server`: where pages ask and are served
//! - `play`: one connection, step by step

mod claims;
mod error;
mod lanes;
mod play;
mod recording;
mod server;

pub use error::ReplayError;
pub use recording::Recording;
pub use server::{Replay, Served};

use std::time::Duration;

/// How fast a recording is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// So many times as fast as it was; more than 0.
    Times(f64),
    /// As fast as it is taken.
    Max,
}

impl Speed {
    /// How long something takes at this speed.
    fn pause(self, recorded: Duration) -> Duration {
        match self {
            Self::Times(factor) => Duration::try_from_secs_f64(recorded.as_secs_f64() / factor).unwrap_or(recorded),
            Self::Max => Duration::ZERO,
        }
    }
}
