//! `run_tests` in a browser of this machine, and what is asked about a run afterwards.

use serde_json::{Value, json};
use support::agent::Agent;
use support::tool::Running;

use super::{project, server};

const HOLDS: &str = "it('holds', () => { console.log('a line'); expect(1).toBe(1); });";
const FAILS: &str = "it('adds', () => { console.log('before it fails'); expect(1 + 1).toBe(3); });";
/// Says `ready` and goes on for ever.
const WAITS: &str = "it('waits', async () => { console.log('ready'); await new Promise(() => {}); }, 0);";

/// One tool result a model can take in at a glance; four characters are about one token.
const RUN_BUDGET: usize = 3_200;

fn local(project: &tempfile::TempDir) -> Agent {
    Agent::start(server(project.path()).args(["--target", "chrome"]))
}

/// Begins a run that goes on for ever, and waits until its test says `ready`.
fn begin_endless(agent: &mut Agent) -> u64 {
    let id = agent.begin("run_tests", json!({ "files": ["waits.ait.test.ts"], "timeout_ms": 600_000 }));
    agent.until_progress(id, "waits.ait.test.ts");
    id
}

/// Waits until the tool is alone again.
fn wait_alone(running: &Running) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while running.processes().len() > 1 {
        assert!(std::time::Instant::now() < deadline, "still there: {:?}", running.processes());
        std::thread::yield_now();
    }
}

/// O-44
#[test]
fn the_browser_is_started_each_file_is_told_and_the_answer_says_what_failed() {
    let project = project(&[("a.ait.test.ts", HOLDS), ("b.ait.test.ts", FAILS), ("c.ait.test.ts", HOLDS)]);
    let mut agent = local(&project);
    let id = agent.begin("run_tests", json!({ "files": ["*.ait.test.ts"] }));
    let answer = agent.envelope(id);
    let data = &answer["data"];
    assert_eq!((&data["verdict"], &data["tests"]["passed"]), (&json!("failed"), &json!(2)), "{answer:#}");
    let [failure] = &data["failures"].as_array().unwrap()[..] else { panic!("{answer:#}") };
    assert_eq!(failure["test"], "b.ait.test.ts > adds");
    assert_eq!(failure["at"], "b.ait.test.ts:2:66", "{failure}");
    assert_eq!(answer["meta"], json!({ "tool": "run_tests", "mode": "local-browser", "attached": true }));
    let events = fs_err::read_to_string(data["file"].as_str().unwrap()).unwrap();
    assert!(events.lines().last().unwrap().contains("runFinished"), "{events}");

    let told = agent.progress(id);
    let numbers: Vec<f64> = told.iter().map(|told| told["progress"].as_f64().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "rising: {numbers:?}");
    for files in 1..=3 {
        let per_file = told.iter().any(|told| told["progress"] == f64::from(files) && told["total"] == 3.0);
        assert!(per_file, "{files} of 3: {told:?}");
    }

    let failure = agent.call("get_test_failure", json!({ "test": "adds" }));
    let data = &failure["data"];
    let error = &data["errors"][0];
    assert!(error["diff"].as_str().unwrap().contains("+ 2"), "{failure:#}");
    assert!(error["codeFrame"].as_str().unwrap().contains("toBe(3)"), "{failure:#}");
    assert!(data["console"][0].as_str().unwrap().contains("before it fails"), "{failure:#}");
    let picture = fs_err::read(data["screenshot"].as_str().unwrap_or_else(|| panic!("{failure:#}"))).unwrap();
    assert!(picture.starts_with(b"\x89PNG"));
    agent.close().expect_code(0);
}

