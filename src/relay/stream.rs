//! A connection of a page where the network lets no WebSocket through: a stream of server-sent events down, numbered
//! batches of messages up, one request each. Gate, registry and queues are those of a socket.
//!
//! A request is `POST target/<id>` with plain text in it. Its first line is `open <ticket>`, and the agent's hello
//! follows; or `send <key> <number>`, and messages follow, one a line. The key is told on the stream it belongs to.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::StreamExt;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::conversation::Hello;
use super::door::Visitor;
use super::gate::Credentials;
use super::http::{answer, empty, rejected};
use super::hub::{Admitted, Hub};
use super::leg::{AgentSays, HELLO_LIMIT, MAX_MESSAGE, SEND_LIMIT, close, input_of, sort};
use super::queue::{Outgoing, QueueOut};
use super::registry::{LegId, TargetId};
use super::target::Input;
use crate::secret::{Hidden, random_ticket, same};

/// Longest first line: a word, a ticket and a number.
const MAX_FIRST_LINE: usize = 128;
/// Longest hello; its address and title have at most 8192 characters each.
const MAX_HELLO: usize = 128 << 10;
/// Pages say something every five seconds unless they are busy. One that is busy for longer than this is given up.
const SILENT_LIMIT: Duration = Duration::from_secs(120);
/// How long a batch waits for the one before it.
const ORDER_LIMIT: Duration = Duration::from_secs(2);
/// How long batches are taken after the stream has ended: what a page says as it is left comes on other connections.
const PARTING_LIMIT: Duration = Duration::from_secs(1);
/// Some middle men hold back the first kilobytes of an answer.
const PADDING: usize = 2048;

/// The streams that are open.
#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<Vec<(Hidden, Arc<Upward>)>>);

/// The way up of one stream.
#[derive(Debug)]
struct Upward {
    leg: LegId,
    target: mpsc::Sender<Input>,
    /// Number of the next batch.
    next: watch::Sender<u64>,
    /// Held while a batch is handed on.
    turn: tokio::sync::Mutex<()>,
    heard: Mutex<Instant>,
}

impl Streams {
    fn find(&self, key: &Hidden) -> Option<Arc<Upward>> {
        lock(&self.0).iter().find(|(own, _)| same(own, key)).map(|(_, upward)| Arc::clone(upward))
    }

    fn add(&self, key: Hidden, upward: Arc<Upward>) {
        lock(&self.0).push((key, upward));
    }

    fn remove(&self, key: &Hidden) {
        lock(&self.0).retain(|(own, _)| own != key);
    }
}

/// Answers one request of an agent.
pub(super) async fn handle(
    hub: &Arc<Hub>,
    visitor: &Visitor,
    id: TargetId,
    mut given: Credentials,
    body: Body,
) -> Response {
    let mut body = Reading { stream: body.into_data_stream(), held: Vec::new() };
    let Ok(Some(line)) = timeout(HELLO_LIMIT, body.first_line()).await else { return empty(StatusCode::BAD_REQUEST) };
    let mut words = line.split(' ');
    match (words.next(), words.next(), words.next()) {
        (Some("open"), ticket, None) => {
            given.ticket = ticket.filter(|ticket| !ticket.is_empty()).map(Hidden::new);
            if hub.check_target(&id, &given).is_err() {
                return rejected();
            }
            visitor.may_stay();
            match timeout(HELLO_LIMIT, body.rest(MAX_HELLO)).await.ok().flatten().as_deref().map(sort) {
                Some(Some(AgentSays::Hello(hello))) => open(hub, id, hello).await,
                _ => empty(StatusCode::BAD_REQUEST),
            }
        }
        (Some("send"), Some(key), Some(number)) => {
            let upward = hub.streams.find(&Hidden::new(key));
            let (Some(upward), Ok(number)) = (upward, number.parse()) else { return empty(StatusCode::GONE) };
            visitor.may_stay();
            match timeout(SEND_LIMIT, body.rest(MAX_MESSAGE)).await {
                Ok(Some(text)) => receive(hub, upward, number, text).await,
                _ => empty(StatusCode::BAD_REQUEST),
            }
        }
        _ => empty(StatusCode::BAD_REQUEST),
    }
}

