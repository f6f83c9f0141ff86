//! `devtools-test run`: settings, files, page, run, reports, exit code.

use std::future::Future;
use std::io::IsTerminal;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::dashboard::DashboardError;
use crate::event::{Events, RunResult};
use crate::exit::Exit;
use crate::report::{Fold, ReportError, Terminal, report, reporters};
use crate::run::{Plan, PlanError, Signal, Stop, execute};
use crate::secret::Scrub;
use crate::session::{self, SessionError};
use crate::settings::{Given, ReporterKind, Settings, SettingsError, Surroundings, load};

use super::follow::Follow;
use super::log::{self, LogError};
use super::output::{error, stderr};
use super::present::{Everywhere, PresentOptions, Presenter, SharedPresenter};
use super::qr_file::{QrFile, QrFileError};
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
    Plan(#[from] PlanError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Dashboard(#[from] DashboardError),
    #[error(transparent)]
    QrFile(#[from] QrFileError),
    #[error("the operating system refused what a run needs: {0}")]
    System(#[from] std::io::Error),
}

impl StartError {
    fn exit(&self) -> Exit {
        match self {
            StartError::Settings(error) if error.is_of_the_machine() => Exit::Environment,
            StartError::Session(error) if error.is_of_the_machine() => Exit::Environment,
            StartError::Report(_)
            | StartError::System(_)
            | StartError::Dashboard(_)
            | StartError::QrFile(_)
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
    let scrub = Scrub::default();
    log::start(&settings.log, scrub.clone())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    let exit = runtime.block_on(run_tests(&settings, scrub));
    // Whatever still runs has had its time; nothing that was promised hangs on it.
    runtime.shutdown_background();
    exit
}

/// Threads of the runtime: one for the page's messages, one for what reporters and relay do meanwhile.
const WORKERS: usize = 2;

async fn run_tests(settings: &Settings, scrub: Scrub) -> Result<Exit, StartError> {
    let mut plan = Plan::of(settings)?;
    let stdout = Terminal::stdout(settings.look.progress);
    let mut reporters = reporters(settings, Some(&stdout))?;
    let follow = Follow::start(&settings.dashboard).await?;
    reporters.splice(0..0, follow.reporter());
    let (output, terminal) = presenter(settings, &stdout);
    let file =
        settings.attach.qr_file.as_deref().map(|path| QrFile::at(path, &settings.cwd, output.clone())).transpose()?;
    let presenter = Everywhere { terminal: terminal.clone(), dashboard: follow.invitations(), file };
    let pages = session::pages(settings, Box::new(presenter))?;
    plan.warnings.splice(0..0, pages.warnings);

    let signals = Signals::listen()?;
    let follow = follow.announce(&settings.dashboard, output, terminal);
    let stop = Stop::default();
    let (events, receiver) = Events::scrubbed_by(scrub);
    let mut reports = tokio::task::spawn_blocking(move || report(receiver, &mut reporters));
    let mut interruptible = Interruptible { signals, stop: stop.clone() };
    let result = interruptible.run(execute(plan, pages.source, events, stop)).await;
    let reported = interruptible.reported(&mut reports).await;
    follow.end(interruptible.stop.signal().is_some()).await;
    tell_unwritten(settings, reported.as_ref());
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

/// Says on stderr what could not be written, unless the last line on stdout has said it.
fn tell_unwritten(settings: &Settings, reported: Option<&(Fold, Vec<ReportError>)>) {
    let problems = reported.map_or(&[][..], |(_, problems)| problems);
    let stdout_failed = problems.iter().any(|problem| matches!(problem, ReportError::Stdout { .. }));
    if stdout_failed || !stdout_is_for_people(settings) {
        problems.iter().for_each(|problem| error(&problem.to_string()));
    }
}

fn stdout_is_for_people(settings: &Settings) -> bool {
    settings.report.reporters.iter().any(|choice| choice.file.is_none() && choice.kind == ReporterKind::Pretty)
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

/// Shows the code where the person looks: on stdout, or on stderr where stdout belongs to a program.
fn presenter(settings: &Settings, stdout: &Terminal) -> (Terminal, SharedPresenter) {
    let (output, is_terminal) = if stdout_is_for_people(settings) {
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
        file: settings.attach.qr_file.is_some(),
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
