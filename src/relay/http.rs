//! The routes of the public listener. Everything that is not one of them is 404 without a word.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::ws::WebSocket;
use axum::extract::{FromRequestParts, Request, WebSocketUpgrade};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use url::form_urlencoded;

use super::door::Visitor;
use super::gate::Credentials;
use super::hub::{Admitted, Hub};
use super::leg::{self, MAX_MESSAGE, close};
use super::proxy::{AppProxy, forward};
use super::registry::TargetId;
use super::route::{Route, is_reserved, parse};
use super::stock::{self, Bootstrap};
use super::stream;
use crate::secret::{Hidden, same};

/// Subprotocol of our agent.
const PROTOCOL: &str = "ait.agent";
/// Subprotocol that carries the session ticket: a header, so that it stands in no address.
const TICKET_PROTOCOL: &str = "ait.ticket.";
/// Body and reason of a refusal; apps in the field know it.
const REJECTED: &str = "totp-rejected";
/// By which a browser, and no page, says where a request comes from.
pub(super) const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
/// Read buffer of a page's socket: a burst of events comes in few reads, and many idle pages cost little.
const READ_BUFFER: usize = 16 << 10;
/// Longest version report that is kept.
const MAX_VERSION: usize = 64;

/// The hosted page; `{agent}` is where the agent is.
const ATTACH_PAGE: &str = include_str!("attach.html");
/// What a person sees who came with an old code.
const EXPIRED_PAGE: &str = include_str!("expired.html");

/// Answers one request.
pub(super) async fn handle(hub: &Arc<Hub>, visitor: &Visitor, request: Request) -> Response {
    let response = answer_to(hub, visitor, request).await;
    if response.status().is_success() {
        visitor.may_stay();
    }
    response
}

async fn answer_to(hub: &Arc<Hub>, visitor: &Visitor, request: Request) -> Response {
    let Some(call) = parse(request.uri().path()) else {
        return match &hub.app {
            Some(app) if !is_reserved(request.uri().path()) => of_the_app(hub, visitor, app, request).await,
            _ => empty(StatusCode::NOT_FOUND),
        };
    };
    let (mut parts, body) = request.into_parts();
    let given = credentials(hub, &parts, call.code.clone());
    match (&parts.method, &call.route) {
        (&Method::GET | &Method::HEAD, _) => {}
        (&Method::POST, Route::Target(id)) => return stream::handle(hub, visitor, id.clone(), given, body).await,
        _ => return empty(StatusCode::NOT_FOUND),
    }
    match call.route {
        Route::Target(id) => match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
            Ok(upgrade) => {
                let stock = stock_agent(hub, &parts, &given);
                socket(hub, visitor, upgrade, id, given, stock)
            }
            Err(_) => empty(StatusCode::NOT_FOUND),
        },
        Route::AttachPage => attach_page(hub, &parts, &given),
        Route::Agent if hub.check(&given).is_ok() => {
            hub.status.send_modify(|status| status.agents_served += 1);
            answer(StatusCode::OK, JAVASCRIPT, Body::from(hub.agent.clone()))
        }
        Route::Handshake if hub.check(&given).is_ok() => {
            if let Some(version) = query(&parts, "v").filter(|text| text.len() <= MAX_VERSION) {
                hub.status.send_modify(|status| status.app_version = Some(version));
            }
            empty(StatusCode::NO_CONTENT)
        }
        Route::Agent | Route::Handshake => rejected(),
        // The name is what opens it. A look at the head alone must not use it up.
        Route::Script(name) if parts.method == Method::GET => match hub.scripts.take(&name) {
            Some(script) => answer(StatusCode::OK, JAVASCRIPT, Body::from(script)),
            None => empty(StatusCode::NOT_FOUND),
        },
        Route::Script(_) => empty(StatusCode::NOT_FOUND),
        Route::Echo(path) if same(&path, &hub.echo.path) => {
            answer(StatusCode::OK, "text/plain", Body::from(hub.echo.answer.expose().to_owned()))
        }
        Route::Echo(_) => empty(StatusCode::NOT_FOUND),
    }
}

