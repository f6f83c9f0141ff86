//! What the relay's tasks share: the gate, the registry, and what has been seen so far.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::attendant::Attendant;
use super::choice::{Choice, say};
use super::conversation::Hello;
use super::gate::{Credentials, Gate, LOCK_TIME, Now, Refusal};
use super::leg::close;
use super::proxy::AppProxy;
use super::queue::{QueueOut, queue};
use super::registry::{Admission, LegId, Presence, Registry, Rule, TargetId};
use super::scripts::Scripts;
use super::server::RelayOptions;
use super::stock::Rejections;
use super::stream::Streams;
use super::target::{Input, Target, TargetInfo, TargetState, words};
use crate::cdp::CloseReason;
use crate::secret::{Hidden, SafeUrl, SecretError, random_ticket};

/// Sentences that are said once; more pages than that nobody tells apart.
const MAX_SAID: usize = 32;
/// Pages that were not asked for, as they are listed.
const MAX_PASSED_OVER: usize = 4;

/// What the relay has seen since it started. Counts only grow.
#[derive(Clone, Debug, Default)]
pub struct RelayStatus {
    /// Calls with a wrong or expired code.
    pub refused: u32,
    /// Those of them whose code was right once, and too old.
    pub expired: u32,
    /// Calls of pages that an earlier run left behind.
    pub leftovers: u32,
    /// Times the gate was locked because of too many of them.
    pub locked: u32,
    /// Until when it is, or was last.
    pub locked_until: Option<Instant>,
    /// Calls that were let in.
    pub accepted: u32,
    /// Times the agent was handed out.
    pub agents_served: u32,
    /// Pages turned away because another one was in use.
    pub second_pages: u32,
    /// Pages that are none of those that were asked for (`--device`), in words, the first few.
    pub passed_over: Vec<String>,
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
    pub(super) agent: Bytes,
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
    /// What pages run that may not evaluate.
    pub(super) scripts: Arc<Scripts>,
    /// Pages whose network lets no socket through.
    pub(super) streams: Streams,
    /// What has been seen.
    pub(super) status: watch::Sender<RelayStatus>,
    /// How often connections are kept awake.
    pub(super) keep_alive: Duration,
    choice: Choice,
    rejections: Mutex<Rejections>,
    notices: mpsc::UnboundedSender<String>,
    said: Mutex<HashSet<String>>,
    public: Mutex<Public>,
    gate: Mutex<Gate>,
    registry: Mutex<Registry>,
    /// Held while it is found out which of two pages is kept.
    weighing: tokio::sync::Mutex<()>,
}

/// A page that was let in, with its connection's queue.
pub(super) struct Admitted {
    /// The page.
    pub(super) target: Target,
    /// The connection.
    pub(super) leg: LegId,
    /// What it is to send.
    pub(super) outgoing: QueueOut,
}

impl Hub {
    pub(super) fn new(options: RelayOptions, gate: Gate, shutdown: CancellationToken) -> Result<Self, SecretError> {
        let name = random_ticket()?;
        Ok(Self {
            agent: Bytes::copy_from_slice(options.agent.as_bytes()),
            app: options.app.map(|address| AppProxy::new(address, options.notices.clone())),
            echo: Echo { path: random_ticket()?, answer: random_ticket()? },
            cookie: format!("ait_{}", name.expose().get(..8).unwrap_or_default()),
            shutdown,
            tasks: TaskTracker::new(),
            scripts: Arc::default(),
            streams: Streams::default(),
            status: watch::channel(RelayStatus::default()).0,
            keep_alive: options.keep_alive,
            choice: options.choice,
            rejections: Mutex::default(),
            notices: options.notices,
            said: Mutex::default(),
            public: Mutex::default(),
            gate: Mutex::new(gate),
            registry: Mutex::new(Registry::default()),
            weighing: tokio::sync::Mutex::default(),
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

    /// Lets a call for the hosted page in, or counts the refusal.
    pub(super) fn check_page(&self, given: &Credentials) -> Result<(), Refusal> {
        let verdict = lock(&self.gate).check_page(given, Now::read());
        self.count(verdict)
    }

    /// Lets a call for the agent or the version report in, or counts the refusal.
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
            Err(Refusal::Stale) => status.leftovers += 1,
            Err(Refusal::Wrong | Refusal::Locked) => status.refused += 1,
            Err(Refusal::Expired) => {
                status.refused += 1;
                status.expired += 1;
            }
            Err(Refusal::WrongAndLocked) => {
                status.refused += 1;
                status.locked += 1;
                status.locked_until = Some(Instant::now() + LOCK_TIME);
            }
        });
        verdict
    }

