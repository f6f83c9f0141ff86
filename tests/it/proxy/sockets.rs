//! WebSockets between the phone and the app's server.

use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use support::server::FixtureServer;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use rustix::process::Signal;

use super::plain::{Plain, WITHIN, Way};
use super::requests::read_until;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn dial(way: &Way, path: &str, headers: &[(&'static str, &str)]) -> Result<(Socket, Option<String>), Error> {
    let mut request = format!("ws://{}{path}", way.relay).into_client_request().unwrap();
    request.headers_mut().insert("cookie", way.cookie.parse().unwrap());
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    let (socket, answer) = connect_async(request).await?;
    let protocol = answer.headers().get("sec-websocket-protocol").map(|value| value.to_str().unwrap().to_owned());
    Ok((socket, protocol))
}

async fn next(socket: &mut Socket) -> Option<Result<Message, Error>> {
    timeout(WITHIN, socket.next()).await.expect("in time")
}

#[tokio::test]
async fn they_pass_with_protocols_messages_and_close_codes() {
    let server = FixtureServer::start();
    let way = Way::to(&server.url());
    let (mut socket, protocol) =
        dial(&way, "/ws/echo", &[("sec-websocket-protocol", "none, echo.v1, echo.v2")]).await.unwrap();
    assert!(protocol.is_some_and(|name| name.starts_with("echo.")));
    let large = "가".repeat(1 << 20);
    for message in [Message::text("hello"), Message::binary(vec![0_u8, 255, 1]), Message::text(large)] {
        socket.send(message.clone()).await.unwrap();
        assert!(next(&mut socket).await.unwrap().unwrap() == message);
    }
    socket.send(Message::text("close:4001:why")).await.unwrap();
    let Some(Ok(Message::Close(Some(CloseFrame { code, reason })))) = next(&mut socket).await else {
        panic!("a close")
    };
    assert_eq!((u16::from(code), reason.as_str()), (4001, "why"));
    assert!(matches!(next(&mut socket).await, None | Some(Err(_))), "and then it is over");
}

#[tokio::test]
async fn only_who_may_gets_one_and_a_lost_upstream_is_no_orderly_end() {
    let app = Plain::start(|mut call| match call.path() {
        "/not" => call.answer("404 Not Found", "", "no socket here"),
        _ => {
            let key = call.header("sec-websocket-key").unwrap().to_owned();
            let accept = tokio_tungstenite::tungstenite::handshake::derive_accept_key(key.as_bytes());
            let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
            // A word, half a word, and no more.
            call.write(format!("{head}Sec-WebSocket-Accept: {accept}\r\n\r\n\u{1}\u{2}hi"));
        }
    });
    let way = Way::to(&app.url());
    let own = format!("http://{}", way.relay);
    let (mut socket, _) = dial(&way, "/lost", &[("origin", &own)]).await.unwrap();
    let end = timeout(Duration::from_secs(10), async { while let Some(Ok(_)) = socket.next().await {} }).await;
    assert!(end.is_ok(), "the phone learns that it is over");
    let head = app.heads().pop().unwrap();
    assert!(head.contains(&format!("origin: http://{}", app.address)), "{head}");
    let refused = |result: Result<(Socket, Option<String>), Error>| match result {
        Err(Error::Http(answer)) => answer.status().as_u16(),
        other => panic!("{:?}", other.map(|(_, protocol)| protocol)),
    };
    assert_eq!(refused(dial(&way, "/not", &[]).await), 404);
    assert_eq!(refused(dial(&way, "/x", &[("origin", "https://evil.test")]).await), 401);
    assert_eq!(refused(dial(&way, "/x", &[("cookie", "ait_00000000=x")]).await), 401);
    assert_eq!(app.heads().len(), 2);
}

#[tokio::test]
async fn what_is_open_at_the_end_of_the_run_does_not_hold_it() {
    let server = FixtureServer::start();
    let way = Way::to(&server.url());
    let (mut socket, _) = dial(&way, "/ws/echo", &[]).await.unwrap();
    let mut events = way.send(way.request("GET /sse?n=100&gap=1000", ""));
    read_until(&mut events, "id: 1");
    let _waiting = way.send(way.request("GET /hang", ""));
    let _upload = way.send(way.request("POST /api/echo", "Content-Length: 1000\r\n"));
    let asked = Instant::now();
    way.running.signal(Signal::INT);
    let outcome = way.running.wait();
    outcome.expect_code(130);
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
    let end = timeout(WITHIN, async { while let Some(Ok(_)) = socket.next().await {} }).await;
    assert!(end.is_ok(), "the phone learns that it is over");
}
