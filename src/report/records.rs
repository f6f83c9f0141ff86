//! The timeline of what the page exchanged, in the report folder: `transport.<sdkLine>.<platform>.jsonl`, and the same as
//! `.log` and `.har`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

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
/// A run that was asked to end has no time to turn more than that into other formats.
const MAX_HURRIED_BYTES: u64 = 8 << 20;

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

    fn end(&mut self, stem: &str, is_hurried: bool) -> Result<(), ReportError> {
        let name = |ending: &str| format!("{stem}.{ending}");
        let at = |ending: &str| {
            let path = self.folder.file(&name(ending));
            move |reason| ReportError::File { path, reason }
        };
        let problem = self.problem.take().map_or(Ok(()), |problem| Err(at("jsonl")(problem)));
        // What came before a problem is kept, and nothing of the run before beside it.
        let kept = match self.open.take() {
            Some(open) => Some((open.bytes, open.keep(&self.folder.file(&name("jsonl"))).map_err(at("jsonl")))),
            None => None,
        };
        let stale = if kept.is_some() { &["log", "har"][..] } else { &["jsonl", "log", "har"] };
        let removed: Vec<_> = stale.iter().map(|ending| self.folder.remove(&name(ending))).collect();
        problem?;
        removed.into_iter().collect::<Result<(), _>>()?;
        let Some((bytes, file)) = kept else { return Ok(()) };
        let file = file?;
        if is_hurried && bytes > MAX_HURRIED_BYTES {
            return Ok(());
        }
        let mut timeline = Timeline::read(file).map_err(io_error).map_err(at("jsonl"))?;
        for (ending, write) in FORMATS {
            let written = (|| {
                let mut out = BufWriter::new(self.folder.temporary()?);
                write(&mut timeline, &Selection::default(), &mut out)?;
                let out = out.into_inner().map_err(|error| error.into_error())?;
                out.persist(self.folder.file(&name(ending)))?;
                Ok(())
            })();
            written.map_err(at(ending))?;
        }
        Ok(())
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

    /// Gives the file its name, with as much of it as can be written.
    fn keep(mut self, path: &Path) -> io::Result<File> {
        let written = (|| {
            if self.left_out > 0 {
                self.line(&json!({ "kind": "gap", "messages": self.left_out, "reason": "this file was full" }))?;
            }
            self.file.flush()
        })();
        let (file, _) = self.file.into_parts();
        let file = file.persist(path)?;
        written.map(|()| file)
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
            && !records.is_empty()
            && self.problem.is_none()
        {
            self.problem = self.write(records, fold).err();
        }
    }

    fn finish(&mut self, fold: &Fold, _: &[ReportError]) -> Result<(), ReportError> {
        match &fold.info {
            Some(info) => self.end(&format!("transport.{}", info.cell.file_stem()), fold.is_interrupted()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::exit::Exit;
    use crate::report::testing::Script;

    fn message(payload: &str) -> Value {
        json!({ "kind": "message", "id": "s-m1", "connectionId": "s-c1", "direction": "in", "payload": payload })
    }

    /// Tells a run's records to a reporter and lets `meddle` at it before it ends.
    fn run(records: Vec<Value>, exit: Exit, meddle: impl FnOnce(&Path, &mut Records)) -> (Vec<String>, Option<String>) {
        let dir = tempfile::tempdir().unwrap();
        for ending in ["jsonl", "log", "har"] {
            fs_err::write(dir.path().join(format!("transport.2.x.mock.{ending}")), "of the run before").unwrap();
        }
        let mut reporter = Records::new(ReportFolder::prepare(dir.path().into()).unwrap());
        let mut fold = Fold::default();
        for event in Script::new(&["a"]).global(EventKind::Transport { records }).end(exit, "why") {
            fold.apply(&event);
            reporter.on_event(&event, &fold);
        }
        meddle(dir.path(), &mut reporter);
        let problem = reporter.finish(&fold, &[]).err().map(|error| error.to_string());
        let files = fs_err::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut left: Vec<String> = files
            .filter(|path| path.is_file())
            .map(|path| {
                assert!(!fs_err::read_to_string(&path).unwrap().contains("of the run before"), "{path:?}");
                path.extension().unwrap_or_default().to_string_lossy().into_owned()
            })
            .collect();
        left.sort();
        (left, problem)
    }

    #[test]
    fn nothing_is_left_of_the_run_before() {
        let (left, problem) = run(vec![message("x")], Exit::Passed, |_, _| {});
        assert_eq!((left.join(" "), problem), ("har jsonl log".into(), None));
        let (left, problem) = run(Vec::new(), Exit::Passed, |_, _| {});
        assert_eq!((left.join(" "), problem), (String::new(), None));
    }

    #[test]
    fn what_came_before_a_full_disk_is_kept_and_the_disk_is_told() {
        let full = |_: &Path, reporter: &mut Records| reporter.problem = Some(io::Error::other("no space"));
        let (left, problem) = run(vec![message("x")], Exit::Passed, full);
        assert_eq!(left, ["jsonl"]);
        assert!(problem.unwrap().contains("no space"));
        // Also where not even the first line could be written.
        let (left, problem) = run(Vec::new(), Exit::Passed, full);
        assert_eq!(left, [""; 0]);
        assert!(problem.unwrap().contains("no space"));
    }

    #[test]
    fn the_file_that_cannot_be_written_is_the_one_that_is_named() {
        let (left, problem) = run(vec![message("x")], Exit::Passed, |folder, _| {
            let har = folder.join("transport.2.x.mock.har");
            fs_err::remove_file(&har).unwrap();
            fs_err::create_dir(&har).unwrap();
        });
        assert!(problem.unwrap().contains(".har"));
        assert_eq!(left, ["jsonl"]);
    }

    #[test]
    fn a_run_that_was_asked_to_end_leaves_a_long_timeline_as_it_is() {
        let long = "x".repeat(1 << 20);
        let many = vec![message(&long); 9];
        let (left, problem) = run(many.clone(), Exit::Interrupted, |_, _| {});
        assert_eq!((left.join(" "), problem), ("jsonl".into(), None));
        assert_eq!(run(many, Exit::Passed, |_, _| {}).0, ["har", "jsonl", "log"]);
        assert_eq!(run(vec![message("x")], Exit::Interrupted, |_, _| {}).0, ["har", "jsonl", "log"]);
    }
}