/// The app itself, for whoever came in by `attach`.
async fn of_the_app(hub: &Arc<Hub>, visitor: &Visitor, app: &AppProxy, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    // Only the cookie counts: an `at` in an address of the app is the app's own.
    let given = credentials(hub, &parts, None);
    if !hub.knows_page(&given) {
        app.turned_away(&parts.headers);
        return expired(&parts);
    }
    visitor.may_stay();
    forward(hub, app, Request::from_parts(parts, body)).await
}

/// `stock` is where our agent is for a page that runs chii's own script.
fn socket(
    hub: &Arc<Hub>,
    visitor: &Visitor,
    upgrade: WebSocketUpgrade,
    id: TargetId,
    given: Credentials,
    stock: Option<String>,
) -> Response {
    let verdict = hub.check_target(&id, &given);
    if verdict.is_ok() {
        visitor.may_stay();
    }
    let (hub, visitor) = (Arc::clone(hub), visitor.clone());
    // Compression is never offered: WebKit's and other stacks disagree about it on this leg.
    let upgrade = upgrade.protocols([PROTOCOL]).max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE);
    let upgrade = upgrade.read_buffer_size(READ_BUFFER);
    upgrade.on_upgrade(move |mut socket| {
        let tasks = hub.tasks.clone();
        tasks.track_future(async move {
            if verdict.is_err() {
                // Apps of the field look for the one code; chii's script alone dials on until it hears the other.
                let code = if stock.is_some() && hub.is_nagging(&id) { close::DONE } else { close::REJECTED };
                return tokio::select! {
                    () = leg::dismiss(socket, code, REJECTED) => {}
                    () = visitor.has_to_leave() => {}
                };
            }
            if let Some(agent) = stock {
                return welcome_stock(&hub, socket, &id, &agent).await;
            }
            let shutdown = hub.shutdown.clone();
            let hello = tokio::select! {
                hello = leg::hello(&mut socket) => hello,
                () = shutdown.cancelled() => None,
            };
            // What does not talk like our agent is silenced; the code that makes a stock agent stop is 1000.
            let Some(hello) = hello else { return leg::dismiss(socket, close::DONE, "no agent").await };
            match hub.admit(id, hello).await {
                Ok(Admitted { target, leg, outgoing }) => {
                    leg::run(socket, leg, outgoing, target.input().clone(), hub.keep_alive).await;
                }
                Err((code, reason)) => leg::dismiss(socket, code, reason).await,
            }
        })
    })
}

/// Where our agent is for the page that dials, if that page runs chii's own script.
fn stock_agent(hub: &Hub, parts: &Parts, given: &Credentials) -> Option<String> {
    let ours = header_text(&parts.headers, &header::SEC_WEBSOCKET_PROTOCOL).is_some_and(|list| list.contains(PROTOCOL));
    // By this it keeps its own connections out of its own records.
    query(parts, "__chobitsu-hide__").filter(|_| !ours)?;
    let host = header_text(&parts.headers, &header::HOST)?;
    let public = hub.public();
    let tls = public.tls && public.host.as_deref() == Some(host);
    let scheme = if tls { "https" } else { "http" };
    let code = given.code.as_ref().map(|code| format!("/at/{}", code.expose())).unwrap_or_default();
    Some(format!("{scheme}://{host}{code}/target.js"))
}

async fn welcome_stock(hub: &Hub, mut socket: WebSocket, id: &TargetId, agent: &str) {
    let outcome = tokio::select! {
        outcome = stock::bootstrap(&mut socket, id, agent) => Some(outcome),
        () = hub.shutdown.cancelled() => None,
    };
    stock::silence(socket, outcome.as_ref()).await;
    match outcome {
        None => {}
        Some(Bootstrap::Done) => hub.say(
            "A page that runs chii's own target.js called: our agent was put into it, and chii's was silenced.".into(),
        ),
        Some(Bootstrap::Forbidden(why)) => hub.say(format!(
            "A page that runs chii's own target.js cannot be used, because it does not let our agent in ({why}). Load \
             target.js from the relay instead."
        )),
        Some(Bootstrap::Silent) => tracing::info!("a page that runs chii's own script did not answer"),
    }
}