async fn open(hub: &Arc<Hub>, id: TargetId, hello: Hello) -> Response {
    let Admitted { target, leg, mut outgoing } = match hub.admit(id, hello).await {
        Ok(admitted) => admitted,
        Err((code, reason)) => return events(Body::from(closing(code, reason))),
    };
    let Ok(key) = random_ticket() else { return empty(StatusCode::INTERNAL_SERVER_ERROR) };
    let upward = Arc::new(Upward {
        leg,
        target: target.input().clone(),
        next: watch::Sender::new(0),
        turn: tokio::sync::Mutex::default(),
        heard: Mutex::new(Instant::now()),
    });
    hub.streams.add(key.clone(), Arc::clone(&upward));
    // One message may wait here; the leg's queue is before it.
    let (out, pieces) = mpsc::channel(1);
    let task_hub = Arc::clone(hub);
    hub.tasks.spawn(async move {
        // The queue stays: a page whose queue is gone counts as lost.
        if write(&mut outgoing, &out, &key, &upward, task_hub.keep_alive).await == Ended::ByPage {
            let _ = timeout(PARTING_LIMIT, upward.target.closed()).await;
        }
        task_hub.streams.remove(&key);
        // A target that has ended needs no news.
        let _ = upward.target.send(Input::Closed(leg)).await;
    });
    let pieces = futures_util::stream::unfold(pieces, |mut pieces| async { Some((pieces.recv().await?, pieces)) });
    events(Body::from_stream(pieces.map(Ok::<Bytes, Infallible>)))
}

#[derive(PartialEq, Eq)]
enum Ended {
    ByPage,
    ByRelay,
}

/// Writes events until one side ends it.
async fn write(
    outgoing: &mut QueueOut,
    out: &mpsc::Sender<Bytes>,
    key: &Hidden,
    upward: &Upward,
    keep_alive: Duration,
) -> Ended {
    let key = json!({ "method": "Relay.stream", "params": { "key": key.expose() } });
    let mut next = Some(format!(":{}\n\n{}", " ".repeat(PADDING), event(&key.to_string())));
    let mut ping = interval(keep_alive);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = false;
    let mut size = 0;
    let cut = outgoing.cut();
    loop {
        if let Some(text) = next.take() {
            let sent = tokio::select! {
                sent = timeout(SEND_LIMIT, out.send(text.into())) => sent,
                // It takes nothing, not even the reason.
                () = cut.cancelled() => return Ended::ByRelay,
            };
            if last {
                return Ended::ByRelay;
            }
            if !matches!(sent, Ok(Ok(()))) {
                return Ended::ByPage;
            }
            outgoing.sent(std::mem::take(&mut size));
        }
        tokio::select! {
            () = cut.cancelled() => {
                last = true;
                next = Some(closing(close::TOO_SLOW, "too slow for what it is sent"));
                continue;
            }
            message = outgoing.recv() => next = match message {
                Some(Outgoing::Text(text)) => {
                    size = text.len();
                    Some(event(&text))
                }
                Some(Outgoing::Close(code, reason)) => {
                    last = true;
                    Some(closing(code, reason))
                }
                None => return Ended::ByRelay,
            },
            _ = ping.tick() => {
                if lock(&upward.heard).elapsed() > SILENT_LIMIT {
                    return Ended::ByRelay;
                }
                next = Some(":\n\n".into());
            }
            () = out.closed() => return Ended::ByPage,
        }
    }
}

