//! Every door of the public listener, tried with every key and in every spelling.

use devtools_test::relay::Relay;
use devtools_test::totp::UnixSeconds;
use futures_util::{SinkExt, StreamExt};
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::gate::{closed, code, dial, get, hello, relay, wrong_code};
use super::*;

/// What a door said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// HTTP 2xx, or a socket that stays open.
    Open,
    /// HTTP 401, or a socket that is closed with 4401.
    Refused,
    /// HTTP 404: there is no such door.
    NoDoor,
}

/// Doors: what stands before the code, what behind it, and whether a socket is behind it.
const DOORS: [(&str, &str, bool); 8] = [
    ("/at/", "/target.js", false),
    ("/target.js?v=1&at=", "", false),
    ("/at/", "/ait-attach?v=1", false),
    ("/ait-attach?at=", "&v=1", false),
    ("/attach?at=", "", false),
    ("/at/", "/attach", false),
    ("/at/", "/target/t1?url=x", true),
    ("/target/t1?at=", "&title=x", true),
];

async fn knock(relay: &Relay, path: &str, socket: bool) -> Said {
    if !socket {
        return match get(relay, path, "").await.0 {
            200 | 204 => Said::Open,
            401 => Said::Refused,
            404 => Said::NoDoor,
            other => panic!("{path}: {other}"),
        };
    }
    let mut socket = match dial(relay, path, None).await {
        Ok(socket) => socket,
        Err(Error::Http(answer)) if answer.status() == 404 => return Said::NoDoor,
        Err(other) => panic!("{path}: {other}"),
    };
    // One that is let in is asked to introduce itself, which an odd first word ends with 1000.
    socket.send(Message::text("?")).await.unwrap();
    match closed(&mut socket).await.0 {
        1000 => Said::Open,
        4401 => Said::Refused,
        other => panic!("{path}: {other}"),
    }
}

/// The code of so many steps from now; one that does not count by chance.
fn code_at(relay: &Relay, steps: i64) -> String {
    let seconds = UnixSeconds::now().0.checked_add_signed(steps * 30).unwrap();
    relay.totp().code(UnixSeconds(seconds)).expose().to_owned()
}

/// The same digits, as East Asian texts write them.
fn full_width(text: &str) -> String {
    text.chars().filter_map(|c| char::from_u32(u32::from(c) - u32::from('0') + u32::from('０'))).collect()
}

/// Percent escapes of every byte.
fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test]
async fn every_door_takes_a_code_of_the_window_and_no_other() {
    // By what it is made of: a relay has a secret of its own.
    type Make = fn(&Relay) -> String;
    let keys: [(&str, Make, Said); 16] = [
        ("right", code, Said::Open),
        ("two minutes old", |relay| code_at(relay, -4), Said::Open),
        ("of the next step", |relay| code_at(relay, 1), Said::Open),
        ("wrong", wrong_code, Said::Refused),
        ("old", |relay| code_at(relay, -8), Said::Refused),
        ("of a day ago", |relay| code_at(relay, -2880), Said::Refused),
        ("future", |relay| code_at(relay, 3), Said::Refused),
        ("short", |relay| code(relay)[..5].to_owned(), Said::Refused),
        ("long", |relay| code(relay) + "0", Said::Refused),
        ("padded", |relay| format!("0{}", code(relay)), Said::Refused),
        ("with a space", |relay| format!("%20{}", code(relay)), Said::Refused),
        ("with a line break", |relay| format!("{}%0A", code(relay)), Said::Refused),
        ("with a zero byte", |relay| format!("{}%00", code(relay)), Said::Refused),
        ("twice", |relay| code(relay) + &code(relay), Said::Refused),
        ("in full width", |relay| escaped(&full_width(&code(relay))), Said::Refused),
        ("very long", |_| "1".repeat(900), Said::Refused),
    ];
    for (what, make, expected) in keys {
        let relay = relay().await;
        for (before, behind, socket) in DOORS {
            let path = format!("{before}{}{behind}", make(&relay));
            assert_eq!(knock(&relay, &path, socket).await, expected, "{what}: {before}...{behind}");
        }
        relay.shutdown().await;
    }
    for odd in ["٠٨١٨٠٤", "é", "\u{202e}123456", "-12345", "+12345", "1e5", "0x1234", "12 456"] {
        let relay = relay().await;
        for (before, behind, socket) in DOORS {
            let path = format!("{before}{}{behind}", escaped(odd));
            assert_eq!(knock(&relay, &path, socket).await, Said::Refused, "{odd:?}: {before}...{behind}");
        }
        relay.shutdown().await;
    }
}

