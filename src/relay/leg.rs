//! One connection of a page: the socket's two halves, with bounded queues and a ping.

use std::pin::pin;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::{SinkExt, Stream, StreamExt, stream::SplitSink, stream::SplitStream};
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::tungstenite::Error as WsError;

use super::conversation::Hello;
use super::limit::within;
use super::queue::{Outgoing, QueueOut};
use super::registry::LegId;
use super::target::Input;
use crate::cdp::Room;

/// Largest message: what the field's relays allow, so that a script or a result that works there works here.
pub(super) const MAX_MESSAGE: usize = 100 << 20;
/// A browser answers pings even while its page is busy: so many unanswered ones mean that the connection is dead.
const DEAD_AFTER: u32 = 3;
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
    /// A message was too large.
    pub(in crate::relay) const TOO_LARGE: u16 = 1009;
    /// Dial again.
    pub(in crate::relay) const COME_AGAIN: u16 = 1012;
    /// Too slow for what it is sent; dial again.
    pub(in crate::relay) const TOO_SLOW: u16 = 1013;
    /// Wrong or expired code.
    pub(in crate::relay) const REJECTED: u16 = 4401;
    /// A newer connection of the same id took over.
    pub(in crate::relay) const REPLACED: u16 = 4408;
    /// Another page is in use.
    pub(in crate::relay) const IN_USE: u16 = 4409;
    /// Not a page that was asked for; it may become one when its address or title changes, so the agent dials again.
    pub(in crate::relay) const PASSED_OVER: u16 = 4410;
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
        None => Input::Page(leg, text.to_owned(), None),
    }
}

/// The answer to a close frame waits in the socket, and leaves when it is looked at again.
async fn answer_close(stream: &mut (impl Stream<Item = Result<Message, axum::Error>> + Unpin)) {
    let _ = timeout(CLOSE_LIMIT, async { while let Some(Ok(_)) = stream.next().await {} }).await;
}

/// Closes a socket with a reason the page can read, and waits a moment until it has.
pub(super) async fn dismiss(mut socket: WebSocket, code: u16, reason: &'static str) {
    let frame = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
    let _ = timeout(CLOSE_LIMIT, async {
        // One that the page closes already takes none, and has to be looked at all the same.
        let _ = socket.send(frame).await;
        while let Some(Ok(_)) = socket.recv().await {}
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
    outgoing: QueueOut,
    target: mpsc::Sender<Input>,
    keep_alive: Duration,
) {
    let (sink, stream) = socket.split();
    let (end, ended) = oneshot::channel();
    let read = async {
        let reason = read(stream, leg, &target, keep_alive).await;
        // The writer says it to the page.
        if let Some(reason) = reason
            && end.send(reason).is_ok()
        {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = read => {}
        () = write(sink, outgoing, ended, keep_alive) => {}
    }
    // A target that has ended needs no news.
    let _ = target.send(Input::Closed(leg)).await;
}

/// Reads until the connection ends; returns what the page is to be told, if it is still there.
async fn read(
    mut stream: SplitStream<WebSocket>,
    leg: LegId,
    target: &mpsc::Sender<Input>,
    keep_alive: Duration,
) -> Option<(u16, &'static str)> {
    // What waits for the target's task; more, and the socket is not read.
    let room = Room::default();
    loop {
        let message = match within(keep_alive * DEAD_AFTER, stream.next()).await.ok()?? {
            Ok(message) => message,
            Err(error) if is_too_large(&error) => {
                // It counts as received: sent again after a reconnect, it would be too large again.
                let _ = target.send(Input::TooLarge(leg)).await;
                return Some((close::TOO_LARGE, "a message of more than 100 MiB"));
            }
            Err(_) => return None,
        };
        let input = match message {
            Message::Text(text) => {
                let mut input = input_of(leg, &text);
                if let Input::Page(_, text, taken) = &mut input {
                    *taken = Some(room.take(text.len()).await);
                }
                input
            }
            Message::Ping(_) | Message::Pong(_) => continue,
            Message::Close(_) => {
                answer_close(&mut stream).await;
                return None;
            }
            // CDP is text.
            Message::Binary(_) => return None,
        };
        target.send(input).await.ok()?;
    }
}

fn is_too_large(error: &axum::Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<WsError>());
    matches!(cause, Some(WsError::Capacity(_)))
}

/// Messages that wait already go out together.
async fn write_one(
    sink: &mut SplitSink<WebSocket, Message>,
    message: Message,
    after: &QueueOut,
) -> Result<(), axum::Error> {
    sink.feed(message).await?;
    if after.is_empty() { sink.flush().await } else { Ok(()) }
}

async fn write(
    mut sink: SplitSink<WebSocket, Message>,
    mut outgoing: QueueOut,
    mut ended: oneshot::Receiver<(u16, &'static str)>,
    keep_alive: Duration,
) {
    let mut ping = interval_at(Instant::now() + keep_alive, keep_alive);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let cut = outgoing.cut();
    let mut cut = pin!(cut.cancelled());
    let (code, reason) = loop {
        let (size, message) = tokio::select! {
            () = &mut cut => break (close::TOO_SLOW, "too slow for what it is sent"),
            Ok(end) = &mut ended => break end,
            next = outgoing.recv() => match next {
                Some(Outgoing::Text(text)) => (text.len(), Message::Text(text.into())),
                Some(Outgoing::Close(code, reason)) => break (code, reason),
                None => return,
            },
            _ = ping.tick() => (0, Message::Ping(Vec::new().into())),
        };
        let sent = tokio::select! {
            () = &mut cut => break (close::TOO_SLOW, "too slow for what it is sent"),
            sent = within(SEND_LIMIT, write_one(&mut sink, message, &outgoing)) => sent,
        };
        if !matches!(sent, Ok(Ok(()))) {
            return;
        }
        outgoing.sent(size);
    };
    let frame = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
    let _ = timeout(CLOSE_LIMIT, sink.send(frame)).await;
    // The reader ends this leg when the page has confirmed; this is for one that does not.
    tokio::time::sleep(CLOSE_LIMIT).await;
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
