//! Plays one recorded connection, step by step.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::{Stream, stream};
use tokio::time::{Instant, sleep, sleep_until};

use super::Speed;
use super::lanes::{Busy, Lanes};
use super::recording::{Data, End, Exchange, Kind, Step, When};

/// Codes that stand for none, and that no close frame may carry (RFC 6455, section 7.4.1).
const NOT_SENT: [u16; 3] = [1005, 1006, 1015];

/// A body as it came: its parts in their time, and its end.
pub(super) fn body(exchange: Exchange, speed: Speed, lanes: Arc<Lanes>, busy: Option<Busy>) -> Body {
    Body::from_stream(parts(exchange, speed, lanes, busy))
}

fn parts(
    exchange: Exchange,
    speed: Speed,
    lanes: Arc<Lanes>,
    busy: Option<Busy>,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let Exchange { key, steps, end, .. } = exchange;
    let returns = key.kind == Kind::EventSource;
    let is_silent = steps.is_empty() && !returns;
    // It lives as long as the stream does.
    stream::unfold((steps.into_iter(), Some(end), busy), move |(mut steps, end, busy)| {
        let lanes = Arc::clone(&lanes);
        async move {
            let end = end?;
            if let Some(Step { when, data }) = steps.next() {
                sleep(speed.pause(when.pause)).await;
                return Some((Ok(bytes(data)), (steps, Some(end), busy)));
            }
            match end {
                End::Held | End::Unanswered if is_silent => {
                    drop(lanes.give_way().await);
                    None
                }
                End::Held | End::Unanswered => std::future::pending().await,
                // A source comes back by itself, and is told to stay away then: that is its end.
                End::Proper { when, .. } if returns => {
                    let retry = format!("retry: {}\n\n", speed.pause(when.pause).as_millis());
                    Some((Ok(retry.into()), (steps, None, busy)))
                }
                End::Proper { when, .. } => {
                    sleep(speed.pause(when.pause)).await;
                    None
                }
                End::Broken { when } => {
                    sleep(speed.pause(when.pause)).await;
                    Some((Err(io::Error::other("it broke off here")), (steps, None, busy)))
                }
            }
        }
    })
}

fn bytes(data: Data) -> Bytes {
    match data {
        Data::Text(text) | Data::Event(text) => text.into(),
        Data::Bytes(bytes) => bytes.into(),
    }
}

/// A socket: messages come when the page has sent what it had sent before them, and as long after that as they did.
pub(super) async fn socket(mut socket: WebSocket, exchange: Exchange, speed: Speed) {
    let is_answered = exchange.end != End::Unanswered;
    let Err(over) = conversation(&mut socket, exchange, speed).await;
    if matches!(over, Over::Asked) && is_answered {
        // The answer to a close frame waits in the socket, and leaves when it is looked at again.
        while let Some(Ok(_)) = socket.recv().await {}
    }
}

/// Why no more is said on a socket.
enum Over {
    /// The page has sent a close frame, the first one or the answer to ours.
    Asked,
    /// The page is gone, or the server went at this point.
    Gone,
}

impl From<axum::Error> for Over {
    fn from(_: axum::Error) -> Self {
        Self::Gone
    }
}

async fn conversation(socket: &mut WebSocket, exchange: Exchange, speed: Speed) -> Result<Infallible, Over> {
    let mut sent = 0;
    for Step { when, data } in exchange.steps {
        wait(socket, when, &mut sent, speed).await?;
        let message = match data {
            Data::Text(text) | Data::Event(text) => Message::Text(text.into()),
            Data::Bytes(bytes) => Message::Binary(bytes.into()),
        };
        socket.send(message).await?;
    }
    match exchange.end {
        End::Held | End::Unanswered => {}
        End::Broken { when } => {
            wait(socket, when, &mut sent, speed).await?;
            return Err(Over::Gone);
        }
        End::Proper { when, code, reason } => {
            wait(socket, when, &mut sent, speed).await?;
            let frame = (!NOT_SENT.contains(&code)).then(|| CloseFrame { code, reason: reason.into() });
            socket.send(Message::Close(frame)).await?;
        }
    }
    loop {
        heard(socket).await?;
    }
}

/// Listens until the page has sent so much, and the pause after that is over.
async fn wait(socket: &mut WebSocket, when: When, sent: &mut usize, speed: Speed) -> Result<(), Over> {
    while *sent < when.sent {
        *sent += heard(socket).await?;
    }
    let pause = speed.pause(when.pause);
    if pause.is_zero() {
        return Ok(());
    }
    let over = sleep_until(Instant::now() + pause);
    tokio::pin!(over);
    loop {
        tokio::select! {
            () = &mut over => return Ok(()),
            more = heard(socket) => *sent += more?,
        }
    }
}

/// Messages that the page has sent now: one, or none where it says something else.
async fn heard(socket: &mut WebSocket) -> Result<usize, Over> {
    match socket.recv().await {
        Some(Ok(Message::Text(_) | Message::Binary(_))) => Ok(1),
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(0),
        Some(Ok(Message::Close(_))) => Err(Over::Asked),
        Some(Err(_)) | None => Err(Over::Gone),
    }
}
