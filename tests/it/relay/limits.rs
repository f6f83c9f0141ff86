//! How much the relay takes, how long it waits, and how it ends.

use std::time::Instant;

use devtools_test::relay::Relay;
use futures_util::{SinkExt, StreamExt};
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{connect_async, connect_async_with_config};

use super::gate::{Socket, closed, code, dial, get, hello, relay};
use super::*;

/// What every relay of the field takes, and ours.
const LARGEST: usize = 100 << 20;
const UPGRADE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";

async fn page(relay: &Relay, id: &str) -> Socket {
    let address = format!("ws://{}/at/{}/target/{id}", relay.address(), code(relay));
    // A browser takes what it is sent.
    let config = WebSocketConfig::default().max_frame_size(None).max_message_size(None);
    let (mut socket, _) = connect_async_with_config(address, Some(config), false).await.unwrap();
    hello(&mut socket, "d1").await;
    socket
}

async fn client(relay: &Relay) -> devtools_test::cdp::Client {
    let target = relay.status().borrow().target.clone().unwrap();
    devtools_test::cdp::Client::new(target.connect().await)
}

/// The next command, and its id.
async fn command(page: &mut Socket) -> (u64, usize) {
    loop {
        let message = timeout(WITHIN, page.next()).await.unwrap().unwrap().unwrap();
        let Message::Text(text) = message else { continue };
        if !text.contains("\"Relay.") {
            let command: Value = serde_json::from_str(&text).unwrap();
            return (command["id"].as_u64().unwrap(), text.len());
        }
    }
}

#[tokio::test]
async fn a_message_may_be_as_large_as_elsewhere_in_either_direction() {
    let relay = relay().await;
    let mut page = page(&relay, "a").await;
    let session = client(&relay).await.root();
    let up = "x".repeat(LARGEST - 200);
    let params = json!({ "expression": up });
    let asked = session.call::<Value>("Runtime.evaluate", params, WITHIN * 2);
    let answer = async {
        let (id, size) = command(&mut page).await;
        assert!(size > up.len() && size <= LARGEST, "{size}");
        let frame = |len: usize| format!(r#"{{"id":{id},"result":{{"x":"{}"}}}}"#, "y".repeat(len));
        let text = frame(LARGEST - frame(0).len());
        assert_eq!(text.len(), LARGEST);
        page.send(Message::text(text)).await.unwrap();
        page
    };
    let (answer, _page) = tokio::join!(asked, answer);
    assert!(answer.unwrap()["x"].as_str().unwrap().len() > LARGEST - 100);
    relay.shutdown().await;
}

/// A masked text frame with this payload, the mask being zeros.
fn text_frame(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).ok().filter(|length| *length < 126).expect("a short text");
    [&[0x81, 0x80 | length, 0, 0, 0, 0], text.as_bytes()].concat()
}

