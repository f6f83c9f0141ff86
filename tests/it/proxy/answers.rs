//! What the phone gets to hear of an upstream that behaves, of one that does not, and of none.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use support::cloudflared::StandIn;

use super::plain::{Answer, Call, Plain, WITHIN, Way};
use super::requests::read_until;

/// What the agent's tag looks like, up to its nonce.
const TAG: &str = "<script src=\"/target.js\" nonce=\"";

/// The page without the agent, and where the agent was.
fn without_agent(page: &str) -> (String, usize) {
    let at = page.find(TAG).unwrap_or_else(|| panic!("no agent in {page:?}"));
    let end = at + page[at..].find("</script>").unwrap() + "</script>".len();
    (format!("{}{}", &page[..at], &page[end..]), at)
}

#[test]
fn messages_without_a_body_and_parts_of_files_pass_as_they_are() {
    const HTML: &str = "Content-Type: text/html\r\n";
    let app = Plain::start(|mut call: Call| {
        let (method, path) = (call.head.split(' ').next().unwrap().to_owned(), call.path().to_owned());
        match path.as_str() {
            "/page" if method == "HEAD" => {
                call.write("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 77\r\n\r\n")
            }
            "/file" if method == "HEAD" => call.write("HTTP/1.1 200 OK\r\nContent-Length: 77\r\nETag: \"1\"\r\n\r\n"),
            "/204" => call.write(format!("HTTP/1.1 204 No Content\r\n{HTML}\r\n")),
            "/304" => call.write(format!("HTTP/1.1 304 Not Modified\r\n{HTML}ETag: \"1\"\r\n\r\n")),
            "/range" => {
                let told = call.header("range").unwrap_or("none").to_owned();
                call.answer("206 Partial Content", "Content-Range: bytes 2-5/10\r\nAccept-Ranges: bytes\r\n", told);
            }
            "/download" => call.answer("200 OK", &format!("{HTML}Content-Disposition: attachment\r\n"), "<p>"),
            "/sniff" => call.answer("200 OK", "X-Content-Type-Options: nosniff\r\n", "<p>"),
            "/old" => call.write("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>to the end of the connection"),
            _ => call.answer("200 OK", "", ""),
        }
    });
    let way = Way::to(&app.url());
    let as_page = "Sec-Fetch-Dest: document\r\n";
    let page = way.ask("HEAD /page", as_page);
    assert_eq!((page.status, page.body.len(), page.header("content-length")), (200, 0, None), "{page:?}");
    let file = way.ask("HEAD /file", "");
    assert_eq!((file.header("content-length"), file.header("etag"), file.body.len()), (Some("77"), Some("\"1\""), 0));
    for (path, status) in [("/204", 204), ("/304", 304)] {
        for headers in [as_page, "If-None-Match: \"1\"\r\n"] {
            let answer = way.ask(&format!("GET {path}"), headers);
            assert_eq!((answer.status, answer.body.len()), (status, 0), "{answer:?}");
        }
    }
    let range = way.ask("GET /range", "Range: bytes=2-5\r\n");
    assert_eq!((range.status, range.text().as_str()), (206, "bytes=2-5"));
    assert_eq!(range.header("content-range"), Some("bytes 2-5/10"));
    assert_eq!(way.page("/download").text(), "<p>", "a file is not a page");
    assert_eq!(way.page("/sniff").text(), "<p>", "what browsers show as text is not a page");
    let old = way.page("/old");
    assert_eq!(without_agent(&old.text()).0, "<p>to the end of the connection");
    assert!(old.whole);
}

#[test]
fn pages_in_every_piece_and_charset_get_the_agent_first() {
    const PAGE: &str =
        "\u{feff}<!-- <script> --><!doctype html><html><head a='>'><title>\u{c571}</title><script>1</script>";
    let app = Plain::start(|mut call: Call| match call.path().to_owned().as_str() {
        "/bytes" => {
            call.write("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n");
            for byte in PAGE.as_bytes() {
                call.write([b"1\r\n".as_slice(), &[*byte], b"\r\n"].concat());
            }
            call.write("0\r\n\r\n");
        }
        "/utf-16" => {
            let page: Vec<u8> = PAGE.encode_utf16().flat_map(u16::to_le_bytes).collect();
            call.answer("200 OK", "Content-Type: text/html\r\n", page);
        }
        "/euc-kr" => {
            call.answer("200 OK", "Content-Type: text/html; charset=euc-kr\r\n", b"<head><title>\xbe\xdb</title>")
        }
        "/bare" => call.answer("200 OK", "", "<!doctype html>nothing else"),
        _ => call.answer("200 OK", "Content-Type: text/html\r\n", ""),
    });
    let way = Way::to(&app.url());
    for path in ["/bytes", "/utf-16"] {
        let (rest, at) = without_agent(&way.page(path).text());
        assert_eq!(rest, PAGE, "{path}");
        assert_eq!(&PAGE[..at], "\u{feff}<!-- <script> --><!doctype html><html><head a='>'>", "{path}");
    }
    let korean = way.page("/euc-kr");
    assert!(korean.body.ends_with(b"</script><title>\xbe\xdb</title>"), "byte for byte");
    for path in ["/bare", "/empty"] {
        assert!(way.page(path).text().contains(TAG), "{path}");
        assert!(!way.ask(&format!("GET {path}"), "Sec-Fetch-Dest: empty\r\n").text().contains(TAG), "{path}");
    }
}

