//! What the upstream gets to hear, and that nobody else hears anything.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::mpsc::channel;

use super::plain::{Answer, Call, Plain, WITHIN, Way};

/// Answers with the head and body it was asked with.
fn mirror() -> Plain {
    Plain::start(|mut call| {
        let body = call.body();
        let told = [call.head.as_bytes(), &body].concat();
        call.answer("200 OK", "Content-Type: text/plain\r\n", told);
    })
}

#[test]
fn no_request_is_two() {
    let app = mirror();
    let way = Way::to(&app.url());
    let raw = |text: String| Answer::read(way.send(text.replace('\n', "\r\n")));
    let head = format!("Host: {}\nCookie: {}\nConnection: close\n", way.relay, way.cookie);
    let inner = format!("GET /stolen HTTP/1.1\nHost: {}\n\n", app.address);

    // Chunks go over a length, whichever comes first; what follows them is another request, not part of this one.
    for both in ["Content-Length: 4\nTransfer-Encoding: chunked\n", "Transfer-Encoding: chunked\nContent-Length: 900\n"]
    {
        let answer = raw(format!("POST /both HTTP/1.1\n{head}{both}\n3\nabc\n0\n\n"));
        assert_eq!(answer.status, 200, "{answer:?}");
        let told = answer.text();
        assert!(told.contains("transfer-encoding: chunked") && !told.contains("content-length"), "{told}");
        assert!(told.ends_with("\r\n\r\n3\r\nabc\r\n0\r\n\r\n"), "{told}");
    }
    for wrong in [
        "Content-Length: 3\nContent-Length: 4\n",
        "Content-Length: -1\n",
        "Content-Length: 3, 4\n",
        "Transfer-Encoding: chunked, identity\n",
        "Transfer-Encoding: xchunked\n",
        "Transfer-Encoding : chunked\n",
        "X: y\u{0}z\n",
        " Folded: x\n",
    ] {
        let answer = raw(format!("POST /wrong HTTP/1.1\n{head}{wrong}\n3\nabc\n0\n\n{inner}"));
        assert_eq!(answer.status, 400, "{wrong:?}: {answer:?}");
    }
    let unterminated = raw(format!("POST /torn HTTP/1.1\n{head}Transfer-Encoding: chunked\n\nzz\nabc\n"));
    assert!(matches!(unterminated.status, 400 | 502), "{unterminated:?}");

    assert!(app.heads().iter().all(|head| !head.contains("/stolen")), "{:?}", app.heads());
}

#[test]
fn no_request_line_leads_elsewhere() {
    let other = mirror();
    let app = mirror();
    let way = Way::to(&app.url());
    let raw = |text: String| Answer::read(way.send(text.replace('\n', "\r\n")));
    let head = format!("Host: {}\nCookie: {}\nConnection: close\n", way.relay, way.cookie);
    let port = other.address.port();
    for (target, at_the_app) in [
        (format!("http://127.0.0.1:{port}/absolute?x"), Some("/absolute?x")),
        (format!("//127.0.0.1:{port}/slashes"), None),
        (format!("/@127.0.0.1:{port}/at"), None),
        (format!("/%2f%2f127.0.0.1:{port}/encoded"), None),
        (format!("/..//127.0.0.1:{port}/dots?u=http://127.0.0.1:{port}/"), None),
        (format!("/\\127.0.0.1:{port}\\back"), None),
    ] {
        let answer = raw(format!("GET {target} HTTP/1.1\n{head}\n"));
        assert_eq!(answer.status, 200, "{target}: {answer:?}");
        let line = format!("GET {} HTTP/1.1\r\nhost: {}\r\n", at_the_app.unwrap_or(&target), app.address);
        let told = answer.text().to_ascii_lowercase();
        assert!(told.starts_with(&line.to_ascii_lowercase()), "{target}: {told}");
    }
    for (line, status) in [
        (format!("GET @127.0.0.1:{port}/ HTTP/1.1"), 400),
        (format!("GET 127.0.0.1:{port} HTTP/1.1"), 400),
        (format!("CONNECT 127.0.0.1:{port} HTTP/1.1"), 405),
        ("OPTIONS * HTTP/1.1".to_owned(), 400),
        ("TRACE / HTTP/1.1".to_owned(), 405),
        ("GET / HTTP/9.9".to_owned(), 400),
    ] {
        let answer = raw(format!("{line}\n{head}\n"));
        assert_eq!(answer.status, status, "{line}: {answer:?}");
    }
    // Nor does the name it is asked by lead anywhere.
    let named =
        raw(format!("GET /named HTTP/1.1\n{}\n", head.replace(&way.relay.to_string(), &other.address.to_string())));
    assert!(named.text().contains(&format!("host: {}", app.address)), "{named:?}");
    assert_eq!(other.heads(), [""; 0], "nobody else is asked");
}

