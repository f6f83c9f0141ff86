//! Nothing that must not be read gets out of a run, whatever the page says.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::time::Duration;

use devtools_test::event::{
    AttachStage, EventKind, Events, FileResult, LossCause, NoticeLevel, PageInfo, RunInfo, TargetKind, TestError,
    TestInfo, TestMode, TestResult, TestState, UncaughtOrigin,
};
use devtools_test::ident::{Cell, FileId, TestId};
use devtools_test::report::{report, reporters};
use devtools_test::secret::{Hidden, Scrub, Secret};
use devtools_test::settings::{Given, Surroundings, load};
use proptest::prelude::*;
use support::phone::{LOADS_AGENT, Phone};
use support::server::FixtureServer;

use crate::tool;

const SECRET: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

const TEST: &str = "import { expect, it } from 'vitest';
const here = location.href;
const code = new URLSearchParams(location.search).get('at');
it(`said: a title ${here}`, () => {
  console.log('said:', here, { here }, new URL(here));
  console.error('said: %s', encodeURIComponent(encodeURIComponent(here)));
  console.warn(`said: ${JSON.stringify({ here, code })} ${code}`);
  console.log(`__AIT_CAPTURE__ said ${JSON.stringify({ [here]: here, code })}`);
  console.log(`__AIT_CAPTURE__ ${code} {}`);
});
it('said: a failure', () => { throw new TypeError(`said: ${here}`, { cause: new Error(code) }); });
it('said: a difference', () => { expect({ here, code }).toEqual({ here: 'said:' }); });
it('said: a skip', ({ skip }) => { skip(`said: ${here}`); });
it('said: what is sent', async () => {
  await fetch(`${here}&again`, { method: 'POST', body: here }).catch(() => {});
  setTimeout(() => { throw new Error(`said: late ${here}`); });
  await new Promise((resolve) => setTimeout(resolve, 100));
});
it('said: a page that leaves', async () => { location.search += '&left=1'; await new Promise(() => {}); });
";

fn attach_link(line: &str) -> Option<String> {
    line.strip_prefix("Attach link: ").map(str::to_owned)
}

/// Every file below a folder, as text.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let text = String::from_utf8_lossy(&fs_err::read(&path).unwrap()).into_owned();
            found.push((path.display().to_string(), format!("{} {text}", path.display())));
        }
    }
    found
}

/// Listens to a dashboard in a thread of its own, until it ends.
fn listen(dashboard: &str) -> std::thread::JoinHandle<String> {
    let (host, path) = dashboard.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let port: u16 = host.rsplit_once(':').unwrap().1.parse().unwrap();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET /{path}events HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    std::thread::spawn(move || {
        let mut heard = Vec::new();
        drop(stream.read_to_end(&mut heard));
        String::from_utf8_lossy(&heard).into_owned()
    })
}

#[test]
fn a_page_that_tells_its_own_address_everywhere_is_not_heard_with_it() {
    let server = FixtureServer::start();
    let project = tempfile::tempdir().unwrap();
    fs_err::write(project.path().join("a.ait.test.ts"), TEST).unwrap();
    let app = server.document(&format!("<script>document.title = location.href; {LOADS_AGENT}</script>"), "");
    let tool = tool(project.path())
        .args(["a.ait.test.ts", "--show-url", "--attach-timeout", "60s", "--headless"])
        .args(["--scheme-url", &app, "--reporter", "pretty", "--reporter", "json=events.jsonl"])
        .args(["--log-file", "log.txt", "--report-dir", "report"])
        .env("DEVTOOLS_TEST_LOG", "trace")
        .env("AIT_DEBUG_TOTP_SECRET", SECRET);
    let mut running = tool.start();
    let dashboard = running.wait_for("the dashboard", |line| {
        line.strip_prefix("Dashboard: ").and_then(|rest| rest.split_whitespace().next()).map(str::to_owned)
    });
    let heard = listen(&dashboard);
    let link = running.wait_for("the attach link", attach_link);
    let code = link.rsplit_once("at=").unwrap().1[..6].to_owned();
    let phone = Phone::open(&link);
    let outcome = running.wait();
    drop(phone);
    outcome.expect_code(1);
    let shown: String = outcome.stdout.lines().filter(|line| attach_link(line).is_none()).collect();
    let mut outputs = files(project.path());
    outputs.retain(|(name, _)| !name.ends_with("a.ait.test.ts"));
    for wanted in ["events.jsonl", "log.txt", "transport.", ".ait-capture", ".json"] {
        assert!(outputs.iter().any(|(name, _)| name.contains(wanted)), "{wanted}: {outputs:#?}");
    }
    // The dashboard alone gets the link, in a field of its own.
    let heard = heard.join().unwrap();
    let said: String =
        heard.lines().filter(|line| line.contains("said:")).map(|line| without_link(line, &link)).collect();
    outputs.extend([("stdout".into(), shown), ("stderr".into(), outcome.stderr.clone()), ("dashboard".into(), said)]);
    for (name, text) in &outputs {
        for hidden in [code.as_str(), &hex(&code), SECRET] {
            assert!(!text.contains(hidden), "{hidden} in {name}: {}", around(text, text.find(hidden)));
        }
        if !name.ends_with("log.txt") {
            assert!(text.contains("***") || !text.contains("said:"), "{name}: {text}");
        }
    }
}