#[test]
fn redirects_and_cookies_are_the_phones() {
    let app = Plain::start(|mut call: Call| {
        let own = call.header("host").unwrap().to_owned();
        let port = own.rsplit(':').next().unwrap().to_owned();
        let location = match call.path() {
            "/absolute" => format!("http://{own}/next?a#b"),
            "/by-name" => format!("http://localhost:{port}/next"),
            "/relative" => "next".to_owned(),
            "/tls" => format!("https://{own}/next"),
            other => format!("https://sso.test/login?back=http://{own}{other}"),
        };
        let cookies =
            "Set-Cookie: a=1; Domain=127.0.0.1; Secure; SameSite=None; Path=/x; HttpOnly\r\nSet-Cookie: b=2\r\n";
        call.answer("302 Found", &format!("Location: {location}\r\n{cookies}"), "");
    });
    let way = Way::to(&app.url());
    let own = app.address;
    for (path, expected) in [
        ("/absolute", "/next?a#b".to_owned()),
        ("/by-name", "/next".to_owned()),
        ("/relative", "next".to_owned()),
        ("/tls", format!("https://{own}/next")),
        ("/other", format!("https://sso.test/login?back=http://{own}/other")),
    ] {
        let answer = way.ask(&format!("GET {path}"), "");
        assert_eq!((answer.status, answer.header("location")), (302, Some(expected.as_str())), "{path}");
        let cookies: Vec<_> = answer.head.lines().filter_map(|line| line.strip_prefix("set-cookie: ")).collect();
        assert_eq!(cookies, ["a=1; SameSite=Lax; Path=/x; HttpOnly", "b=2"], "{path}");
    }
}

#[test]
fn events_pass_one_by_one_and_a_connection_is_kept() {
    let (go_on, told) = channel::<()>();
    let told = Mutex::new(told);
    let app = Plain::start(move |mut call: Call| {
        if call.path() != "/events" {
            return call.answer("200 OK", "Connection: close\r\nKeep-Alive: timeout=1\r\n", "short");
        }
        call.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
        for n in 1..4 {
            let event = format!("data: {n}\n\n");
            call.write(format!("{:x}\r\n{event}\r\n", event.len()));
            told.lock().unwrap().recv_timeout(WITHIN).unwrap();
        }
        call.write("0\r\n\r\n");
    });
    let way = Way::to(&app.url());
    let keep = |path: &str| way.request(&format!("GET {path}"), "").replace("Connection: close\r\n", "");
    let mut stream = way.send(keep("/a"));
    let first = read_until(&mut stream, "short");
    assert!(!first.contains("connection: close") && !first.contains("keep-alive"), "the upstream's own: {first}");
    stream.write_all(keep("/events").as_bytes()).unwrap();
    for n in 1..4 {
        // The next one is sent only when this one has arrived.
        read_until(&mut stream, &format!("data: {n}\n\n"));
        go_on.send(()).unwrap();
    }
    read_until(&mut stream, "0\r\n\r\n");
    stream.write_all(keep("/b").as_bytes()).unwrap();
    read_until(&mut stream, "short");
}