    /// Gives a connection to its page: a new one, or the one that is back.
    ///
    /// # Errors
    /// Code and reason for the page, when it is not wanted.
    pub(super) async fn admit(self: &Arc<Self>, id: TargetId, hello: Hello) -> Result<Admitted, (u16, &'static str)> {
        if !self.choice.takes(&hello) {
            self.pass_over(&hello);
            return Err((close::PASSED_OVER, "another device was asked for"));
        }
        // Only fails when the operating system has no random numbers; then no page can be held.
        let ticket = lock(&self.gate).ticket(&id).map_err(|_| (close::DONE, "no ticket"))?;
        let (admission, leg, current) = self.weigh(&id, &hello).await;
        let target = match (admission, current) {
            (Admission::Refused | Admission::Ask, current) => {
                if let Some(current) = current {
                    self.say(say::refused(&hello, &current.view().info));
                }
                self.status.send_modify(|status| status.second_pages += 1);
                return Err((close::IN_USE, "another page is in use"));
            }
            (Admission::Rejoined, Some(target)) if target.view().state != TargetState::Gone => target,
            (Admission::TakesOver { answered }, Some(former)) => {
                self.say(match (answered, former.is_in_use()) {
                    (false, _) => say::in_place_of_silent(&hello, &former.view().info),
                    (true, true) => say::took_over(&hello, &former.view().info),
                    (true, false) => say::newest(&hello, &former.view().info),
                });
                former.dismiss(CloseReason::Replaced(words(&hello.user_agent, &hello.title).into())).await;
                self.attend(id, &hello)
            }
            _ => self.attend(id, &hello),
        };
        let (room, outgoing) = queue();
        let opened = Input::Opened { leg, outgoing: room, hello, ticket };
        target.input().send(opened).await.map_err(|_| (close::DONE, "done"))?;
        self.status.send_modify(|status| status.target = Some(target.clone()));
        Ok(Admitted { target, leg, outgoing })
    }

    /// Finds out what becomes of a page, and returns the one that was attached.
    async fn weigh(&self, id: &TargetId, hello: &Hello) -> (Admission, LegId, Option<Target>) {
        let current = self.status.borrow().target.clone();
        let presence = current.as_ref().map_or(Presence::Gone, presence);
        let (admission, leg) = self.decide(id, hello, presence, current.as_ref());
        if admission != Admission::Ask {
            return (admission, leg, current);
        }
        // One at a time, so that no answer is about a page that another newcomer has replaced. A page that reconnects
        // never gets here, so that it does not wait for the question whether it is there.
        let _one = self.weighing.lock().await;
        let current = self.status.borrow().target.clone();
        let presence = match &current {
            Some(target) if target.answers().await => Presence::Answers,
            Some(target) if target.view().state != TargetState::Gone => Presence::Silent,
            _ => Presence::Gone,
        };
        let (admission, leg) = self.decide(id, hello, presence, current.as_ref());
        (admission, leg, current)
    }

    fn decide(&self, id: &TargetId, hello: &Hello, presence: Presence, current: Option<&Target>) -> (Admission, LegId) {
        let is_kept = !self.choice.take_over && current.is_some_and(Target::is_in_use);
        let rule = if is_kept { Rule::Older } else { Rule::Newer };
        lock(&self.registry).admit(id, &hello.doc, presence, rule)
    }

    fn pass_over(&self, hello: &Hello) {
        let name = words(&hello.user_agent, &hello.title);
        self.say(say::passed_over(hello));
        self.status.send_if_modified(|status| {
            let new = status.passed_over.len() < MAX_PASSED_OVER && !status.passed_over.contains(&name);
            if new {
                status.passed_over.push(name);
            }
            new
        });
    }

    /// A page that does not know when to stop is told that its code is wrong; whether it is to be silenced.
    pub(super) fn is_nagging(&self, id: &TargetId) -> bool {
        lock(&self.rejections).count(id)
    }

    /// Tells a person, once each.
    pub(super) fn say(&self, sentence: String) {
        let mut said = lock(&self.said);
        if said.len() < MAX_SAID && said.insert(sentence.clone()) {
            // Whoever listens may have ended.
            let _ = self.notices.send(sentence);
        }
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
        let attendant = Attendant::new(view, public_host, Arc::clone(&self.scripts));
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

/// What is known of a page without asking it.
fn presence(target: &Target) -> Presence {
    let view = target.view();
    match view.state {
        TargetState::Gone => Presence::Gone,
        _ if view.leaving => Presence::Left,
        _ => Presence::Unknown,
    }
}

/// Nothing that holds these locks can panic; if it did, what they guard is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
