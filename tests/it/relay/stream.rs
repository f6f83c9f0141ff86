//! Pages whose network lets no WebSocket through: the door they take, tried from outside, and a WebKit behind such a one.

use devtools_test::cdp::Client;
use devtools_test::relay::{Relay, Target, TargetState};
use proptest::prelude::*;
use support::wire::{Faults, Wire};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::gate::{code, get, relay, status, wrong_code};
use super::*;

/// A stream that is open.
struct Stream(BufReader<TcpStream>);

impl Stream {
    /// What comes next: a message, or the code with which it is closed.
    async fn next(&mut self) -> Result<Value, u64> {
        let mut closing = false;
        loop {
            let mut line = String::new();
            let read = timeout(WITHIN, self.0.read_line(&mut line)).await.expect("it says something").unwrap();
            assert!(read > 0, "it ended without a word");
            closing |= line.starts_with("event: close");
            if let Some(text) = line.strip_prefix("data: ") {
                let value: Value = serde_json::from_str(text).unwrap();
                return if closing { Err(value["code"].as_u64().unwrap()) } else { Ok(value) };
            }
        }
    }

    /// The key, and the ticket and the count of the welcome.
    async fn welcome(&mut self) -> (String, String, u64) {
        let first = self.next().await.unwrap();
        let welcome = self.next().await.unwrap();
        assert_eq!((&first["method"], &welcome["method"]), (&json!("Relay.stream"), &json!("Relay.welcome")));
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (key, ticket) = (text(&first["params"]["key"]), text(&welcome["params"]["ticket"]));
        (key, ticket, welcome["params"]["received"].as_u64().unwrap())
    }
}

async fn send(relay: &Relay, path: &str, body: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(relay.address()).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        relay.address(),
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    BufReader::new(stream)
}

/// The status of the answer, and its body as it comes.
async fn ask(relay: &Relay, path: &str, body: &str) -> (u16, Stream) {
    let mut answer = send(relay, path, body).await;
    let mut line = String::new();
    timeout(WITHIN, answer.read_line(&mut line)).await.unwrap().unwrap();
    (line[9..12].parse().unwrap(), Stream(answer))
}

