//! The task that owns a tunnel: does what the state machine says, and tells it what it sees.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::rustls::ClientConfig;
use tokio_util::sync::CancellationToken;

use super::address::PublicAddress;
use super::limits::TunnelLimits;
use super::machine::{Machine, Origin, Seen, Step, TunnelState};
use super::probe::{Proof, probe};
use super::quick;
use super::resolve::Resolve;
use crate::process::{Guarded, LastLines, TempFolder, sweep};

/// How long the program may take to end, all its steps together, before it is left to its guard.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);
/// Addresses that may wait to be read: a program tells one.
const TOLD: usize = 4;

/// How the address of the relay comes about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TunnelKind {
    /// This cloudflared opens a quick tunnel.
    Cloudflared(PathBuf),
    /// A person has an address that leads to the relay.
    Address(PublicAddress),
}

/// What a tunnel needs.
#[derive(Clone)]
pub struct TunnelOptions {
    /// How the address comes about.
    pub kind: TunnelKind,
    /// The clocks.
    pub limits: TunnelLimits,
    /// Looks names up.
    pub resolver: Arc<dyn Resolve>,
    /// Whom to trust when the relay is asked for through the tunnel.
    pub trust: Arc<ClientConfig>,
}

/// A tunnel with the task that owns it. Dropping it ends both at once.
#[derive(Debug)]
pub struct Tunnel {
    state: watch::Receiver<TunnelState>,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

impl Tunnel {
    /// Opens a tunnel to a relay that listens at `relay` and answers with `proof`.
    pub fn open(options: TunnelOptions, relay: SocketAddr, proof: Proof) -> Self {
        let (publish, state) = watch::channel(TunnelState::Starting(String::new()));
        let cancel = CancellationToken::new();
        let task = tokio::spawn(Supervisor::new(options, relay, proof, publish).run(cancel.clone()));
        Self { state, cancel, task }
    }

    /// How it is; changes are told at once.
    pub fn state(&self) -> watch::Receiver<TunnelState> {
        self.state.clone()
    }

