//! What the page exchanged, from its first script to the report folder, in Chrome and over the relay.

use std::fs::File;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine};
use devtools_test::cdp::transport::websocket;
use devtools_test::cdp::{CdpEvent, Client};
use devtools_test::transport::{Connection, Direction, Message, Payload, Protocol, Timeline};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use support::phone::Phone;
use support::server::FixtureServer;
use support::tool::{Outcome, Tool};
use tokio_tungstenite::tungstenite;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use crate::tool;

/// As in `fixtures/traffic/fidelity.ait.test.ts`, and made by the same numbers.
const MESSAGES: usize = 5_000;
const CHARACTERS: [char; 9] = ['a', '"', '\\', '\n', '\0', 'é', '漢', '😀', '\u{2028}'];

/// How long a page may take to be there.
pub(crate) const PAGE_WITHIN: Duration = Duration::from_secs(20);

fn sent() -> Vec<Vec<u8>> {
    let mut seed: u32 = 1;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345) & 0x7fff_ffff;
        (seed >> 8) as usize % below
    };
    let mut message = || {
        if random(2) == 0 {
            let left = random(40);
            return (0..left).map(|_| CHARACTERS[random(CHARACTERS.len())]).collect::<String>().into_bytes();
        }
        let length = random(300);
        (0..length).map(|_| u8::try_from(random(256)).unwrap()).collect()
    };
    (0..MESSAGES).map(|_| message()).collect()
}

pub(crate) fn suite(server: &FixtureServer, file: &str, target: &str) -> Tool {
    let file = format!("fixtures/traffic/{file}.ait.test.ts");
    let tool = tool(&support::repo()).args([file.as_str(), "--target", target, "--cell-platform", "mock"]);
    let (report, url) = (tool.report_dir(), server.url());
    tool.args(["--report-dir".as_ref(), report.as_os_str()])
        .args(["--global".to_owned(), format!("__FIXTURE_URL__=\"{url}\"")])
}

/// A run over the relay, with a second Chrome as the phone.
pub(crate) fn on_device(tool: Tool) -> Outcome {
    let mut running = tool.args(["--show-url", "--attach-timeout", "60s"]).start();
    let link = running.wait_for("the attach link", crate::attach_clock::link);
    let phone = Phone::open(&link);
    let outcome = running.wait();
    drop(phone);
    outcome
}

/// Connections, and all messages with the number of theirs.
pub(crate) fn recorded(outcome: &Outcome) -> (Vec<Connection>, Vec<(usize, Message)>) {
    let path = outcome.report_dir().join("transport.2.x.mock.jsonl");
    let mut timeline = Timeline::read(File::open(path).unwrap()).unwrap();
    assert_eq!(timeline.lost(), 0, "{}", outcome.transcript());
    let connections = timeline.connections().to_vec();
    let number = |id: &str| connections.iter().position(|connection| connection.id == id).unwrap();
    let messages = (0..timeline.len()).map(|index| timeline.message(index).unwrap());
    let messages = messages.map(|message| (number(&message.connection_id), message)).collect();
    (connections, messages)
}

fn bytes(message: &Message) -> Vec<u8> {
    match message.payload() {
        Payload::Text(text) => text.as_bytes().to_vec(),
        Payload::Bytes(text) => BASE64_STANDARD.decode(text).unwrap(),
    }
}

fn expect_everything(outcome: &Outcome) {
    outcome.expect_code(0);
    let (connections, messages) = recorded(outcome);
    let of = |protocol, direction| {
        let wanted = |(_, m): &&(usize, Message)| m.protocol == protocol && m.direction == direction;
        messages.iter().filter(wanted).map(|(_, message)| bytes(message)).collect::<Vec<_>>()
    };
    let expected = sent();
    assert!(of(Protocol::Websocket, Direction::Out) == expected, "what was sent is what was recorded");
    assert!(of(Protocol::Websocket, Direction::In) == expected, "what was received is what was recorded");
    assert_eq!(of(Protocol::FetchStream, Direction::In).concat(), "😀漢é".as_bytes());
    let in_order = messages.windows(2).all(|pair| pair[0].1.n < pair[1].1.n);
    assert!(in_order, "records are in the order in which things happened");
    let test = "fixtures/traffic/fidelity.ait.test.ts > exchanges ten thousand messages";
    let sockets = messages.iter().filter(|(_, message)| message.protocol == Protocol::Websocket);
    assert!(sockets.into_iter().all(|(_, message)| message.test.as_deref() == Some(test)));

    // O-25: nothing of ours is among it.
    assert_eq!(connections.len(), 2, "{connections:?}");
    let socket = &connections[0];
    assert_eq!((socket.number("askedCode"), socket.fact("askedReason")), (Some(1000), "enough"), "{socket:?}");

    // O-28: every count is that of all messages, and says what is missing.
    let artifact = outcome.artifact();
    let total = &artifact["transport"];
    let (out, lost, cut) = (&total["out"], &total["lost"], &total["cut"]);
    assert_eq!((out, lost, cut), (&json!(MESSAGES), &json!(0), &json!(0)), "{total}");
    let of_test = &artifact["files"][0]["tests"][0]["transport"][0];
    assert_eq!((&of_test["in"], &of_test["out"]), (&json!(MESSAGES), &json!(MESSAGES)), "{of_test}");
    assert!(outcome.transcript().contains("traffic: 2 connections, 10"), "{}", outcome.transcript());
}

