//! The timeline of what the page exchanged, in the report folder: `transport.<sdkLine>.<platform>.jsonl`, and the same as
//! `.log` and `.har`.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::event::{EventKind, RunEvent, RunInfo};
use crate::transport::{Selection, Timeline, TimelineError, VERSION, write_har, write_log};

use super::error::ReportError;
use super::fold::Fold;
use super::folder::ReportFolder;
use super::reporter::Reporter;

/// A longer file is of use to nobody; what comes behind it is counted.
const MAX_BYTES: u64 = 1 << 30;

/// Writes records as they come to a file that takes its name when the run is over.
pub struct Records {
    folder: ReportFolder,
    open: Option<Open>,
    problem: Option<io::Error>,
}

struct Open {
    file: BufWriter<NamedTempFile>,
    bytes: u64,
    left_out: u64,
}

impl Records {
    /// Writes into this folder.
    pub fn new(folder: ReportFolder) -> Self {
        Self { folder, open: None, problem: None }
    }

    fn write(&mut self, records: &[Value], fold: &Fold) -> io::Result<()> {
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let mut open = Open { file: BufWriter::new(self.folder.temporary()?), bytes: 0, left_out: 0 };
                if let Some(info) = &fold.info {
                    open.line(&header(info))?;
                }
                self.open.insert(open)
            }
        };
        for record in records {
            if open.bytes < MAX_BYTES {
                open.line(record)?;
            } else if record["kind"] == "message" {
                open.left_out += 1;
            }
        }
        Ok(())
    }

    fn end(&mut self, stem: &str) -> Result<(), ReportError> {
        let name = |ending: &str| format!("{stem}.{ending}");
        let Some(mut open) = self.open.take() else {
            return ["jsonl", "log", "har"].into_iter().try_for_each(|ending| self.folder.remove(&name(ending)));
        };
        let path = self.folder.file(&name("jsonl"));
        let ended = (|| {
            if let Some(problem) = self.problem.take() {
                return Err(problem);
            }
            if open.left_out > 0 {
                open.line(&json!({ "kind": "gap", "messages": open.left_out, "reason": "this file was full" }))?;
            }
            open.file.flush()?;
            let file = open.file.into_inner().map_err(|error| error.into_error())?.persist(&path)?;
            for (ending, write) in FORMATS {
                let mut timeline = Timeline::read(file.try_clone()?).map_err(io_error)?;
                let mut out = BufWriter::new(self.folder.temporary()?);
                write(&mut timeline, &Selection::default(), &mut out)?;
                let out = out.into_inner().map_err(|error| error.into_error())?;
                out.persist(self.folder.file(&name(ending)))?;
            }
            Ok(())
        })();
        ended.map_err(|reason| ReportError::File { path, reason })
    }
}

type Writer = fn(&mut Timeline<File>, &Selection, &mut dyn Write) -> io::Result<()>;

/// What the timeline is turned into.
const FORMATS: [(&str, Writer); 2] = [("log", write_log), ("har", write_har)];

fn io_error(error: TimelineError) -> io::Error {
    match error {
        TimelineError::Io(error) => error,
        error => io::Error::other(error),
    }
}

impl Open {
    fn line(&mut self, record: &Value) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        self.bytes += line.len() as u64;
        self.file.write_all(&line)
    }
}

fn header(info: &RunInfo) -> Value {
    json!({
        "kind": "header",
        "version": VERSION,
        "tool": "devtools-test",
        "toolVersion": info.tool_version,
        "cell": info.cell,
        "target": info.target,
        "startedAt": info.started_at,
    })
}

impl Reporter for Records {
    fn on_event(&mut self, event: &RunEvent, fold: &Fold) {
        if let EventKind::Transport { records } = &event.kind
            && self.problem.is_none()
        {
            self.problem = self.write(records, fold).err();
        }
    }

    fn finish(&mut self, fold: &Fold, _: &[ReportError]) -> Result<(), ReportError> {
        match &fold.info {
            Some(info) => self.end(&format!("transport.{}", info.cell.file_stem())),
            None => Ok(()),
        }
    }
}