#[test]
fn an_upstream_that_fails_is_told_apart_from_one_that_is_slow() {
    let app = Plain::start(|mut call: Call| match call.path().to_owned().as_str() {
        "/slow" => {
            std::thread::sleep(Duration::from_secs(2));
            call.answer("200 OK", "", "late");
        }
        "/closes" => {}
        "/garbage" => call.write("\u{0}\u{1}SSH-2.0-OpenSSH\r\n"),
        "/endless" => {
            call.write("HTTP/1.1 200 OK\r\n");
            for n in 0..100_000 {
                call.write(format!("X-{n}: {}\r\n", "y".repeat(100)));
            }
        }
        "/two-lengths" => call.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy"),
        "/short" => call.write("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\n<head>half"),
        "/broken-chunk" => call.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n"),
        "/bad-gzip" => call.answer("200 OK", "Content-Type: text/html\r\nContent-Encoding: gzip\r\n", "no gzip"),
        "/switch" => {
            call.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
        }
        "/103" => {
            call.write("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        _ => call.answer("200 OK", "", "fine"),
    });
    let way = Way::to(&app.url());
    assert_eq!(way.ask("GET /slow", "").text(), "late");
    for path in ["/closes", "/garbage", "/endless", "/two-lengths", "/switch"] {
        let answer = way.ask(&format!("GET {path}"), "");
        assert_eq!(answer.status, 502, "{path}: {answer:?}");
        assert!(way.page(path).status == 502, "{path}");
        assert_eq!(way.ask("GET /fine", "").text(), "fine", "after {path}");
    }
    for path in ["/short", "/broken-chunk", "/bad-gzip"] {
        let answer = way.page(path);
        assert!(!answer.whole || answer.status == 502, "the phone must not take it for whole: {path}: {answer:?}");
    }
    assert_eq!(way.ask("GET /103", "").text(), "ok");
}

#[test]
fn while_the_app_is_down_the_phone_and_the_terminal_say_so() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut way = Way::to(&format!("http://{address}"));
    let page = way.page("/");
    assert_eq!(page.status, 502);
    assert!(
        page.text().contains(&format!("http://{address}")) && page.text().contains("http-equiv=\"refresh\""),
        "{page:?}"
    );
    assert!(!way.ask("GET /api", "").text().contains('<'), "scripts get no page");
    way.running.wait_for("the notice", |line| line.contains("nothing listens there").then_some(()));
    let _app = Plain::on(TcpListener::bind(address).unwrap(), |mut call| call.answer("200 OK", "", "back"));
    assert_eq!(way.ask("GET /", "").text(), "back");
}

#[test]
fn many_at_once_are_served_and_too_many_wait() {
    let (open, opened) = channel();
    let open = Mutex::new(open);
    let (end, ends) = channel::<()>();
    let ends = Mutex::new(ends);
    let app = Plain::start(move |mut call: Call| {
        if call.path() == "/held" {
            call.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
            open.lock().unwrap().send(()).unwrap();
            // Until the test is over.
            drop(ends.lock().map(|ends| ends.recv()));
        } else {
            call.answer("200 OK", "", "served");
        }
    });
    let way = Way::to(&app.url());
    let held: Vec<_> = (0..256).map(|_| way.send(way.request("GET /held", ""))).collect();
    for _ in &held {
        opened.recv_timeout(WITHIN).unwrap();
    }
    let waiting = way.send(way.request("GET /next", ""));
    // As soon as one is over the next one has its turn.
    drop(held);
    assert_eq!(Answer::read(waiting).text(), "served");
    drop(end);
}

#[test]
fn the_terminal_says_once_why_a_page_cannot_attach() {
    let app = Plain::start(|mut call: Call| match call.path() {
        "/xhtml" => call.answer("200 OK", "Content-Type: application/xhtml+xml\r\n", "<html xmlns='x'/>"),
        "/odd" => call.answer("200 OK", "Content-Type: text/html\r\nContent-Encoding: x-odd\r\n", "<p>"),
        _ => call.answer("200 OK", "Content-Type: text/javascript\r\n", "onfetch = 1"),
    });
    for (path, headers, body, said) in [
        ("/xhtml", "Sec-Fetch-Dest: document\r\n", "<html xmlns='x'/>", "because it is XHTML"),
        ("/odd", "Sec-Fetch-Dest: document\r\n", "<p>", "compressed in a way that is not known"),
        (
            "/sw.js",
            "Service-Worker: script\r\nSec-Fetch-Dest: serviceworker\r\n",
            "onfetch = 1",
            "registers a service worker",
        ),
    ] {
        let mut way = Way::to(&app.url());
        for _ in 0..2 {
            assert_eq!(way.ask(&format!("GET {path}"), headers).text(), body);
        }
        way.running.wait_for(said, |line| line.contains(said).then_some(()));
        way.running.signal(rustix::process::Signal::INT);
        let outcome = way.running.wait();
        assert_eq!(outcome.transcript().matches(said).count(), 1, "{said}\n{}", outcome.transcript());
    }
}

#[test]
fn an_app_with_a_certificate_of_its_own_is_taken_as_it_is() {
    let app = Plain::start(|mut call: Call| {
        let host = call.header("host").unwrap().to_owned();
        match call.path() {
            "/away" => {
                call.answer("302 Found", &format!("Location: https://{host}/next\r\nSet-Cookie: a=1; Secure\r\n"), "")
            }
            _ => call.answer("200 OK", "Content-Type: text/html\r\n", "<head>over TLS"),
        }
    });
    let stand_in = StandIn::new("good");
    let tls = stand_in.listen(&app.url());
    let way = Way::to(&format!("https://localhost:{}", tls.port()));
    assert_eq!(without_agent(&way.page("/").text()).0, "<head>over TLS");
    let away = way.ask("GET /away", "");
    assert_eq!((away.header("location"), away.header("set-cookie")), (Some("/next"), Some("a=1")));
    assert!(app.heads()[0].contains(&format!("host: localhost:{}", tls.port())), "{:?}", app.heads());
}
