//! One request of the phone, handed to the upstream, and its answer.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::Response;
use futures_util::stream;
use hyper::client::conn::http1;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use super::super::http::{SEC_FETCH_SITE, empty, names_of_relay};
use super::super::hub::Hub;
use super::address::AppAddress;
use super::connect::connect;
use super::document::{first_of, looks_like_html, pieces, with_agent};
use super::inject::Injector;
use super::policy::Needs;
use super::request::{SEC_FETCH_DEST, Visit, is_navigation, is_web_socket, mark_web_socket, target};
use super::response::{Answer, Content, SERVICE_WORKER, codings, content, is_shown, keep_out_of_cache, of_document};
use crate::secret::random_ticket;

/// Requests and sockets that are open at once; a dev server that serves every module by itself is asked for hundreds, a
/// phone keeps a few dozen under way.
const MAX_OPEN: usize = 256;
/// How long a request waits for its turn before the phone is told to come again.
const TURN_LIMIT: Duration = Duration::from_secs(10);
/// How long an upstream may take to begin its answer: the first build of a large app takes minutes, and browsers give up
/// after five.
const ANSWER_LIMIT: Duration = Duration::from_secs(300);

/// What a person sees while the dev server is down; it tries again by itself. `{address}` is where it should be.
const DOWN_PAGE: &str = include_str!("down.html");

/// The app behind the relay.
#[derive(Debug)]
pub(in crate::relay) struct AppProxy {
    /// The one upstream.
    pub(in crate::relay) address: AppAddress,
    open: Arc<Semaphore>,
    notices: Notices,
}

/// What a person at the terminal should know, each of it once.
#[derive(Debug)]
struct Notices {
    sender: mpsc::UnboundedSender<String>,
    down: AtomicBool,
    unread: AtomicBool,
    worker: AtomicBool,
    cookie: AtomicBool,
}

impl Notices {
    fn say(&self, said: &AtomicBool, message: impl FnOnce() -> String) {
        if !said.swap(true, Ordering::Relaxed) {
            // Nobody listens any more when the run is ending.
            drop(self.sender.send(message()));
        }
    }
}

impl AppProxy {
    pub(in crate::relay) fn new(address: AppAddress, sender: mpsc::UnboundedSender<String>) -> Self {
        let notices =
            Notices { sender, down: false.into(), unread: false.into(), worker: false.into(), cookie: false.into() };
        Self { address, open: Arc::new(Semaphore::new(MAX_OPEN)), notices }
    }

    /// A call was not let in. When the app itself made it, that has to be told, or it looks like a fault of the app.
    pub(in crate::relay) fn turned_away(&self, headers: &HeaderMap) {
        let said = |name, value| headers.get(name).is_some_and(|found| found == value);
        // Browsers ask for a manifest without cookies, and no page misses it.
        let by_the_app = said(SEC_FETCH_SITE, "same-origin") && !said(SEC_FETCH_DEST, "manifest");
        if by_the_app && !headers.contains_key(header::COOKIE) {
            self.notices.say(&self.notices.cookie, || {
                "the app asks its server for something without cookies, by which the relay knows the phone, and gets 401. \
                 Leave credentials: 'omit' out in debug builds"
                    .to_owned()
            });
        }
    }
}

/// Why there is no answer of the upstream.
enum Failed {
    /// Nobody listens there, or what listens speaks no HTTP.
    Down(String),
    /// The phone asks for what is not served.
    Refused(StatusCode),
}

/// Answers a request that is let in with what the upstream answers.
pub(in crate::relay) async fn forward(hub: &Arc<Hub>, proxy: &AppProxy, request: Request) -> Response {
    let navigation = is_navigation(request.headers());
    match exchange(hub, proxy, request, navigation).await {
        Ok(response) => {
            proxy.notices.down.store(false, Ordering::Relaxed);
            response
        }
        Err(Failed::Refused(status)) => empty(status),
        Err(Failed::Down(why)) => {
            let address = proxy.address.origin();
            proxy.notices.say(&proxy.notices.down, || {
                format!("the app's server at {address} does not answer ({why}); start it, or correct --app-url: pages go on by themselves")
            });
            down(address, navigation)
        }
    }
}