#[tokio::test]
async fn without_a_code_every_door_is_closed_and_nothing_counts_as_a_guess() {
    let relay = relay().await;
    for _ in 0..3 {
        for path in ["/target.js", "/ait-attach", "/attach", "/attach?AT=1", "/attach?x=at%3D1"] {
            assert_eq!(knock(&relay, path, false).await, Said::Refused, "{path}");
        }
        assert_eq!(knock(&relay, "/target/t1", true).await, Said::Refused);
        for path in ["/at//target.js", "/at/target.js", "/at", "/at/"] {
            assert_ne!(knock(&relay, path, false).await, Said::Open, "{path}");
        }
    }
    let status = relay.status().borrow().clone();
    assert_eq!((status.refused, status.locked, status.accepted), (0, 0, 0), "{status:?}");
    relay.shutdown().await;
}

#[tokio::test]
async fn a_code_may_be_used_again_within_its_window() {
    // As a page does that loads its script, reports its version, dials, and dials again.
    let relay = relay().await;
    let right = code(&relay);
    for _ in 0..3 {
        for (before, behind, socket) in DOORS {
            assert_eq!(knock(&relay, &format!("{before}{right}{behind}"), socket).await, Said::Open);
        }
    }
    assert_eq!(relay.status().borrow().refused, 0);
    relay.shutdown().await;
}

#[tokio::test]
async fn no_spelling_of_a_path_gets_around_the_gate() {
    let relay = relay().await;
    let right = code(&relay);
    let spell = |code: &str| {
        [
            (format!("//at//{code}//target.js//"), false),
            (format!("/AT/{code}/TARGET.JS"), false),
            (format!("/at/{code}/target%2Ejs"), false),
            (format!("/%61%74/{code}/%74arget.js"), false),
            (format!("/at%2F{code}%2Ftarget.js"), false),
            (format!("/at/{}/target.js", escaped(code)), false),
            (format!("/x/../at/{code}/./target.js"), false),
            (format!("/%2e%2e/at/{code}/%2E/attach/"), false),
            (format!("/At/{code}/Ait-Attach/?v=1"), false),
            (format!("/ATTACH/?at={code}"), false),
            (format!("/attach?x=1&%61t={code}"), false),
            (format!("/At/{code}/Target//t1/"), true),
            (format!("/at/{code}/%2e/target/t%31"), true),
        ]
    };
    for (path, socket) in spell(&right) {
        assert_eq!(knock(&relay, &path, socket).await, Said::Open, "{path}");
    }
    for (path, socket) in spell("000000x") {
        // Each at a relay that has counted nothing yet.
        let relay = super::gate::relay().await;
        assert_eq!(knock(&relay, &path, socket).await, Said::Refused, "{path}");
        relay.shutdown().await;
    }
    let wrong = wrong_code(&relay);
    for path in [
        // A code that a later `..` takes away is no code.
        format!("/at/{right}/../../target.js"),
        format!("/at/{right}/%2e%2e/%2e%2e/target.js"),
        // The one in the path is the one that counts, and of several in the query the first.
        format!("/at/{wrong}/target.js?at={right}"),
        format!("/target.js?at={wrong}&at={right}"),
        format!("/target.js#/at/{right}/"),
    ] {
        assert_eq!(knock(&relay, &path, false).await, Said::Refused, "{path}");
    }
    for path in [
        format!("/at/{right}/at/{right}/target.js"),
        format!("/at/{right}/target.js/x"),
        format!("/at/{right}/target.js%00"),
        format!("/at/{right}/target.js;x"),
        format!("/at/{right}/target.js%3Fx"),
        format!("/at/{right}\\target.js"),
        format!("/at/{right}/..%252ftarget.js"),
        format!("/at/{right}/%c0%aetarget.js"),
        format!("/at/{right}/targets"),
    ] {
        assert_eq!(knock(&relay, &path, false).await, Said::NoDoor, "{path}");
    }
    relay.shutdown().await;
}

#[tokio::test]
async fn only_reading_methods_are_answered() {
    let relay = relay().await;
    let right = code(&relay);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"] {
        let mut stream = TcpStream::connect(relay.address()).await.unwrap();
        let head = format!("{method} /at/{right}/target.js HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 404 ") && !text.contains("/* agent */"), "{method}: {text}");
    }
    relay.shutdown().await;
}

/// A request whose host is a name that somebody bound to 127.0.0.1, and one that another site sends.
#[tokio::test]
async fn other_hosts_and_origins_get_nothing_by_the_cookie() {
    let relay = relay().await;
    let right = code(&relay);
    let (_, page) = get(&relay, &format!("/attach?at={right}"), "").await;
    let cookie = page.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let own = format!("http://{}", relay.address());
    for (origin, status) in [
        (own.as_str(), 200),
        ("http://evil.test", 401),
        ("null", 401),
        ("", 401),
        (&own.replace("http:", "http:/"), 401),
        (&format!("{own}.evil.test"), 401),
        (&format!("{own}@evil.test"), 401),
        (&format!("http://evil.test/{own}"), 401),
    ] {
        let headers = format!("Cookie: {cookie}\r\nOrigin: {origin}\r\n");
        assert_eq!(get(&relay, "/target.js", &headers).await.0, status, "{origin:?}");
    }
    // The rebound name: its page has no cookie of ours, and no code.
    let mut stream = TcpStream::connect(relay.address()).await.unwrap();
    let head = "GET /target.js HTTP/1.1\r\nHost: evil.test\r\nOrigin: http://evil.test\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 401 "), "{text}");
    // A browser adds the cookie to sockets that other sites open.
    for (origin, expected) in [("http://evil.test", 4401), (own.as_str(), 1000)] {
        let mut request = format!("ws://{}/target/t1", relay.address()).into_client_request().unwrap();
        request.headers_mut().insert("cookie", cookie.parse().unwrap());
        request.headers_mut().insert("origin", origin.parse().unwrap());
        let (mut socket, _) = connect_async(request).await.unwrap();
        socket.send(Message::text("?")).await.unwrap();
        assert_eq!(closed(&mut socket).await.0, expected, "{origin}");
    }
    relay.shutdown().await;
}

