//! Whatever comes in from either side, the relay goes on.

use std::io::Read;
use std::net::Shutdown;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::plain::{Plain, Way};

/// Stands for the cookie of the run in requests.
const COOKIE: &str = "COOKIE";

fn words(of: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::sample::select(of).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ]
}

fn lines() -> impl Strategy<Value = Vec<u8>> {
    const NAMES: &[&str] = &[
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Upgrade",
        "Cookie",
        "Origin",
        "Referer",
        "Range",
        "Content-Type",
        "Content-Encoding",
        "Location",
        "Refresh",
        "Set-Cookie",
        "Content-Security-Policy",
        "Clear-Site-Data",
        "Sec-Fetch-Dest",
        "Accept",
        "Expect",
        "Sec-WebSocket-Key",
        "Sec-WebSocket-Version",
    ];
    const VALUES: &[&str] = &[
        "0",
        "5",
        "99999999999999999999",
        "chunked",
        "close",
        "upgrade",
        "websocket",
        "text/html",
        "gzip",
        "deflate",
        "utf-16",
        "text/html; charset=utf-16",
        "text/html; charset=\"",
        "//x",
        "http://[::1",
        "0; url=",
        "=;=;",
        "'self'",
        "script-src 'self', ;;,",
        "\"*\"",
        "document",
        "bytes=-",
        "100-continue",
        "13",
        "dGhlIHNhbXBsZSBub25jZQ==",
    ];
    let line =
        (words(NAMES), words(VALUES)).prop_map(|(name, value)| [&name, b": ".as_slice(), &value, b"\r\n"].concat());
    prop::collection::vec(line, 0..5).prop_map(|lines| lines.concat())
}

fn bodies() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&str] = &[
        "<head>",
        "<html",
        "<!--",
        "<meta http-equiv=Content-Security-Policy content='",
        "'>",
        "<script>",
        "5\r\nhello\r\n",
        "0\r\n\r\n",
        "\u{feff}",
        "</",
        "<!doctype html>",
    ];
    prop::collection::vec(words(PIECES), 0..6).prop_map(|pieces| pieces.concat())
}

fn requests() -> impl Strategy<Value = Vec<u8>> {
    const LINES: &[&str] = &[
        "GET / HTTP/1.1",
        "POST /a?b HTTP/1.1",
        "HEAD //x HTTP/1.0",
        "GET http://x/%2e%2e/at HTTP/1.1",
        "CONNECT x:1 HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "PRI * HTTP/2.0",
        "GET /target/x HTTP/1.1",
        "GET /attach?at= HTTP/1.1",
        "X",
    ];
    let head = (words(LINES), lines(), bodies());
    head.prop_map(|(line, lines, body)| {
        let cookie = format!("\r\nHost: x\r\nCookie: {COOKIE}\r\n");
        [line.as_slice(), cookie.as_bytes(), &lines, b"\r\n", &body].concat()
    })
}

fn answers() -> impl Strategy<Value = Vec<u8>> {
    const LINES: &[&str] = &[
        "HTTP/1.1 200 OK",
        "HTTP/1.0 200",
        "HTTP/1.1 101 Switching Protocols",
        "HTTP/1.1 100 Continue",
        "HTTP/1.1 204 No",
        "HTTP/1.1 304 No",
        "HTTP/1.1 302 Found",
        "HTTP/1.1 999 \u{0}",
        "HTTP/2 200",
        "ICY 200 OK",
        "",
    ];
    (words(LINES), lines(), bodies())
        .prop_map(|(line, lines, body)| [&line, b"\r\n".as_slice(), &lines, b"\r\n", &body].concat())
}

#[test]
fn no_request_and_no_answer_ends_the_relay() {
    let next = Arc::new(Mutex::new(Vec::new()));
    let said = Arc::clone(&next);
    let app = Plain::start(move |mut call| {
        let answer = said.lock().unwrap().clone();
        call.write(answer);
    });
    let way = Way::to(&app.url());
    proptest!(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() }, |(request in requests(), answer in answers(), as_page: bool)| {
        *next.lock().unwrap() = answer;
        let request = String::from_utf8(request).map_or_else(
            |error| error.into_bytes(),
            |text| text.replace(COOKIE, &way.cookie).into_bytes(),
        );
        let mut stream = way.send(request);
        // It may have been cut already.
        drop(stream.shutdown(Shutdown::Write));
        // It is answered or cut, within the time a read may take.
        let mut told = Vec::new();
        if let Err(error) = stream.read_to_end(&mut told) {
            prop_assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock);
        }
        let answer = if as_page { way.page("/") } else { way.ask("GET /", "") };
        prop_assert!(answer.status >= 200 || !answer.whole, "{:?}", answer);
    });
    *next.lock().unwrap() = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine".to_vec();
    assert_eq!(way.ask("GET /", "").text(), "fine");
}