fn hello(doc: &str) -> String {
    format!(r#"{{"method":"Agent.hello","params":{{"doc":"{doc}","url":"http://app.test/","visible":true}}}}"#)
}

async fn open(relay: &Relay, path: &str, ticket: &str, doc: &str) -> Stream {
    let (status, stream) = ask(relay, path, &format!("open {ticket}\n{}", hello(doc))).await;
    assert_eq!(status, 200);
    stream
}

async fn page(relay: &Relay) -> Target {
    status(relay, |status| status.target.is_some()).await.target.unwrap()
}

#[tokio::test]
async fn a_stream_is_let_in_as_a_socket_is() {
    let relay = relay().await;
    let (right, wrong) = (code(&relay), wrong_code(&relay));
    let body = format!("open \n{}", hello("d1"));
    for path in ["/target/t1".to_owned(), format!("/at/{wrong}/target/t1"), format!("/target/t1?at={wrong}")] {
        let (status, mut answer) = ask(&relay, &path, &body).await;
        let mut text = String::new();
        answer.0.read_to_string(&mut text).await.unwrap();
        assert!(status == 401 && text.contains("totp-rejected"), "{path}: {status} {text}");
        assert!(text.contains("access-control-allow-origin: *"), "{text}");
    }
    let (_, ticket, _) = open(&relay, &format!("/AT/{right}//target/t1/"), "", "d1").await.welcome().await;
    // The ticket opens it alone, and only for its own page.
    let mut again = open(&relay, "/target/t1", &ticket, "d1").await;
    let (key, ..) = again.welcome().await;
    assert_eq!(ask(&relay, "/target/t2", &format!("open {ticket}\n{}", hello("d2"))).await.0, 401);
    // Another page is told that it is not wanted, once the first has answered.
    page(&relay).await.set_in_use(true);
    let path = format!("/at/{right}/target/t2");
    let answers = async {
        while again.next().await.unwrap()["method"] != "Relay.echo" {}
        let echo = r#"{"method":"Agent.echo","params":{"received":0,"visible":true}}"#;
        assert_eq!(ask(&relay, "/target/t1", &format!("send {key} 0\n{echo}")).await.0, 204);
    };
    let (mut second, ()) = tokio::join!(open(&relay, &path, "", "d2"), answers);
    assert_eq!(second.next().await, Err(4409));
    // Nobody is let in without a hello, or with a word nobody knows.
    for odd in ["open \n{}", "open \n", "open", "", "hello\n", "send x\n", "open a b\n"] {
        assert_eq!(ask(&relay, &format!("/at/{right}/target/t1"), odd).await.0, 400, "{odd:?}");
    }
    for odd in ["send x 0\n", "send 0123456789abcdef0123456789abcdef 0\n", "send  0\n"] {
        assert_eq!(ask(&relay, &format!("/at/{right}/target/t1"), odd).await.0, 410, "{odd:?}");
    }
    assert_eq!(get(&relay, &format!("/at/{right}/target/t1"), "").await.0, 404, "a socket is asked for as one");
    // Who is there is told of the end.
    relay.shutdown().await;
    while let Ok(message) = again.next().await {
        assert!(message["method"].as_str().unwrap().starts_with("Relay."), "{message}");
    }
}

#[tokio::test]
async fn batches_are_taken_in_order_and_once_and_go_on_after_a_break() {
    let relay = relay().await;
    let path = format!("/at/{}/target/t1", code(&relay));
    let mut first = open(&relay, &path, "", "d1").await;
    let (key, ticket, received) = first.welcome().await;
    assert_eq!(received, 0);
    let client = Client::new(page(&relay).await.connect().await);
    let mut events = client.root().events();
    let said = |n: u32| format!(r#"{{"method":"Page.said","params":{{"n":{n}}}}}"#);
    let both = format!("send {key} 0\n{}\n{}", said(1), said(2));
    for (status, body) in [
        (204, both.clone()),
        (204, both),
        (409, format!("send {key} 2\n{}", said(9))),
        (204, format!("send {key} 1\n\n{}\n", said(3))),
    ] {
        assert_eq!(ask(&relay, &path, &body).await.0, status, "{body}");
    }
    // It breaks; what comes late on the old stream counts no more.
    let (late, number) = (key, 2);
    let mut second = open(&relay, &path, &ticket, "d1").await;
    let (key, _, received) = second.welcome().await;
    assert_eq!(received, 3, "the page sends what follows the third");
    let late = ask(&relay, &path, &format!("send {late} {number}\n{}", said(9))).await.0;
    assert!(matches!(late, 204 | 410), "{late}");
    assert_eq!(ask(&relay, &path, &format!("send {key} 0\n{}", said(4))).await.0, 204);
    for expected in 1..=4 {
        let params: Value = next(&mut events, "Page.said").await.parse().unwrap();
        assert_eq!(params["n"], json!(expected));
    }
    // Commands reach the page, whose client may write them over several lines.
    let session = client.root();
    let call = session.call::<Value>("Page.ask", json!({ "text": "a\nb" }), WITHIN);
    let (answered, ()) = tokio::join!(call, async {
        let command = second.next().await.unwrap();
        assert_eq!(command["params"]["text"], json!("a\nb"));
        let reply = format!("send {key} 1\n{{\"id\":{},\"result\":{{\"fine\":true}}}}", command["id"]);
        assert_eq!(ask(&relay, &path, &reply).await.0, 204);
    });
    assert_eq!(answered.unwrap(), json!({ "fine": true }));
    relay.shutdown().await;
}

/// A browser that leaves a page drops the stream first; the page's last words come on connections of their own.
#[tokio::test]
async fn what_a_page_says_as_it_is_left_counts_and_the_next_document_does_not_wait() {
    let relay = relay().await;
    let path = format!("/at/{}/target/t1", code(&relay));
    let mut first = open(&relay, &path, "", "d1").await;
    let (key, ticket, _) = first.welcome().await;
    let target = page(&relay).await;
    target.set_in_use(true);
    let client = Client::new(target.connect().await);
    let mut events = client.root().events();
    drop(first);
    // The next document calls before the last one has been heard to the end.
    let began = tokio::time::Instant::now();
    let words = format!("send {key} 1\n{}", r#"{"method":"Agent.leaving","params":{}}"#);
    let last_words = async {
        let result = format!("send {key} 0\n{}", r#"{"method":"Page.said","params":{"n":1}}"#);
        assert_eq!(ask(&relay, &path, &result).await.0, 204);
        assert_eq!(ask(&relay, &path, &words).await.0, 204);
    };
    let (mut second, ()) = tokio::join!(open(&relay, &path, &ticket, "d2"), last_words);
    second.welcome().await;
    assert!(began.elapsed() < Duration::from_millis(900), "{:?}", began.elapsed());
    next(&mut events, "Page.said").await;
    assert_eq!(target.view().document, 2);
    assert_eq!(ask(&relay, &path, &words).await.0, 204, "told twice, taken once");
    // A page that says nothing more is missed, and what it sends after that is refused.
    drop(second);
    timeout(WITHIN, target.watch().wait_for(|view| view.state == TargetState::Reconnecting)).await.unwrap().unwrap();
    assert_eq!(ask(&relay, &path, &words).await.0, 410);
    relay.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webkit_behind_a_proxy_that_knows_no_websockets_behaves() {
    let mut desk = Desk::new(WITHIN);
    let Desk { pages, links, events, .. } = &mut desk;
    let mut webkit = Webkit::new(WebkitOptions { search_path: std::env::var("PATH").ok(), ..Default::default() });
    let scan = async {
        let link = links.recv().await.unwrap();
        let wire = Wire::to(&link, Faults { refuses_sockets: true, ..Faults::default() });
        webkit.open(&Hidden::new(wire.link(&link))).await.unwrap();
        wire
    };
    let (page, wire) = tokio::join!(pages.open(events), scan);
    let page = page.unwrap();
    assert_eq!(wire.refused(), 1);
    call(&page, "Runtime.enable", json!({})).await;
    runtime::add_binding(&page.session, "__told", WITHIN).await.unwrap();
    let mut stream = page.session.events();
    value(&page, "globalThis.n = 0; globalThis.timer = setInterval(() => __told(`t${n++}`), 5); 0").await;
    for round in 0..3 {
        // A command is on its way in either direction when the connection ends.
        let slow = "globalThis.ran = (globalThis.ran ?? 0) + 1; new Promise((done) => setTimeout(done, 100, ran))";
        let cut =
            || tokio::task::block_in_place(|| std::thread::scope(|scope| scope.spawn(|| wire.cut()).join().unwrap()));
        let (answer, ()) = tokio::join!(value(&page, slow), async { cut() });
        assert_eq!(answer, json!(round + 1), "once each");
    }
    let total = value(&page, "clearInterval(timer); n").await.as_u64().unwrap();
    value(&page, "__told('end')").await;
    for number in 0..=total {
        let told: BindingCalled = next(&mut stream, "Runtime.bindingCalled").await.parse().unwrap();
        assert_eq!(told.payload, if number == total { "end".to_owned() } else { format!("t{number}") });
    }
    desk.pages.close().await;
    webkit.close().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever an agent posts, with its key or without, the relay goes on and the stream that is open stays.
    #[test]
    fn no_body_brings_the_relay_down(
        odd in proptest::collection::vec("(open|send|)[ -~\n]{0,80}|\\PC{0,60}\n?", 0..4),
        lines in "(\\PC{0,30}|\\{\"method\":\"Agent\\.[a-z]{1,8}\",\"params\":[ -~]{0,40}\\}|\n){0,6}",
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let relay = relay().await;
            let path = format!("/at/{}/target/t1", code(&relay));
            let mut stream = open(&relay, &path, "", "d1").await;
            let (key, ..) = stream.welcome().await;
            for body in &odd {
                let status = ask(&relay, &path, body).await.0;
                assert!(matches!(status, 400 | 410), "{body:?}: {status}");
            }
            assert_eq!(ask(&relay, &path, &format!("send {key} 0\n{lines}")).await.0, 204);
            let echo = r#"{"method":"Agent.echo","params":{"received":0,"visible":false}}"#;
            assert_eq!(ask(&relay, &path, &format!("send {key} 1\n{echo}")).await.0, 204);
            let mut view = page(&relay).await.watch();
            timeout(WITHIN, view.wait_for(|view| view.state == TargetState::Hidden)).await.unwrap().unwrap();
            relay.shutdown().await;
        });
    }
}
