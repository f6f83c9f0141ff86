//! One connection: ids, replies, and the sessions on it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::envelope::{self, Incoming, Refusal};
use super::error::CloseReason;
use super::events::{CdpEvent, EventStream, Queue};
use super::session::Closing;
use super::transport::Incoming as Frames;
use super::{CdpError, Session, Transport};

/// A connection to a browser or to one page. Clones share it; when the last one and the last session are gone it closes.
#[derive(Clone, Debug)]
pub struct Client {
    pub(super) shared: Arc<Shared>,
}

/// What a connection has seen that is worth knowing when something is odd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Frames that were neither a reply nor an event.
    pub garbage: u64,
    /// Replies that nobody waited for (any more).
    pub orphans: u64,
}

/// Answers a call is waiting for.
type Reply = Result<Box<RawValue>, Failure>;

/// Why a call got no result.
#[derive(Debug)]
pub(super) enum Failure {
    Refused(Refusal),
    Closed(CloseReason),
}

#[derive(Debug)]
pub(super) struct Shared {
    outgoing: mpsc::Sender<String>,
    next_id: AtomicU64,
    state: Mutex<State>,
    tasks: Mutex<JoinSet<()>>,
}

#[derive(Debug, Default)]
struct State {
    pending: HashMap<u64, Pending>,
    /// By session id; the root session is the empty id.
    sessions: HashMap<String, SessionState>,
    stats: Stats,
    closed: Option<CloseReason>,
}

#[derive(Debug)]
struct Pending {
    session: String,
    reply: oneshot::Sender<Reply>,
}

#[derive(Debug, Default)]
struct SessionState {
    listeners: Vec<Arc<Queue>>,
    closing: Closing,
    target: Option<String>,
}

/// `Target.attachToTarget` is answered by the browser process alone.
const ATTACH_WITHIN: Duration = Duration::from_secs(10);

impl Client {
    /// Takes over a transport. Must be called inside a tokio runtime.
    pub fn new(transport: Transport) -> Self {
        let Transport { outgoing, incoming, tasks } = transport;
        let shared = Arc::new(Shared {
            outgoing,
            next_id: AtomicU64::new(1),
            state: Mutex::default(),
            tasks: Mutex::new(tasks),
        });
        let reader = read(Arc::downgrade(&shared), incoming);
        shared.tasks.lock().unwrap_or_else(PoisonError::into_inner).spawn(reader);
        Self { shared }
    }

    /// The session of the connection itself: a browser's, or a page's where the connection is to one page.
    pub fn root(&self) -> Session {
        self.session("")
    }

    /// The session with this id.
    pub fn session(&self, session_id: &str) -> Session {
        let closing = self.shared.state().session(session_id).closing.clone();
        Session { client: self.clone(), id: session_id.into(), closing }
    }

    /// Attaches to a target with a flat session (`Target.attachToTarget`).
    ///
    /// # Errors
    /// There is no such target, or the connection is over.
    pub async fn attach(&self, target_id: &str) -> Result<Session, CdpError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Attached {
            session_id: String,
        }
        let params = json!({ "targetId": target_id, "flatten": true });
        let attached: Attached = self.root().call("Target.attachToTarget", params, ATTACH_WITHIN).await?;
        self.shared.state().session(&attached.session_id).target = Some(target_id.into());
        Ok(self.session(&attached.session_id))
    }

    /// Waits until the connection is over.
    pub async fn closed(&self) -> CloseReason {
        self.root().closed().await
    }

    /// Ends the connection; what is pending ends with `reason`.
    pub fn close(&self, reason: CloseReason) {
        self.shared.close(&reason);
        self.shared.tasks.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }

    /// Counts of what was odd.
    pub fn stats(&self) -> Stats {
        self.shared.state().stats
    }
}

async fn read(shared: std::sync::Weak<Shared>, mut incoming: Frames) {
    loop {
        let frame = incoming.recv().await;
        let Some(shared) = shared.upgrade() else { return };
        match frame {
            Some(Ok(frame)) => shared.take(&frame),
            Some(Err(reason)) => return shared.close(&reason),
            None => return shared.close(&CloseReason::Disconnected("the other end went away".into())),
        }
    }
}

impl State {
    fn session(&mut self, id: &str) -> &mut SessionState {
        let closed = self.closed.clone();
        self.sessions.entry(id.to_owned()).or_insert_with(|| {
            let state = SessionState::default();
            if let Some(reason) = closed {
                state.closing.close(reason);
            }
            state
        })
    }

    /// A session exists from this event on, so that an end which comes before the reply to the attach is not missed.
    fn note_attached(&mut self, event: &CdpEvent) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Info {
            target_id: String,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Attached {
            session_id: String,
            target_info: Info,
        }
        if event.method == "Target.attachedToTarget"
            && let Ok(attached) = event.parse::<Attached>()
        {
            self.session(&attached.session_id).target = Some(attached.target_info.target_id);
        }
    }