#[test]
fn the_code_and_the_cookie_stay_here() {
    let app = mirror();
    let way = Way::to(&app.url());
    let (name, ticket) = way.cookie.split_once('=').unwrap();
    let own_origin = format!("Origin: http://{0}\r\nReferer: http://{0}/attach?at=123456\r\n", way.relay);
    let answer = way.ask("GET /a", &format!("Cookie: b=2; {}; c=3\r\n{own_origin}", way.cookie));
    let told = answer.text();
    assert!(told.contains("cookie: b=2; c=3\r\n"), "{told}");
    assert!(told.contains(&format!("origin: {}\r\nreferer: {0}\r\n", app.url())), "{told}");
    for (what, secret) in [("name", name), ("ticket", ticket), ("code", "123456")] {
        assert!(!told.contains(secret), "the {what} is in {told}");
    }
    // A cookie of any charset beside it does not shut the phone out.
    let odd = [
        format!("GET /odd HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nCookie: x=", way.relay).as_bytes(),
        b"\xec\x95\xb1\xff",
    ]
    .concat();
    let odd = [odd, format!("; {}\r\n\r\n", way.cookie).into_bytes()].concat();
    assert_eq!(Answer::read(way.send(odd)).status, 200);
    // Paths of the relay are never the upstream's, however they are spelt; without the cookie nothing is.
    for path in ["/target.js", "/AT/123456/x", "/%61t/123456/target.js", "//attach", "/x/../at/1", "/echo/x"] {
        way.ask(&format!("GET {path}"), "");
    }
    let stranger =
        Answer::read(way.send(format!("GET /b HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", way.relay)));
    assert_eq!(stranger.status, 401);
    let foreign = way.ask("GET /c", "Origin: https://evil.test\r\n");
    assert_eq!(foreign.status, 401, "{foreign:?}");
    assert_eq!(app.heads().len(), 2, "{:?}", app.heads());
}

#[test]
fn an_upload_passes_while_it_is_sent_and_may_be_refused_early() {
    let (seen, first_half) = channel();
    let seen = Mutex::new(seen);
    let app = Plain::start(move |mut call: Call| {
        if call.path() == "/early" {
            call.answer("413 Too Large", "Connection: close\r\n", "no");
            return;
        }
        let mut half = [0; 4];
        call.stream.read_exact(&mut half).unwrap();
        seen.lock().unwrap().send(half).unwrap();
        call.stream.read_exact(&mut half).unwrap();
        call.answer("200 OK", "", half);
    });
    let way = Way::to(&app.url());
    let request = |path, length| {
        way.request(&format!("POST {path}"), &format!("Expect: 100-continue\r\nContent-Length: {length}\r\n"))
    };
    let mut stream = way.send(request("/slow", 8));
    stream.write_all(b"half").unwrap();
    assert_eq!(first_half.recv_timeout(WITHIN).unwrap(), *b"half", "before the rest is sent");
    stream.write_all(b"done").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("HTTP/1.1 200") && answer.ends_with("done"), "{answer}");

    let mut stream = way.send(request("/early", 1 << 30));
    let told = read_until(&mut stream, "no");
    assert!(told.contains("413"), "{told}");
}

/// Reads until this was there.
pub(super) fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut bytes = [0; 4096];
    while !text.contains(end) {
        let length = stream.read(&mut bytes).unwrap();
        assert!(length > 0, "ended without {end:?}: {text}");
        text.push_str(&String::from_utf8_lossy(&bytes[..length]));
    }
    text
}
