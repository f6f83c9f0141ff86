//! Bodies that do as their address says: in parts, held open, broken off, endless.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;

use super::ledger::{Ledger, Watched};
use super::query::Pairs;

/// Between two parts, so that they come as chunks of their own.
const GAP: Duration = Duration::from_millis(15);
/// A part of an endless body.
const PART: usize = 64 * 1024;

/// What comes after the last part.
#[derive(Clone, Copy)]
enum End {
    Proper,
    Never,
    Broken,
}

impl End {
    fn of(pairs: &Pairs) -> Self {
        match (pairs.has("hold"), pairs.has("break")) {
            (true, _) => Self::Never,
            (_, true) => Self::Broken,
            _ => Self::Proper,
        }
    }
}

fn body(parts: impl Iterator<Item = Bytes> + Send + 'static, gap: Duration, end: End, watched: Watched) -> Body {
    let state = (parts, true, watched);
    Body::from_stream(stream::unfold(state, move |(mut parts, more, watched)| async move {
        if !more {
            return None;
        }
        if let Some(part) = parts.next() {
            watched.took(part.len());
            tokio::time::sleep(gap).await;
            return Some((Ok(part), (parts, true, watched)));
        }
        match end {
            End::Proper => watched.ended("done"),
            End::Never => std::future::pending().await,
            End::Broken => return Some((Err(io::Error::other("broken off")), (parts, false, watched))),
        }
        None
    }))
}

fn of_type(kind: &str, body: Body) -> Response {
    ([(CONTENT_TYPE, kind.to_owned()), (CACHE_CONTROL, "no-store".to_owned())], body).into_response()
}

/// `/parts?type=&part=<hex>...&hold|break&key=`
pub(super) async fn parts(State(ledger): State<Ledger>, Query(pairs): Query<Pairs>) -> Response {
    let parts: Vec<Bytes> = pairs.all("part").map(unhex).collect();
    let kind = pairs.one("type").unwrap_or("text/plain");
    of_type(kind, body(parts.into_iter(), GAP, End::of(&pairs), ledger.open(pairs.one("key"))))
}

/// `/big?bytes=&key=`: as fast as it is taken.
pub(super) async fn big(State(ledger): State<Ledger>, Query(pairs): Query<Pairs>) -> Response {
    let bytes: usize = pairs.one("bytes").and_then(|bytes| bytes.parse().ok()).unwrap_or_default();
    let part = Bytes::from(vec![b'x'; PART]);
    let parts = std::iter::repeat_n(part, bytes / PART);
    let kind = pairs.one("type").unwrap_or("application/octet-stream");
    of_type(kind, body(parts, Duration::ZERO, End::Proper, ledger.open(pairs.one("key"))))
}

/// `/events?send=&then=&hold&cut&gone`: `then` for one that comes back; `cut` ends the first answer only, `gone` tells
/// who comes back to stay away.
pub(super) async fn events(State(ledger): State<Ledger>, headers: HeaderMap, Query(pairs): Query<Pairs>) -> Response {
    let again = headers.contains_key("last-event-id");
    if again && pairs.has("gone") {
        return StatusCode::NO_CONTENT.into_response();
    }
    let text = pairs.one(if again { "then" } else { "send" }).unwrap_or_default().to_owned();
    let end = if pairs.has("hold") && (again || !pairs.has("cut")) { End::Never } else { End::Proper };
    let parts = std::iter::once(Bytes::from(text));
    of_type("text/event-stream", body(parts, Duration::ZERO, end, ledger.open(pairs.one("key"))))
}

/// `/redirect?to=`
pub(super) async fn redirect(Query(pairs): Query<Pairs>) -> Response {
    (StatusCode::FOUND, [(LOCATION, pairs.one("to").unwrap_or("/").to_owned())]).into_response()
}

fn unhex(text: &str) -> Bytes {
    let byte = |at| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()).unwrap_or(b'?');
    (0..text.len() / 2).map(|at| byte(at * 2)).collect()
}
