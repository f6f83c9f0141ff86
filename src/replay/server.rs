//! Where pages ask whether a connection was recorded, and are served it. Its address holds a word that nobody guesses:
//! other programs and pages on this machine are not to read what was recorded.

use std::collections::HashSet;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection};
use axum::extract::{Path, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use axum::serve::ListenerExt;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::claims::Claims;
use super::lanes::{self, Lanes};
use super::play;
use super::recording::{Answer, Exchange, Kind};
use super::{Recording, ReplayError, Speed};

/// Bytes of the word in the address.
const WORD: usize = 16;

/// A recording that waits to be served.
#[derive(Debug)]
pub struct Replay {
    /// Where pages ask: nothing is held open there.
    listener: TcpListener,
    lanes: Lanes,
    /// At which it is played.
    listeners: Vec<TcpListener>,
    word: String,
    recording: Recording,
    speed: Speed,
}

/// A recording that is served until this is dropped.
#[derive(Debug)]
pub struct Served {
    /// What a person should know of connections that were not recorded.
    pub notices: mpsc::UnboundedReceiver<String>,
    // Aborts the server when dropped.
    _server: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    word: String,
    lanes: Arc<Lanes>,
    claims: Claims,
    exchanges: Vec<Exchange>,
    speed: Speed,
    /// Sources that were served: they come back by themselves, and are told to stay away.
    served: Mutex<HashSet<usize>>,
}

impl Replay {
    /// Takes ports of this machine.
    ///
    /// # Errors
    /// See [`ReplayError`].
    pub fn new(recording: Recording, speed: Speed) -> Result<Self, ReplayError> {
        let mut bytes = [0; WORD];
        getrandom::fill(&mut bytes).map_err(|_| ReplayError::NoRandomness)?;
        let word = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let listener = lanes::listen().map_err(ReplayError::Listen)?;
        let (lanes, listeners) = Lanes::new(recording.exchanges.len()).map_err(ReplayError::Listen)?;
        Ok(Self { listener, lanes, listeners, word, recording, speed })
    }

    /// The host and path that pages ask at, without a scheme.
    ///
    /// # Errors
    /// Where the port is not known.
    pub fn place(&self) -> Result<String, ReplayError> {
        let address: SocketAddr = self.listener.local_addr().map_err(ReplayError::Listen)?;
        Ok(format!("{address}/{}", self.word))
    }

    /// Starts to serve.
    ///
    /// # Errors
    /// Where the system refuses the listener.
    pub fn serve(self) -> Result<Served, ReplayError> {
        let (sender, notices) = mpsc::unbounded_channel();
        let exchanges = self.recording.exchanges;
        let shared = Arc::new(Shared {
            word: self.word.clone(),
            lanes: Arc::new(self.lanes),
            claims: Claims::new(&exchanges, sender),
            exchanges,
            speed: self.speed,
            served: Mutex::default(),
        });
        let router = Router::new()
            .route(&format!("/{}/claim", self.word), post(claim).options(preflight))
            .route(&format!("/{}/{{index}}", self.word), any(serve))
            .with_state(shared);
        let mut server = JoinSet::new();
        for listener in std::iter::once(self.listener).chain(self.listeners) {
            let listener = tokio::net::TcpListener::from_std(listener).map_err(ReplayError::Listen)?;
            let router = router.clone();
            server.spawn(async move {
                // Parts that were parts have to stay so.
                let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
                if let Err(error) = axum::serve(listener, router).await {
                    tracing::warn!("the recording is not served any more: {error}");
                }
            });
        }
        Ok(Served { notices, _server: server })
    }
}

/// Answers with the host and path at which the recorded connection is played, or nothing.
async fn claim(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let Ok(key) = serde_json::from_slice(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let place = shared.claims.claim(key).and_then(|index| {
        let address = shared.lanes.send(index)?;
        Some(format!("{address}/{}/{index}", shared.word))
    });
    permitted(place.unwrap_or_default().into_response(), &headers)
}

async fn preflight(headers: HeaderMap) -> Response {
    let mut response = permitted(StatusCode::NO_CONTENT.into_response(), &headers);
    let permit = [
        (header::ACCESS_CONTROL_REQUEST_METHOD, header::ACCESS_CONTROL_ALLOW_METHODS),
        (header::ACCESS_CONTROL_REQUEST_HEADERS, header::ACCESS_CONTROL_ALLOW_HEADERS),
    ];
    for (asked, granted) in permit {
        if let Some(value) = headers.get(asked) {
            response.headers_mut().insert(granted, value.clone());
        }
    }
    let private = HeaderName::from_static("access-control-allow-private-network");
    response.headers_mut().insert(private, HeaderValue::from_static("true"));
    response
}

/// Whether the page may read the answer was decided by the server that was recorded.
fn permitted(mut response: Response, asked: &HeaderMap) -> Response {
    let headers = response.headers_mut();
    if let Some(origin) = asked.get(header::ORIGIN) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn serve(
    State(shared): State<Arc<Shared>>,
    Path(index): Path<usize>,
    method: Method,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    if method == Method::OPTIONS {
        return preflight(headers).await;
    }
    let Some(exchange) = shared.exchanges.get(index).cloned() else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if exchange.key.kind == Kind::EventSource {
        let first = shared.served.lock().unwrap_or_else(PoisonError::into_inner).insert(index);
        if !first {
            return permitted(StatusCode::NO_CONTENT.into_response(), &headers);
        }
    }
    let speed = shared.speed;
    let busy = shared.lanes.arrived(index);
    match exchange.answer.clone() {
        // No page was told to ask for the latter.
        Answer::Never | Answer::Unseen => std::future::pending().await,
        Answer::Failed { after } => {
            sleep(speed.pause(after)).await;
            // Without a permission to read it, which is a failure to the page.
            StatusCode::BAD_GATEWAY.into_response()
        }
        Answer::Socket { subprotocol } => match upgrade {
            Ok(upgrade) => {
                upgrade.protocols([subprotocol]).on_upgrade(move |socket| async move {
                    // It lives as long as the socket does.
                    let _busy = busy;
                    play::socket(socket, exchange, speed).await;
                })
            }
            Err(rejection) => rejection.into_response(),
        },
        Answer::Body { after, status, content_type } => {
            sleep(speed.pause(after)).await;
            let body = play::body(exchange, speed, Arc::clone(&shared.lanes), busy);
            permitted(answer(status, &content_type, body), &headers)
        }
    }
}

fn answer(status: u16, content_type: &str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    if let Ok(value) = HeaderValue::from_str(content_type)
        && !content_type.is_empty()
    {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    response
}