/// Hands a batch on. The whole of it, whatever becomes of the request: half a batch would be sent again as a whole.
async fn receive(hub: &Hub, upward: Arc<Upward>, number: u64, text: String) -> Response {
    *lock(&upward.heard) = Instant::now();
    let handed_on = hub.tasks.spawn(async move {
        let mut next = upward.next.subscribe();
        // A page that is being left does not wait for an answer before it sends the rest.
        if !matches!(timeout(ORDER_LIMIT, next.wait_for(|next| *next >= number)).await, Ok(Ok(_))) {
            return StatusCode::CONFLICT;
        }
        let _turn = upward.turn.lock().await;
        // A browser repeats a request when a connection that it used before is gone.
        if number < *upward.next.borrow() {
            return StatusCode::NO_CONTENT;
        }
        for line in text.split('\n').filter(|line| !line.is_empty()) {
            if upward.target.send(input_of(upward.leg, line)).await.is_err() {
                return StatusCode::GONE;
            }
        }
        upward.next.send_modify(|next| *next += 1);
        StatusCode::NO_CONTENT
    });
    empty(handed_on.await.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
}

/// One event. In JSON a line break can only stand between things, where a space does as well.
fn event(text: &str) -> String {
    if text.contains(['\n', '\r']) {
        format!("data: {}\n\n", text.replace(['\n', '\r'], " "))
    } else {
        format!("data: {text}\n\n")
    }
}

fn closing(code: u16, reason: &str) -> String {
    format!("event: close\ndata: {}\n\n", json!({ "code": code, "reason": reason }))
}

fn events(body: Body) -> Response {
    let mut response = answer(StatusCode::OK, "text/event-stream", body);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store, no-transform"));
    // nginx and its relatives pass on what comes when it comes.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// A body that is read in two steps: what it is, and then as much of it as that may have.
struct Reading {
    stream: axum::body::BodyDataStream,
    held: Vec<u8>,
}

impl Reading {
    async fn first_line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.held.iter().position(|&byte| byte == b'\n') {
                let line = self.held.drain(..=end).collect::<Vec<u8>>();
                return String::from_utf8(line)
                    .ok()
                    .filter(|line| line.len() <= MAX_FIRST_LINE)
                    .map(|line| line.trim_end().to_owned());
            }
            if self.held.len() > MAX_FIRST_LINE || !self.more().await? {
                return None;
            }
        }
    }

    async fn rest(mut self, most: usize) -> Option<String> {
        while self.held.len() <= most {
            if !self.more().await? {
                return String::from_utf8(self.held).ok();
            }
        }
        None
    }

    /// Reads on; false at the end, none when the connection broke.
    async fn more(&mut self) -> Option<bool> {
        match self.stream.next().await {
            Some(Ok(piece)) => self.held.extend_from_slice(&piece),
            Some(Err(_)) => return None,
            None => return Some(false),
        }
        Some(true)
    }
}

/// Nothing that holds these locks can panic; if it did, what they guard is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_a_debugger_sends() {
        assert_eq!(event(r#"{"a":"\n"}"#), "data: {\"a\":\"\\n\"}\n\n");
        assert_eq!(event("{\r\n \"a\":\n1}"), "data: {   \"a\": 1}\n\n");
    }

    #[tokio::test]
    async fn a_body_is_read_as_far_as_it_may_go() {
        let reading = |text: &'static str| Reading { stream: Body::from(text).into_data_stream(), held: Vec::new() };
        let mut body = reading("open x\n{}\n{}");
        assert_eq!(body.first_line().await.as_deref(), Some("open x"));
        assert_eq!(body.rest(5).await.as_deref(), Some("{}\n{}"));
        let mut body = reading("open x\n{}\n{}");
        body.first_line().await;
        assert_eq!(body.rest(4).await, None, "too long");
        assert_eq!(reading("open x").first_line().await, None, "no line");
        let long: &'static str = Box::leak("x".repeat(1000).into_boxed_str());
        assert_eq!(reading(long).first_line().await, None);
    }
}
