//! What is said when.

use crate::event::{AttachStage, EventKind, NoticeLevel, PageInfo, PageState, RunEvent, RunInfo, TargetKind};
use crate::report::error::ReportError;
use crate::report::fold::Fold;
use crate::report::reporter::Reporter;
use crate::report::terminal::Terminal;
use crate::report::text::{count, line};

use super::console::ConsoleLines;
use super::failure::Failures;
use super::file_line::file_lines;
use super::progress::progress_line;
use super::style::{Paint, Places, PrettyOptions};
use super::summary::{failures, last_line, outside_title};
use super::traffic::traffic_line;

/// Milliseconds between two changes of the progress line; eyes see no more, and a fast suite has thousands of tests.
const PROGRESS_EVERY: u64 = 50;

/// The reporter for people.
pub struct Pretty {
    terminal: Terminal,
    options: PrettyOptions,
    failures: Failures,
    console: ConsoleLines,
    /// The last thing that was said about the attach.
    attach: String,
    next_progress: u64,
}

impl Pretty {
    /// Writes to this terminal.
    pub fn new(terminal: Terminal, options: PrettyOptions) -> Self {
        let places = Places::new(&options.cwd, &options.project_root);
        let failures = Failures { paint: Paint(options.color), places };
        Self { terminal, options, failures, console: ConsoleLines::default(), attach: String::new(), next_progress: 0 }
    }

    fn say(&mut self, text: &str) {
        self.console.interrupted();
        self.terminal.print(text);
    }

    fn attach_state(&mut self, stage: AttachStage, message: &str) {
        let message = line(message).into_owned();
        if message == self.attach {
            return;
        }
        let paint = self.failures.paint;
        match stage {
            AttachStage::Refused => self.say(&format!("{}\n", paint.yellow(&message))),
            // The progress line shows it while it lasts.
            _ if self.terminal.has_progress() => self.terminal.set_progress(message.clone()),
            // That it starts at all is no news; what it then waits for is.
            AttachStage::Starting if self.attach.is_empty() => {}
            AttachStage::Attached => {}
            _ => self.say(&format!("{}\n", paint.dim(&message))),
        }
        self.attach = message;
    }

    fn show_progress(&mut self, at: u64, fold: &Fold) {
        if at >= self.next_progress {
            self.next_progress = at + PROGRESS_EVERY;
            self.terminal.set_progress(progress_line(fold));
        }
    }
}

impl Reporter for Pretty {
    fn on_event(&mut self, event: &RunEvent, fold: &Fold) {
        let paint = self.failures.paint;
        match &event.kind {
            EventKind::RunStarted(info) => self.say(&head(info, paint)),
            EventKind::AttachState { stage, message } => self.attach_state(*stage, message),
            EventKind::PageAttached(page) => self.say(&format!("{}\n", paint.dim(page_line(page)))),
            // That a page says nothing, or is lost, the run tells by itself, with what it does about it.
            EventKind::PageState { state: PageState::Frozen | PageState::Gone, .. } => {}
            EventKind::PageState { message, .. } => self.say(&format!("{}\n", paint.dim(line(message)))),
            EventKind::FileStarted { .. } | EventKind::TestStarted { .. } => self.show_progress(event.at, fold),
            EventKind::Console { level, text, .. } => {
                if let Some(text) = self.console.show(event, level, text, paint) {
                    self.terminal.print(&text);
                }
            }
            EventKind::Exception { error, .. } => {
                if let Some(outside) = fold.exceptions.last() {
                    let title = paint.red(outside_title(outside));
                    self.say(&format!("{title}\n  {}\n", self.failures.short(error)));
                }
            }
            EventKind::Notice { level, message } => {
                let label = match level {
                    NoticeLevel::Info => paint.cyan("note:"),
                    NoticeLevel::Warning => paint.yellow("warning:"),
                };
                self.say(&format!("{label} {}\n", line(message)));
            }
            EventKind::PageLost { message, .. } => {
                self.attach.clear();
                self.say(&format!("{} {}\n", paint.yellow("page lost:"), line(message)));
            }
            EventKind::FileFinished(_) => {
                if let Some(file) = event.file.as_ref().and_then(|id| fold.file(id)) {
                    self.console.forget(&file.id);
                    self.say(&file_lines(file, &self.failures));
                }
                self.show_progress(event.at, fold);
            }
            EventKind::TestFinished(_)
            | EventKind::Capture { .. }
            | EventKind::Screenshot { .. }
            | EventKind::Transport { .. }
            | EventKind::RunFinished(_) => {}
        }
    }

    fn finish(&mut self, fold: &Fold, problems: &[ReportError]) -> Result<(), ReportError> {
        self.terminal.end_progress();
        let paint = self.failures.paint;
        let mut out = failures(fold, &self.failures);
        out.push('\n');
        let running = fold.running.as_ref().filter(|_| fold.is_interrupted());
        if let Some(test) = running.and_then(|running| running.test.as_ref()) {
            out.push_str(&format!("was running: {}\n", line(&test.0)));
        }
        out.push_str(&traffic_line(&fold.traffic, paint));
        match &self.options.report_dir {
            Some(dir) if problems.is_empty() => {
                let dir = dir.strip_prefix(&self.options.cwd).unwrap_or(dir).display().to_string();
                let dir = if dir.is_empty() { "." } else { &dir };
                out.push_str(&paint.dim(format!("report: {}", line(dir))));
                out.push('\n');
            }
            _ => {}
        }
        out.push_str(&last_line(fold, problems, &self.failures));
        self.say(&out);
        self.terminal.problem().map_or(Ok(()), Err)
    }
}

/// `devtools-test 0.1.0, device, cell 2.x ios, 3 files`.
fn head(info: &RunInfo, paint: Paint) -> String {
    let target = match info.target {
        TargetKind::Device => "device",
        TargetKind::Chrome => "chrome",
        TargetKind::Webkit => "webkit",
        TargetKind::Endpoint => "given browser",
    };
    let cell = format!("{} {}", info.cell.sdk_line, info.cell.platform);
    let name = paint.bold(format!("devtools-test {}", line(&info.tool_version)));
    format!("{name}  {target}, cell {}, {}\n", line(&cell), count(info.files.len(), "file"))
}

/// `page: Chrome 156.0, Linux x86_64, app 5.230.0, http://127.0.0.1:4000/`.
fn page_line(page: &PageInfo) -> String {
    let app = page.app_version.as_ref().map(|version| format!("app {version}")).unwrap_or_default();
    let parts = [&page.engine, &page.device, &app, &page.url];
    let parts: Vec<&str> = parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    format!("page: {}", line(&parts.join(", ")))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
