//! `--replay`: what was recorded of one run is there for the next one, with the servers gone.

use std::path::PathBuf;

use serde_json::Value;
use support::server::FixtureServer;
use support::tool::{Outcome, Tool};
use tempfile::TempDir;

use crate::tool;

/// Talks in every way to a server, and expects of each what it says.
const TALKS: &str = r#"import { expect, it } from 'vitest';
const base = globalThis.__FIXTURE_URL__;
const next = (target, name) => new Promise((resolve) => target.addEventListener(name, resolve, { once: true }));

it('by a socket', async () => {
  const url = base.replace('http', 'ws') + '/ws/echo?hello=welcome';
  const socket = new WebSocket(url, ['other', 'echo.v1']);
  socket.binaryType = 'arraybuffer';
  expect((await next(socket, 'message')).data).toBe('welcome');
  expect([socket.protocol, socket.url, socket instanceof WebSocket]).toEqual(['echo.v1', url, true]);
  socket.send('a😀');
  const answer = await next(socket, 'message');
  expect([answer.data, answer.origin, answer.isTrusted]).toEqual(['a😀', base.replace('http', 'ws'), true]);
  socket.send(Uint8Array.of(1, 2, 255));
  expect(new Uint8Array((await next(socket, 'message')).data)).toEqual(Uint8Array.of(1, 2, 255));
  socket.send('close:4002:bye');
  expect(await next(socket, 'close')).toMatchObject({ code: 4002, reason: 'bye', wasClean: true });
});

it('by a socket that is refused', async () => {
  expect(await next(new WebSocket(base.replace('http', 'ws') + '/ws/refuse'), 'close')).toMatchObject({ code: 1006 });
});

it('by requests', async () => {
  const chunks = await fetch(base + '/chunks?n=4&gap=30&size=10');
  expect([chunks.status, chunks.url, chunks.redirected]).toEqual([200, base + '/chunks?n=4&gap=30&size=10', false]);
  expect(await chunks.text()).toMatch(/^0:.*\n1:.*\n2:.*\n3:/);
  expect((await (await fetch(new URL('/api/items', base))).json())[0].title).toBe('커피');
  const missing = await fetch(new Request(base + '/api/status/404'));
  expect([missing.status, await missing.clone().json()]).toEqual([404, { status: 404 }]);
  const post = (body) => fetch(base + '/api/echo', { method: 'POST', body, headers: { 'x-ait': '1' } });
  expect(await (await post('one')).text()).toBe('one');
  expect(await (await post('two')).text()).toBe('two');
  await expect(fetch(base + '/private')).rejects.toThrow(TypeError);
});

it('by events', async () => {
  const source = new EventSource(base + '/sse?n=3&gap=5');
  const ticks = [];
  source.addEventListener('tick', ({ lastEventId, data, origin }) => ticks.push(lastEventId + data + (origin === base)));
  expect((await next(source, 'done')).data).toBe('two\nlines');
  expect(ticks).toEqual(['1{"n":1}true', '2{"n":2}true', '3{"n":3}true']);
  while (source.readyState !== 2) await next(source, 'error');
});
"#;

fn project(text: &str) -> TempDir {
    let project = tempfile::tempdir().unwrap();
    fs_err::write(project.path().join("a.ait.test.ts"), text).unwrap();
    project
}

fn run(project: &TempDir, url: &str) -> Tool {
    let tool = tool(project.path()).args(["--target", "chrome", "--reporter", "json"]);
    let report = tool.report_dir();
    tool.args(["--report-dir".as_ref(), report.as_os_str()])
        .args(["--global".to_owned(), format!("__FIXTURE_URL__=\"{url}\"")])
}

/// The timeline that a run left.
fn timeline(outcome: &Outcome) -> PathBuf {
    let files = fs_err::read_dir(outcome.report_dir()).unwrap().map(|entry| entry.unwrap().path());
    let is_timeline = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl");
    files.into_iter().find(is_timeline).unwrap_or_else(|| panic!("a timeline\n{}", outcome.transcript()))
}

/// Runs with a server there, and keeps the recording.
fn record(project: &TempDir) -> (String, PathBuf) {
    let server = FixtureServer::start();
    let outcome = run(project, &server.url()).run();
    outcome.expect_code(0);
    let kept = project.path().join("recorded.jsonl");
    fs_err::copy(timeline(&outcome), &kept).unwrap();
    (server.url(), kept)
}

