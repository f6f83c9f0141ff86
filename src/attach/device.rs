//! Pages that dial into the relay, as a [`PageSource`].

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::AttachError;
use super::follow::{Follow, follow};
use super::link::LinkKind;
use super::present::{AttachPresenter, Invitation, OnShow, SharedPresenter, Visitor};
use super::reception::{Reach, Reception};
use super::wait::{Action, Seen, Wait};
use crate::cdp::page::{Abilities, BoxFuture, Page, PageSource, PageUnavailable};
use crate::cdp::runtime::{self, EvaluateError, EvaluateOptions};
use crate::cdp::{CdpError, Client, CloseReason};
use crate::event::{AttachStage, EventKind, Events, LossCause, PageInfo};
use crate::relay::{AppAddress, Choice, RelayOptions, RelayStatus, Target, TargetState};
use crate::secret::Secret;
use crate::totp::UnixSeconds;
use crate::tunnel::PublicAddress;
use crate::user_agent;

/// A page that was just attached answers this soon, a slow phone behind a tunnel included.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// A page that is asked to reload and answers at all does so this soon.
const RELOAD_REPLY_LIMIT: Duration = Duration::from_secs(5);
/// A page that was asked to reload is back within this; an app on a phone takes its time to load.
const RELOAD_LIMIT: Duration = Duration::from_secs(20);
/// How long a person has to bring a lost page back when no other limit was given: to notice, unlock and scan. A run
/// that nobody watches must end some time.
const REATTACH_LIMIT: Duration = Duration::from_secs(120);
/// A page that is dismissed is gone at once.
const DISMISS_LIMIT: Duration = Duration::from_secs(2);
/// How often the person is told how long it takes.
const TICK: Duration = Duration::from_secs(1);

/// What attaching needs.
pub struct DeviceOptions {
    /// What codes are made from.
    pub secret: Secret,
    /// The agent's script.
    pub agent: Arc<str>,
    /// Which link leads to the page.
    pub link: LinkKind,
    /// The app that a hosted link opens; without it a page of ours.
    pub app: Option<AppAddress>,
    /// How the page reaches the relay.
    pub reach: Reach,
    /// Which page is wanted when several call.
    pub choice: Choice,
    /// How often connections of pages are kept awake.
    pub keep_alive: Duration,
    /// How long to wait for a page; `None` is as long as it takes.
    pub attach_timeout: Option<Duration>,
}

/// The pages of `--target device`.
pub struct DevicePages {
    options: DeviceOptions,
    presenter: SharedPresenter,
    open: Option<Reception>,
    current: Option<Current>,
    silent: u32,
}

/// The page in use.
struct Current {
    target: Target,
    /// The document it was handed out with.
    document: u64,
    _followed: Option<AbortOnDropHandle<()>>,
}

/// Why a page that attached is not handed out.
enum NoAnswer {
    /// It may answer yet.
    Silent,
    /// It was let go for a newer one.
    Replaced,
    /// It never will.
    Refused(String),
}

impl DevicePages {
    /// Nothing is started before the first page is asked for. The presenter shows invitations.
    pub fn new(options: DeviceOptions, presenter: Box<dyn AttachPresenter>) -> Self {
        Self { options, presenter: SharedPresenter::new(presenter), open: None, current: None, silent: 0 }
    }

    /// Starts the relay and the way to it, once.
    async fn start(&mut self, events: &Events) -> Result<(), AttachError> {
        if self.open.is_some() {
            return Ok(());
        }
        tell(events, AttachStage::Starting, "Starting the relay.").await;
        let DeviceOptions { secret, agent, link, app, reach, choice, keep_alive, .. } = &self.options;
        let listen = reach.listen;
        let (secret, app, choice, keep_alive) = (secret.clone(), app.clone(), choice.clone(), *keep_alive);
        let scrub = events.scrub().clone();
        let options =
            |notices| RelayOptions { secret, agent: agent.clone(), listen, app, choice, keep_alive, notices, scrub };
        self.open = Some(Reception::open(options, reach.clone(), link.clone(), events).await?);
        Ok(())
    }

    fn invitation(&self, address: &PublicAddress, renewed: bool) -> Result<Invitation, AttachError> {
        self.open.as_ref().ok_or(AttachError::NotStarted)?.inviter().invitation(address, renewed)
    }

    /// The page in use will not be used again, whatever becomes of it; the next is one that attaches anew.
    pub async fn give_up_page(&mut self, reason: CloseReason) {
        let Some(Current { target, .. }) = self.current.take() else { return };
        let mut watch = target.watch();
        target.dismiss(reason).await;
        // The task behind it takes its commands one by one and may be at another.
        let gone = watch.wait_for(|view| view.state == TargetState::Gone);
        drop(timeout(DISMISS_LIMIT, gone).await);
    }

