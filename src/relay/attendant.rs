//! The task behind one target: keeps its conversation going while connections come and go.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::sync::CancellationToken;

use super::conversation::{Conversation, Hello, Step};
use super::leg::{AgentSays, close};
use super::limit::within;
use super::queue::{Outgoing, QueueIn};
use super::registry::LegId;
use super::scripts::Scripts;
use super::target::{Input, TargetState, TargetView};
use crate::cdp::CloseReason;
use crate::cdp::transport::Peer;
use crate::secret::{Hidden, SafeUrl};

/// How often the agent has to answer; also tells it what has arrived.
const ECHO_EVERY: Duration = Duration::from_secs(5);
/// Two answers missed and some time on the way: JavaScript does not run in the page.
const ECHO_OVERDUE: Duration = Duration::from_secs(13);
/// Received bytes after which the agent is told at once, so that it need not keep them for a reconnect.
const CONFIRM_AFTER: usize = 1 << 20;
/// A page that reloads, or a phone that changes network, is back within this or needs a person.
pub const RECONNECT_LIMIT: Duration = Duration::from_secs(15);
/// A client that takes no message for this long is stuck.
const CLIENT_LIMIT: Duration = Duration::from_secs(10);

/// A connection in use.
struct Leg {
    id: LegId,
    outgoing: QueueIn,
    /// When the agent last said something to us.
    heard: Instant,
}

/// The task's state.
pub(super) struct Attendant {
    view: watch::Sender<TargetView>,
    public_host: Option<Arc<str>>,
    scripts: Arc<Scripts>,
    conversation: Conversation,
    leg: Option<Leg>,
    last_leg: Option<LegId>,
    client: Option<Peer>,
    visible: bool,
    gone_at: Instant,
    unconfirmed: usize,
    /// Who wants to know whether the page is alive.
    asked: Vec<oneshot::Sender<()>>,
}

/// What wakes the task.
enum Event {
    Input(Input),
    Command(Option<String>),
    Tick,
    End(CloseReason),
}

impl Attendant {
    pub(super) fn new(view: watch::Sender<TargetView>, public_host: Option<Arc<str>>, scripts: Arc<Scripts>) -> Self {
        Self {
            view,
            public_host,
            scripts,
            conversation: Conversation::default(),
            leg: None,
            last_leg: None,
            client: None,
            visible: true,
            gone_at: Instant::now() + RECONNECT_LIMIT,
            unconfirmed: 0,
            asked: Vec::new(),
        }
    }

    /// Works until the page is gone, dismissed, or `shutdown` is cancelled. Returns its last connection.
    pub(super) async fn run(mut self, mut input: mpsc::Receiver<Input>, shutdown: CancellationToken) -> Option<LegId> {
        let mut echo = interval_at(Instant::now() + ECHO_EVERY, ECHO_EVERY);
        echo.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut shut_down = pin!(shutdown.cancelled());
        let reason = loop {
            let gone_at = self.gone_at;
            let event = tokio::select! {
                () = &mut shut_down => Event::End(CloseReason::Disconnected("the run is over".into())),
                Some(next) = input.recv() => Event::Input(next),
                next = next_command(&mut self.client) => Event::Command(next),
                _ = echo.tick() => Event::Tick,
                // In a block of its own, so that no clock is set while the page is there.
                () = async { sleep_until(gone_at).await }, if self.leg.is_none() => Event::End(self.gone()),
            };
            match event {
                Event::Input(Input::Dismiss(reason)) | Event::End(reason) => break reason,
                Event::Input(next) => self.on_input(next).await,
                Event::Command(Some(text)) => {
                    let step = self.conversation.client_says(&text);
                    self.perform(step).await;
                }
                Event::Command(None) => self.client = None,
                Event::Tick => self.on_tick(),
            }
        };
        self.end(reason);
        self.last_leg
    }