/// A connection whose frames are made here, after it said hello.
async fn raw_page(relay: &Relay, id: &str) -> TcpStream {
    let mut stream = TcpStream::connect(relay.address()).await.unwrap();
    let head = format!("GET /at/{}/target/{id} HTTP/1.1\r\nHost: h\r\n{UPGRADE}\r\n", code(relay));
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&text_frame(r#"{"method":"Agent.hello","params":{"doc":"d1","visible":true}}"#)).await.unwrap();
    stream
}

/// It would be sent again after each reconnect, for ever, if it counted as not received.
#[tokio::test]
async fn one_byte_more_ends_the_connection_with_a_reason_and_is_not_asked_for_again() {
    let relay = relay().await;
    let mut page = raw_page(&relay, "a").await;
    let length = u64::try_from(LARGEST + 1).unwrap().to_be_bytes();
    page.write_all(&[&[0x81, 0xff], &length[..], &[0, 0, 0, 0]].concat()).await.unwrap();
    let mut said = Vec::new();
    let reason = b"\x03\xf1a message of more than 100 MiB";
    let closed = async {
        while !said.windows(reason.len()).any(|part| part == reason) {
            assert_ne!(page.read_buf(&mut said).await.unwrap(), 0, "{said:?}");
        }
    };
    timeout(WITHIN, closed).await.unwrap();
    let mut again = dial(&relay, &format!("/at/{}/target/a", code(&relay)), None).await.unwrap();
    assert_eq!(hello(&mut again, "d1").await["params"]["received"], 1);
    relay.shutdown().await;
}

#[tokio::test]
async fn no_compression_is_agreed_on_with_a_page() {
    let relay = relay().await;
    let path = format!("ws://{}/at/{}/target/a", relay.address(), code(&relay));
    let mut request = path.into_client_request().unwrap();
    let offer = "permessage-deflate; client_max_window_bits, x-webkit-deflate-frame";
    request.headers_mut().insert("sec-websocket-extensions", offer.parse().unwrap());
    let (_socket, answer) = connect_async(request).await.unwrap();
    assert!(answer.headers().get("sec-websocket-extensions").is_none(), "{answer:?}");
    relay.shutdown().await;
}

#[tokio::test]
async fn a_connection_is_kept_awake_as_often_as_it_was_asked() {
    let secret = Secret::random().unwrap();
    let options = RelayOptions { keep_alive: Duration::from_millis(200), ..RelayOptions::local(secret, "") };
    let relay = Relay::start(options).await.unwrap();
    let mut page = page(&relay, "a").await;
    let began = Instant::now();
    let mut pings = 0;
    while pings < 5 {
        if let Message::Ping(_) = timeout(WITHIN, page.next()).await.unwrap().unwrap().unwrap() {
            pings += 1;
        }
    }
    assert!(began.elapsed() > Duration::from_millis(800), "{:?}", began.elapsed());
    // One that does not answer pings is dead after three of them.
    let target = relay.status().borrow().target.clone().unwrap();
    let lost = |view: &devtools_test::relay::TargetView| !view.state.answers();
    timeout(WITHIN, target.watch().wait_for(lost)).await.unwrap().unwrap();
    relay.shutdown().await;
}

/// A page that takes nothing while a client talks to it without end.
#[tokio::test]
async fn a_page_that_reads_nothing_is_cut_and_the_client_is_told_when_it_stays_away() {
    let relay = relay().await;
    let stalled = page(&relay, "a").await;
    let session = client(&relay).await.root();
    let params = json!({ "expression": "x".repeat(64 << 10) });
    let began = Instant::now();
    let mut asked = futures_util::stream::FuturesUnordered::new();
    for _ in 0..1500 {
        asked.push(session.call::<Value>("Runtime.evaluate", params.clone(), WITHIN * 2));
    }
    let first = timeout(WITHIN * 2, asked.next()).await.unwrap().unwrap();
    assert!(first.is_err(), "{first:?}");
    assert!(began.elapsed() < WITHIN * 2, "{:?}", began.elapsed());
    drop(stalled);
    relay.shutdown().await;
}

#[tokio::test]
async fn an_end_tells_everybody_within_a_second() {
    let relay = relay().await;
    let mut used = page(&relay, "a").await;
    // One that has not said who it is, one that was refused and does not confirm, one that reads nothing, an HTTP
    // connection that is kept open, and one that has said half a request.
    let silent = dial(&relay, &format!("/at/{}/target/b", code(&relay)), None).await.unwrap();
    let refused = dial(&relay, "/at/000000x/target/c", None).await.unwrap();
    let mut kept = TcpStream::connect(relay.address()).await.unwrap();
    kept.write_all(b"GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
    let mut answer = [0; 12];
    kept.read_exact(&mut answer).await.unwrap();
    let mut half = TcpStream::connect(relay.address()).await.unwrap();
    half.write_all(b"GET /target.js HTTP/1.1\r\nHos").await.unwrap();
    let began = Instant::now();
    relay.shutdown().await;
    assert!(began.elapsed() < Duration::from_millis(1200), "{:?}", began.elapsed());
    assert_eq!(closed(&mut used).await.0, 1000);
    let mut rest = Vec::new();
    let ended = timeout(Duration::from_secs(1), kept.read_to_end(&mut rest)).await;
    assert!(ended.is_ok(), "the kept connection is closed");
    assert!(TcpStream::connect(relay.address()).await.is_err(), "nobody listens any more");
    drop((silent, refused, half));
}

/// Says the beginning of a request.
async fn stranger(relay: &Relay) -> TcpStream {
    let mut stream = TcpStream::connect(relay.address()).await.unwrap();
    stream.write_all(b"GET /target.js HTTP/1.1\r\nHost: h\r\n").await.unwrap();
    stream
}

/// Whether the other side has ended the connection, or does within this time.
async fn ends(stream: &mut TcpStream, within: Duration) -> bool {
    matches!(timeout(within, stream.read(&mut [0; 64])).await, Ok(Ok(0) | Err(_)))
}

#[tokio::test]
async fn who_says_its_head_slowly_is_cut_and_who_came_in_is_not() {
    let relay = relay().await;
    let request = format!("GET /at/{}/target.js HTTP/1.1\r\nHost: h\r\n\r\n", code(&relay));
    let mut guest = TcpStream::connect(relay.address()).await.unwrap();
    guest.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    assert!(guest.read(&mut answer).await.unwrap() > 0);
    let mut slow = stranger(&relay).await;
    let mut refused = TcpStream::connect(relay.address()).await.unwrap();
    refused.write_all(b"GET /at/000000x/target.js HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
    assert!(refused.read(&mut answer).await.unwrap() > 0);
    let began = Instant::now();
    while !ends(&mut slow, Duration::from_millis(500)).await {
        assert!(began.elapsed() < Duration::from_secs(15), "a head may take for ever");
        drop(slow.write_all(b"x: y\r\n").await);
    }
    assert!(began.elapsed() > Duration::from_secs(8), "a slow network is not cut");
    assert!(ends(&mut refused, Duration::from_secs(5)).await, "it was refused and may not stay");
    guest.write_all(request.as_bytes()).await.unwrap();
    assert!(guest.read(&mut answer).await.unwrap() > 0, "a guest is not bound by the time of strangers");
    relay.shutdown().await;
}

#[tokio::test]
async fn strangers_cannot_keep_a_page_out_by_their_number() {
    let relay = relay().await;
    let mut page = page(&relay, "a").await;
    let mut strangers = Vec::new();
    for _ in 0..300 {
        strangers.push(stranger(&relay).await);
    }
    assert_eq!(get(&relay, &format!("/at/{}/target.js", code(&relay)), "").await.0, 200);
    assert!(ends(&mut strangers[0], Duration::from_secs(5)).await, "the first makes room");
    assert!(!ends(&mut strangers[299], Duration::from_millis(100)).await, "the last has its time");
    let session = client(&relay).await.root();
    let asked = session.call::<Value>("Runtime.evaluate", json!({ "expression": "1" }), WITHIN);
    let answer = async {
        let (id, _) = command(&mut page).await;
        page.send(Message::text(format!(r#"{{"id":{id},"result":{{}}}}"#))).await.unwrap();
    };
    assert!(tokio::join!(asked, answer).0.is_ok(), "a page that is there is not bothered");
    relay.shutdown().await;
}

/// One WebSocket frame as it may come: any opcode, any flags, any length it claims to have.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![
        (0..126_u8).prop_map(|n| vec![n]),
        any::<u16>().prop_map(|n| [vec![126], n.to_be_bytes().to_vec()].concat()),
        any::<u64>().prop_map(|n| [vec![127], n.to_be_bytes().to_vec()].concat()),
    ];
    let payload = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..125),
        "\\{\"(id|method)\":[ -~]{0,40}\\}".prop_map(String::into_bytes),
        r#"\{"method":"Agent\.(hello|echo|page|skipped|leaving)","params":\{[ -~]{0,30}\}\}"#
            .prop_map(String::into_bytes),
    ];
    let honest = (any::<u8>(), payload.clone()).prop_map(|(first, payload)| {
        let length = u8::try_from(payload.len()).unwrap_or(125);
        // A mask of zeros leaves the payload as it is.
        [vec![first, 0x80 | length, 0, 0, 0, 0], payload].concat()
    });
    let odd = (any::<u8>(), any::<bool>(), length, payload).prop_map(|(first, masked, mut length, payload)| {
        length[0] |= if masked { 0x80 } else { 0 };
        [vec![first], length, payload].concat()
    });
    prop_oneof![3 => honest, 1 => odd]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn no_frame_brings_the_relay_down(frames in proptest::collection::vec(frame(), 1..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let relay = relay().await;
            let mut stream = raw_page(&relay, "x").await;
            for frame in &frames {
                // It may have been closed by an earlier one.
                drop(stream.write_all(frame).await);
            }
            drop(stream.shutdown().await);
            drop(timeout(Duration::from_secs(2), stream.read_to_end(&mut Vec::new())).await);
            assert_eq!(get(&relay, &format!("/at/{}/target.js", code(&relay)), "").await.0, 200);
            relay.shutdown().await;
        });
    }
}
