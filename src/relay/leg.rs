//! One connection of a page: the socket's two halves, with bounded queues and a ping.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::{SinkExt, StreamExt, stream::SplitSink, stream::SplitStream};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use super::conversation::Hello;
use super::registry::LegId;
use super::target::Input;

/// Largest message: what the field's relays allow, so that a script or a result that works there works here.
pub(super) const MAX_MESSAGE: usize = 100 << 20;
/// Messages that may wait for a page before it counts as too slow; a run has a handful on the way.
pub(super) const LEG_QUEUE: usize = 1024;
/// Tunnels and NATs drop what is silent; the shortest cut seen in the field is 60 s.
pub(super) const PING_EVERY: Duration = Duration::from_secs(15);
/// A browser answers pings even while its page is busy: three unanswered ones mean that the connection is dead.
const DEAD_AFTER: Duration = Duration::from_secs(45);
/// The agent says hello as soon as its socket is open.
pub(super) const HELLO_LIMIT: Duration = Duration::from_secs(10);
/// How long a closing page may take to confirm, and a stalled one to take a message.
const CLOSE_LIMIT: Duration = Duration::from_millis(500);
/// A message this long in the sending means that nothing gets through any more (100 MiB at mobile speed take a minute).
pub(super) const SEND_LIMIT: Duration = Duration::from_secs(90);

/// Close codes that the agent knows. 4401 is also known to apps in the field.
pub(super) mod close {
    /// The session is over; the agent stays quiet.
    pub(in crate::relay) const DONE: u16 = 1000;
    /// Wrong or expired code.
    pub(in crate::relay) const REJECTED: u16 = 4401;
    /// A newer connection of the same id took over.
    pub(in crate::relay) const REPLACED: u16 = 4408;
    /// Another page is in use.
    pub(in crate::relay) const IN_USE: u16 = 4409;
    /// Not a page that was asked for; it may become one when its address or title changes, so the agent dials again.
    pub(in crate::relay) const PASSED_OVER: u16 = 4410;
}

/// What a leg is asked to send.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// A message.
    Text(String),
    /// The end.
    Close(u16, &'static str),
}

/// What the agent says to the relay itself; everything else goes to the client.
#[derive(Debug, Deserialize)]
#[serde(tag = "method", content = "params")]
pub(super) enum AgentSays {
    /// First message of every connection.
    #[serde(rename = "Agent.hello")]
    Hello(Hello),
    /// Answer to `Relay.echo`: JavaScript runs.
    #[serde(rename = "Agent.echo")]
    Echo {
        /// Commands received from this relay by this document.
        received: u64,
        /// The document is visible.
        visible: bool,
    },
    /// The page's address or title changed without a load.
    #[serde(rename = "Agent.page")]
    Page {
        /// `location.href`.
        url: String,
        /// `document.title`.
        title: String,
    },
    /// The document became visible or hidden.
    #[serde(rename = "Agent.visibility")]
    Visibility {
        /// It is visible.
        visible: bool,
    },
    /// `freeze`: the browser is about to suspend the document.
    #[serde(rename = "Agent.frozen")]
    Frozen {},
    /// `pagehide`: the document is being left.
    #[serde(rename = "Agent.leaving")]
    Leaving {},
    /// The document may not evaluate the command of this id, and asks for it as a script.
    #[serde(rename = "Agent.script")]
    Script {
        /// Number of the command.
        id: u64,
    },
    /// Messages up to this count were dropped for want of room.
    #[serde(rename = "Agent.skipped")]
    Skipped {
        /// Count of the last one that will never come.
        received: u64,
        /// How many were dropped.
        dropped: u64,
    },
}

/// How every message of the agent to the relay itself begins.
const AGENT_PREFIX: &str = r#"{"method":"Agent."#;

/// A text of the page: for the relay, or for the client.
pub(super) fn sort(text: &str) -> Option<AgentSays> {
    text.starts_with(AGENT_PREFIX).then(|| serde_json::from_str(text).ok())?
}

/// The same, for the target's task.
pub(super) fn input_of(leg: LegId, text: &str) -> Input {
    match sort(text) {
        Some(says) => Input::Agent(leg, says),
        None => Input::Page(leg, text.to_owned()),
    }
}

/// Closes a socket with a reason the page can read, and waits a moment until it has.
pub(super) async fn dismiss(mut socket: WebSocket, code: u16, reason: &'static str) {
    let frame = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
    let _ = timeout(CLOSE_LIMIT, async {
        socket.send(frame).await.ok()?;
        while let Some(Ok(_)) = socket.recv().await {}
        Some(())
    })
    .await;
}

/// Waits for the agent's first message.
pub(super) async fn hello(socket: &mut WebSocket) -> Option<Hello> {
    timeout(HELLO_LIMIT, async {
        loop {
            match socket.recv().await?.ok()? {
                Message::Text(text) => match sort(&text) {
                    Some(AgentSays::Hello(hello)) => return Some(hello),
                    _ => return None,
                },
                Message::Ping(_) | Message::Pong(_) => {}
                Message::Binary(_) | Message::Close(_) => return None,
            }
        }
    })
    .await
    .ok()?
}

/// Moves messages until the connection ends, then tells the target.
pub(super) async fn run(
    socket: WebSocket,
    leg: LegId,
    outgoing: mpsc::Receiver<Outgoing>,
    target: mpsc::Sender<Input>,
) {
    let (sink, stream) = socket.split();
    tokio::select! {
        () = read(stream, leg, &target) => {}
        () = write(sink, outgoing) => {}
    }
    // A target that has ended needs no news.
    let _ = target.send(Input::Closed(leg)).await;
}

async fn read(mut stream: SplitStream<WebSocket>, leg: LegId, target: &mpsc::Sender<Input>) {
    while let Ok(Some(Ok(message))) = timeout(DEAD_AFTER, stream.next()).await {
        let input = match message {
            Message::Text(text) => input_of(leg, &text),
            Message::Ping(_) | Message::Pong(_) => continue,
            // CDP is text.
            Message::Binary(_) | Message::Close(_) => return,
        };
        if target.send(input).await.is_err() {
            return;
        }
    }
}

async fn write(mut sink: SplitSink<WebSocket, Message>, mut outgoing: mpsc::Receiver<Outgoing>) {
    let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            next = outgoing.recv() => match next {
                Some(Outgoing::Text(text)) => Message::Text(text.into()),
                Some(Outgoing::Close(code, reason)) => {
                    let frame = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
                    let _ = timeout(CLOSE_LIMIT, sink.send(frame)).await;
                    // The reader ends this leg when the page has confirmed; this is for one that does not.
                    tokio::time::sleep(CLOSE_LIMIT).await;
                    return;
                }
                None => return,
            },
            _ = ping.tick() => Message::Ping(Vec::new().into()),
        };
        if !matches!(timeout(SEND_LIMIT, sink.send(message)).await, Ok(Ok(()))) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agents_own_messages_are_told_from_cdp() {
        let echo = r#"{"method":"Agent.echo","params":{"received":3,"visible":true}}"#;
        assert!(matches!(sort(echo), Some(AgentSays::Echo { received: 3, visible: true })));
        assert!(matches!(sort(r#"{"method":"Agent.leaving","params":{}}"#), Some(AgentSays::Leaving {})));
        for other in [r#"{"id":1,"result":{}}"#, r#"{"method":"Runtime.x","params":{}}"#, r#"{"method":"Agent.x"}"#, ""]
        {
            assert!(sort(other).is_none(), "{other}");
        }
    }
}