    fn gone(&self) -> CloseReason {
        let seconds = RECONNECT_LIMIT.as_secs();
        if self.view.borrow().leaving {
            return CloseReason::TargetClosed(format!("it was left and did not come back within {seconds} s").into());
        }
        CloseReason::Disconnected(format!("it did not come back within {seconds} s").into())
    }

    async fn on_input(&mut self, input: Input) {
        match input {
            Input::Opened { leg, outgoing, hello, ticket } => self.on_opened(leg, outgoing, &hello, &ticket).await,
            Input::Closed(leg) if self.is_current(leg) => self.lose_leg(),
            Input::Agent(leg, says) if self.is_current(leg) => self.on_agent(says),
            Input::Page(leg, text, _room) if self.is_current(leg) => {
                self.unconfirmed += text.len();
                let step = self.conversation.page_says(text);
                self.perform(step).await;
                if self.unconfirmed > CONFIRM_AFTER {
                    self.echo();
                }
            }
            Input::TooLarge(leg) if self.is_current(leg) => {
                tracing::warn!("the page sent a message of more than 100 MiB, which was dropped");
                self.conversation.skipped(self.conversation.received().saturating_add(1));
            }
            Input::Connect(peer) => {
                self.conversation.client_changed();
                self.client = Some(peer);
            }
            Input::Ask(asker) => {
                self.asked.push(asker);
                self.echo();
            }
            Input::Doubt if self.leg.is_some() => self.set_state(TargetState::Frozen),
            // What an older connection still had to say.
            Input::Closed(_)
            | Input::Agent(..)
            | Input::Page(..)
            | Input::TooLarge(_)
            | Input::Doubt
            | Input::Dismiss(_) => {}
        }
    }

    async fn on_opened(&mut self, leg: LegId, outgoing: QueueIn, hello: &Hello, ticket: &Hidden) {
        if let Some(old) = self.leg.take() {
            // A closed or full queue means that the old connection is as good as gone.
            let _ = old.outgoing.send(Outgoing::Close(close::REPLACED, "replaced"));
        }
        self.last_leg = Some(leg);
        self.leg = Some(Leg { id: leg, outgoing, heard: Instant::now() });
        self.visible = hello.visible;
        self.unconfirmed = 0;
        let (step, new_document) = self.conversation.connected(hello);
        let welcome = json!({ "ticket": ticket.expose(), "received": self.conversation.received() });
        self.send(Outgoing::Text(json!({ "method": "Relay.welcome", "params": welcome }).to_string()));
        let (url, state) = (self.safe_url(&hello.url), self.live_state());
        self.view.send_modify(|view| {
            view.info.url = url;
            view.info.title.clone_from(&hello.title);
            view.info.user_agent.clone_from(&hello.user_agent);
            view.info.agent_version.clone_from(&hello.version);
            view.document += u64::from(new_document);
            view.leaving = false;
            view.state = state;
        });
        self.answer_askers();
        self.perform(step).await;
    }

    /// The page is alive: it spoke for itself.
    fn answer_askers(&mut self) {
        for asker in self.asked.drain(..) {
            // Whoever asked may have lost patience.
            let _ = asker.send(());
        }
    }

    fn on_agent(&mut self, says: AgentSays) {
        if let Some(leg) = &mut self.leg {
            leg.heard = Instant::now();
        }
        match says {
            AgentSays::Echo { received, visible } => {
                self.conversation.confirmed(received);
                self.visible = visible;
                self.answer_askers();
            }
            AgentSays::Visibility { visible } => self.visible = visible,
            AgentSays::Page { url, title } => {
                let url = self.safe_url(&url);
                self.view.send_modify(|view| {
                    view.info.url = url;
                    view.info.title = title;
                });
            }
            AgentSays::Script { id } => self.offer_script(id),
            // Until it is heard again.
            AgentSays::Frozen {} => {
                self.set_state(TargetState::Frozen);
                return;
            }
            AgentSays::Leaving {} => {
                self.view.send_modify(|view| view.leaving = true);
                self.asked.clear();
                return;
            }
            AgentSays::Skipped { received, dropped } => {
                tracing::warn!(dropped, "the page had no room to keep messages while it was not connected");
                self.conversation.skipped(received);
            }
            // It was read before this connection was handed over; a second one changes nothing.
            AgentSays::Hello(_) => {}
        }
        self.set_state(self.live_state());
    }

