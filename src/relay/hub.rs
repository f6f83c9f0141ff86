//! What the relay's tasks share: the gate, the registry, and what has been seen so far.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::attendant::Attendant;
use super::conversation::Hello;
use super::gate::{Credentials, Gate, Now, Refusal};
use super::leg::{LEG_QUEUE, Outgoing};
use super::proxy::AppProxy;
use super::registry::{Admission, LegId, Registry, TargetId};
use super::server::{App, RelayOptions};
use super::target::{Input, Target, TargetInfo, TargetState};
use crate::cdp::CloseReason;
use crate::secret::{Hidden, SafeUrl, SecretError, random_ticket};

/// What the relay has seen since it started. Counts only grow.
#[derive(Clone, Debug, Default)]
pub struct RelayStatus {
    /// Calls with a wrong or expired code, or a ticket of another run.
    pub refused: u32,
    /// Times the gate was locked because of too many of them.
    pub locked: u32,
    /// Calls that were let in.
    pub accepted: u32,
    /// Times the agent was handed out.
    pub agents_served: u32,
    /// Pages turned away because another one was in use.
    pub second_pages: u32,
    /// Version that an app in the field reported.
    pub app_version: Option<String>,
    /// The page in use, also while it is away.
    pub target: Option<Target>,
}

/// How to find out whether an address leads to this relay: what answers `GET /echo/<path>` with `answer` is it.
/// Nobody else knows the answer, and the path alone gets nobody anywhere.
#[derive(Clone, Debug)]
pub struct Echo {
    /// Last part of the path.
    pub path: Hidden,
    /// Body of the answer.
    pub answer: Hidden,
}

/// The address by which pages reach the relay, where it is not its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Public {
    /// Host name, with the port where it is not the usual one; not to be shown.
    pub(super) host: Option<Arc<str>>,
    /// It is `https:`, so that cookies are for TLS only.
    pub(super) tls: bool,
}

/// Shared by all tasks of one relay.
#[derive(Debug)]
pub(super) struct Hub {
    /// The agent's script.
    pub(super) agent: &'static str,
    /// The app that is served behind the relay.
    pub(super) app: Option<AppProxy>,
    /// How to find out whether an address leads here.
    pub(super) echo: Echo,
    /// Name of the hosted page's cookie; one per run, since cookies of one host are shared by all its ports.
    pub(super) cookie: String,
    /// Cancelled when the relay shuts down.
    pub(super) shutdown: CancellationToken,
    /// Every task.
    pub(super) tasks: TaskTracker,
    /// What has been seen.
    pub(super) status: watch::Sender<RelayStatus>,
    public: Mutex<Public>,
    gate: Mutex<Gate>,
    registry: Mutex<Registry>,
}

/// A page that was let in, with its connection's queue.
pub(super) struct Admitted {
    /// The page.
    pub(super) target: Target,
    /// The connection.
    pub(super) leg: LegId,
    /// What it is to send.
    pub(super) outgoing: mpsc::Receiver<Outgoing>,
}

impl Hub {
    pub(super) fn new(options: RelayOptions, gate: Gate, shutdown: CancellationToken) -> Result<Self, SecretError> {
        let name = random_ticket()?;
        Ok(Self {
            agent: options.agent,
            app: options.app.map(|App { address, notices }| AppProxy::new(address, notices)),
            echo: Echo { path: random_ticket()?, answer: random_ticket()? },
            cookie: format!("ait_{}", name.expose().get(..8).unwrap_or_default()),
            shutdown,
            tasks: TaskTracker::new(),
            status: watch::channel(RelayStatus::default()).0,
            public: Mutex::default(),
            gate: Mutex::new(gate),
            registry: Mutex::new(Registry::default()),
        })
    }

    /// The address by which pages reach the relay now.
    pub(super) fn public(&self) -> Public {
        lock(&self.public).clone()
    }

    /// It is another one now.
    pub(super) fn set_public(&self, public: Public) {
        *lock(&self.public) = public;
    }

    /// The cookie ticket of the hosted page.
    pub(super) fn page_ticket(&self) -> Hidden {
        lock(&self.gate).page_ticket().clone()
    }

    /// Whether a call shows the ticket of the hosted page; nobody counts it.
    pub(super) fn knows_page(&self, given: &Credentials) -> bool {
        lock(&self.gate).knows_page(given)
    }

    /// Lets a call for the agent, the hosted page or the version report in, or counts the refusal.
    pub(super) fn check(&self, given: &Credentials) -> Result<(), Refusal> {
        let verdict = lock(&self.gate).check(given, Now::read());
        self.count(verdict)
    }

    /// Lets a target's socket in, or counts the refusal.
    pub(super) fn check_target(&self, id: &TargetId, given: &Credentials) -> Result<(), Refusal> {
        let verdict = lock(&self.gate).check_target(id, given, Now::read());
        self.count(verdict)
    }

    fn count(&self, verdict: Result<(), Refusal>) -> Result<(), Refusal> {
        self.status.send_modify(|status| match verdict {
            Ok(()) => status.accepted += 1,
            Err(Refusal::Missing) => {}
            Err(Refusal::Wrong | Refusal::Locked) => status.refused += 1,
            Err(Refusal::WrongAndLocked) => {
                status.refused += 1;
                status.locked += 1;
            }
        });
        verdict
    }

    /// Gives a connection to its page: a new one, or the one that is back. `None` when another page is in use.
    pub(super) async fn admit(self: &Arc<Self>, id: TargetId, hello: Hello) -> Option<Admitted> {
        // Only fails when the operating system has no random numbers; then no page can be held.
        let ticket = lock(&self.gate).ticket(&id).ok()?;
        let current = self.status.borrow().target.clone();
        let state = current.as_ref().map_or(TargetState::Gone, |target| target.view().state);
        let (admission, leg) = lock(&self.registry).admit(&id, state.answers());
        let target = match (admission, current) {
            (Admission::Refused, _) => {
                tracing::warn!("a second page called while another one was in use, and was turned away");
                self.status.send_modify(|status| status.second_pages += 1);
                return None;
            }
            (Admission::Rejoined, Some(target)) if state != TargetState::Gone => target,
            (Admission::TakesOver, Some(former)) => {
                former.dismiss(CloseReason::Replaced("another page attached".into())).await;
                self.attend(id, &hello)
            }
            _ => self.attend(id, &hello),
        };
        let (queue, outgoing) = mpsc::channel(LEG_QUEUE);
        let opened = Input::Opened { leg, outgoing: queue, hello, ticket };
        target.input().send(opened).await.ok()?;
        self.status.send_modify(|status| status.target = Some(target.clone()));
        Some(Admitted { target, leg, outgoing })
    }

    /// Starts the task of a new page.
    fn attend(self: &Arc<Self>, id: TargetId, hello: &Hello) -> Target {
        let public_host = self.public().host;
        let info = TargetInfo {
            url: SafeUrl::hiding(&hello.url, public_host.as_deref()),
            home: Hidden::new(hello.url.as_str()),
            title: hello.title.clone(),
            user_agent: hello.user_agent.clone(),
            agent_version: hello.version.clone(),
        };
        let (target, view, input) = Target::new(id, info);
        let attendant = Attendant::new(view, public_host);
        let hub = Arc::clone(self);
        self.tasks.spawn(async move {
            let last = attendant.run(input, hub.shutdown.clone()).await;
            if let Some(leg) = last {
                lock(&hub.registry).remove(leg);
            }
        });
        target
    }
}

/// Nothing that holds these locks can panic; if it did, what they guard is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