    fn close_session(&mut self, id: &str, reason: &CloseReason) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.closing.close(reason.clone());
            for listener in session.listeners.drain(..) {
                listener.close();
            }
        }
        for (_, pending) in self.pending.extract_if(|_, pending| pending.session == id) {
            drop(pending.reply.send(Err(Failure::Closed(reason.clone()))));
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a call: its id, and where its reply will come.
    pub(super) fn expect_reply(&self, session: &str) -> (u64, oneshot::Receiver<Reply>) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        let closed = state.closed.clone().or_else(|| state.session(session).closing.reason());
        match closed {
            Some(reason) => drop(sender.send(Err(Failure::Closed(reason)))),
            None => drop(state.pending.insert(id, Pending { session: session.to_owned(), reply: sender })),
        }
        (id, receiver)
    }

    /// Nobody waits for this reply any more.
    pub(super) fn forget(&self, id: u64) {
        self.state().pending.remove(&id);
    }

    pub(super) async fn send(&self, frame: String) {
        // A transport that is gone is told to every pending call by the reader.
        drop(self.outgoing.send(frame).await);
    }

    pub(super) fn listen(&self, session: &str) -> EventStream {
        let queue = Arc::new(Queue::default());
        let mut state = self.state();
        let closed = state.closed.is_some();
        let session = state.session(session);
        if closed || session.closing.reason().is_some() {
            queue.close();
        } else {
            session.listeners.retain(|listener| Arc::strong_count(listener) > 1);
            session.listeners.push(queue.clone());
        }
        EventStream { queue }
    }

    fn take(&self, frame: &str) {
        match envelope::read(frame) {
            Some(Incoming::Reply { id, outcome }) => self.take_reply(id, outcome),
            Some(Incoming::Event { method, params, session_id }) => self.take_event(method, params, session_id),
            None => self.state().stats.garbage += 1,
        }
    }

    fn take_reply(&self, id: u64, outcome: Result<&RawValue, Refusal>) {
        let mut state = self.state();
        let Some(pending) = state.pending.remove(&id) else {
            state.stats.orphans += 1;
            return;
        };
        drop(pending.reply.send(outcome.map(RawValue::to_owned).map_err(Failure::Refused)));
    }

    fn take_event(&self, method: String, params: Option<&RawValue>, session_id: Option<String>) {
        let session_id = session_id.unwrap_or_default();
        let params: Arc<RawValue> = params.map_or_else(no_params, RawValue::to_owned).into();
        let event = CdpEvent { method, params, lost_before: 0 };
        let mut state = self.state();
        state.note_attached(&event);
        if let Some(session) = state.sessions.get_mut(&session_id) {
            session.listeners.retain(|listener| Arc::strong_count(listener) > 1);
            for listener in &session.listeners {
                listener.push(event.clone());
            }
        }
        if let Some((ended, reason)) = ending(&event, &session_id, &state) {
            state.close_session(&ended, &reason);
        }
    }

    fn close(&self, reason: &CloseReason) {
        let mut state = self.state();
        if state.closed.is_some() {
            return;
        }
        state.closed = Some(reason.clone());
        let ids: Vec<String> = state.sessions.keys().cloned().collect();
        for id in ids {
            state.close_session(&id, reason);
        }
        for (_, pending) in state.pending.drain() {
            drop(pending.reply.send(Err(Failure::Closed(reason.clone()))));
        }
    }
}

fn no_params() -> Box<RawValue> {
    serde_json::value::to_raw_value(&json!({})).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Which session an event ends, and why.
fn ending(event: &CdpEvent, session_id: &str, state: &State) -> Option<(String, CloseReason)> {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Params {
        session_id: Option<String>,
        target_id: Option<String>,
        reason: Option<String>,
        status: Option<String>,
    }
    let parsed = || event.parse::<Params>().unwrap_or_default();
    let of_target = |target: Option<String>| {
        let found = state.sessions.iter().find(|(_, s)| s.target.is_some() && s.target == target)?;
        Some(found.0.clone())
    };
    match event.method.as_str() {
        "Inspector.targetCrashed" => {
            Some((session_id.to_owned(), CloseReason::Crashed("its renderer process ended".into())))
        }
        "Target.targetCrashed" => {
            let params = parsed();
            let status = params.status.unwrap_or_else(|| "its renderer process ended".into());
            Some((of_target(params.target_id)?, CloseReason::Crashed(status.into())))
        }
        "Target.targetDestroyed" => {
            Some((of_target(parsed().target_id)?, CloseReason::TargetClosed("its tab was closed".into())))
        }
        "Target.detachedFromTarget" => {
            let ended = parsed().session_id?;
            Some((ended, CloseReason::TargetClosed("its tab was closed".into())))
        }
        "Inspector.detached" => {
            let why = parsed().reason.unwrap_or_default();
            let reason = match why.as_str() {
                "target_closed" => CloseReason::TargetClosed("its tab was closed".into()),
                "Render process gone." => CloseReason::Crashed("its renderer process ended".into()),
                "replaced_by_another_page" => CloseReason::Replaced("the browser says so".into()),
                _ => CloseReason::Detached(why.into()),
            };
            Some((session_id.to_owned(), reason))
        }
        _ => None,
    }
}
