//! Connections of the public listener. Whoever has not shown yet that it may come in gets little time and little room, so
//! that nobody in the network can keep pages out by being slow or many.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::http;
use super::hub::Hub;

/// A stranger shows within this time that it may come in: a request is on its way as soon as a connection is there.
const STRANGER_LIMIT: Duration = Duration::from_secs(10);
/// Strangers at a time; one more, and the one that came first has to leave. A browser opens six connections.
const MAX_STRANGERS: usize = 128;
/// How long a connection waits for its next request. Longer than tunnels keep theirs (cloudflared: 90 s), so that it is
/// they who close.
const NEXT_REQUEST_WITHIN: Duration = Duration::from_secs(120);
/// How long a connection may take to end when the relay does.
const END_LIMIT: Duration = Duration::from_secs(1);

/// Lets connections in until the relay ends.
pub(super) async fn serve(mut listener: impl Listener<Io = TcpStream>, hub: Arc<Hub>) {
    let door = Arc::new(Door::default());
    loop {
        let (stream, _) = tokio::select! {
            biased;
            () = hub.shutdown.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        hub.tasks.spawn(attend(stream, Arc::clone(&hub), door.enter()));
    }
}

async fn attend(stream: TcpStream, hub: Arc<Hub>, visitor: Visitor) {
    let (shutdown, leaves) = (hub.shutdown.clone(), visitor.clone());
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let (hub, visitor) = (Arc::clone(&hub), visitor.clone());
        async move { Ok::<_, Infallible>(http::handle(&hub, &visitor, request.map(Body::new)).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(NEXT_REQUEST_WITHIN);
    let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
    tokio::pin!(connection);
    tokio::select! {
        // How it ended is nobody's concern: a page that needs it dials again.
        _ = connection.as_mut() => return,
        () = leaves.has_to_leave() => return,
        () = shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    drop(tokio::time::timeout(END_LIMIT, connection).await);
}

/// Those who wait, in the order in which they came.
#[derive(Debug, Default)]
struct Door(Mutex<VecDeque<(Arc<()>, CancellationToken)>>);

impl Door {
    fn enter(self: &Arc<Self>) -> Visitor {
        let visitor = Inner {
            door: Arc::clone(self),
            id: Arc::default(),
            turned_out: CancellationToken::new(),
            known: CancellationToken::new(),
        };
        let mut strangers = self.strangers();
        if strangers.len() >= MAX_STRANGERS
            && let Some((_, first)) = strangers.pop_front()
        {
            first.cancel();
        }
        strangers.push_back((Arc::clone(&visitor.id), visitor.turned_out.clone()));
        Visitor(Arc::new(visitor))
    }

    /// Nothing that holds it can panic.
    fn strangers(&self) -> MutexGuard<'_, VecDeque<(Arc<()>, CancellationToken)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who is at the other end of a connection: a stranger until [`Visitor::may_stay`].
#[derive(Clone, Debug)]
pub(super) struct Visitor(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    door: Arc<Door>,
    id: Arc<()>,
    turned_out: CancellationToken,
    known: CancellationToken,
}

impl Visitor {
    /// It showed that it may come in.
    pub(super) fn may_stay(&self) {
        if !self.0.known.is_cancelled() {
            self.0.known.cancel();
            self.0.forget();
        }
    }

    /// Its time is up, or its place is needed. Never of one that may stay.
    pub(super) async fn has_to_leave(&self) {
        tokio::select! {
            biased;
            () = self.0.known.cancelled() => pending().await,
            () = self.0.turned_out.cancelled() => {}
            () = sleep(STRANGER_LIMIT) => {}
        }
    }
}

impl Inner {
    fn forget(&self) {
        self.door.strangers().retain(|(id, _)| !Arc::ptr_eq(id, &self.id));
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn leaves(visitor: &Visitor) -> bool {
        let leaving = pin!(visitor.has_to_leave());
        leaving.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[tokio::test(start_paused = true)]
    async fn a_stranger_has_little_time_and_a_guest_has_all_of_it() {
        let door = Arc::new(Door::default());
        let (stranger, guest) = (door.enter(), door.enter());
        guest.may_stay();
        let began = tokio::time::Instant::now();
        stranger.has_to_leave().await;
        assert_eq!(began.elapsed(), STRANGER_LIMIT);
        assert!(tokio::time::timeout(STRANGER_LIMIT * 100, guest.has_to_leave()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_of_too_many_strangers_makes_room_for_the_last() {
        let door = Arc::new(Door::default());
        let guest = door.enter();
        guest.may_stay();
        let mut strangers: Vec<Visitor> = (0..MAX_STRANGERS).map(|_| door.enter()).collect();
        assert!(!leaves(&strangers[0]), "there is room for so many");
        strangers.push(door.enter());
        assert!(leaves(&strangers[0]) && !leaves(&strangers[1]) && !leaves(&guest));
        strangers.drain(1..);
        assert!(door.strangers().is_empty(), "who has left needs no room");
    }
}