#[test]
fn chrome_records_every_byte() {
    let server = FixtureServer::start();
    let outcome = suite(&server, "fidelity", "chrome").run();
    expect_everything(&outcome);
    expect_formats(&outcome);
}

/// O-28: what was cut is counted, also where its bytes came later than its message.
#[test]
fn every_cut_is_counted() {
    let server = FixtureServer::start();
    let outcome = suite(&server, "cut", "chrome").args(["--capture-max-payload", "2KiB"]).run();
    outcome.expect_code(0);
    let total = &outcome.artifact()["transport"];
    assert_eq!((&total["in"], &total["out"], &total["cut"]), (&json!(3), &json!(3), &json!(4)), "{total}");
    assert!(outcome.transcript().contains("4 payloads cut"), "{}", outcome.transcript());
}

#[test]
fn the_relay_brings_every_byte() {
    let server = FixtureServer::start();
    expect_everything(&on_device(suite(&server, "fidelity", "device")));
}

/// The other files of the report folder, and what the subcommand makes of the timeline.
fn expect_formats(outcome: &Outcome) {
    let file = |ending: &str| outcome.report_dir().join(format!("transport.2.x.mock.{ending}"));
    let har: Value = serde_json::from_slice(&fs_err::read(file("har")).unwrap()).unwrap();
    let entries = har["log"]["entries"].as_array().unwrap();
    assert_eq!(entries[0]["_webSocketMessages"].as_array().unwrap().len(), 2 * MESSAGES);
    assert_eq!(entries[1]["response"]["content"]["text"], "😀漢é");
    let log = fs_err::read_to_string(file("log")).unwrap();
    assert!(log.lines().filter(|line| line.contains(" OUT [websocket] message - ")).count() == MESSAGES);

    let timeline = file("jsonl");
    let again = |args: &[&str]| {
        let asked = tool(&support::repo()).args(["transport".as_ref(), timeline.as_os_str()]).args(args).run();
        asked.expect_code(0);
        asked.transcript()
    };
    assert!(again(&["--grep", "漢é", "--filter", "protocol=fetch"]).contains("[fetch-stream] message - "));
    let binary =
        again(&["--filter", "direction=out", "--filter", "protocol=websocket", "--grep", "[binary 299 bytes]"]);
    assert!(binary.contains("OUT [websocket] message - [binary 299 bytes]") && !binary.contains(" IN "), "{binary}");
}

#[test]
fn a_failed_test_shows_its_own_last_messages() {
    let server = FixtureServer::start();
    let outcome = suite(&server, "fails", "chrome").run();
    outcome.expect_code(1);
    let text = outcome.transcript();
    let (_, last) = text.split_once("last messages:").unwrap_or_else(|| panic!("{text}"));
    assert!(last.contains("OUT [websocket] message - the last word"), "{text}");
    assert!(last.contains("IN [websocket] message - the last word"), "{text}");
    assert!(!last.contains("not of the failed test"), "{text}");
}

#[test]
fn nothing_is_recorded_where_nobody_wants_it() {
    let server = FixtureServer::start();
    let outcome = suite(&server, "fails", "chrome").args(["--no-capture"]).run();
    outcome.expect_code(1);
    assert!(!outcome.report_dir().join("transport.2.x.mock.jsonl").exists());
    assert!(!outcome.transcript().contains("traffic:") && outcome.artifact()["transport"].is_null());

    let only = suite(&server, "fidelity", "chrome").args(["--capture", "fetch"]).run();
    only.expect_code(0);
    let (connections, _) = recorded(&only);
    assert!(connections.iter().all(|connection| connection.protocol == Protocol::FetchStream), "{connections:?}");
}

/// Frames of sockets as Chrome tells of them (`Network.webSocketFrame*`) to a second client that listens beside the run.
#[derive(Default)]
struct Told {
    out: Vec<Vec<u8>>,
    received: Vec<Vec<u8>>,
}

