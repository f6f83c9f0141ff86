//! What all calls share: the session, the run that is under way, and the runs that are over.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::service::{Peer, RoleServer};
use serde_json::json;
use tokio::sync::{OwnedMutexGuard, watch};
use tokio_util::task::TaskTracker;

use super::debug::{Debug, Parts};
use super::envelope::{Fault, FaultCode};
use super::guard::Guard;
use super::mode::Mode;
use super::record::Record;
use super::resources;
use super::show::{Show, ShowParts};
use super::store::Store;
use super::view::View;
use super::words;
use crate::dashboard::Dashboard;
use crate::event::Events;
use crate::process::TempFolder;
use crate::report::Reporter;
use crate::run::{Signal, Stop};
use crate::secret::{Hidden, Scrub};
use crate::session;
use crate::settings::{Given, Settings, Surroundings, TunnelWish, load};

/// Runs that are remembered, for `compare_runs`.
const MAX_RUNS: usize = 10;
/// How long a run gets to end when the server does.
const RUN_WITHIN: Duration = Duration::from_secs(3);
/// How long readers of the dashboard get to hear the end.
const TELL_WITHIN: Duration = Duration::from_millis(150);

/// What a server is started with.
#[derive(Clone, Debug, Default)]
pub struct McpOptions {
    /// What was said on the command line; a call may say otherwise.
    pub given: Given,
    /// Put the QR code into results, as an image.
    pub qr_in_results: bool,
    /// Is told what must not be read anywhere.
    pub scrub: Scrub,
}

/// Shared by all calls of one server.
#[derive(Debug)]
pub(super) struct Hub {
    /// What must not be read.
    pub(super) scrub: Scrub,
    options: McpOptions,
    folder: TempFolder,
    slots: Mutex<Slots>,
    dashboard: tokio::sync::Mutex<Option<Dashboard>>,
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Every run.
    pub(super) tasks: TaskTracker,
}

#[derive(Debug, Default)]
struct Slots {
    debug: Option<Arc<Debug>>,
    run: Option<Running>,
    runs: VecDeque<Record>,
    sessions: u32,
    run_count: u32,
    /// The client, once it has said hello.
    client: Option<Peer<RoleServer>>,
    /// How many resources the client knows of.
    resources: usize,
}

/// The run that is under way.
#[derive(Clone, Debug)]
struct Running {
    record: Record,
    stop: Stop,
}

/// The right to change the session or to run tests, which one call has at a time; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Turn {
    _held: OwnedMutexGuard<()>,
}

/// A run that has begun; dropping it ends it.
#[derive(Debug)]
pub(super) struct Claim {
    hub: Arc<Hub>,
    /// What it holds.
    pub(super) turn: Turn,
    /// The run's record.
    pub(super) record: Record,
    /// Stops it.
    pub(super) stop: Stop,
}

impl Hub {
    /// A server without a session.
    pub(super) fn new(options: McpOptions) -> std::io::Result<Arc<Self>> {
        let folder = TempFolder::create("mcp")?;
        Ok(Arc::new(Self {
            scrub: options.scrub.clone(),
            options,
            folder,
            slots: Mutex::default(),
            dashboard: tokio::sync::Mutex::new(None),
            turn: Arc::default(),
            tasks: TaskTracker::new(),
        }))
    }

    /// The session as it is now.
    pub(super) fn debug(&self) -> Option<Arc<Debug>> {
        self.slots().debug.clone()
    }

    /// The settings that a call comes to: what it says goes over what the server was started with, which goes over the
    /// environment and the file of the project.
    pub(super) fn settings(&self, ask: impl FnOnce(&mut Given)) -> Result<Settings, Fault> {
        let mut given = self.options.given.clone();
        ask(&mut given);
        let around = Surroundings::of_process().map_err(Fault::environment)?;
        load(given, &around).map_err(Fault::bad_input)
    }

    /// Whether codes may be put into results.
    pub(super) fn qr_in_results(&self) -> bool {
        self.options.qr_in_results
    }

