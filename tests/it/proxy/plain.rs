//! A server that answers byte for byte what a test says, the built tool before it, and a phone that asks byte for byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;

/// Longer than anything here takes on a busy machine.
pub(super) const WITHIN: Duration = Duration::from_secs(30);

/// One request, and the connection to answer it on, which ends when this is dropped.
pub(super) struct Call {
    pub(super) head: String,
    pub(super) stream: BufReader<TcpStream>,
}

impl Call {
    /// The target of the request line.
    pub(super) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    /// The body as it came over the wire, chunks and all.
    pub(super) fn body(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        if let Some(length) = self.header("content-length").map(|text| text.parse().unwrap()) {
            body.resize(length, 0);
            self.stream.read_exact(&mut body).unwrap();
        } else if self.header("transfer-encoding").is_some() {
            while !body.ends_with(b"0\r\n\r\n") {
                self.stream.read_until(b'\n', &mut body).unwrap();
            }
        }
        body
    }

    pub(super) fn write(&mut self, bytes: impl AsRef<[u8]>) {
        // The other side may have had enough.
        drop(self.stream.get_mut().write_all(bytes.as_ref()));
    }

    /// A whole answer: a status line's end, header lines, a body.
    pub(super) fn answer(&mut self, status: &str, headers: &str, body: impl AsRef<[u8]>) {
        let body = body.as_ref();
        self.write(format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len()));
        self.write(body);
    }
}

/// A server on a free port of this machine.
pub(super) struct Plain {
    pub(super) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Plain {
    /// Every connection is one call.
    pub(super) fn start(answer: impl Fn(Call) + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap(), answer)
    }

    /// Listens until the test is over, which is a process of its own.
    pub(super) fn on(listener: TcpListener, answer: impl Fn(Call) + Send + Sync + 'static) -> Self {
        let address = listener.local_addr().unwrap();
        let (answer, heads) = (Arc::new(answer), Arc::<Mutex<Vec<String>>>::default());
        let asked = Arc::clone(&heads);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, asked) = (Arc::clone(&answer), Arc::clone(&asked));
                std::thread::spawn(move || {
                    let stream = stream.unwrap();
                    stream.set_read_timeout(Some(WITHIN)).unwrap();
                    let mut stream = BufReader::new(stream);
                    let head = read_head(&mut stream);
                    asked.lock().unwrap().push(head.clone());
                    answer(Call { head, stream });
                });
            }
        });
        Self { address, heads }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked so far.
    pub(super) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// A head with the empty line at its end.
fn read_head(stream: &mut impl BufRead) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && stream.read_until(b'\n', &mut head).unwrap_or_default() > 0 {}
    String::from_utf8_lossy(&head).into_owned()
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
}

/// The built tool before an app, and a phone that was let in.
pub(super) struct Way {
    pub(super) running: Running,
    pub(super) relay: SocketAddr,
    pub(super) cookie: String,
    _project: tempfile::TempDir,
}

impl Way {
    pub(super) fn to(app: &str) -> Self {
        let project = project("import { it } from 'vitest';\nit('is never run', () => {});\n");
        let mut running = tool(project.path(), app).start();
        let link = running.wait_for("the attach link", link);
        let (relay, path) = link.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let relay = relay.parse().unwrap();
        let answer = ask(relay, &format!("GET /{path} HTTP/1.1\r\nHost: {relay}\r\nConnection: close\r\n\r\n"));
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        Self { running, relay, cookie, _project: project }
    }

    /// Sends a request: its line without the version, and header lines.
    pub(super) fn ask(&self, line: &str, headers: &str) -> Answer {
        ask(self.relay, &self.request(line, headers))
    }

    /// As a browser that wants a page.
    pub(super) fn page(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), "Sec-Fetch-Dest: document\r\n")
    }

    pub(super) fn request(&self, line: &str, headers: &str) -> String {
        let Self { relay, cookie, .. } = self;
        format!("{line} HTTP/1.1\r\nHost: {relay}\r\nCookie: {cookie}\r\nConnection: close\r\n{headers}\r\n")
    }

    /// A connection on which this was sent.
    pub(super) fn send(&self, bytes: impl AsRef<[u8]>) -> TcpStream {
        let mut stream = TcpStream::connect(self.relay).unwrap();
        stream.set_read_timeout(Some(WITHIN)).unwrap();
        stream.write_all(bytes.as_ref()).unwrap();
        stream
    }
}

fn ask(relay: SocketAddr, request: &str) -> Answer {
    let mut stream = TcpStream::connect(relay).unwrap();
    stream.set_read_timeout(Some(WITHIN)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    Answer::read(stream)
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
    /// Its end came.
    pub(super) whole: bool,
}

impl Answer {
    /// Reads one answer and then to the end of the connection.
    pub(super) fn read(stream: TcpStream) -> Self {
        let mut stream = BufReader::new(stream);
        let head = read_head(&mut stream);
        let mut rest = Vec::new();
        // Where it broke off counts what came.
        drop(stream.read_to_end(&mut rest));
        let status = head.get(9..12).and_then(|text| text.parse().ok()).unwrap_or_default();
        let (body, whole) = match header(&head, "content-length") {
            _ if header(&head, "transfer-encoding").is_some() => joined(&rest),
            Some(length) => (rest.clone(), rest.len() == length.parse::<usize>().unwrap()),
            None => (rest, !head.is_empty()),
        };
        Self { status, head, body, whole }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The data of chunks, and whether the last one is among them.
fn joined(mut chunks: &[u8]) -> (Vec<u8>, bool) {
    let mut data = Vec::new();
    while let Some(end) = chunks.windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&chunks[..end]).unwrap(), 16).unwrap();
        let Some(chunk) = chunks.get(end + 2..end + 2 + length) else { return (data, false) };
        if length == 0 {
            return (data, true);
        }
        data.extend_from_slice(chunk);
        chunks = chunks.get(end + 2 + length + 2..).unwrap_or_default();
    }
    (data, false)
}