/// What was said on each connection and how it ended, in the order of their addresses. How a body falls into chunks is up
/// to the network.
fn said(file: &PathBuf) -> Vec<(String, Vec<String>)> {
    let text = fs_err::read_to_string(file).unwrap();
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let taken_back: Vec<&Value> = records.iter().filter(|it| it["removed"] == true).map(|it| &it["id"]).collect();
    let mut all: Vec<(String, String, Vec<String>)> = Vec::new();
    for record in records.iter().filter(|record| !taken_back.contains(&&record["id"])) {
        let id = record["id"].as_str().unwrap_or_default();
        match record["kind"].as_str().unwrap() {
            "connection" if all.iter().all(|(known, ..)| known != id) => {
                all.push((id.to_owned(), record["url"].as_str().unwrap().to_owned(), Vec::new()));
            }
            "message" => {
                let (_, _, messages) =
                    all.iter_mut().find(|(known, ..)| *known == record["connectionId"]).expect("a connection");
                let is_part = record["protocol"] == "fetch-stream" && !messages.is_empty();
                if is_part {
                    messages.last_mut().unwrap().push_str(record["payload"].as_str().unwrap());
                } else {
                    let payload =
                        record["payload"].as_str().map_or_else(|| record["payload"].to_string(), String::from);
                    let kind = record["type"].as_str().unwrap_or_default();
                    messages.push(format!("{} {kind} {payload}", record["direction"].as_str().unwrap()));
                }
            }
            _ => {}
        }
    }
    let ended = |id: &str| {
        let last = records.iter().rev().find(|record| record["kind"] == "connection" && record["id"] == id).unwrap();
        let [code, clean, reason] = [&last["closeCode"], &last["metadata"]["wasClean"], &last["metadata"]["reason"]];
        format!("{} {code} {clean} {reason}", last["state"])
    };
    let mut said: Vec<_> = all
        .into_iter()
        .map(|(id, url, mut messages)| {
            messages.push(ended(&id));
            (url, messages)
        })
        .collect();
    said.sort();
    said
}

#[test]
fn a_recorded_run_is_replayed_with_the_servers_gone() {
    let project = project(TALKS);
    let (url, recorded) = record(&project);
    let before = said(&recorded);
    assert!(before.iter().map(|(_, messages)| messages.len()).sum::<usize>() > 12, "{before:#?}");
    for speed in ["1", "max"] {
        let replayed =
            run(&project, &url).args(["--replay".as_ref(), recorded.as_os_str()]).args(["--replay-speed", speed]).run();
        replayed.expect_code(0);
        assert_eq!(said(&timeline(&replayed)), before, "at {speed}");
        assert!(!replayed.transcript().contains("not replayed"), "{}", replayed.transcript());
    }
}

/// Closes sockets in every way, and expects of each that it is told so.
const CLOSES: &str = r#"import { expect, it } from 'vitest';
const next = (target, name) => new Promise((resolve) => target.addEventListener(name, resolve, { once: true }));

it.each([
  ['asks for it', (socket) => socket.close(1000, 'done'), { code: 1000, reason: 'done', wasClean: true }],
  ['gives a code of its own', (socket) => socket.close(4321, 'mine'), { code: 4321, reason: 'mine', wasClean: true }],
  ['gives no code', (socket) => socket.close(), { code: 1005, reason: '', wasClean: true }],
  ['is closed', (socket) => socket.send('close:4002:bye'), { code: 4002, reason: 'bye', wasClean: true }],
  ['is dropped', (socket) => socket.send('drop'), { code: 1006, reason: '', wasClean: false }],
  ['asks one that does not answer', (socket) => { socket.send('deaf'); socket.close(1000); },
    { code: 1006, reason: '', wasClean: false }],
  ['is too early', (socket) => socket.close(1000), { code: 1006, reason: '', wasClean: false }, true],
])('the page %s', async (name, close, expected, early) => {
  const url = globalThis.__FIXTURE_URL__.replace('http', 'ws') + '/ws/echo?key=' + encodeURIComponent(name);
  const socket = new WebSocket(url);
  if (!early) await next(socket, 'open');
  const closed = next(socket, 'close');
  close(socket);
  expect(await closed).toMatchObject(expected);
});
"#;

/// Asks one address for what differs from one time to the next, and for what is hard to find again.
const ASKS: &str = r#"import { expect, it } from 'vitest';
const base = globalThis.__FIXTURE_URL__;