impl Told {
    fn hear(&mut self, event: &CdpEvent) {
        let frames = match event.method.as_str() {
            "Network.webSocketFrameSent" => &mut self.out,
            "Network.webSocketFrameReceived" => &mut self.received,
            _ => return,
        };
        let frame: Value = event.parse().unwrap();
        let data = frame["response"]["payloadData"].as_str().unwrap();
        match frame["response"]["opcode"].to_string().as_str() {
            "1" => frames.push(data.as_bytes().to_vec()),
            "2" => frames.push(BASE64_STANDARD.decode(data).unwrap()),
            _ => {}
        }
    }
}

/// Listens to every page that is opened in a browser from now on, each before its first request.
async fn listen(endpoint: &str, told: Arc<Mutex<Told>>) {
    let address = endpoint.trim_start_matches("ws://").split('/').next().unwrap();
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let client = Client::new(websocket(endpoint, stream).await.unwrap());
    let mut opened = client.root().events();
    let follow = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
    client.root().call::<Value>("Target.setAutoAttach", follow, PAGE_WITHIN).await.unwrap();
    while let Some(event) = opened.next().await {
        if event.method != "Target.attachedToTarget" {
            continue;
        }
        let attached: Value = event.parse().unwrap();
        let session = client.session(attached["sessionId"].as_str().unwrap());
        let (mut events, told) = (session.events(), Arc::clone(&told));
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                told.lock().unwrap().hear(&event);
            }
        });
        session.call::<Value>("Network.enable", json!({}), PAGE_WITHIN).await.unwrap();
        session.call::<Value>("Runtime.runIfWaitingForDebugger", json!({}), PAGE_WITHIN).await.unwrap();
    }
}

#[test]
fn chrome_tells_the_same_of_every_frame() {
    let server = FixtureServer::start();
    let browser = Phone::open("about:blank");
    let told = Arc::new(Mutex::new(Told::default()));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let endpoint = browser.endpoint().to_owned();
    let listening = runtime.spawn({
        let (told, endpoint) = (Arc::clone(&told), endpoint.clone());
        async move { listen(&endpoint, told).await }
    });
    let page = server.url();
    let outcome = suite(&server, "fidelity", "chrome").args(["--cdp-endpoint", &endpoint, "--page-url", &page]).run();
    expect_everything(&outcome);
    let deadline = Instant::now() + PAGE_WITHIN;
    while told.lock().unwrap().received.len() < MESSAGES && Instant::now() < deadline && !listening.is_finished() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let told = told.lock().unwrap();
    let (_, messages) = recorded(&outcome);
    for (direction, frames) in [(Direction::Out, &told.out), (Direction::In, &told.received)] {
        let of = |m: &&(usize, Message)| m.1.protocol == Protocol::Websocket && m.1.direction == direction;
        let ours: Vec<_> = messages.iter().filter(of).map(|(_, message)| bytes(message)).collect();
        assert!(ours == *frames, "{direction:?}: {} recorded, {} told by Chrome", ours.len(), frames.len());
    }
}

/// Sends messages in fragments, some of which end within a character, to whoever connects; its address.
async fn in_fragments(messages: Vec<Vec<u8>>) -> String {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        for (index, message) in messages.into_iter().enumerate() {
            let first = if std::str::from_utf8(&message).is_ok() { Data::Text } else { Data::Binary };
            let parts: Vec<_> = message.chunks(message.len().div_ceil(1 + index % 4).max(1)).collect();
            let last = parts.len().saturating_sub(1);
            for (part, bytes) in parts.iter().enumerate() {
                let kind = if part == 0 { first } else { Data::Continue };
                let frame = Frame::message(bytes.to_vec(), OpCode::Data(kind), part == last);
                socket.send(tungstenite::Message::Frame(frame)).await.unwrap();
            }
        }
        socket.close(None).await.unwrap();
        // The page answers the close.
        while let Some(Ok(_)) = socket.next().await {}
    });
    format!("ws://{address}")
}

#[test]
fn fragments_are_recorded_as_the_messages_they_make() {
    let server = FixtureServer::start();
    let expected: Vec<_> = sent().into_iter().filter(|message| !message.is_empty()).take(1_000).collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let address = runtime.block_on(in_fragments(expected.clone()));
    let outcome =
        suite(&server, "fragments", "chrome").args(["--global".to_owned(), format!("__FRAGMENTS_URL__=\"{address}\"")]);
    let outcome = outcome.run();
    outcome.expect_code(0);
    let (connections, messages) = recorded(&outcome);
    assert_eq!(connections.len(), 1, "{connections:?}");
    let ours: Vec<_> = messages.iter().map(|(_, message)| bytes(message)).collect();
    assert_eq!(ours.len(), expected.len());
    let other = ours.iter().zip(&expected).position(|(ours, sent)| ours != sent);
    assert_eq!(other.map(|index| (index, &ours[index], &expected[index])), None, "recorded, sent");
}