fn without_link(line: &str, link: &str) -> String {
    let quoted = serde_json::to_string(link).unwrap();
    line.replace(&quoted, "").replace(link, "")
}

/// As a library may log bytes.
fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// What stands before and behind a place in a text.
pub(crate) fn around(text: &str, at: Option<usize>) -> &str {
    let at = at.unwrap_or_default();
    &text[text.floor_char_boundary(at.saturating_sub(200))..text.ceil_char_boundary((at + 200).min(text.len()))]
}

/// A run in which a page says `text` wherever it can.
async fn run(events: Events, text: &str) {
    let (file, test) = (FileId("src/a.ait.test.ts".into()), TestId(format!("src/a.ait.test.ts > {text}")));
    let path = vec![text.to_owned()];
    let said = || text.to_owned();
    let error =
        TestError { name: said(), message: said(), diff: Some(said()), code: Some(said()), ..TestError::default() };
    let started_at = "2026-01-02T03:04:05.678Z".into();
    let cell = Cell { sdk_line: "2.x".into(), platform: "mock".into() };
    let info =
        RunInfo { tool_version: "0".into(), cell, target: TargetKind::Device, started_at, files: vec![file.clone()] };
    let page = PageInfo {
        url: said(),
        title: said(),
        user_agent: said(),
        engine: said(),
        device: said(),
        app_version: Some(said()),
    };
    for kind in [
        EventKind::RunStarted(info),
        EventKind::AttachState { stage: AttachStage::Refused, message: said() },
        EventKind::PageAttached(page),
    ] {
        events.emit_global(kind).await;
    }
    let tests = vec![TestInfo { id: test.clone(), path: path.clone(), mode: TestMode::Run }];
    events.emit(Some(&file), None, EventKind::FileStarted { tests }).await;
    let result = TestResult {
        path,
        state: TestState::Failed,
        duration_ms: 1.0,
        errors: vec![error.clone()],
        note: Some(said()),
        retries: 0,
    };
    let payload = serde_json::json!({ "a": text, text: [text] });
    for kind in [
        EventKind::Console { level: "log".into(), text: said(), location: None },
        EventKind::Capture { category: "said".into(), payload: payload.clone() },
        EventKind::Transport { records: vec![payload] },
        EventKind::Exception { origin: UncaughtOrigin::Error, error: error.clone() },
        EventKind::Notice { level: NoticeLevel::Warning, message: said() },
        EventKind::PageLost { cause: LossCause::Busy, message: said() },
        EventKind::TestFinished(result),
    ] {
        events.emit(Some(&file), Some(&test), kind).await;
    }
    let over = FileResult { errors: vec![error], not_run: Some(said()), ..FileResult::default() };
    events.emit(Some(&file), None, EventKind::FileFinished(over)).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_output_holds_a_secret_a_code_a_ticket_or_a_host(
        secret in "([0-9a-f]{2}){16,32}", ticket in "[0-9a-f]{32}", code in "[0-9]{6}",
        host in "[a-z]{4,9}-[a-z]{4,9}\\.[a-z]{2,6}", before in "[ a-z=?&\"'<\\\\]{0,6}", after in "[ a-z&\"'>\\\\]{0,6}",
    ) {
        let folder = tempfile::tempdir().unwrap();
        let scrub = Scrub::default();
        scrub.hide_secret(&Secret::from_hex(&secret).unwrap());
        scrub.hide_ticket(&Hidden::new(ticket.clone()));
        scrub.hide_link(&Hidden::new(format!("https://{host}/attach?at={code}")));
        let text = format!("{before}{secret}{after} {before}{ticket}{after} https://{host}/at/{code}/{before}{code}{after}");
        let report_dir = folder.path().join("report").display().to_string();
        let given = Given {
            reporter: vec!["pretty=pretty.txt".into(), "json=events.jsonl".into()],
            report_dir: Some(report_dir),
            ..Given::default()
        };
        let around = Surroundings { environment: &|_| None, cwd: folder.path().into(), stdout_is_terminal: false };
        let settings = load(given, &around).unwrap();
        let mut all = reporters(&settings, None).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let problems = runtime.block_on(async {
            let (events, receiver) = Events::scrubbed_by(scrub);
            let reported = tokio::task::spawn_blocking(move || report(receiver, &mut all).1);
            run(events, &text).await;
            reported.await.unwrap()
        });
        prop_assert!(problems.is_empty(), "{problems:?}");
        let outputs = files(folder.path());
        prop_assert!(outputs.len() >= 4, "{outputs:?}");
        for (name, text) in outputs {
            for hidden in [&secret, &ticket, &code, &host] {
                prop_assert!(!text.contains(hidden.as_str()), "{hidden} in {name}: {text}");
            }
        }
    }
}