#[test]
fn a_page_that_is_attached_is_used_again_and_stays() {
    let project = project(&[(
        "a.ait.test.ts",
        "it('counts', () => { globalThis.runs = (globalThis.runs ?? 0) + 1; console.log(`run ${globalThis.runs}`); });",
    )]);
    let mut agent = local(&project);
    assert_eq!(agent.call("start_debug", json!({ "mode": "local-browser" }))["ok"], true);
    let before = agent.running().processes();
    for run in 1..=2 {
        let answer = agent.call("run_tests", json!({ "files": ["a.ait.test.ts"] }));
        assert_eq!((&answer["data"]["verdict"], &answer["data"]["run"]), (&json!("passed"), &json!(run)), "{answer:#}");
        assert_eq!(answer["data"].get("warnings"), None, "{answer:#}");
        let events = fs_err::read_to_string(answer["data"]["file"].as_str().unwrap()).unwrap();
        assert!(events.contains(&format!("run {run}")), "the page was not loaded again: {events}");
    }
    let status = agent.call("get_debug_status", json!({}));
    assert_eq!(status["data"]["session"]["stage"], "attached", "{status:#}");
    let browsers = |processes: &[support::procs::Process]| {
        processes
            .iter()
            .filter(|process| !process.command.contains("--type="))
            .map(|process| process.pid)
            .collect::<Vec<_>>()
    };
    assert_eq!(browsers(&agent.running().processes()), browsers(&before), "the same browser");
    agent.close().expect_code(0);
}

#[test]
fn what_is_asked_for_reaches_the_page() {
    let text = "it('sees', () => { expect([__AIT_CELL__, API]).toEqual([{ sdkLine: '3.x', platform: 'ios' }, { a: [1] }]); });\n\
        it('is left out', () => { throw new Error('no'); });";
    let project = project(&[("a.ait.test.ts", text)]);
    let elsewhere = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(server(elsewhere.path()).args(["--target", "chrome"]));
    let answer = agent.call(
        "run_tests",
        json!({
            "files": ["a.ait.test.ts"], "pattern": "sees$", "cell": { "sdkLine": "3.x", "platform": "ios" },
            "globals": { "API": { "a": [1] } }, "timeout_ms": 20_000, "project_root": project.path(),
        }),
    );
    assert_eq!(answer["data"]["verdict"], "passed", "{answer:#}");
    assert_eq!((&answer["data"]["tests"]["passed"], &answer["data"]["cell"]), (&json!(1), &json!("3.x.ios")));
    agent.close().expect_code(0);
}

#[test]
fn a_wrong_call_says_what_is_wrong_and_starts_nothing() {
    let project = project(&[("a.ait.test.ts", HOLDS)]);
    let mut agent = local(&project);
    let cases: [(Value, &str, &str); 11] = [
        (json!({}), "bad_input", "files"),
        (json!({ "files": [] }), "bad_input", "files"),
        (json!({ "files": ["none.ait.test.ts"] }), "not_found", "none.ait.test.ts"),
        (json!({ "files": ["*"], "pattern": "(" }), "bad_input", "("),
        (json!({ "files": ["*"], "globals": { "location": 1 } }), "bad_input", "globals is \\\"location=1\\\""),
        (json!({ "files": ["*"], "globals": { "a=b": 1 } }), "bad_input", "globals has"),
        (json!({ "files": ["*"], "cell": { "platform": "a/b" } }), "bad_input", "cell.platform"),
        (json!({ "files": ["*"], "project_root": "no/such/folder" }), "bad_input", "project_root"),
        (json!({ "files": ["*"], "timeout_ms": 0 }), "bad_input", "timeout_ms"),
        (json!({ "files": ["*"], "mode": "relay-scheme" }), "bad_input", "scheme_url"),
        (json!({ "files": ["*"], "mode": "relay-launcher" }), "bad_input", "app_url"),
    ];
    for (arguments, code, says) in cases {
        let answer = agent.call("run_tests", arguments.clone());
        assert_eq!(answer["error"]["code"], code, "{arguments}: {answer:#}");
        let error = answer["error"].to_string();
        assert!(error.contains(says) && !error.contains("--"), "{arguments}: {answer:#}");
    }
    assert_eq!(agent.running().processes().len(), 1, "nothing was started");
    let none = agent.call("get_test_failure", json!({}));
    assert_eq!(none["error"]["code"], "not_found", "{none}");
    agent.close().expect_code(0);
}

