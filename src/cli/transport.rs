//! `transport`: reads a timeline again.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use crate::exit::Exit;
use crate::transport::{Selection, Timeline, TimelineError, write_har, write_jsonl, write_log};

use super::output::{error, stdout};

/// What was asked for.
#[derive(Debug)]
pub(super) struct Asked {
    /// The file.
    pub(super) file: std::path::PathBuf,
    /// `key=value`, all of which must hold.
    pub(super) filters: Vec<String>,
    /// A text to be sought.
    pub(super) grep: Option<String>,
    /// As what it is written.
    pub(super) format: Format,
}

/// As what a timeline is written.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Format {
    /// A line for each message.
    Log,
    /// As it is in the file.
    Jsonl,
    /// HTTP Archive, for Chrome DevTools.
    Har,
}

/// Writes what is wanted of a timeline to stdout.
pub(super) fn transport(asked: &Asked) -> Exit {
    let mut selection = Selection::default();
    for filter in &asked.filters {
        if let Err(why) = selection.filter(filter) {
            error(&format!("--filter {filter}: {why}"));
            return Exit::Usage;
        }
    }
    if let Some(text) = &asked.grep {
        selection.grep(text);
    }
    let read = File::open(&asked.file).map_err(TimelineError::Io).and_then(Timeline::read);
    let mut timeline = match read {
        Ok(timeline) => timeline,
        Err(why) => {
            error(&format!("cannot read {}: {why}", asked.file.display()));
            return Exit::Usage;
        }
    };
    let mut out = BufWriter::new(stdout());
    let written = match asked.format {
        Format::Log => write_log(&mut timeline, &selection, &mut out),
        Format::Jsonl => write_jsonl(&mut timeline, &selection, &mut out),
        Format::Har => write_har(&mut timeline, &selection, &mut out),
    };
    match written.and_then(|()| out.flush()) {
        // Whoever reads, `head` for example, has had enough.
        Err(why) if why.kind() == io::ErrorKind::BrokenPipe => Exit::Passed,
        Err(why) => {
            error(&format!("the timeline could not be written to stdout: {why}"));
            Exit::Environment
        }
        Ok(()) => Exit::Passed,
    }
}
