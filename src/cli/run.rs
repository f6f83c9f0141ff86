//! `devtools-test run`: settings, files, page, run, reports, exit code.

use std::future::Future;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::bundle::{BundleError, BundleOptions, Discovery, discover};
use crate::dashboard::DashboardError;
use crate::event::{Events, RunResult};
use crate::exit::Exit;
use crate::report::{
    Artifacts, Fold, Json, Pretty, PrettyOptions, ReportError, ReportFolder, Reporter, Terminal, report,
};
use crate::run::{Plan, Signal, Stop, execute};
use crate::session::{self, SessionError};
use crate::settings::{Given, ReporterKind, Settings, SettingsError, Surroundings, load};

use super::follow::Follow;
use super::log::{self, LogError};
use super::output::{error, stderr};
use super::present::{Everywhere, PresentOptions, Presenter, SharedPresenter};
use super::signals::Signals;

/// How long a run may take to end after it was asked to; with the reports it makes the three seconds that were promised.
const STOP_WITHIN: Duration = Duration::from_millis(2000);
/// How long the reports of a run that was asked to end may take: a reader that does not read must not hold it up.
const REPORT_WITHIN: Duration = Duration::from_millis(700);

/// What keeps a run from starting.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Dashboard(#[from] DashboardError),
    #[error("the path {} is not Unicode; tests in it cannot be named", .0.display())]
    NotUnicode(std::path::PathBuf),
    #[error("the operating system refused what a run needs: {0}")]
    System(#[from] std::io::Error),
}

impl StartError {
    fn exit(&self) -> Exit {
        match self {
            StartError::Session(error) if error.is_of_the_machine() => Exit::Environment,
            StartError::Report(_)
            | StartError::System(_)
            | StartError::Dashboard(_)
            | StartError::Log(LogError::File { .. }) => Exit::Environment,
            _ => Exit::Usage,
        }
    }
}

/// Runs tests as the flags, the environment and the settings file ask for.
pub(super) fn run(flags: Given) -> Exit {
    match start(flags) {
        Ok(exit) => exit,
        Err(failure) => {
            error(&failure.to_string());
            failure.exit()
        }
    }
}

