//! The local listener: this machine's debuggers and its person.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State as Shared};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{Stream, unfold};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::error::DashboardError;
use super::feed::{Board, Feed, Invitations};
use super::gate::{Route, admit};
use super::page::{guard, json, nothing, page};
use super::patch::Known;
use crate::secret::{Hidden, random_ticket};
use crate::settings::DASHBOARD_PORTS;

/// Streams at a time: a person's tabs. Each costs one message at most, however slow it is.
const MAX_STREAMS: usize = 16;
/// Messages of a stream are this far apart at least: fast to the eye, and a thousand results are one message.
const PACE: Duration = Duration::from_millis(50);
/// A stream that is silent for so long says that it lives, and finds out whether its reader does.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The dashboard with the task that serves it. Dropping it ends both at once; [`Dashboard::shutdown`] tells its readers
/// first.
#[derive(Debug)]
pub struct Dashboard {
    shared: Arc<Hub>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct Hub {
    board: Arc<Board>,
    port: u16,
    token: Hidden,
    streams: Arc<Semaphore>,
    shutdown: CancellationToken,
}

impl Dashboard {
    /// Starts listening on 127.0.0.1: on `port`, or on the first free one of [`DASHBOARD_PORTS`] where none is given.
    ///
    /// # Errors
    /// The port that was given cannot be had.
    pub async fn start(port: Option<u16>) -> Result<Self, DashboardError> {
        let listener = listen(port).await?;
        let port = listener.local_addr().map_err(DashboardError::Listen)?.port();
        let shutdown = CancellationToken::new();
        let shared = Arc::new(Hub {
            board: Board::new(),
            port,
            token: random_ticket()?,
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            shutdown: shutdown.clone(),
        });
        let app = Router::new().fallback(handle).with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, app).with_graceful_shutdown(shutdown.cancelled_owned()).await {
                tracing::error!(%error, "the dashboard stopped listening");
            }
        });
        Ok(Self { shared, server })
    }

    /// Its address; whoever knows it sees the attach link.
    pub fn address(&self) -> Hidden {
        Hidden::new(format!("http://127.0.0.1:{}/{}/", self.shared.port, self.shared.token.expose()))
    }

    /// What the run's events go to.
    pub fn feed(&self) -> Feed {
        Feed(Arc::clone(&self.shared.board))
    }

    /// What invitations go to.
    pub fn invitations(&self) -> Invitations {
        Invitations(Arc::clone(&self.shared.board))
    }

    /// Sends every reader what it has not seen yet and the end, closes every connection and stops listening. Those who
    /// did not hear it within this time are cut.
    pub async fn shutdown(mut self, within: Duration) {
        self.shared.shutdown.cancel();
        if timeout(within, &mut self.server).await.is_err() {
            tracing::debug!("a reader of the dashboard did not hear its end in time");
        }
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.shared.shutdown.cancel();
        self.server.abort();
    }
}

async fn listen(port: Option<u16>) -> Result<TcpListener, DashboardError> {
    let bind = |port| TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    if let Some(port) = port {
        return bind(port).await.map_err(|source| DashboardError::Port { port, source });
    }
    for port in DASHBOARD_PORTS {
        if let Ok(listener) = bind(port).await {
            return Ok(listener);
        }
    }
    bind(0).await.map_err(DashboardError::Listen)
}

async fn handle(Shared(hub): Shared<Arc<Hub>>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    match admit(&head, hub.port, &hub.token) {
        None => nothing(StatusCode::NOT_FOUND),
        Some(Route::Page) => match random_ticket() {
            Ok(nonce) => page(&nonce),
            Err(_) => nothing(StatusCode::INTERNAL_SERVER_ERROR),
        },
        Some(Route::Events) => match Arc::clone(&hub.streams).try_acquire_owned() {
            Ok(permit) => {
                let stream = Sse::new(news(&hub, permit)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
                let mut response = stream.into_response();
                guard(&mut response);
                response
            }
            Err(_) => nothing(StatusCode::SERVICE_UNAVAILABLE),
        },
        Some(Route::Payload(n)) => json(hub.board.payload(n)),
        Some(Route::Find { from, text }) => {
            let board = Arc::clone(&hub.board);
            json(tokio::task::spawn_blocking(move || board.find(from, &text)).await.ok())
        }
    }
}

/// One reader of the stream.
struct Reader {
    board: Arc<Board>,
    revisions: watch::Receiver<u64>,
    shutdown: CancellationToken,
    known: Known,
    stage: Stage,
    _permit: OwnedSemaphorePermit,
}

#[derive(PartialEq)]
enum Stage {
    /// It has seen nothing.
    New,
    /// It hears what changes.
    Listening,
    /// It has heard everything but that this is the end.
    Leaving,
    /// Nothing is left to say.
    Left,
}

/// What a reader is sent: everything, then whatever changes, then the end. It is asked for when the reader can take
/// more, so a slow one finds more in its next message and nothing is queued for it.
fn news(hub: &Hub, permit: OwnedSemaphorePermit) -> impl Stream<Item = Result<Event, Infallible>> + use<> {
    let reader = Reader {
        board: Arc::clone(&hub.board),
        revisions: hub.board.revisions(),
        shutdown: hub.shutdown.clone(),
        known: Known::default(),
        stage: Stage::New,
        _permit: permit,
    };
    unfold(reader, |mut reader| async move { reader.next().await.map(|event| (Ok(event), reader)) })
}

impl Reader {
    async fn next(&mut self) -> Option<Event> {
        match self.stage {
            Stage::New => self.stage = Stage::Listening,
            Stage::Listening => {
                let shutdown = self.shutdown.clone();
                let ended = shutdown.run_until_cancelled(self.changed()).await.is_none();
                if ended {
                    self.stage = Stage::Leaving;
                }
            }
            Stage::Leaving if self.board.has_more(self.known) => {}
            Stage::Leaving => {
                self.stage = Stage::Left;
                return Some(Event::default().event("end").data("{}"));
            }
            Stage::Left => return None,
        }
        let (known, patch) = self.board.patch(self.known);
        self.known = known;
        Some(Event::default().data(patch))
    }

    async fn changed(&mut self) {
        sleep(PACE).await;
        if self.board.has_more(self.known) {
            return;
        }
        let known = self.known.revision;
        // The board lives as long as this reader does.
        drop(self.revisions.wait_for(|revision| *revision > known).await);
    }
}
