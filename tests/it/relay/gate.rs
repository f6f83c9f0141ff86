//! Who is let in, tried from outside with plain HTTP and WebSockets.

use devtools_test::relay::{Relay, RelayStatus};
use devtools_test::totp::{STEP_SECONDS, STEPS_BACK, UnixSeconds};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, frame::coding::CloseCode};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::*;

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

pub(super) async fn relay() -> Relay {
    Relay::start(RelayOptions::local(Secret::random().unwrap(), "/* agent */")).await.unwrap()
}

pub(super) fn code(relay: &Relay) -> String {
    relay.totp().code(UnixSeconds::now()).expose().to_owned()
}

pub(super) fn wrong_code(relay: &Relay) -> String {
    let right = relay.totp();
    (0..).map(|n| format!("{n:06}")).find(|code| !right.accepts(code, UnixSeconds::now())).unwrap()
}

/// Status and whole text of an answer.
pub(super) async fn get(relay: &Relay, target: &str, headers: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(relay.address()).await.unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n", relay.address());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    (text[9..12].parse().unwrap(), text)
}

pub(super) async fn dial(relay: &Relay, path: &str, ticket: Option<&str>) -> Result<Socket, Error> {
    let mut request = format!("ws://{}{path}", relay.address()).into_client_request().unwrap();
    if let Some(ticket) = ticket {
        let protocols = format!("ait.agent, ait.ticket.{ticket}");
        request.headers_mut().insert("sec-websocket-protocol", protocols.parse().unwrap());
    }
    Ok(connect_async(request).await?.0)
}