    /// Ends it.
    pub async fn shutdown(mut self) {
        self.cancel.cancel();
        // Where it takes too long, dropping it does the rest.
        drop(timeout(SHUTDOWN_LIMIT, &mut self.task).await);
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What was asked about an address and is not answered yet.
type Pending = Pin<Box<dyn Future<Output = (Seen, Option<Vec<SocketAddr>>)> + Send>>;

/// The program while it runs.
struct Running {
    guarded: Guarded,
    /// Its home; also how a later start finds it when we and its guard were killed.
    folder: TempFolder,
    /// Reads what it writes to stdout.
    _reader: JoinSet<()>,
}

struct Supervisor {
    options: TunnelOptions,
    relay: SocketAddr,
    proof: Arc<Proof>,
    publish: watch::Sender<TunnelState>,
    machine: Machine,
    running: Option<Running>,
    last_lines: LastLines,
    told: (mpsc::Sender<PublicAddress>, mpsc::Receiver<PublicAddress>),
    pending: Option<Pending>,
    /// Where the address leads.
    places: Vec<SocketAddr>,
}

impl Supervisor {
    fn new(options: TunnelOptions, relay: SocketAddr, proof: Proof, publish: watch::Sender<TunnelState>) -> Self {
        let origin = match &options.kind {
            TunnelKind::Cloudflared(_) => Origin::Program,
            TunnelKind::Address(address) => Origin::Person(address.clone(), relay.port()),
        };
        Self {
            machine: Machine::new(origin, options.limits, Instant::now()),
            options,
            relay,
            proof: Arc::new(proof),
            publish,
            running: None,
            last_lines: LastLines::default(),
            told: mpsc::channel(TOLD),
            pending: None,
            places: Vec::new(),
        }
    }

    async fn run(mut self, cancel: CancellationToken) {
        // Beside everything else; it is no matter when it ends.
        let sweeping = tokio::task::spawn_blocking(|| sweep(&std::env::temp_dir()));
        let steps = self.machine.begin(Instant::now());
        self.take(steps).await;
        loop {
            let seen = tokio::select! {
                () = cancel.cancelled() => break,
                seen = self.next() => seen,
            };
            let now = Instant::now();
            let steps = match seen {
                Some(seen) => self.machine.on_seen(seen, now),
                None => self.machine.on_time(now),
            };
            self.take(steps).await;
        }
        self.end().await;
        drop(sweeping.await);
    }

    /// What is seen next; nothing when a clock strikes.
    async fn next(&mut self) -> Option<Seen> {
        let Self { machine, running, told, pending, places, .. } = self;
        let wake = machine.wake_at();
        let ended = async {
            match running {
                Some(running) => running.guarded.ended().await,
                None => std::future::pending().await,
            }
        };
        let answered = async {
            match pending {
                Some(pending) => pending.await,
                None => std::future::pending().await,
            }
        };
        let clock = async {
            match wake {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // What it said before it ended goes first.
            biased;
            Some(address) = told.1.recv() => Some(Seen::Address(address)),
            how = ended => {
                let running = running.take();
                if let Some(Running { guarded, folder, .. }) = running {
                    guarded.end().await;
                    folder.remove();
                }
                Some(Seen::Ended(how))
            }
            (seen, found) = answered => {
                *pending = None;
                *places = found.unwrap_or_else(|| std::mem::take(places));
                Some(seen)
            }
            () = clock => None,
        }
    }

    async fn take(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Start => self.start(),
                Step::End => self.end().await,
                Step::Resolve(address) => self.pending = Some(look_up(Arc::clone(&self.options.resolver), address)),
                Step::Probe(address) => {
                    let (places, proof) = (self.places.clone(), Arc::clone(&self.proof));
                    let trust = Arc::clone(&self.options.trust);
                    self.pending = Some(Box::pin(async move {
                        (Seen::Answered(probe(&address, &places, &proof, &trust).await), None)
                    }));
                }
                Step::Tell(state) => self.tell(state),
            }
        }
    }

    fn tell(&self, mut state: TunnelState) {
        if let (TunnelState::Failed(words), TunnelKind::Cloudflared(_)) = (&mut state, &self.options.kind) {
            words.push_str(&self.last_lines.for_message());
        }
        self.publish.send_replace(state);
    }

    /// Starts the program; that it cannot be started is seen as its end.
    fn start(&mut self) {
        let TunnelKind::Cloudflared(program) = &self.options.kind else { return };
        self.told = mpsc::channel(TOLD);
        let told = self.told.0.clone();
        self.last_lines = LastLines::read_by(move |line| {
            if let Some(address) = quick::address_in(line) {
                // Where it tells more of them than fit, the first ones do.
                drop(told.try_send(address));
            }
            quick::mask(line)
        });
        match start(program, self.relay, self.last_lines.clone()) {
            Ok(running) => self.running = Some(running),
            Err(error) => {
                let how = error.to_string();
                self.pending = Some(Box::pin(async move { (Seen::Ended(how), None) }));
            }
        }
    }

    async fn end(&mut self) {
        self.pending = None;
        if let Some(Running { guarded, folder, .. }) = self.running.take() {
            guarded.end().await;
            folder.remove();
        }
    }
}

fn start(program: &Path, relay: SocketAddr, last_lines: LastLines) -> std::io::Result<Running> {
    let folder = TempFolder::create("tunnel")?;
    let command = quick::command(program, relay, folder.path())?;
    let mut guarded = Guarded::start_with(&command, Stdio::piped(), last_lines.clone())?;
    if let Some(pid) = guarded.pid() {
        folder.used_by(pid)?;
    }
    let mut reader = JoinSet::new();
    if let Some(stdout) = guarded.take_stdout() {
        reader.spawn(last_lines.read(stdout));
    }
    Ok(Running { guarded, folder, _reader: reader })
}

fn look_up(resolver: Arc<dyn Resolve>, address: PublicAddress) -> Pending {
    Box::pin(async move {
        match resolver.resolve(&address).await {
            Ok(places) => (Seen::Resolved, Some(places)),
            Err(why) => (Seen::Unresolved(why), None),
        }
    })
}