    /// Shows the code and waits for a page that `wanted` takes and that answers.
    async fn wait(
        &mut self,
        limit: Option<Duration>,
        events: &Events,
        wanted: impl Fn(&Target) -> bool + Send,
    ) -> Result<Page, PageUnavailable> {
        let Some(reception) = &self.open else { return Err(unavailable(&AttachError::NotStarted)) };
        let (mut status, mut way) = (reception.status(), reception.way());
        let before = status.borrow().clone();
        let mut wait = Wait::new(Instant::now(), limit, self.presenter.lock().visitor());
        let _on_show = OnShow::new(&self.presenter);
        loop {
            let candidate = status.borrow_and_update().target.clone().filter(|t| t.view().state.answers() && wanted(t));
            let seen = seen(&before, &status.borrow(), self.silent);
            let mut actions = wait.on_seen(seen, Instant::now());
            let state = way.borrow_and_update().clone();
            if candidate.is_none() {
                actions.extend(wait.on_way(state));
                actions.extend(wait.on_time(Instant::now(), UnixSeconds::now()));
            }
            if let Some(unavailable) = self.act(actions, events).await {
                return Err(unavailable);
            }
            if let Some(target) = candidate {
                match self.take(target, events).await {
                    Ok(page) => return Ok(page),
                    Err(NoAnswer::Refused(message)) => return Err(PageUnavailable { message }),
                    Err(NoAnswer::Silent) => {
                        self.silent += 1;
                        continue;
                    }
                    Err(NoAnswer::Replaced) => continue,
                }
            }
            self.presenter.lock().waiting(&wait.waiting(Instant::now()));
            // Whichever comes first; all of them only mean to look again.
            tokio::select! {
                Ok(()) = status.changed() => {}
                Ok(()) = way.changed() => {}
                () = sleep(TICK) => {}
            }
        }
    }

    /// Does what the wait asks for; returns why it is over, if it is.
    async fn act(&mut self, actions: Vec<Action>, events: &Events) -> Option<PageUnavailable> {
        for action in actions {
            match action {
                Action::Show { address, renewed } => match self.invitation(&address, renewed) {
                    Ok(invitation) => {
                        self.presenter.lock().show(&invitation);
                        if !renewed {
                            let words = match self.presenter.lock().visitor() {
                                Visitor::Person => "Waiting for a page: scan the QR code.",
                                Visitor::Browser => "Waiting for the browser to open the page.",
                            };
                            tell(events, AttachStage::Waiting, words).await;
                        }
                    }
                    Err(error) => return Some(unavailable(&error)),
                },
                Action::Tell(stage, message) => tell(events, stage, &message).await,
                Action::Withdraw(why) => {
                    self.presenter.lock().withdraw(&why);
                    tell(events, AttachStage::Starting, &why).await;
                }
                Action::GiveUp(message) => return Some(PageUnavailable { message }),
            }
        }
        None
    }

    /// Opens a session with a page and lets it answer once.
    async fn take(&mut self, target: Target, events: &Events) -> Result<Page, NoAnswer> {
        let client = Client::new(target.connect().await);
        let session = client.root();
        // Takes what a test takes: a page that may run no script answers simpler things.
        match runtime::evaluate(&session, "(() => 1)()", EvaluateOptions::default(), ANSWER_LIMIT).await {
            Ok(_) => {}
            Err(EvaluateError::Exception(details)) => return Err(NoAnswer::Refused(details.to_string())),
            // A newer page came meanwhile.
            Err(EvaluateError::Cdp(CdpError::Closed { reason: CloseReason::Replaced(_) })) => {
                return Err(NoAnswer::Replaced);
            }
            Err(EvaluateError::Cdp(_)) => {
                target.doubt().await;
                return Err(NoAnswer::Silent);
            }
        }
        let view = target.view();
        let info = PageInfo {
            url: view.info.url.to_string(),
            title: view.info.title,
            engine: user_agent::engine(&view.info.user_agent),
            device: user_agent::device(&view.info.user_agent),
            user_agent: view.info.user_agent,
            app_version: self.open.as_ref().and_then(|reception| reception.status().borrow().app_version.clone()),
        };
        let app = info.app_version.as_ref().map(|version| format!("app {version}")).unwrap_or_default();
        let words = [&info.device, &info.engine, &app].map(String::as_str);
        let words: Vec<&str> = words.into_iter().filter(|part| !part.is_empty()).collect();
        tell(events, AttachStage::Attached, &format!("The page answers: {}.", words.join(", "))).await;
        target.set_in_use(true);
        let followed = self.follow(target.clone(), events);
        self.current = Some(Current { target, document: view.document, _followed: followed });
        Ok(Page { session, info, abilities: Abilities::default() })
    }

