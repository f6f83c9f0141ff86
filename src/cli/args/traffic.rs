//! What may be typed about the page's traffic.

use std::path::PathBuf;

use clap::Args;

use super::super::transport::{Asked, Format};

#[derive(Debug, Args)]
pub(super) struct CaptureArgs {
    /// Which of websocket, fetch and eventsource to record, with commas between [default: all three]
    #[arg(long, value_name = "KINDS", help_heading = "What is recorded of the page's traffic")]
    pub(super) capture: Option<String>,
    /// Record nothing
    #[arg(long, help_heading = "What is recorded of the page's traffic")]
    pub(super) no_capture: bool,
    /// How much of one payload is kept: 65536, 64KiB, 1MiB [default: 1MiB]
    #[arg(
        long,
        value_name = "SIZE",
        allow_hyphen_values = true,
        help_heading = "What is recorded of the page's traffic"
    )]
    pub(super) capture_max_payload: Option<String>,
    /// Play a recorded timeline (transport.<...>.jsonl of a report folder) to the page in place of its servers
    #[arg(long, value_name = "FILE", help_heading = "What is recorded of the page's traffic")]
    pub(super) replay: Option<String>,
    /// How many times as fast as it was, or max [default: 1]
    #[arg(
        long,
        value_name = "FACTOR",
        allow_hyphen_values = true,
        help_heading = "What is recorded of the page's traffic"
    )]
    pub(super) replay_speed: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct TransportArgs {
    /// The file
    file: PathBuf,
    /// Only messages for which key=value holds: protocol, direction, url, connection, test, type, from, to; all of several
    #[arg(long, value_name = "KEY=VALUE")]
    filter: Vec<String>,
    /// Only messages with this text in them; case makes no difference
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    grep: Option<String>,
    /// What to write
    #[arg(long, value_enum, default_value = "log")]
    format: Format,
}

impl From<TransportArgs> for Asked {
    fn from(TransportArgs { file, filter, grep, format }: TransportArgs) -> Self {
        Self { file, filters: filter, grep, format }
    }
}