fn attach_page(hub: &Hub, parts: &Parts, given: &Credentials) -> Response {
    if hub.check_page(given).is_err() {
        return expired(parts);
    }
    let mut response = match &hub.app {
        Some(app) => see_other(&app.address.landing()),
        None => hosted_page(given),
    };
    let tls = if hub.public().tls { "; Secure" } else { "" };
    let ticket = hub.page_ticket();
    let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Lax{tls}", hub.cookie, ticket.expose());
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

fn see_other(location: &str) -> Response {
    let mut response = empty(StatusCode::SEE_OTHER);
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

fn hosted_page(given: &Credentials) -> Response {
    // With a code the page works where cookies do not; a page that loads again has only its cookie.
    let agent = match &given.code {
        Some(code) if given.page_ticket.is_none() => format!("/at/{}/target.js", code.expose()),
        _ => "/target.js".to_owned(),
    };
    answer(StatusCode::OK, "text/html; charset=utf-8", Body::from(ATTACH_PAGE.replace("{agent}", &agent)))
}

/// A person is told to scan again, a program that it may not.
fn expired(parts: &Parts) -> Response {
    let wants_page = header_text(&parts.headers, &header::ACCEPT).is_some_and(|accept| accept.contains("text/html"));
    if !wants_page {
        return rejected();
    }
    answer(StatusCode::UNAUTHORIZED, "text/html; charset=utf-8", Body::from(EXPIRED_PAGE))
}

fn credentials(hub: &Hub, parts: &Parts, code: Option<Hidden>) -> Credentials {
    let code = code.or_else(|| query(parts, "at").map(Hidden::new));
    let ticket = header_text(&parts.headers, &header::SEC_WEBSOCKET_PROTOCOL)
        .and_then(|list| list.split(',').find_map(|name| name.trim().strip_prefix(TICKET_PROTOCOL)))
        .map(Hidden::new);
    // A browser adds cookies to sockets that other origins open; only the page's own may use them. A page that keeps its
    // address to itself sends no origin that tells; the browser still says where it comes from.
    let same_origin = header_text(&parts.headers, &SEC_FETCH_SITE) == Some("same-origin");
    let foreign = !same_origin
        && header_text(&parts.headers, &header::ORIGIN).is_some_and(|origin| !is_own(hub, origin, &parts.headers));
    let page_ticket = if foreign { None } else { cookie(&parts.headers, &hub.cookie) };
    Credentials { code, ticket, page_ticket }
}

fn is_own(hub: &Hub, origin: &str, headers: &HeaderMap) -> bool {
    let names = names_of_relay(hub, headers);
    origin.split_once("://").is_some_and(|(_, authority)| names.iter().any(|name| name == authority))
}

/// The authorities by which the relay is reached: a proxy in front of it may ask by another name than the phone does.
pub(super) fn names_of_relay(hub: &Hub, headers: &HeaderMap) -> Vec<String> {
    let public = hub.public().host.map(|host| host.to_string());
    let asked = header_text(headers, &header::HOST).map(str::to_owned).filter(|host| Some(host) != public.as_ref());
    public.into_iter().chain(asked).collect()
}

/// The value of our cookie. Others beside it may hold bytes of any charset.
fn cookie(headers: &HeaderMap, own: &str) -> Option<Hidden> {
    let mut pairs =
        headers.get_all(header::COOKIE).iter().flat_map(|value| value.as_bytes().split(|&byte| byte == b';'));
    let value = pairs.find_map(|pair| pair.trim_ascii().strip_prefix(own.as_bytes())?.strip_prefix(b"="))?;
    std::str::from_utf8(value).ok().map(Hidden::new)
}

fn header_text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn query(parts: &Parts, name: &str) -> Option<String> {
    let pairs = form_urlencoded::parse(parts.uri.query()?.as_bytes());
    pairs.into_iter().find_map(|(key, value)| (key == name).then(|| value.into_owned()))
}

pub(super) fn rejected() -> Response {
    let body = format!(r#"{{"error":"{REJECTED}"}}"#);
    answer(StatusCode::UNAUTHORIZED, "application/json", Body::from(body))
}

pub(super) fn answer(status: StatusCode, content_type: &'static str, body: Body) -> Response {
    let mut response = empty(status);
    *response.body_mut() = body;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Every answer may be read by any page (the app is on another origin), is kept nowhere, and hands no address on.
pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    let fixed = [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