/// O-44
#[test]
fn one_run_at_a_time_and_a_cancelled_one_leaves_nothing_behind() {
    let project = project(&[("waits.ait.test.ts", WAITS), ("a.ait.test.ts", HOLDS)]);
    let mut agent = local(&project);
    let endless = begin_endless(&mut agent);
    let busy = agent.call("run_tests", json!({ "files": ["a.ait.test.ts"] }));
    assert_eq!(busy["error"]["code"], "busy", "{busy:#}");
    assert_eq!(busy["error"]["details"]["files"], 1, "{busy:#}");
    let busy = agent.call("start_debug", json!({ "mode": "local-browser" }));
    assert_eq!(busy["error"]["code"], "busy", "{busy:#}");
    assert_eq!(agent.call("get_debug_status", json!({}))["data"]["run"]["run"], 1);

    agent.cancel(endless);
    wait_alone(agent.running());
    let again = agent.call("run_tests", json!({ "files": ["a.ait.test.ts"] }));
    assert_eq!(again["data"]["verdict"], "passed", "{again:#}");
    agent.close().expect_code(0);
}

#[test]
fn a_client_that_goes_away_in_the_middle_of_a_run_leaves_nothing_behind() {
    let project = project(&[("waits.ait.test.ts", WAITS)]);
    let mut agent = local(&project);
    begin_endless(&mut agent);
    let scratch = agent.running().scratch();
    agent.close().expect_code(0);
    let left: Vec<_> = fs_err::read_dir(scratch).map(|all| all.collect()).unwrap_or_default();
    assert!(left.is_empty(), "{left:?}");
}

/// O-38
#[test]
fn a_big_run_is_answered_in_a_few_words() {
    let text = "for (let n = 0; n < 300; n++) it(`a test with a rather long title, as people write them, number ${n}`, \
        () => { console.log('x'.repeat(200)); expect(n % 100 === 7 ? { a: 'y'.repeat(2000) } : 1).toEqual(1); });";
    let project = project(&[("a.ait.test.ts", text)]);
    let mut agent = local(&project);
    let id = agent.begin("run_tests", json!({ "files": ["a.ait.test.ts"] }));
    let result = agent.answer(id);
    let data = &result["structuredContent"]["data"];
    assert_eq!((&data["tests"]["passed"], &data["tests"]["failed"]), (&json!(297), &json!(3)), "{result:#}");
    assert_eq!(data["failures"].as_array().unwrap().len(), 3);
    assert!(result.to_string().len() < RUN_BUDGET, "{} characters: {result:#}", result.to_string().len());
    agent.close().expect_code(0);
}

#[test]
fn two_runs_are_compared_and_tests_are_listed() {
    let file = "a.ait.test.ts";
    let project =
        project(&[(file, "it('one', () => { expect(1).toBe(1); });\nit('two', () => { expect(1).toBe(2); });")]);
    let mut agent = local(&project);
    let list = agent.call("list_tests", json!({}));
    assert_eq!(list["data"]["items"], json!([{ "file": file }]), "{list:#}");
    agent.call("run_tests", json!({ "files": [file] }));
    let alone = agent.call("compare_runs", json!({}));
    assert_eq!(alone["error"]["code"], "not_found", "{alone:#}");
    let text = "import { expect, it } from 'vitest';\nit('one', () => { expect(1).toBe(2); });\nit('two', () => { expect(1).toBe(1); });";
    fs_err::write(project.path().join(file), text).unwrap();
    agent.call("run_tests", json!({ "files": [file] }));
    let compared = agent.call("compare_runs", json!({}));
    let data = &compared["data"];
    assert_eq!(data["broken"]["tests"], json!(["a.ait.test.ts > one"]), "{compared:#}");
    assert_eq!(data["fixed"]["tests"], json!(["a.ait.test.ts > two"]), "{compared:#}");
    let list = agent.call("list_tests", json!({ "file": file, "limit": 1 }));
    assert_eq!(list["data"]["items"], json!([{ "test": "a.ait.test.ts > one", "last": "failed" }]), "{list:#}");
    let cursor = list["data"]["next_cursor"].clone();
    let list = agent.call("list_tests", json!({ "file": file, "cursor": cursor }));
    assert_eq!(list["data"]["items"], json!([{ "test": "a.ait.test.ts > two", "last": "passed" }]), "{list:#}");
    agent.close().expect_code(0);
}

