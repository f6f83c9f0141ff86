//! The dashboard of the built tool: its ports, its gate, its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use support::phone::Phone;
use support::tool::{Running, Tool};

use super::page::AT_ONCE;
use super::screen::Screen;
use crate::attach_clock::link;
use crate::tool;

/// O-30
const ENDS_WITHIN: Duration = Duration::from_secs(3);

fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let test = "import { it } from 'vitest';\nit('holds', () => { console.log('a line'); });\n";
    fs_err::write(folder.path().join("a.ait.test.ts"), test).unwrap();
    folder
}

fn run(folder: &std::path::Path) -> Tool {
    tool(folder).args(["a.ait.test.ts", "--show-url"])
}

/// Port and path of the dashboard, as they were printed.
pub(super) fn dashboard(running: &mut Running) -> (u16, String) {
    running.wait_for("the address of the dashboard", |line| {
        let address = line.strip_prefix("Dashboard: http://127.0.0.1:")?;
        let (port, path) = address.split_once('/')?;
        Some((port.parse().ok()?, format!("/{}", path.split(' ').next()?)))
    })
}

/// Asks for a path; what comes is for the caller to read.
fn ask(port: u16, path: &str, headers: &str) -> TcpStream {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\n{headers}\r\n").unwrap();
    stream
}

fn status(port: u16, path: &str, headers: &str) -> String {
    let mut line = String::new();
    BufReader::new(ask(port, path, headers)).read_line(&mut line).unwrap();
    line.split(' ').nth(1).unwrap().to_owned()
}

/// O-30
#[test]
fn open_streams_are_told_the_end_and_keep_nobody() {
    let project = project();
    let mut running = run(project.path()).start();
    let (port, path) = dashboard(&mut running);
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    let mut listening = ask(port, &format!("{path}events"), &host);
    // One that never reads, one that keeps its connection, one that never finishes its question.
    let stalled = ask(port, &format!("{path}events"), &host);
    let idle = ask(port, &path, &host);
    let mut slow = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    slow.write_all(b"GET / HT").unwrap();

    let phone = Phone::open(&running.wait_for("the attach link", link));
    running.wait_for("the summary", |line| line.contains("1 passed").then_some(()));
    let over = Instant::now();
    let outcome = running.wait();
    assert!(over.elapsed() < ENDS_WITHIN, "{:?}", over.elapsed());
    outcome.expect_code(0);
    let mut heard = String::new();
    listening.read_to_string(&mut heard).unwrap();
    assert!(heard.contains("\"exit\":\"passed\"") && heard.contains("a line"), "the last news came\n{heard}");
    assert!(heard.contains("event: end"), "and that it was the last\n{heard}");
    drop((phone, stalled, idle, slow));
}

/// O-35
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_is_gone_when_whoever_showed_it_is() {
    let project = project();
    let mut running = run(project.path()).start();
    let (port, path) = dashboard(&mut running);
    let link = running.wait_for("the attach link", link);
    let screen = Screen::open(&format!("http://127.0.0.1:{port}{path}")).await;
    screen.until("$('#qr')").await;
    assert_eq!(screen.scan().await, link);
    running.signal(rustix::process::Signal::KILL);
    let took = screen.until("!$('#qr') && $('#status.bad')").await;
    assert!(took < AT_ONCE, "{took} ms");
    assert!(screen.text("#status").await.contains("Connection lost"));
    screen.close().await;
}

/// O-31
#[test]
fn a_port_that_was_asked_for_and_is_taken_is_named() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let project = project();
    let outcome = run(project.path()).args(["--dashboard-port", &port]).run();
    outcome.expect_code(2);
    let said = outcome.transcript();
    assert!(said.contains(&format!("port {port} (--dashboard-port)")), "{said}");
}

/// O-31
#[test]
fn two_runs_at_once_stay_apart() {
    // Whoever else runs on this machine may have taken any of them; the usual one is taken in any case.
    let _usual = TcpListener::bind((Ipv4Addr::LOCALHOST, 8317));
    let (one, two) = (project(), project());
    let (mut one_runs, mut two_runs) = (run(one.path()).start(), run(two.path()).start());
    let (one_port, one_path) = dashboard(&mut one_runs);
    let (two_port, two_path) = dashboard(&mut two_runs);
    assert!(one_port != two_port && one_port != 8317 && two_port != 8317);
    assert_ne!(one_path, two_path);
    assert_eq!(status(one_port, &two_path, &format!("Host: 127.0.0.1:{one_port}\r\n")), "404");
    let (first, second) = (one_runs.wait_for("its link", link), two_runs.wait_for("its link", link));
    let phones = [Phone::open(&second), Phone::open(&first)];
    one_runs.wait().expect_code(0);
    two_runs.wait().expect_code(0);
    drop(phones);
}