    /// The right to change the session or to run tests, unless another call has it.
    pub(super) fn turn(&self) -> Result<Turn, Fault> {
        match Arc::clone(&self.turn).try_lock_owned() {
            Ok(held) => Ok(Turn { _held: held }),
            Err(_) => Err(busy(self.running())),
        }
    }

    /// Starts a session with these settings in place of the one that was there. No page is asked for yet.
    pub(super) async fn begin(&self, _: &Turn, settings: Settings) -> Result<Arc<Debug>, Fault> {
        let mode = Mode::of(&settings);
        let folder = {
            let mut slots = self.slots();
            slots.sessions += 1;
            self.folder.path().join(format!("session-{}", slots.sessions))
        };
        let view = watch::Sender::new(View::default());
        let (events, receiver) = Events::scrubbed_by(self.scrub.clone());
        let dashboard = self.dashboard(&settings).await?;
        let invitations = dashboard.as_ref().map(|(_, invitations, _)| invitations.clone());
        let presenter = Show::new(ShowParts { view: view.clone(), scrub: self.scrub.clone(), invitations });
        let shown = presenter.shown();
        let pages = session::pages(&settings, Box::new(presenter)).map_err(|error| {
            if error.is_of_the_machine() { Fault::environment(error) } else { Fault::bad_input(error) }
        })?;
        let debug = Debug::new(Parts {
            mode,
            guard: guard(mode, &settings),
            settings,
            pages: pages.source,
            store: Arc::new(Store::new(&folder, self.scrub.clone())),
            events,
            heard: receiver,
            feed: dashboard.as_ref().map(|(.., feed)| feed.clone()),
            view,
            shown,
            warnings: pages.warnings.iter().map(|warning| words::of_a_call(warning)).collect(),
            dashboard: dashboard.as_ref().map(|(address, ..)| address.clone()),
        });
        let former = self.slots().debug.replace(Arc::clone(&debug));
        if let Some(former) = former {
            former.close().await;
        }
        self.tell_resources().await;
        Ok(debug)
    }

    /// Ends a session, and leaves none in its place.
    pub(super) async fn end(&self, debug: &Arc<Debug>) {
        self.slots().debug.take_if(|now| Arc::ptr_eq(now, debug));
        debug.close().await;
        self.tell_resources().await;
    }

    /// The dashboard, started where the settings want one: its address, and what feeds it.
    async fn dashboard(
        &self,
        settings: &Settings,
    ) -> Result<Option<(Hidden, crate::dashboard::Invitations, crate::dashboard::Feed)>, Fault> {
        let mut slot = self.dashboard.lock().await;
        if slot.is_none() && settings.dashboard.enabled {
            let port = settings.dashboard.port.as_ref().map(|port| port.value);
            *slot = Some(Dashboard::start(port).await.map_err(Fault::environment)?);
        }
        Ok(slot.as_ref().map(|dashboard| (dashboard.address(), dashboard.invitations(), dashboard.feed())))
    }

    /// What feeds the dashboard, where there is one.
    pub(super) async fn feed(&self) -> Option<Box<dyn Reporter>> {
        let slot = self.dashboard.lock().await;
        slot.as_ref().map(|dashboard| Box::new(dashboard.feed()) as Box<dyn Reporter>)
    }

    /// A run begins.
    pub(super) fn claim(self: &Arc<Self>, turn: Turn) -> Claim {
        let mut slots = self.slots();
        slots.run_count += 1;
        let run = slots.run_count;
        let record = Record::new(run, self.folder.path().join(format!("run-{run}.jsonl")));
        let stop = Stop::default();
        slots.run = Some(Running { record: record.clone(), stop: stop.clone() });
        Claim { hub: Arc::clone(self), turn, record, stop }
    }

    /// The run that is under way.
    pub(super) fn running(&self) -> Option<Record> {
        self.slots().run.as_ref().map(|running| running.record.clone())
    }