#[tokio::test]
async fn tickets_and_cookies_of_another_run_are_worth_nothing() {
    let (one, other) = (relay().await, relay().await);
    let right = code(&one);
    let mut socket = dial(&one, &format!("/at/{right}/target/a"), None).await.unwrap();
    let ticket = hello(&mut socket, "d1").await["params"]["ticket"].as_str().unwrap().to_owned();
    let (_, page) = get(&one, &format!("/attach?at={right}"), "").await;
    let cookie = page.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap().split(';').next().unwrap();

    let mut stranger = dial(&other, "/target/a", Some(&ticket)).await.unwrap();
    assert_eq!(closed(&mut stranger).await.0, 4401);
    assert_eq!(get(&other, "/target.js", &format!("Cookie: {cookie}\r\n")).await.0, 401);
    // Under the other run's name the value is still not the other run's.
    let (_, page) = get(&other, &format!("/attach?at={}", code(&other)), "").await;
    let name = page.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap().split('=').next().unwrap();
    let value = cookie.split('=').nth(1).unwrap();
    assert_eq!(get(&other, "/target.js", &format!("Cookie: {name}={value}\r\n")).await.0, 401);
    let mut again = dial(&one, "/target/a", Some(&ticket)).await.unwrap();
    assert_eq!(hello(&mut again, "d1").await["method"], "Relay.welcome");
    one.shutdown().await;
    other.shutdown().await;
}

/// The lock is for whoever guesses and lets those in who are known; it is told, and ends.
#[tokio::test]
async fn guesses_at_any_door_count_together() {
    let relay = relay().await;
    let wrong = wrong_code(&relay);
    for (before, behind, socket) in DOORS.iter().cycle().take(10) {
        assert_eq!(knock(&relay, &format!("{before}{wrong}{behind}"), *socket).await, Said::Refused);
    }
    let right = code(&relay);
    for (before, behind, socket) in DOORS {
        assert_eq!(knock(&relay, &format!("{before}{right}{behind}"), socket).await, Said::Refused, "locked");
    }
    let status = relay.status().borrow().clone();
    assert_eq!((status.locked, status.refused, status.accepted), (1, 18, 0), "{status:?}");
    relay.shutdown().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever comes in, before the gate or behind it, the relay goes on.
    #[test]
    fn no_input_brings_the_relay_down(
        raw in proptest::collection::vec(any::<u8>(), 0..400),
        line in "[A-Z]{0,8} [ -~]{0,60}( HTTP/1\\.[019])?\r\n([A-Za-z-]{1,20}: [ -~]{0,40}\r\n){0,3}\r\n",
        frames in proptest::collection::vec(any::<u8>(), 0..300),
        texts in proptest::collection::vec("\\PC{0,60}|\\{\"method\":\"Agent\\.[a-z]{1,8}\",\"params\":[ -~]{0,40}\\}", 0..6),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let relay = relay().await;
            let right = code(&relay);
            for bytes in [raw.as_slice(), line.as_bytes()] {
                let mut stream = TcpStream::connect(relay.address()).await.unwrap();
                stream.write_all(bytes).await.unwrap();
                stream.shutdown().await.unwrap();
                // An answer or none; it may also be cut off.
                drop(timeout(WITHIN, stream.read_to_end(&mut Vec::new())).await.expect("it is not left hanging"));
            }
            let mut stream = TcpStream::connect(relay.address()).await.unwrap();
            let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
            let head = format!("GET /at/{right}/target/x HTTP/1.1\r\nHost: h\r\n{upgrade}\r\n");
            stream.write_all(&[head.as_bytes(), &frames].concat()).await.unwrap();
            drop(stream);
            let mut socket = dial(&relay, &format!("/at/{right}/target/y"), None).await.unwrap();
            hello(&mut socket, "d1").await;
            for text in &texts {
                // It may have been closed by an earlier one.
                drop(socket.send(Message::text(text.clone())).await);
            }
            drop(timeout(Duration::from_millis(1), socket.next()).await);
            assert_eq!(get(&relay, &format!("/at/{right}/target.js"), "").await.0, 200);
            relay.shutdown().await;
        });
    }
}