/// O-37
#[test]
fn two_servers_at_once_do_not_disturb_each_other() {
    let project = project(&[("a.ait.test.ts", HOLDS)]);
    let (mut one, mut two) = (local(&project), local(&project));
    let run = json!({ "files": ["a.ait.test.ts"] });
    let (first, second) = (one.begin("run_tests", run.clone()), two.begin("run_tests", run.clone()));
    assert_eq!(one.envelope(first)["data"]["verdict"], "passed");
    assert_eq!(two.envelope(second)["data"]["verdict"], "passed");
    one.close().expect_code(0);
    let again = two.call("run_tests", run);
    assert_eq!(again["data"]["verdict"], "passed", "{again:#}");
    two.close().expect_code(0);
}

/// O-40
#[test]
fn a_call_is_about_the_session_that_was_there_when_it_came() {
    let project = project(&[]);
    let mut agent = local(&project);
    agent.call("start_debug", json!({ "mode": "local-browser" }));
    agent.call("evaluate", json!({ "expression": "globalThis.first = true" }));
    let slow = "new Promise((done) => setTimeout(() => done(globalThis.first), 2000))";
    let slow = agent.begin("evaluate", json!({ "expression": slow }));
    let switched = agent.begin("start_debug", json!({ "mode": "relay-hosted" }));
    let switched = agent.envelope(switched);
    assert_eq!(switched["meta"]["mode"], "relay-hosted", "{switched:#}");
    let answer = agent.envelope(slow);
    assert_eq!(answer["meta"]["mode"], "local-browser", "{answer:#}");
    // Its page went with its session; what it never does is answer from another.
    assert!(answer["data"]["value"] == true || answer["error"]["code"] == "page_lost", "{answer:#}");
    agent.close().expect_code(0);
}

/// O-40
#[test]
fn of_calls_that_come_at_once_the_first_one_goes_first() {
    let project = project(&[("a.ait.test.ts", HOLDS)]);
    let mut agent = local(&project);
    let run = json!({ "files": ["a.ait.test.ts"] });
    let start = json!({ "mode": "local-browser" });
    for _ in 0..3 {
        for (first, second) in
            [(("start_debug", &start), ("run_tests", &run)), (("run_tests", &run), ("start_debug", &start))]
        {
            let (one, two) = (agent.begin(first.0, first.1.clone()), agent.begin(second.0, second.1.clone()));
            let refused = agent.envelope(two);
            assert_eq!(refused["error"]["code"], "busy", "{second:?}: {refused:#}");
            assert_eq!(refused["error"]["next"]["tool"], "get_debug_status", "{refused:#}");
            let done = agent.envelope(one);
            assert_eq!(done["ok"], true, "{first:?}: {done:#}");
        }
    }
    agent.close().expect_code(0);
}

/// The server's own folders in a temporary folder.
#[cfg(target_os = "linux")]
fn folders(temp: &std::path::Path) -> Vec<std::ffi::OsString> {
    let all = fs_err::read_dir(temp).unwrap().map(|entry| entry.unwrap().file_name());
    all.filter(|name| name.to_string_lossy().starts_with("devtools-test-mcp-")).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn the_folder_of_a_killed_server_goes_when_the_next_one_starts() {
    let project = project(&[("a.ait.test.ts", HOLDS)]);
    let scratch = tempfile::tempdir().unwrap();
    let in_scratch = || Agent::start(server(project.path()).env("TMPDIR", scratch.path()).args(["--target", "chrome"]));
    let mut first = in_scratch();
    first.call("run_tests", json!({ "files": ["a.ait.test.ts"] }));
    let killed = folders(scratch.path());
    assert_eq!(killed.len(), 1, "{killed:?}");
    first.running().signal(rustix::process::Signal::KILL);
    first.ended();

    let second = in_scratch();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while folders(scratch.path()).contains(&killed[0]) {
        assert!(std::time::Instant::now() < deadline, "still there: {killed:?}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(folders(scratch.path()).len(), 1, "its own stays");
    second.close().expect_code(0);
    assert!(folders(scratch.path()).is_empty());
}