    /// Tells the page where a command waits as a script; without a name where there is none.
    fn offer_script(&mut self, id: u64) {
        let offered = self.conversation.source(id).and_then(|source| self.scripts.offer(&source).ok());
        let params = match &offered {
            Some((name, inserted)) => json!({ "id": id, "name": name.expose(), "inserted": inserted }),
            None => json!({ "id": id }),
        };
        self.send(Outgoing::Text(json!({ "method": "Relay.script", "params": params }).to_string()));
    }

    fn on_tick(&mut self) {
        self.echo();
        let overdue = self.leg.as_ref().is_some_and(|leg| leg.heard.elapsed() > ECHO_OVERDUE);
        if overdue {
            self.set_state(TargetState::Frozen);
        }
    }

    fn echo(&mut self) {
        self.unconfirmed = 0;
        let received = self.conversation.received();
        self.send(Outgoing::Text(format!(r#"{{"method":"Relay.echo","params":{{"received":{received}}}}}"#)));
    }

    async fn perform(&mut self, step: Step) {
        for text in step.to_page {
            self.send(Outgoing::Text(text));
        }
        for text in step.to_client {
            let Some(client) = &self.client else { return };
            if !matches!(within(CLIENT_LIMIT, client.send(text)).await, Ok(Ok(()))) {
                let reason = format!("it took no message for {} s", CLIENT_LIMIT.as_secs());
                tracing::warn!("a debugger was cut off: {reason}");
                if let Some(client) = self.client.take() {
                    client.close_with(CloseReason::Detached(reason.into()));
                }
            }
        }
    }

    fn send(&mut self, message: Outgoing) {
        let Some(leg) = &self.leg else { return };
        if leg.outgoing.send(message).is_err() {
            // Closed, or more waits than a page that still reads would leave, and then it is told so; what it missed is
            // sent again when it has dialled anew.
            self.lose_leg();
        }
    }

    fn lose_leg(&mut self) {
        // Dropping the queue's only sender ends the connection's task.
        self.leg = None;
        self.conversation.disconnected();
        self.gone_at = Instant::now() + RECONNECT_LIMIT;
        self.set_state(TargetState::Reconnecting);
    }

    fn end(&mut self, reason: CloseReason) {
        self.view.send_modify(|view| view.state = TargetState::Gone);
        let (code, words) = match reason {
            CloseReason::Replaced(_) => (close::REPLACED, "replaced by another page"),
            _ => (close::DONE, "done"),
        };
        // The client ends what is pending by itself, with this reason.
        if let Some(client) = self.client.take() {
            client.close_with(reason);
        }
        if let Some(leg) = self.leg.take() {
            let _ = leg.outgoing.send(Outgoing::Close(code, words));
        }
    }

    fn is_current(&self, leg: LegId) -> bool {
        self.leg.as_ref().is_some_and(|current| current.id == leg)
    }

    fn live_state(&self) -> TargetState {
        if self.visible { TargetState::Live } else { TargetState::Hidden }
    }

    fn set_state(&self, state: TargetState) {
        self.view.send_if_modified(|view| std::mem::replace(&mut view.state, state) != state);
    }

    fn safe_url(&self, raw: &str) -> SafeUrl {
        SafeUrl::hiding(raw, self.public_host.as_deref())
    }
}

async fn next_command(client: &mut Option<Peer>) -> Option<String> {
    match client {
        Some(client) => client.recv().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