fn down(address: &str, navigation: bool) -> Response {
    let mut response = empty(StatusCode::BAD_GATEWAY);
    let (kind, text) = if navigation {
        ("text/html; charset=utf-8", DOWN_PAGE.replace("{address}", address))
    } else {
        ("text/plain; charset=utf-8", format!("nothing answers at {address}\n"))
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    *response.body_mut() = Body::from(text);
    response
}

async fn exchange(
    hub: &Arc<Hub>,
    proxy: &AppProxy,
    mut request: Request,
    navigation: bool,
) -> Result<Response, Failed> {
    if matches!(*request.method(), Method::CONNECT | Method::TRACE) {
        return Err(Failed::Refused(StatusCode::METHOD_NOT_ALLOWED));
    }
    let path = target(request.uri()).ok_or(Failed::Refused(StatusCode::BAD_REQUEST))?;
    let asked = Asked {
        path: path.as_str().to_owned(),
        names: names_of_relay(hub, request.headers()),
        is_head: request.method() == Method::HEAD,
        navigation,
    };
    if request.headers().contains_key(SERVICE_WORKER) {
        proxy.notices.say(&proxy.notices.worker, || {
            "the app registers a service worker; pages that it answers from its cache come without our agent and do not \
             attach. Do not register it in debug builds if pages get lost"
                .to_owned()
        });
    }
    let phone = is_web_socket(request.headers()).then(|| hyper::upgrade::on(&mut request));
    let (mut parts, body) = request.into_parts();
    let visit = Visit { app: &proxy.address, cookie: &hub.cookie, navigation, names: &asked.names };
    parts.headers = visit.headers(parts.headers);
    parts.uri = Uri::from(path);
    parts.version = axum::http::Version::HTTP_11;
    parts.extensions.clear();

    let permit = turn(proxy).await?;
    let response = send(hub, proxy, axum::http::Request::from_parts(parts, body), &permit).await?;
    Ok(answer(hub, proxy, response, &asked, phone, permit).await)
}

/// What the phone asked for.
struct Asked {
    path: String,
    /// The authorities by which the relay is reached.
    names: Vec<String>,
    is_head: bool,
    navigation: bool,
}

async fn turn(proxy: &AppProxy) -> Result<Arc<OwnedSemaphorePermit>, Failed> {
    let turn = timeout(TURN_LIMIT, Arc::clone(&proxy.open).acquire_owned()).await;
    turn.ok().and_then(Result::ok).map(Arc::new).ok_or(Failed::Refused(StatusCode::SERVICE_UNAVAILABLE))
}

/// Over a connection of its own: on one machine that costs nothing, and none that went stale is ever used.
async fn send(
    hub: &Hub,
    proxy: &AppProxy,
    request: axum::http::Request<Body>,
    permit: &Arc<OwnedSemaphorePermit>,
) -> Result<axum::http::Response<hyper::body::Incoming>, Failed> {
    let stream = connect(&proxy.address).await.map_err(|error| Failed::Down(words(&error)))?;
    let odd = |error: hyper::Error| {
        Failed::Down(match error {
            error if error.is_parse_too_large() => "its answer has too large a head".into(),
            error if error.is_parse() => "what listens there speaks no HTTP".into(),
            error if error.is_incomplete_message() => "it hangs up without an answer".into(),
            error => error.to_string(),
        })
    };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(odd)?;
    let (shutdown, permit) = (hub.shutdown.clone(), Arc::clone(permit));
    hub.tasks.spawn(async move {
        tokio::select! {
            ended = connection.with_upgrades() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection to the app's server failed");
                }
            }
            () = shutdown.cancelled() => {}
        }
        drop(permit);
    });
    match timeout(ANSWER_LIMIT, sender.send_request(request)).await {
        Ok(response) => response.map_err(odd),
        Err(_) => Err(Failed::Down(format!("no answer within {} s", ANSWER_LIMIT.as_secs()))),
    }
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listens there".into(),
        io::ErrorKind::TimedOut => "it cannot be reached".into(),
        _ => error.to_string(),
    }
}