    /// The runs that are over, oldest first.
    pub(super) fn runs(&self) -> Vec<Record> {
        self.slots().runs.iter().cloned().collect()
    }

    /// A run by its number, or the newest.
    pub(super) fn run(&self, number: Option<u32>) -> Result<Record, Fault> {
        let runs = self.runs();
        let found = match number {
            Some(number) => runs.iter().find(|record| record.run == number),
            None => runs.last(),
        };
        found.cloned().ok_or_else(|| {
            let known: Vec<String> = runs.iter().map(|record| record.run.to_string()).collect();
            let state = match (number, known.is_empty()) {
                (_, true) => "No run is over yet.".to_owned(),
                (number, false) => format!("There is no run {}; known: {}.", number.unwrap_or(0), known.join(", ")),
            };
            Fault::new(FaultCode::NotFound, state).next("run_tests", "run tests first")
        })
    }

    /// The client said hello.
    pub(super) fn meet(&self, client: Peer<RoleServer>) {
        self.slots().client = Some(client);
    }

    /// Tells the client when there are more or fewer resources than it knows of.
    pub(super) async fn tell_resources(&self) {
        let there = resources::list(self).len();
        let client = {
            let mut slots = self.slots();
            let changed = std::mem::replace(&mut slots.resources, there) != there;
            slots.client.clone().filter(|_| changed)
        };
        if let Some(client) = client {
            // A client that cannot be told any more has ended.
            drop(client.notify_resource_list_changed().await);
        }
    }

    /// Ends everything: the run, the session, the dashboard.
    pub(super) async fn close(&self) {
        let running = self.slots().run.clone();
        if let Some(running) = running {
            running.stop.stop(Signal::Terminate);
        }
        let debug = self.slots().debug.take();
        self.tasks.close();
        if tokio::time::timeout(RUN_WITHIN, self.tasks.wait()).await.is_err() {
            tracing::debug!("a task is still at work");
        }
        if let Some(debug) = debug {
            debug.close().await;
        }
        if let Some(dashboard) = self.dashboard.lock().await.take() {
            dashboard.shutdown(TELL_WITHIN).await;
        }
    }

    /// Where files of this server are; they go when it ends.
    pub(super) fn folder(&self) -> PathBuf {
        self.folder.path().to_path_buf()
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut slots = self.hub.slots();
        slots.run = None;
        // A run that never started says nothing.
        if self.record.look(|run| run.fold.result.is_some()) {
            if slots.runs.len() >= MAX_RUNS {
                slots.runs.pop_front();
            }
            slots.runs.push_back(self.record.clone());
        }
    }
}

/// A run is under way, and how far it is; or another call is at work that happens alone.
fn busy(running: Option<Record>) -> Fault {
    let Some(record) = running else {
        return Fault::new(FaultCode::Busy, "Another call is starting a session or a run.")
            .next("get_debug_status", "see how far it is; call again when it is there");
    };
    let standing = record.standing().borrow().clone();
    let progress = json!({
        "run": record.run, "filesOver": standing.files, "files": standing.of, "testsOver": standing.tests,
        "failed": standing.failed, "now": standing.message,
    });
    let state = format!("Run {} is under way: {} of {} files are over.", record.run, standing.files, standing.of);
    Fault::new(FaultCode::Busy, state)
        .because("one page runs one suite at a time")
        .next("get_debug_status", "see how far it is; call again when it is over, or cancel it")
        .with(progress)
}

/// Where code may be evaluated in a session like this.
fn guard(mode: Mode, settings: &Settings) -> Guard {
    if !mode.needs_person() {
        return Guard::open();
    }
    // The page of the relay itself is ours, by whatever address it is reached.
    let own = match &settings.attach.tunnel.wish.value {
        TunnelWish::Address(address) => url::Url::parse(address.expose()).ok(),
        _ => None,
    };
    let own = own.and_then(|url| url.host_str().map(str::to_owned));
    Guard::hosts(own.into_iter().chain(settings.allow_hosts.iter().cloned()))
}