it('polls', async () => {
  const told = [];
  for (const [status, body] of [['204'], ['205'], ['200', '{"n":1}'], ['204'], ['200', 'last']]) {
    const response = await fetch(base + '/api/echo', { method: 'POST', body, headers: { 'x-ait': status } });
    told.push(response.status + (await response.text()));
  }
  expect(told).toEqual(['204', '205', '200{"n":1}', '204', '200last']);
  const head = await fetch(base + '/api/echo', { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

it('reads one answer of two', async () => {
  const put = (body) => fetch(base + '/api/echo', { method: 'PUT', body });
  globalThis.kept = await put('never read');
  expect(await (await put('read')).text()).toBe('read');
});

it('asks at a long address', async () => {
  expect((await (await fetch(base + '/api/items?' + 'x'.repeat(5_000) + '#part')).json()).length).toBe(2);
});

it.each([
  'data: {"a":1}\n\ndata: [DONE]\n\n',
  'event: tick\ndata: 1\n\nevent: tock\ndata: two\ndata: lines\n\n',
  'id: 7\ndata: a\n\ndata: b\n\nid: 8\nevent: tick\ndata: c\n\nid: \ndata: d\n\n',
  'retry: 50\ndata: a\n\n',
])('reads the events %j', async (text) => {
  const response = await fetch(base + '/events?send=' + encodeURIComponent(text));
  expect(await response.text()).toBe(text);
});
"#;

#[test]
fn each_request_gets_the_answer_that_it_got() {
    let project = project(ASKS);
    let (url, recorded) = record(&project);
    let replayed = run(&project, &url).args(["--replay".as_ref(), recorded.as_os_str()]).run();
    replayed.expect_code(0);
    assert_eq!(said(&timeline(&replayed)), said(&recorded));
    assert!(!replayed.transcript().contains("not replayed"), "{}", replayed.transcript());
}

/// Holds more connections than a browser keeps to one server, or at all.
const HOLDS: &str = r#"import { expect, it } from 'vitest';
const base = globalThis.__FIXTURE_URL__;
const held = [];

it('reads no answers', async () => {
  for (let i = 0; i < 300; i++) held.push(await fetch(base + '/api/echo', { method: 'POST', body: 'track' }));
  expect((await (await fetch(base + '/api/items')).json()).length).toBe(2);
});

it('listens to two servers', async () => {
  for (let i = 0; i < 8; i++) {
    const source = new EventSource(base.replace('127.0.0.1', i % 2 ? 'localhost' : '127.0.0.1') + '/events?hold&send=data:+x%0A%0A');
    held.push(source);
    await new Promise((resolve) => source.addEventListener('message', resolve));
  }
  expect((await (await fetch(base + '/api/items')).json()).length).toBe(2);
  for (const source of held) source.close?.();
});

it('reads from two servers at once', async () => {
  const at = (i) => base.replace('127.0.0.1', i % 2 ? 'localhost' : '127.0.0.1') + '/events?hold&send=data:+y%0A%0A';
  const ask = (_, i) => fetch(at(i));
  for (const response of await Promise.all(Array.from({ length: 10 }, ask))) {
    held.push(response.body.getReader());
    expect((await held.at(-1).read()).done).toBe(false);
  }
  expect((await (await fetch(base + '/api/items')).json()).length).toBe(2);
});
"#;

#[test]
fn what_is_held_open_keeps_nothing_else_from_coming() {
    let project = project(HOLDS);
    let (url, recorded) = record(&project);
    let replayed = run(&project, &url)
        .args(["--replay".as_ref(), recorded.as_os_str()])
        .args(["--replay-speed", "max", "--test-timeout", "20000"])
        .run();
    replayed.expect_code(0);
    assert!(!replayed.transcript().contains("not replayed"), "{}", replayed.transcript());
}

#[test]
fn sockets_end_as_they_ended() {
    let project = project(CLOSES);
    let (url, recorded) = record(&project);
    let before = said(&recorded);
    assert_eq!(before.len(), 7, "{before:#?}");
    for speed in ["1", "max"] {
        let replayed =
            run(&project, &url).args(["--replay".as_ref(), recorded.as_os_str()]).args(["--replay-speed", speed]).run();
        replayed.expect_code(0);
        assert_eq!(said(&timeline(&replayed)), before, "at {speed}");
    }
}

#[test]
fn pauses_are_as_they_were_or_as_is_asked() {
    let times = "import { it } from 'vitest';
it('times', async () => {
  const from = performance.now();
  const body = (await fetch(globalThis.__FIXTURE_URL__ + '/chunks?n=3&gap=300')).body.getReader();
  while (!(await body.read()).done);
  console.log('took ' + (performance.now() - from));
});";
    let project = project(times);
    let (url, recorded) = record(&project);
    let took = |speed: &str| -> f64 {
        let outcome =
            run(&project, &url).args(["--replay".as_ref(), recorded.as_os_str()]).args(["--replay-speed", speed]).run();
        outcome.expect_code(0);
        let events = outcome.events();
        let texts = events.iter().filter_map(|event| event["text"].as_str());
        texts.filter_map(|text| text.strip_prefix("took ")).next().unwrap().parse().unwrap()
    };
    // What a busy machine made of the pauses when they were recorded is what counts; it can make them longer only, since
    // each is waited for after the chunk before it has been sent.
    let pauses = between_chunks(&recorded);
    assert!(pauses > 250., "{pauses}");
    assert!(took("1") >= pauses - 10.);
    assert!(took("0.5") >= 2. * pauses - 10.);
    assert!(took("max") < pauses);
}

/// Milliseconds from the first message of a timeline to its last one.
fn between_chunks(file: &PathBuf) -> f64 {
    let text = fs_err::read_to_string(file).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let times: Vec<f64> =
        records.filter(|record| record["kind"] == "message").map(|it| it["timestamp"].as_f64().unwrap()).collect();
    times.last().unwrap() - times.first().unwrap()
}

#[test]
fn what_was_not_recorded_goes_to_its_server_and_is_named() {
    let asks = "import { expect, it } from 'vitest';
it('asks', async () => {
  const paths = globalThis.__FIXTURE_URL__ + '/api/';
  expect((await fetch(paths + 'items')).status).toBe(200);
  if (globalThis.AGAIN) {
    expect((await fetch(paths + 'status/418?secret=1')).status).toBe(418);
    expect((await fetch(paths + 'items')).status).toBe(200);
  }
});";
    let project = project(asks);
    let server = FixtureServer::start();
    let first = run(&project, &server.url()).run();
    first.expect_code(0);
    let replay = timeline(&first);
    let again = run(&project, &server.url())
        .args(["--global", "AGAIN=true"])
        .args(["--replay".as_ref(), replay.as_os_str()])
        .run();
    again.expect_code(0);
    let notices: Vec<String> = again
        .events()
        .iter()
        .filter(|event| event["type"] == "notice")
        .map(|event| event["message"].as_str().unwrap().to_owned())
        .collect();
    let named = |part: &str, why: &str| notices.iter().any(|notice| notice.contains(part) && notice.contains(why));
    assert!(named("fetch GET", "/api/status/418, which was not recorded"), "{notices:?}");
    assert!(named("fetch GET", "/api/items, more often than it was recorded"), "{notices:?}");
    assert!(!notices.iter().any(|notice| notice.contains("secret=1")), "{notices:?}");
}

#[test]
fn other_files_and_places_are_refused_at_once() {
    let project = project("import { it } from 'vitest'; it('runs', () => {});");
    fs_err::write(project.path().join("other.jsonl"), "{}\n").unwrap();
    fs_err::write(project.path().join("empty.jsonl"), "").unwrap();
    fs_err::write(project.path().join("bytes.jsonl"), [0xff, 0xfe, b'{', 0]).unwrap();
    let header = r#"{"kind":"header","version":1}"#;
    fs_err::write(project.path().join("cut.jsonl"), format!("{header}\n{{\"kind\":\"conn")).unwrap();
    // One line, of which nothing has to be kept.
    fs_err::File::create(project.path().join("line.jsonl")).unwrap().set_len(1 << 40).unwrap();
    for (arguments, told) in [
        (["--replay", "no.jsonl", "--target", "chrome"], "no.jsonl"),
        (["--replay", "other.jsonl", "--target", "chrome"], "no header"),
        (["--replay", "empty.jsonl", "--target", "chrome"], "no header"),
        (["--replay", "bytes.jsonl", "--target", "chrome"], "no header"),
        (["--replay", "line.jsonl", "--target", "chrome"], "no header"),
        (["--replay", "cut.jsonl", "--target", "chrome"], "no connection that can be replayed"),
        (["--replay", ".", "--target", "chrome"], "irectory"),
        (["--replay", "other.jsonl", "--target", "webkit"], "--target chrome"),
        (["--replay-speed", "max", "--target", "chrome"], "--replay"),
    ] {
        let outcome = tool(project.path()).args(arguments).run();
        assert!(outcome.transcript().contains(told), "{}", outcome.transcript());
        outcome.expect_code(64);
    }
}