    /// Tells what becomes of the page while it is worked with.
    fn follow(&self, target: Target, events: &Events) -> Option<AbortOnDropHandle<()>> {
        let reception = self.open.as_ref()?;
        let (way, inviter) = (reception.way(), reception.inviter());
        Some(follow(Follow { target, way, inviter, presenter: self.presenter.clone(), events: events.clone() }))
    }

    /// A page in place of the lost one: the same with a fresh document, or the next that attaches.
    async fn another(&mut self, cause: LossCause, events: &Events) -> Result<Page, PageUnavailable> {
        let Some(Current { target, document, .. }) = self.current.take() else {
            return self.wait(self.options.attach_timeout, events, |_| true).await;
        };
        target.set_in_use(false);
        if target.view().state != TargetState::Gone {
            let reloaded_itself = cause == LossCause::Reloaded && target.view().document > document;
            let asked = reloaded_itself || send_home(&target, events).await;
            if asked && has_fresh_document(&target, document).await {
                match self.take(target.clone(), events).await {
                    Ok(page) => return Ok(page),
                    Err(NoAnswer::Refused(message)) => return Err(PageUnavailable { message }),
                    Err(NoAnswer::Silent) => self.silent += 1,
                    Err(NoAnswer::Replaced) => {}
                }
            }
        }
        let words = match target.view().state {
            // The other one is there already.
            _ if cause == LossCause::Replaced => "Another page takes its place.".to_owned(),
            // Its socket is fine, but it did not do what it was asked.
            TargetState::Live => lost("does not answer"),
            other => lost(other.words()),
        };
        tell(events, AttachStage::Reattaching, &words).await;
        let limit = self.options.attach_timeout.unwrap_or(REATTACH_LIMIT);
        self.wait(Some(limit), events, move |next| !next.is(&target) || next.view().document > document).await
    }
}

fn lost(state: &str) -> String {
    format!("The page {state}. Bring it back to the foreground, or scan the code again.")
}

/// Has the page load its first address again. Whether it took the command.
async fn send_home(target: &Target, events: &Events) -> bool {
    tell(events, AttachStage::Reattaching, "Loading the page again.").await;
    let session = Client::new(target.connect().await).root();
    let home = json!({ "url": target.view().info.home.expose() });
    let asked = session.call::<Value>("Page.navigate", home, RELOAD_REPLY_LIMIT).await;
    if matches!(asked, Err(CdpError::Deadline { .. })) {
        // Should it come to itself, it still finds the command.
        target.doubt().await;
    }
    asked.is_ok()
}

/// Waits until the page has loaded another document than the `document`th and answers.
async fn has_fresh_document(target: &Target, document: u64) -> bool {
    let mut watch = target.watch();
    let settled =
        watch.wait_for(|view| view.state == TargetState::Gone || (view.document > document && view.state.answers()));
    matches!(timeout(RELOAD_LIMIT, settled).await, Ok(Ok(view)) if view.state.answers())
}

impl PageSource for DevicePages {
    fn open<'a>(&'a mut self, events: &'a Events) -> BoxFuture<'a, Result<Page, PageUnavailable>> {
        Box::pin(async move {
            self.start(events).await.map_err(|error| unavailable(&error))?;
            self.wait(self.options.attach_timeout, events, |_| true).await
        })
    }

    fn replace<'a>(&'a mut self, cause: LossCause, events: &'a Events) -> BoxFuture<'a, Result<Page, PageUnavailable>> {
        Box::pin(self.another(cause, events))
    }

    fn close<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.current = None;
            // A code may be on show for a page that is away.
            self.presenter.lock().done();
            if let Some(reception) = self.open.take() {
                reception.close().await;
            }
        })
    }
}

impl std::fmt::Debug for DevicePages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DevicePages").field("open", &self.open).finish_non_exhaustive()
    }
}

fn seen(before: &RelayStatus, now: &RelayStatus, silent: u32) -> Seen {
    Seen {
        refused: now.refused - before.refused,
        expired: now.expired - before.expired,
        leftovers: now.leftovers - before.leftovers,
        locked: now.locked - before.locked,
        locked_until: now.locked_until,
        accepted: now.accepted - before.accepted,
        agents: now.agents_served - before.agents_served,
        silent,
        page: now.target.as_ref().map(|target| target.view().info.words()),
        passed_over: now.passed_over.clone(),
    }
}

async fn tell(events: &Events, stage: AttachStage, message: &str) {
    events.emit_global(EventKind::AttachState { stage, message: message.to_owned() }).await;
}

fn unavailable(error: &AttachError) -> PageUnavailable {
    PageUnavailable { message: error.to_string() }
}
