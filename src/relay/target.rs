//! One attached page, as the rest of the tool sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::conversation::Hello;
use super::leg::AgentSays;
use super::queue::QueueIn;
use super::registry::{LegId, TargetId};
use crate::cdp::transport::{self, Peer, Transport};
use crate::cdp::{CloseReason, Taken};
use crate::secret::{Hidden, SafeUrl};
use crate::user_agent;

/// Messages of a page that may wait for the target's task; more, and its socket is not read, which slows it down.
const INPUT_QUEUE: usize = 64;
/// A page that is asked whether it is alive answers this soon, or reconnects: some trips to a phone behind a tunnel, and
/// the agent's second dial. Whoever dials in its place waits for it, and gives up only after 8 s.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// Characters of a title that a person needs to know a page by.
const MAX_TITLE: usize = 60;

/// What is known of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetInfo {
    /// Its address, fit to be shown.
    pub url: SafeUrl,
    /// Where it was when it attached, whole; may carry a code, so only for sending the page back there.
    pub home: Hidden,
    /// `document.title`.
    pub title: String,
    /// `navigator.userAgent`.
    pub user_agent: String,
    /// Version of the agent in it.
    pub agent_version: String,
}

impl TargetInfo {
    /// What a person knows it by: device, engine and title.
    pub fn words(&self) -> String {
        words(&self.user_agent, &self.title)
    }
}

/// Device, engine and title of a page, as far as they are known.
pub(super) fn words(user_agent: &str, title: &str) -> String {
    let title: String = title.chars().take(MAX_TITLE).collect();
    let title = if title.trim().is_empty() { title } else { format!("'{title}'") };
    let known = [user_agent::device(user_agent), user_agent::engine(user_agent), title];
    let known: Vec<String> = known.into_iter().filter(|part| !part.trim().is_empty()).collect();
    if known.is_empty() { "an unknown device".to_owned() } else { known.join(", ") }
}

/// How a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetState {
    /// Connected, visible, and JavaScript runs.
    Live,
    /// As live, but in the background.
    Hidden,
    /// Connected, and no JavaScript runs: busy, suspended, or in the back-forward cache.
    Frozen,
    /// Not connected; may come back.
    Reconnecting,
    /// It will not come back.
    Gone,
}

impl TargetState {
    /// Whether it answers.
    pub fn answers(self) -> bool {
        matches!(self, Self::Live | Self::Hidden)
    }

    /// In words, after "the page".
    pub fn words(self) -> &'static str {
        match self {
            Self::Live => "is connected",
            Self::Hidden => "is in the background",
            Self::Frozen => "does not answer (busy, suspended or in the background)",
            Self::Reconnecting => "lost its connection",
            Self::Gone => "is gone",
        }
    }
}

/// A page at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetView {
    /// What is known of it.
    pub info: TargetInfo,
    /// How it is.
    pub state: TargetState,
    /// Documents it has loaded since it attached, the first being 1.
    pub document: u64,
    /// The document in it said that it is being left.
    pub leaving: bool,
}

/// What the target's task is told.
#[derive(Debug)]
pub(super) enum Input {
    /// A connection said hello.
    Opened { leg: LegId, outgoing: QueueIn, hello: Hello, ticket: Hidden },
    /// A connection ended.
    Closed(LegId),
    /// A message for the relay.
    Agent(LegId, AgentSays),
    /// A message for the client, and the room it takes, where that is limited, until it has been handed on.
    Page(LegId, String, Option<Taken>),
    /// A message that was too large to be read.
    TooLarge(LegId),
    /// A client comes, in place of the one that was there.
    Connect(Peer),
    /// Somebody wants to know whether it is alive; the sender is dropped when it is left.
    Ask(oneshot::Sender<()>),
    /// A client got no answer.
    Doubt,
    /// The page is not wanted any more.
    Dismiss(CloseReason),
}

/// A page that attached. Clones are the same page.
#[derive(Clone, Debug)]
pub struct Target {
    id: TargetId,
    view: watch::Receiver<TargetView>,
    input: mpsc::Sender<Input>,
    in_use: Arc<AtomicBool>,
}

impl Target {
    /// What it calls itself.
    pub fn id(&self) -> &TargetId {
        &self.id
    }

    /// How it is now.
    pub fn view(&self) -> TargetView {
        self.view.borrow().clone()
    }

    /// Its changes, the present state first.
    pub fn watch(&self) -> watch::Receiver<TargetView> {
        self.view.clone()
    }

    /// Opens a CDP connection with it, in place of the one that was there. It ends when the page is gone for good;
    /// a page that reconnects or loads again keeps it.
    pub async fn connect(&self) -> Transport {
        let (ours, theirs) = transport::memory();
        // Should the target have ended, dropping our end tells the client.
        let _ = self.input.send(Input::Connect(ours)).await;
        theirs
    }

    /// It did not answer a client: it counts as frozen until its agent is heard again, so that another page may take
    /// its place.
    pub async fn doubt(&self) {
        let _ = self.input.send(Input::Doubt).await;
    }

    /// Whether a run works with it from now on: then another page that calls does not get its place for the asking.
    pub fn set_in_use(&self, in_use: bool) {
        self.in_use.store(in_use, Ordering::Relaxed);
    }

    /// A run works with it.
    pub(super) fn is_in_use(&self) -> bool {
        self.in_use.load(Ordering::Relaxed)
    }

    /// Asks the page itself whether it is alive.
    pub(super) async fn answers(&self) -> bool {
        let (asker, answer) = oneshot::channel();
        let asked = async {
            self.input.send(Input::Ask(asker)).await.ok()?;
            answer.await.ok()
        };
        matches!(timeout(ANSWER_LIMIT, asked).await, Ok(Some(())))
    }

    /// Whether both are the same page.
    pub fn is(&self, other: &Self) -> bool {
        self.view.same_channel(&other.view)
    }

    /// Tells the page that it is not wanted any more and ends it.
    pub async fn dismiss(&self, reason: CloseReason) {
        let _ = self.input.send(Input::Dismiss(reason)).await;
    }

    /// The page, and the ends its task works with.
    pub(super) fn new(id: TargetId, info: TargetInfo) -> (Self, watch::Sender<TargetView>, mpsc::Receiver<Input>) {
        let view = TargetView { info, state: TargetState::Live, document: 1, leaving: false };
        let (view_in, view) = watch::channel(view);
        let (input, input_out) = mpsc::channel(INPUT_QUEUE);
        (Self { id, view, input, in_use: Arc::default() }, view_in, input_out)
    }

    /// Where its connections report.
    pub(super) fn input(&self) -> &mpsc::Sender<Input> {
        &self.input
    }
}