#[test]
fn only_who_has_the_address_gets_in() {
    let project = project();
    let mut running = run(project.path()).args(["--attach-timeout", "60s"]).start();
    let (port, path) = dashboard(&mut running);
    let link = running.wait_for("the attach link", link);
    let code = link.split("at=").nth(1).unwrap();
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    for (headers, expected) in [
        (host.clone(), "200"),
        (format!("Host: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n"), "200"),
        (String::new(), "404"),
        (format!("Host: rebound.test:{port}\r\n"), "404"),
        (format!("{host}Origin: http://evil.test\r\n"), "404"),
        (format!("{host}Origin: null\r\n"), "404"),
    ] {
        for path in [path.clone(), format!("{path}events")] {
            assert_eq!(status(port, &path, &headers), expected, "{path} with {headers:?}");
        }
    }
    for wrong in ["/", "/events", "/json", "/json/list", "/devtools/page/1", "/favicon.ico", path.trim_end_matches('/')]
    {
        assert_eq!(status(port, wrong, &host), "404", "{wrong}");
    }
    let mut page = String::new();
    ask(port, &path, &format!("{host}Connection: close\r\n")).read_to_string(&mut page).unwrap();
    let head = page.split("\r\n\r\n").next().unwrap().to_lowercase();
    for part in ["cache-control: no-store", "default-src 'none'", "frame-ancestors 'none'", "script-src 'nonce-"] {
        assert!(head.contains(part), "{part} is missing in\n{head}");
    }
    assert!(!page.contains(code), "the page itself carries no code");
    running.signal(rustix::process::Signal::INT);
    running.wait().expect_code(130);
}

/// O-34
#[test]
fn the_code_is_in_a_file_for_as_long_as_it_counts() {
    let project = project();
    let picture = project.path().join("out/code.png");
    let mut running = run(project.path()).args(["--qr-file", "out/code.png"]).start();
    let link = running.wait_for("the attach link", link);
    running.wait_for("where the code is", |line| line.contains("out/code.png").then_some(()));
    assert_eq!(scan(&fs_err::read(&picture).unwrap()), link);
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs_err::metadata(&picture).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600, "whoever reads it can attach");
    }
    let phone = Phone::open(&link);
    running.wait().expect_code(0);
    drop(phone);
    assert_eq!(fs_err::read_dir(project.path().join("out")).unwrap().count(), 0, "nothing is left to scan");

    let mut stopped = run(project.path()).args(["--qr-file", "out/code.png"]).start();
    stopped.wait_for("where the code is", |line| line.contains("out/code.png").then_some(()));
    stopped.signal(rustix::process::Signal::INT);
    stopped.wait().expect_code(130);
    assert!(!picture.exists());

    run(project.path()).args(["--qr-file", "code.jpg"]).run().expect_code(64);
    let nowhere = run(project.path()).args(["--qr-file", "a.ait.test.ts/code.png"]).run();
    nowhere.expect_code(2);
    assert!(nowhere.stderr.contains("--qr-file"), "{}", nowhere.transcript());
}

/// What a camera reads from a picture.
pub(crate) fn scan(png: &[u8]) -> String {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let width = usize::try_from(reader.next_frame(&mut pixels).unwrap().width).unwrap();
    let mut image =
        rqrr::PreparedImage::prepare_from_greyscale(width, pixels.len() / width, |x, y| pixels[y * width + x]);
    image.detect_grids()[0].decode().unwrap().1
}

/// `script` gives the tool a terminal of its own.
#[cfg(target_os = "linux")]
#[test]
fn keys_of_a_terminal_work_and_it_is_given_back() {
    let project = project();
    // Ctrl-C reaches the shell as well, which has to look at the terminal afterwards.
    let command = format!(
        "trap : INT; stty -a > before; {} a.ait.test.ts --headless --attach-timeout 120s; stty -a > after",
        crate::EXE
    );
    // A browser that hands on what it is to open.
    let opened = project.path().join("opened");
    assert!(std::process::Command::new("mkfifo").arg(&opened).status().unwrap().success());
    let browser = project.path().join("browser");
    fs_err::write(&browser, format!("#!/bin/sh\necho \"$1\" > {}\n", opened.display())).unwrap();
    fs_err::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (send, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || send.send(fs_err::read_to_string(opened)));
    let mut child = std::process::Command::new("script")
        .args(["-qfec", &command, "/dev/null"])
        .current_dir(project.path())
        .env("DEVTOOLS_TEST_TUNNEL", "none")
        .env("SHELL", "/bin/sh")
        .env("TERM", "xterm")
        .env("BROWSER", &browser)
        .env_remove("CI")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut keys = child.stdin.take().unwrap();
    let mut heard = BufReader::new(child.stdout.take().unwrap());
    let mut until = |what: &str| {
        let mut all = String::new();
        while !all.contains(what) {
            // A progress line ends when the next one takes its place.
            let bytes = heard.fill_buf().unwrap();
            assert!(!bytes.is_empty(), "waited for {what:?} in\n{all}");
            all.push_str(&String::from_utf8_lossy(bytes));
            let read = bytes.len();
            heard.consume(read);
        }
        all
    };
    assert!(until("Dashboard: ").contains("c shows the code again"));
    until("scan the QR code");
    keys.write_all(b"c").unwrap();
    until("it is accepted for");
    keys.write_all(b"o").unwrap();
    let address = address.recv_timeout(Duration::from_secs(20)).expect("a browser was started").unwrap();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    // Ctrl-C is still the terminal's.
    keys.write_all(b"\x03").unwrap();
    drop(until("INTERRUPTED"));
    drop(std::io::copy(&mut heard, &mut std::io::sink()));
    child.wait().unwrap();
    let read = |name: &str| fs_err::read_to_string(project.path().join(name)).unwrap();
    assert!(read("before").contains(" icanon") && read("before").contains(" echo "));
    assert_eq!(read("before"), read("after"));
}
