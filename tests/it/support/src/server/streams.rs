//! Answers that come in pieces: chunks, server-sent events, WebSocket messages.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;

use super::ledger::{Ledger, Watched};
use super::query::Pairs;

/// How many pieces, how far apart, how large.
#[derive(Deserialize)]
#[serde(default)]
pub(super) struct Pieces {
    n: usize,
    /// Milliseconds.
    gap: u64,
    /// Bytes.
    size: usize,
}

impl Default for Pieces {
    fn default() -> Self {
        Self { n: 5, gap: 0, size: 16 }
    }
}

/// A body of these pieces, `gap` ms before every one but the first.
fn body(pieces: Vec<Bytes>, gap: u64) -> Body {
    Body::from_stream(stream::unfold(pieces.into_iter().enumerate(), move |mut rest| async move {
        let (index, piece) = rest.next()?;
        if index > 0 && gap > 0 {
            tokio::time::sleep(Duration::from_millis(gap)).await;
        }
        Some((Ok::<_, Infallible>(piece), rest))
    }))
}

pub(super) async fn chunks(Query(ask): Query<Pieces>) -> Response {
    let pieces = (0..ask.n)
        .map(|index| {
            let text = format!("{index}:");
            Bytes::from(format!("{text}{}\n", ".".repeat(ask.size.saturating_sub(text.len() + 1))))
        })
        .collect();
    ([(CONTENT_TYPE, "text/plain; charset=utf-8"), (CACHE_CONTROL, "no-store")], body(pieces, ask.gap)).into_response()
}

pub(super) async fn events(headers: HeaderMap, Query(ask): Query<Pieces>) -> Response {
    if headers.contains_key("last-event-id") {
        // The end of a stream makes an EventSource come back; 204 tells it to stay away.
        return StatusCode::NO_CONTENT.into_response();
    }
    let mut pieces = vec![Bytes::from_static(b"retry: 50\n\n: a comment\n\n")];
    pieces.extend((1..=ask.n).map(|id| Bytes::from(format!("event: tick\nid: {id}\ndata: {{\"n\":{id}}}\n\n"))));
    pieces.push(Bytes::from_static(b"event: done\nid: end\ndata: two\ndata: lines\n\n"));
    ([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")], body(pieces, ask.gap)).into_response()
}

pub(super) async fn web_socket(
    State(ledger): State<Ledger>,
    Query(pairs): Query<Pairs>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let watched = ledger.open(pairs.one("key"));
    let hello: Vec<String> = pairs.all("hello").map(str::to_owned).collect();
    upgrade.protocols(["echo.v2", "echo.v1"]).on_upgrade(|socket| echo(socket, hello, watched))
}

async fn echo(mut socket: WebSocket, hello: Vec<String>, watched: Watched) {
    for text in hello {
        drop(socket.send(Message::Text(text.into())).await);
    }
    let mut is_deaf = false;
    while let Some(Ok(message)) = socket.recv().await {
        let answer = match message {
            Message::Text(text) if text == "drop" => return,
            Message::Text(text) if text == "deaf" => {
                is_deaf = true;
                continue;
            }
            Message::Text(text) => {
                watched.got(text.to_string());
                match close_frame(&text) {
                    Some(frame) => Message::Close(Some(frame)),
                    None => Message::Text(text),
                }
            }
            Message::Binary(bytes) => {
                watched.got(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
                Message::Binary(bytes)
            }
            Message::Ping(_) | Message::Pong(_) => continue,
            Message::Close(frame) => {
                let frame = frame.map(|frame| format!("{}:{}", frame.code, frame.reason)).unwrap_or_default();
                watched.ended(&format!("close:{frame}"));
                if is_deaf {
                    return;
                }
                // The answer leaves with the next look at the socket, which also sees its end.
                continue;
            }
        };
        if socket.send(answer).await.is_err() {
            return;
        }
    }
}

/// `close:4001:why` as the close frame it asks for.
fn close_frame(text: &str) -> Option<CloseFrame> {
    let (code, reason) = text.strip_prefix("close:")?.split_once(':')?;
    Some(CloseFrame { code: code.parse().ok()?, reason: reason.into() })
}