/// The upstream's answer as the phone gets it.
async fn answer(
    hub: &Hub,
    proxy: &AppProxy,
    mut response: axum::http::Response<hyper::body::Incoming>,
    asked: &Asked,
    phone: Option<OnUpgrade>,
    permit: Arc<OwnedSemaphorePermit>,
) -> Response {
    let tls = hub.public().tls;
    let switched = is_web_socket(response.headers());
    let rewrite = Answer { app: &proxy.address, path: &asked.path, cookie: &hub.cookie, tls };
    let headers = rewrite.headers(std::mem::take(response.headers_mut()));
    let mut told = Response::new(Body::empty());
    *told.status_mut() = response.status();
    *told.headers_mut() = headers;
    match (response.status(), phone, switched) {
        (StatusCode::SWITCHING_PROTOCOLS, Some(phone), true) => {
            mark_web_socket(told.headers_mut());
            let upstream = hyper::upgrade::on(&mut response);
            let shutdown = hub.shutdown.clone();
            hub.tasks.spawn(async move {
                tokio::select! {
                    () = join(phone, upstream) => {}
                    () = shutdown.cancelled() => {}
                }
                drop(permit);
            });
        }
        (StatusCode::SWITCHING_PROTOCOLS, ..) => return empty(StatusCode::BAD_GATEWAY),
        _ => {
            if let Err(error) = fill(proxy, &mut told, Body::new(response.into_body()), asked, tls).await {
                tracing::debug!(%error, "an answer of the app's server broke off");
                return empty(StatusCode::BAD_GATEWAY);
            }
        }
    }
    told
}

async fn join(phone: OnUpgrade, upstream: OnUpgrade) {
    let (Ok(phone), Ok(upstream)) = tokio::join!(phone, upstream) else { return };
    let io = |upgraded: Upgraded| TokioIo::new(upgraded);
    // Either side may end it at any time; there is nobody to tell.
    drop(copy_bidirectional(&mut io(phone), &mut io(upstream)).await);
}

/// Gives the answer its body: a page with the agent put in, or whatever it is, as it is.
async fn fill(proxy: &AppProxy, told: &mut Response, body: Body, asked: &Asked, tls: bool) -> io::Result<()> {
    let said = content(told.headers());
    let unread = |why: &str| {
        proxy
            .notices
            .say(&proxy.notices.unread, || format!("a page of the app gets no agent and cannot attach, because {why}"));
    };
    if !asked.navigation || !is_shown(told.status(), told.headers()) {
        if matches!(said, Content::Html(_)) {
            keep_out_of_cache(told.headers_mut());
        }
        *told.body_mut() = body;
        return Ok(());
    }
    let (charset, page) = match said {
        Content::Html(charset) => (charset, pieces(body)),
        Content::Unsaid => {
            let (first, page) = timeout(ANSWER_LIMIT, first_of(pieces(body))).await??;
            if !looks_like_html(&first) {
                *told.body_mut() = Body::from_stream(page);
                return Ok(());
            }
            (None, page)
        }
        Content::Xhtml | Content::Other => {
            if said == Content::Xhtml {
                unread("it is XHTML, where a script in the wrong place spoils all; serve it as text/html");
            }
            *told.body_mut() = body;
            return Ok(());
        }
    };
    let Some(codings) = codings(told.headers()) else {
        unread("it is compressed in a way that is not known here; turn that off in the app's server");
        *told.body_mut() = Body::from_stream(page);
        return Ok(());
    };
    let nonce = random_ticket().map_err(io::Error::other)?.expose().to_owned();
    let needs = needs(&asked.names, nonce, tls);
    of_document(told.headers_mut(), &needs);
    // Also where no policy asks for the nonce: one in the page may come after it.
    let tag = format!("<script src=\"/target.js\" nonce=\"{}\"></script>", needs.nonce);
    let injector = Injector::new(tag, needs);
    *told.body_mut() = if asked.is_head {
        // Of unknown length, as the page itself is.
        Body::from_stream(stream::empty::<io::Result<Bytes>>())
    } else {
        with_agent(page, &codings, charset.as_deref(), injector)
    };
    Ok(())
}

/// What the agent of a page needs, which is reached by these names.
fn needs(names: &[String], nonce: String, tls: bool) -> Needs {
    let (page, socket) = if tls { ("https", "wss") } else { ("http", "ws") };
    let plain = |name: &&String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte));
    let (mut scripts, mut sockets) = (Vec::new(), Vec::new());
    for name in names.iter().filter(plain) {
        scripts.push(format!("{page}://{name}/target.js"));
        sockets.extend([socket, page].map(|scheme| format!("{scheme}://{name}/target/")));
    }
    Needs { nonce, scripts, sockets, tls }
}