/// Code and reason with which the relay closes a socket.
pub(super) async fn closed(socket: &mut Socket) -> (u16, String) {
    loop {
        match timeout(WITHIN, socket.next()).await.unwrap() {
            Some(Ok(Message::Close(Some(frame)))) => return (frame.code.into(), frame.reason.to_string()),
            Some(Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

pub(super) async fn hello(socket: &mut Socket, doc: &str) -> Value {
    let hello = json!({ "method": "Agent.hello", "params": { "doc": doc, "url": "http://app.test/?at=123456", "visible": true } });
    // The relay knows its agent by how its messages begin.
    let text = format!(r#"{{"method":"Agent.hello","params":{}}}"#, hello["params"]);
    socket.send(Message::text(text)).await.unwrap();
    let welcome = timeout(WITHIN, socket.next()).await.unwrap().unwrap().unwrap();
    serde_json::from_str(welcome.to_text().unwrap()).unwrap()
}

pub(super) async fn status(relay: &Relay, wanted: impl FnMut(&RelayStatus) -> bool) -> RelayStatus {
    timeout(WITHIN, relay.status().wait_for(wanted)).await.unwrap().unwrap().clone()
}

#[tokio::test]
async fn it_answers_for_itself_to_whoever_knows_the_path() {
    let other = relay().await;
    let relay = relay().await;
    let (path, answer) = (relay.echo().path.expose(), relay.echo().answer.expose());
    let (status, text) = get(&relay, &format!("/echo/{path}"), "").await;
    assert!(status == 200 && text.ends_with(&format!("\r\n\r\n{answer}")), "{text}");
    assert!(!text.contains(path) && path != answer, "nobody learns the answer from the question");
    for wrong in ["", &path[..31], &path.to_uppercase(), other.echo().path.expose(), answer] {
        let (status, text) = get(&relay, &format!("/echo/{wrong}"), "").await;
        assert!(status == 404 && text.ends_with("\r\n\r\n"), "{text}");
    }
    assert_eq!(relay.status().borrow().refused, 0, "no code was guessed");
}

#[tokio::test]
async fn nothing_is_served_without_a_code_and_nothing_unknown_with_one() {
    let relay = relay().await;
    let (right, wrong) = (code(&relay), wrong_code(&relay));
    for path in ["target.js", "TARGET.JS/", "attach", "ait-attach?v=1", "%74arget.js"] {
        let (status, text) = get(&relay, &format!("/{path}"), "").await;
        assert_eq!(status, 401, "{path}");
        assert!(
            text.contains(r#"{"error":"totp-rejected"}"#) && text.contains("access-control-allow-origin: *"),
            "{text}"
        );
    }
    assert_eq!(get(&relay, &format!("/at/{wrong}/target.js"), "").await.0, 401);
    assert_eq!(get(&relay, &format!("/attach?at={wrong}"), "").await.0, 401);
    let (status, text) = get(&relay, &format!("/attach?at={wrong}"), "Accept: text/html\r\n").await;
    assert!(status == 401 && text.contains("expired"), "{text}");
    let (status, text) = get(&relay, &format!("/AT//{right}/./target.js"), "").await;
    assert!(status == 200 && text.contains("/* agent */"), "{text}");
    let (status, text) = get(&relay, &format!("/at/{right}/ait-attach?v=3.1.0"), "").await;
    assert!(status == 204 && text.contains("access-control-allow-origin: *"), "{text}");
    assert_eq!(relay.status().borrow().app_version.as_deref(), Some("3.1.0"));
    for path in [
        "",
        "targets",
        "proxy?url=http://127.0.0.1/",
        "client/x",
        "front_end/chii_app.html",
        "target/x",
        "json/list",
        "bundle/0123456789abcdef0123456789abcdef.js",
    ] {
        assert_eq!(get(&relay, &format!("/at/{right}/{path}"), "").await.0, 404, "{path}");
        assert_eq!(get(&relay, &format!("/{path}"), "").await.0, 404, "{path}");
    }
    relay.shutdown().await;
}

#[tokio::test]
async fn the_hosted_page_loads_again_by_its_cookie_alone() {
    let relay = relay().await;
    let right = code(&relay);
    let (_, text) = get(&relay, &format!("/attach?at={right}"), "").await;
    assert!(
        text.contains(&format!(
            r#"<head>
<script src="/at/{right}/target.js">"#
        )),
        "{text}"
    );
    let line = text.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(line.contains("HttpOnly") && line.contains("SameSite=Lax"), "{line}");
    let cookie = format!("Cookie: other=1; {}\r\n", line.split(';').next().unwrap());
    let (status, text) = get(&relay, "/attach?at=000000", &cookie).await;
    assert!(status == 200 && text.contains(r#"<script src="/target.js">"#), "{text}");
    assert_eq!(get(&relay, "/target.js", &cookie).await.0, 200);
    let foreign = format!("{cookie}Origin: http://evil.test\r\n");
    assert_eq!(get(&relay, "/target.js", &foreign).await.0, 401);
    assert_eq!(get(&relay, "/target.js", &cookie.replace('=', "=0")).await.0, 401);
    relay.shutdown().await;
}

/// A code that is let in until the next step of the clock but one at most.
fn last_moments_code(relay: &Relay) -> String {
    let now = UnixSeconds::now().0;
    // Right before a step the oldest code would end while it is shown first.
    let steps = if STEP_SECONDS - now % STEP_SECONDS < 5 { STEPS_BACK - 1 } else { STEPS_BACK };
    relay.totp().code(UnixSeconds(now - steps * STEP_SECONDS)).expose().to_owned()
}

#[tokio::test]
async fn a_code_that_was_good_once_lets_nobody_in_when_it_has_ended() {
    let relay = relay().await;
    let old = last_moments_code(&relay);
    let (status, first) = get(&relay, &format!("/attach?at={old}"), "").await;
    assert!(status == 200 && first.contains("set-cookie: "), "{first}");
    let ends = async {
        while relay.totp().accepts(&old, UnixSeconds::now()) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(Duration::from_secs(2 * STEP_SECONDS), ends).await.unwrap();
    let (status, late) = get(&relay, &format!("/attach?at={old}"), "Accept: text/html\r\n").await;
    assert!(status == 401 && !late.contains("set-cookie") && late.contains("expired"), "{late}");
    let (status, late) = get(&relay, &format!("/at/{old}/attach"), "").await;
    assert!(status == 401 && !late.contains("set-cookie"), "{late}");
    let mut other = dial(&relay, &format!("/at/{old}/target/other"), None).await.unwrap();
    assert_eq!(closed(&mut other).await.0, 4401);
    // The page that came in with it may load its script again, which tells nobody anything.
    assert_eq!(get(&relay, &format!("/at/{old}/target.js"), "").await.0, 200);
    relay.shutdown().await;
}

#[tokio::test]
async fn a_socket_with_a_wrong_code_is_told_4401_and_a_ticket_outlives_the_code() {
    let relay = relay().await;
    let (right, wrong) = (code(&relay), wrong_code(&relay));
    for path in [format!("/at/{wrong}/target/a"), "/target/a".into(), format!("/target/a?at={wrong}")] {
        let mut socket = dial(&relay, &path, None).await.unwrap();
        assert_eq!(closed(&mut socket).await, (4401, "totp-rejected".into()), "{path}");
    }
    assert!(matches!(dial(&relay, &format!("/at/{right}/target/a%20b"), None).await, Err(Error::Http(_))));

    let mut socket = dial(&relay, &format!("/at/{right}/target/a"), None).await.unwrap();
    let welcome = hello(&mut socket, "d1").await;
    assert_eq!(welcome["method"], "Relay.welcome");
    let ticket = welcome["params"]["ticket"].as_str().unwrap().to_owned();
    assert_eq!(ticket.len(), 32);
    let seen = status(&relay, |status| status.target.is_some()).await;
    assert_eq!(seen.target.unwrap().view().info.url.as_str(), "http://app.test/");

    // The same page again, with its ticket: the older connection is told that it was replaced.
    let mut again = dial(&relay, "/target/a", Some(&ticket)).await.unwrap();
    hello(&mut again, "d1").await;
    assert_eq!(closed(&mut socket).await, (4408, "replaced".into()));
    let mut other = dial(&relay, "/target/b", Some(&ticket)).await.unwrap();
    assert_eq!(closed(&mut other).await.0, 4401, "a ticket is for one target");
    relay.shutdown().await;
    assert_eq!(closed(&mut again).await.0, 1000);
}

#[tokio::test]
async fn ten_wrong_codes_lock_the_gate_for_everybody_who_is_not_in() {
    let relay = relay().await;
    let (right, wrong) = (code(&relay), wrong_code(&relay));
    let mut inside = dial(&relay, &format!("/at/{right}/target/a"), None).await.unwrap();
    let ticket = hello(&mut inside, "d1").await["params"]["ticket"].as_str().unwrap().to_owned();
    for _ in 0..10 {
        assert_eq!(get(&relay, &format!("/at/{wrong}/target.js"), "").await.0, 401);
    }
    assert_eq!(relay.status().borrow().locked, 1);
    let fresh = relay.totp().code(UnixSeconds(UnixSeconds::now().0 - 60)).expose().to_owned();
    assert_eq!(get(&relay, &format!("/at/{fresh}/target.js"), "").await.0, 401, "locked");
    let mut again = dial(&relay, "/target/a", Some(&ticket)).await.unwrap();
    assert_eq!(hello(&mut again, "d1").await["method"], "Relay.welcome");
    relay.shutdown().await;
}

#[tokio::test]
async fn what_is_no_agent_is_silenced_and_nothing_brings_the_relay_down() {
    let relay = relay().await;
    let right = code(&relay);
    for first in [Message::text("hello"), Message::text(r#"{"id":1,"result":{}}"#), Message::binary(vec![0, 159])] {
        let mut socket = dial(&relay, &format!("/at/{right}/target/x"), None).await.unwrap();
        socket.send(first).await.unwrap();
        assert_eq!(closed(&mut socket).await.0, 1000);
    }
    let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    let mut raw = TcpStream::connect(relay.address()).await.unwrap();
    let head = format!("GET /at/{right}/target/x?url=%E0%A4%A&title HTTP/1.1\r\nHost: h\r\n{upgrade}\r\n");
    raw.write_all(head.as_bytes()).await.unwrap();
    // An unmasked frame, which no client may send.
    raw.write_all(&[0x81, 0x02, b'{', b'}']).await.unwrap();
    let mut rest = Vec::new();
    timeout(WITHIN, raw.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert_eq!(get(&relay, &format!("/at/{right}/target.js"), "").await.0, 200);
    relay.shutdown().await;
}

/// A page that ends its connection has ended it in order, whether or not it has said hello.
#[tokio::test]
async fn a_close_frame_is_answered() {
    let relay = relay().await;
    for says_hello in [true, false] {
        let path = format!("/at/{}/target/{}", code(&relay), if says_hello { "one" } else { "two" });
        let mut socket = dial(&relay, &path, None).await.unwrap();
        if says_hello {
            hello(&mut socket, "d1").await;
        }
        let frame = CloseFrame { code: CloseCode::Normal, reason: "enough".into() };
        socket.send(Message::Close(Some(frame))).await.unwrap();
        assert_eq!(closed(&mut socket).await, (1000, "enough".to_owned()), "hello: {says_hello}");
    }
    relay.shutdown().await;
}
