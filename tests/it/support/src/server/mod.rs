//! The fixture server: a page under test and everything it may talk to, on a free port of 127.0.0.1.
//!
//! | path | what |
//! |---|---|
//! | `/` | the sample mini-app |
//! | `/app/*`, `/pages/*` | files of `fixtures/app` and `fixtures/pages`; `csp.html` and `trusted-types.html` with their policies |
//! | `/lab/*` | files of `fixtures/transport/lab`, and `recorder.js`: the script that the server was started with |
//! | `/html?body=..&policy=..` | this document, with this Content-Security-Policy if one is given |
//! | `/hang` | never answers |
//! | `/api/items`, `/api/status/{code}`, `/api/echo` | JSON, an answer with that status, the request's body back, with the status in its header `x-ait` |
//! | `/chunks?n=5&gap=20&size=16` | `n` chunks of `size` bytes, `gap` ms apart |
//! | `/sse?n=3&gap=5` | `n` events `tick` with ids, then one `done`; an `EventSource` that comes back gets 204 |
//! | `/ws/echo?hello=..` | says the texts, then echoes text and binary; takes the subprotocols `echo.v1` and `echo.v2`; the text `close:<code>:<reason>` closes, `drop` ends the connection, `deaf` leaves the page's close frame without an answer |
//! | `/ws/refuse` | no WebSocket |
//! | `/page`, `/private` | a small page, whatever the method; the private one allows no other origin |
//! | `/parts`, `/big`, `/events`, `/redirect` | see `bodies.rs` |
//! | `/seen` | see `ledger.rs` |
//!
//! Every other answer allows any origin, as suites also run on pages of the relay.

mod bodies;
mod files;
mod ledger;
mod query;
mod streams;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::JoinHandle;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Path;
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use tokio::sync::oneshot;

/// A running fixture server; dropping it ends it.
#[derive(Debug)]
pub struct FixtureServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FixtureServer {
    /// Starts one on a free port.
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// Starts one whose pages under `/lab` can be recorded by a script.
    pub fn start_with(recorder: &'static str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port on 127.0.0.1");
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || serve(listener, stopped, recorder));
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    /// `http://127.0.0.1:<port>`, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address of a document with this body and policy; an empty policy is none.
    pub fn document(&self, body: &str, policy: &str) -> String {
        let mut url = url::Url::parse(&self.at("/html")).unwrap();
        url.query_pairs_mut().append_pair("body", body).append_pair("policy", policy);
        url.into()
    }

    /// The address of a path on it, for example `/pages/csp.html`.
    pub fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for FixtureServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn serve(listener: TcpListener, stopped: oneshot::Receiver<()>, recorder: &'static str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        tokio::select! {
            served = axum::serve(listener, router(recorder)) => served.expect("the fixture server serves"),
            _ = stopped => {}
        }
    });
    // Hanging requests would be waited for by an orderly end.
    runtime.shutdown_background();
}

fn router(recorder: &'static str) -> Router {
    let script = ([(CONTENT_TYPE, "text/javascript")], recorder);
    Router::new()
        .route("/", get(|| files::file("app", "index.html".to_owned())))
        .route("/app/{name}", get(|Path(name): Path<String>| files::file("app", name)))
        .route("/pages/{name}", get(|Path(name): Path<String>| files::file("pages", name)))
        .route("/lab/recorder.js", get(move || std::future::ready(script)))
        .route("/lab/{name}", get(|Path(name): Path<String>| files::file("transport/lab", name)))
        .route("/page", any(page))
        .route("/private", any(page))
        .route("/parts", any(bodies::parts))
        .route("/big", get(bodies::big))
        .route("/events", get(bodies::events))
        .route("/redirect", get(bodies::redirect))
        .route("/seen", get(ledger::seen))
        .route("/html", get(files::document))
        .route("/hang", any(std::future::pending::<StatusCode>))
        .route("/api/items", get(items))
        .route("/api/status/{code}", any(status))
        .route("/api/echo", any(echo))
        .route("/chunks", get(streams::chunks))
        .route("/sse", get(streams::events))
        .route("/ws/echo", any(streams::web_socket))
        .route("/ws/refuse", any(|| std::future::ready(StatusCode::FORBIDDEN)))
        .with_state(ledger::Ledger::default())
        .layer(from_fn(allow_any_origin))
}

async fn allow_any_origin(request: axum::extract::Request, next: Next) -> Response {
    if request.uri().path() == "/private" {
        return next.run(request).await;
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert("access-control-allow-headers", HeaderValue::from_static("content-type, x-ait"));
    headers.insert("access-control-allow-methods", HeaderValue::from_static("GET, POST, PUT, DELETE"));
    response
}

async fn page() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/html")], "<!doctype html><meta charset=\"utf-8\"><title>page</title><body></body>")
}

async fn items() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], r#"[{"id":1,"title":"커피"},{"id":2,"title":"Croissant"}]"#)
}

async fn status(Path(code): Path<u16>) -> impl IntoResponse {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST);
    (status, [(CONTENT_TYPE, "application/json")], format!(r#"{{"status":{}}}"#, status.as_u16()))
}

async fn echo(headers: HeaderMap, body: Bytes) -> impl IntoResponse {
    let kind = headers.get(CONTENT_TYPE).cloned();
    let asked = headers.get("x-ait").and_then(|status| StatusCode::from_bytes(status.as_bytes()).ok());
    (
        asked.unwrap_or_default(),
        [(CONTENT_TYPE, kind.unwrap_or_else(|| HeaderValue::from_static("application/octet-stream")))],
        body,
    )
}