fn start(flags: Given) -> Result<Exit, StartError> {
    let settings = load(flags, &Surroundings::of_process()?)?;
    log::start(&settings.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    let exit = runtime.block_on(run_tests(&settings));
    // Whatever still runs has had its time; nothing that was promised hangs on it.
    runtime.shutdown_background();
    exit
}

/// Threads of the runtime: one for the page's messages, one for what reporters and relay do meanwhile.
const WORKERS: usize = 2;

async fn run_tests(settings: &Settings) -> Result<Exit, StartError> {
    let root = utf8(&settings.project_root)?;
    let found =
        discover(root, utf8(&settings.selection.base)?, &settings.selection.patterns, settings.selection.manual)?;
    let stdout = Terminal::stdout(settings.look.progress);
    let mut reporters = reporters(settings, &stdout)?;
    let follow = Follow::start(&settings.dashboard).await?;
    reporters.splice(0..0, follow.reporter());
    let (output, terminal) = presenter(settings, &stdout);
    let presenter = Everywhere { terminal: terminal.clone(), dashboard: follow.invitations() };
    let pages = session::pages(settings, Box::new(presenter))?;
    let plan = plan(settings, root, found, pages.warnings);

    let signals = Signals::listen()?;
    let follow = follow.announce(&settings.dashboard, output, terminal);
    let stop = Stop::default();
    let (events, receiver) = Events::channel();
    let mut reports = tokio::task::spawn_blocking(move || report(receiver, &mut reporters));
    let mut interruptible = Interruptible { signals, stop: stop.clone() };
    let result = interruptible.run(execute(plan, pages.source, events, stop)).await;
    let reported = interruptible.reported(&mut reports).await;
    follow.end(interruptible.stop.signal().is_some()).await;
    Ok(exit(result, reported, &interruptible.stop))
}

/// The exit code: that of the run, unless a report that was asked for could not be written.
fn exit(result: Option<RunResult>, reported: Option<(Fold, Vec<ReportError>)>, stop: &Stop) -> Exit {
    let unwritten = reported.is_none_or(|(_, problems)| !problems.is_empty());
    match (stop.signal(), result.map(|result| result.exit)) {
        (Some(Signal::Interrupt), _) => Exit::Interrupted,
        (Some(Signal::Terminate), _) => Exit::Terminated,
        (None, Some(Exit::Passed)) if unwritten => Exit::Environment,
        (None, Some(exit)) => exit,
        (None, None) => Exit::Environment,
    }
}

/// Things that go on until they end or a person has had enough.
struct Interruptible {
    signals: Signals,
    stop: Stop,
}

impl Interruptible {
    /// The run; `None` when it was given up.
    async fn run(&mut self, run: impl Future<Output = RunResult>) -> Option<RunResult> {
        let Self { signals, stop } = self;
        until_stopped(run, stop, async || signals.next().await).await
    }

    /// What the reporters came to; `None` when they were given up. A reader may take its time, unless we were asked to
    /// end.
    async fn reported(
        &mut self,
        reports: &mut JoinHandle<(Fold, Vec<ReportError>)>,
    ) -> Option<(Fold, Vec<ReportError>)> {
        if self.stop.signal().is_none() {
            tokio::select! {
                reported = &mut *reports => return reported.ok(),
                signal = self.signals.next() => self.stop.stop(signal),
            }
        }
        timeout(REPORT_WITHIN, reports).await.ok()?.ok()
    }
}

/// What a run comes to; `None` when it was given up because it did not end in time after a signal, or a second one came.
async fn until_stopped<R>(
    run: impl Future<Output = R>,
    stop: &Stop,
    mut next_signal: impl AsyncFnMut() -> Signal,
) -> Option<R> {
    tokio::pin!(run);
    tokio::select! {
        result = &mut run => return Some(result),
        signal = next_signal() => stop.stop(signal),
    }
    // The time to end in counts from the signal, however long the run has lasted by then.
    tokio::select! {
        result = timeout(STOP_WITHIN, run) => result.ok(),
        _ = next_signal() => None,
    }
}

fn utf8(path: &Path) -> Result<&Utf8Path, StartError> {
    Utf8Path::from_path(path).ok_or_else(|| StartError::NotUnicode(path.to_path_buf()))
}

fn plan(settings: &Settings, root: &Utf8Path, found: Discovery, mut warnings: Vec<String>) -> Plan {
    warnings.extend(found.unmatched.iter().map(|pattern| format!("no test file matches {pattern}")));
    if found.manual_left_out > 0 && found.files.is_empty() {
        let left_out = found.manual_left_out;
        warnings.push(format!("files that need a person were left out ({left_out}); --manual runs them"));
    }
    let mut globals = settings.globals.clone();
    if let Some(cell) = &settings.cell {
        let cell = serde_json::json!({ "sdkLine": cell.sdk_line, "platform": cell.platform });
        globals.retain(|(key, _)| key != CELL_GLOBAL);
        globals.insert(0, (CELL_GLOBAL.into(), cell));
    }
    let selection = &settings.selection;
    Plan {
        files: found.files,
        bundle: BundleOptions {
            root: Utf8PathBuf::from(root),
            sdk_packages: settings.sdk_packages.clone(),
            target: settings.bundle_targets.value.clone(),
            jobs: std::thread::available_parallelism().map_or(1, usize::from).min(MAX_BUNDLE_JOBS),
        },
        cell: settings.cell_or_default(),
        target: settings.target.kind,
        globals,
        limits: settings.limits,
        name_pattern: selection.name_pattern.as_ref().map(|pattern| pattern.value.clone()),
        allow_only: selection.allow_only,
        bail: selection.bail,
        pass_with_no_tests: selection.pass_with_no_tests,
        warnings,
    }
}

/// What tests read their cell from.
const CELL_GLOBAL: &str = "__AIT_CELL__";
/// Files are run one after the other: more bundles at a time than this are never ahead of them for long.
const MAX_BUNDLE_JOBS: usize = 4;

/// The reporters, the one on stdout last. Whatever they write to is opened here, so that what cannot be written is
/// known before the run.
fn reporters(settings: &Settings, stdout: &Terminal) -> Result<Vec<Box<dyn Reporter>>, ReportError> {
    let mut all: Vec<Box<dyn Reporter>> = Vec::new();
    if let Some(dir) = &settings.report.dir {
        all.push(Box::new(Artifacts::new(ReportFolder::prepare(dir.value.clone())?)));
    }
    let (files, on_stdout): (Vec<_>, Vec<_>) = settings.report.reporters.iter().partition(|c| c.file.is_some());
    for choice in files.into_iter().chain(on_stdout) {
        all.push(match (choice.kind, &choice.file) {
            (ReporterKind::Json, Some(file)) => Box::new(Json::to_file(file.clone())?),
            (ReporterKind::Json, None) => Box::new(Json::to_terminal(stdout.clone())),
            (ReporterKind::Pretty, Some(file)) => {
                Box::new(Pretty::new(Terminal::to_file(file)?, pretty_options(settings, false)))
            }
            (ReporterKind::Pretty, None) => {
                Box::new(Pretty::new(stdout.clone(), pretty_options(settings, settings.look.color)))
            }
        });
    }
    Ok(all)
}

fn pretty_options(settings: &Settings, color: bool) -> PrettyOptions {
    PrettyOptions {
        color,
        project_root: settings.project_root.value.clone(),
        cwd: settings.cwd.clone(),
        report_dir: settings.report.dir.as_ref().map(|dir| dir.value.clone()),
    }
}

/// Shows the code where the person looks: on stdout, or on stderr where stdout belongs to a program.
fn presenter(settings: &Settings, stdout: &Terminal) -> (Terminal, SharedPresenter) {
    let for_people = settings.report.reporters.iter().any(|c| c.file.is_none() && c.kind == ReporterKind::Pretty);
    let (output, is_terminal) = if for_people {
        (stdout.clone(), std::io::stdout().is_terminal())
    } else {
        (stderr(), std::io::stderr().is_terminal())
    };
    let size = terminal_size::terminal_size().filter(|_| is_terminal);
    let options = PresentOptions {
        show_url: settings.attach.show_url,
        force_qr: settings.attach.qr_stdout,
        is_terminal,
        dashboard: settings.dashboard.enabled,
        size: size.map(|(columns, lines)| (columns.0.into(), lines.0.into())),
    };
    (output.clone(), SharedPresenter::new(Presenter::new(output, options)))
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::sleep;

    use super::*;

    /// A run that lasts an hour before somebody asks it to stop, and takes this long to end then.
    async fn stopped_after_an_hour(takes: Duration, second_signal: bool) -> Option<&'static str> {
        let stop = Stop::default();
        let asked = stop.clone();
        let run = async move {
            asked.stopped().await;
            sleep(takes).await;
            "reported"
        };
        let mut signals = 0;
        let next_signal = async || {
            signals += 1;
            match (signals, second_signal) {
                (1, _) => sleep(Duration::from_secs(3600)).await,
                (2, true) => {}
                _ => pending().await,
            }
            Signal::Interrupt
        };
        let result = until_stopped(run, &stop, next_signal).await;
        assert_eq!(stop.signal(), Some(Signal::Interrupt));
        result
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_of_any_length_has_its_time_to_end_after_a_signal() {
        assert_eq!(stopped_after_an_hour(STOP_WITHIN / 2, false).await, Some("reported"));
        assert_eq!(stopped_after_an_hour(STOP_WITHIN * 2, false).await, None);
        assert_eq!(stopped_after_an_hour(STOP_WITHIN / 2, true).await, None);
    }
}
