//! What phones do in the middle of a run: each costs at most the test that was running, and the report names the cause
//! once. The built tool, a Chrome as the phone, and a way between them that fails.

use std::time::Duration;

use devtools_test::secret::Secret;
use devtools_test::totp::{Totp, UnixSeconds};
use serde_json::Value;
use support::phone::Phone;
use support::tool::{Outcome, Running};
use support::wire::{Faults, Wire};

use crate::attach_clock::link;
use crate::tool;

const SECRET: &str = "00112233445566778899aabbccddeeff";

/// A run on a phone, from the first word of its tests on.
struct Trip {
    running: Running,
    phone: Phone,
    wire: Wire,
    /// What the phone opened.
    link: String,
    _project: tempfile::TempDir,
}

impl Trip {
    /// Runs these files. A console line of a test that begins with `at ` is a place that [`Self::reach`] waits for.
    fn start(files: &[&str], args: &[&str]) -> Self {
        Self::on(files, args, Faults::default())
    }

    fn on(files: &[&str], args: &[&str], faults: Faults) -> Self {
        Self::go(files, args, faults, str::to_owned)
    }

    /// The phone opens another link than the one it is shown.
    fn go(files: &[&str], args: &[&str], faults: Faults, other: impl FnOnce(&str) -> String) -> Self {
        let project = tempfile::tempdir().unwrap();
        for (index, text) in files.iter().enumerate() {
            let text = format!("import {{ expect, it, afterAll }} from 'vitest';\n{HELP}{text}");
            fs_err::write(project.path().join(format!("{index}.ait.test.ts")), text).unwrap();
        }
        let patience: &[&str] = if args.contains(&"--attach-timeout") { &[] } else { &["--attach-timeout", "60s"] };
        let mut running = tool(project.path())
            .args(["--show-url", "--reporter", "json"])
            .args(patience)
            .args(args)
            .env("AIT_DEBUG_TOTP_SECRET", SECRET)
            .start();
        let link = running.wait_for("the attach link", link);
        let wire = Wire::to(&link, faults);
        let link = wire.link(&other(&link));
        let phone = Phone::open(&link);
        Self { running, phone, wire, link, _project: project }
    }

    /// Waits until a test says that it is there.
    fn reach(&mut self, place: &str) {
        self.reach_words(&format!("at {place}"));
    }

    /// Waits until the tool says this.
    fn reach_words(&mut self, words: &str) {
        self.running.wait_for(words, |line| line.contains(words).then_some(()));
    }

    fn end(self) -> Report {
        self.end_with_wire().1
    }

    fn end_with_wire(self) -> (Wire, Report) {
        let outcome = self.running.wait();
        drop(self.phone);
        assert_eq!(outcome.left_behind, [], "{}", outcome.transcript());
        let events = outcome.events();
        (self.wire, Report { outcome, events })
    }
}

/// What every file begins with.
const HELP: &str = "const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));\n";

/// What the run said.
struct Report {
    outcome: Outcome,
    events: Vec<Value>,
}

impl Report {
    fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }

    /// State and title of each test, in the order of their ends.
    fn tests(&self) -> Vec<String> {
        let of = |event: &Value| format!("{} {}", event["state"].as_str().unwrap(), event["path"][0].as_str().unwrap());
        self.of("testFinished").map(of).collect()
    }

    /// Causes for which pages were lost.
    fn losses(&self) -> Vec<&str> {
        self.of("pageLost").map(|event| event["cause"].as_str().unwrap()).collect()
    }

    /// The states the page went through.
    fn states(&self) -> Vec<&str> {
        self.of("pageState").map(|event| event["state"].as_str().unwrap()).collect()
    }

    /// Everything that was lost or noticed, in words.
    fn words(&self) -> Vec<&str> {
        let said = self.events.iter().filter(|event| event["type"] == "pageLost" || event["type"] == "notice");
        said.map(|event| event["message"].as_str().unwrap()).collect()
    }

    #[track_caller]
    fn expect(&self, tests: &[&str], losses: &[&str]) -> &Self {
        let transcript = self.outcome.transcript();
        assert_eq!(self.tests(), tests, "{transcript}");
        assert_eq!(self.losses(), losses, "{transcript}");
        let failed = tests.iter().any(|test| test.starts_with("failed"));
        assert_eq!(self.outcome.code, Some(i32::from(failed)), "{transcript}");
        self
    }
}

const NEXT: &str = "it('next file', () => { expect(document.body).not.toBeNull(); });\n";

#[test]
fn a_reload_costs_the_test_that_was_running() {
    let reloads = "it('before', () => {});\n\
        it('reloads', async () => { location.reload(); await pause(60_000); }, 0);\n\
        it('after', () => {});\n";
    let trip = Trip::start(&[reloads, NEXT], &[]);
    trip.end().expect(&["passed before", "failed reloads", "passed after", "passed next file"], &["reloaded"]);
}

#[test]
fn a_navigation_inside_the_document_costs_nothing() {
    let moves = "it('moves', async () => { history.pushState(null, '', '/elsewhere?a=1#b'); await pause(50);\n\
            history.replaceState(null, '', '#c'); location.hash = 'd'; await pause(50); history.back(); await pause(50); });\n\
        it('after', () => { expect(location.pathname).toBe('/elsewhere'); });\n";
    let trip = Trip::start(&[moves, NEXT], &[]);
    trip.end().expect(&["passed moves", "passed after", "passed next file"], &[]);
}

/// O-05
#[test]
fn a_connection_that_is_cut_between_files_and_in_tests_costs_nothing() {
    let mid = "it('mid', async () => { console.log('at mid'); await pause(1500); console.log('one'); await pause(500); });\n\
        it('after', () => {});\n";
    let edge = "it('edge', () => {});\nafterAll(async () => { console.log('at edge'); await pause(1000); });\n";
    let mut trip = Trip::start(&[mid, edge, NEXT], &[]);
    trip.reach("mid");
    trip.wire.cut();
    trip.reach("edge");
    trip.wire.cut();
    let report = trip.end();
    report.expect(&["passed mid", "passed after", "passed edge", "passed next file"], &[]);
    let lines = report.of("console").filter(|event| event["text"] == "one").count();
    assert_eq!(lines, 1, "nothing is said twice\n{}", report.outcome.transcript());
}

/// The relay sees the old connection end when the new one has long been in use.
#[test]
fn an_old_connection_that_ends_late_takes_nothing_with_it() {
    let mid = "it('mid', async () => { console.log('at mid'); await pause(1500); });\n\
        it('later', async () => { console.log('at later'); await pause(500); });\n";
    let mut trip = Trip::start(&[mid, NEXT], &[]);
    trip.reach("mid");
    trip.wire.strand();
    trip.reach("later");
    trip.wire.release();
    trip.end().expect(&["passed mid", "passed later", "passed next file"], &[]);
}

/// O-06: what stands between forgets what is silent for seven seconds; the page says nothing for longer than that.
#[test]
fn a_way_that_forgets_silent_connections_is_kept_awake() {
    let silent = "it('silent', async () => { console.log('at silent'); await pause(9000); });\n\
        it('busy', () => { const end = Date.now() + 10_000; while (Date.now() < end); });\n";
    let faults = Faults { idle_limit: Some(Duration::from_secs(7)), ..Faults::default() };
    let mut trip = Trip::on(&[silent, NEXT], &["--test-timeout", "20s"], faults);
    trip.reach("silent");
    let before = trip.wire.carried();
    let (wire, report) = trip.end_with_wire();
    report.expect(&["passed silent", "passed busy", "passed next file"], &[]);
    assert_eq!(wire.carried(), before, "no connection was lost\n{}", report.outcome.transcript());
}

#[test]
fn a_network_without_websockets_costs_nothing() {
    // Many messages and large ones, a cut among them, a reload, and another file.
    let talks = "it('talks', async () => {\n\
        console.log('at talks');\n\
        for (let i = 0; i < 200; i++) { console.log(`line ${i}`); await pause(10); }\n\
        console.log('long ' + 'x'.repeat(300_000));\n\
        }, 30_000);\n";
    let reloads = "it('reloads', async () => { location.reload(); await pause(60_000); }, 0);\n\
        it('after', () => {});\n";
    let faults = Faults { refuses_sockets: true, ..Faults::default() };
    let mut trip = Trip::on(&[talks, reloads, NEXT], &[], faults);
    trip.reach("talks");
    trip.wire.cut();
    let (wire, report) = trip.end_with_wire();
    report.expect(&["passed talks", "failed reloads", "passed after", "passed next file"], &["reloaded"]);
    let lines: Vec<&str> = report.of("console").map(|event| event["text"].as_str().unwrap()).collect();
    let expected: Vec<String> = (0..200).map(|number| format!("line {number}")).collect();
    assert_eq!(lines[1..201], expected, "each once, in order");
    assert_eq!(lines[201].len(), 300_005);
    assert!(wire.refused() >= 2, "each document asked for a WebSocket first");
}

/// The page that comes back is often the very document that was left.
#[test]
fn a_page_that_is_left_and_comes_back_costs_the_test_that_was_running_at_most() {
    let leaves = "it('before', () => {});\n\
        it('leaves', async () => { const back = '<script>onpageshow = () => setTimeout(() => history.back(), 300)</script>';\n\
            location.href = URL.createObjectURL(new Blob([back], { type: 'text/html' })); await pause(60_000); }, 0);\n\
        it('after', () => {});\n";
    let trip = Trip::start(&[leaves, NEXT], &[]);
    let report = trip.end();
    report.expect(&["passed before", "failed leaves", "passed after", "passed next file"], &["navigated"]);
}

/// Nobody waits for the page to come back when there is nothing more to run in it.
#[test]
fn a_page_that_leaves_at_the_end_of_the_run_costs_what_it_had_not_said() {
    const LEAVE: &str = "location.href = 'about:blank'; await pause(60_000);";
    let in_hook = format!("it('last', () => {{}});\nafterAll(async () => {{ {LEAVE} }}, 0);\n");
    let in_test = format!("it('before', () => {{}});\nit('leaves', async () => {{ {LEAVE} }}, 0);\n");
    for (file, tests, losses) in [
        (in_hook, &["passed next file", "passed last"][..], &[][..]),
        (in_test, &["passed next file", "passed before", "failed leaves"], &["disconnected"]),
    ] {
        let report = Trip::start(&[NEXT, &file], &[]).end();
        report.expect(tests, losses);
        assert!(report.outcome.took < Duration::from_secs(50), "{:?}", report.outcome.took);
        let said = report.words();
        assert!(said.iter().any(|words| words.contains("the page")), "{said:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_phone_that_is_suspended_goes_on_when_it_wakes() {
    let sleeps = "it('sleeps', async () => { console.log('at sleeps'); for (let i = 0; i < 30; i++) await pause(100); });\n\
        it('after', () => {});\n";
    let mut trip = Trip::start(&[sleeps, NEXT], &["--silence-timeout", "40s", "--test-timeout", "40s"]);
    trip.reach("sleeps");
    trip.phone.signal(rustix::process::Signal::STOP);
    std::thread::sleep(Duration::from_secs(20));
    trip.phone.signal(rustix::process::Signal::CONT);
    let report = trip.end();
    report.expect(&["passed sleeps", "passed after", "passed next file"], &[]);
    let told = report.words().into_iter().filter(|words| words.contains("does not answer")).count();
    assert_eq!(told, 1, "{}", report.outcome.transcript());
    assert_eq!(report.states(), ["frozen", "live"], "{}", report.outcome.transcript());
}

#[test]
fn a_page_that_is_out_of_reach_for_a_while_is_talked_about_and_loses_nothing() {
    let mid = "it('mid', async () => { console.log('at mid'); await pause(6000); });\nit('after', () => {});\n";
    let mut trip = Trip::start(&[mid, NEXT], &[]);
    trip.reach("mid");
    trip.wire.block();
    trip.reach_words("lost its connection");
    trip.wire.unblock();
    let report = trip.end();
    report.expect(&["passed mid", "passed after", "passed next file"], &[]);
    assert_eq!(report.states(), ["reconnecting", "live"], "{}", report.outcome.transcript());
}

/// The code is in its last seconds when the page attaches; its ticket and its cookie outlive it.
#[test]
fn a_code_that_ends_during_the_run_ends_nothing() {
    let totp = Totp::new(&Secret::from_hex(SECRET).unwrap());
    // Six steps back is as old as a code may be. Enough of the step is left to attach.
    let oldest = loop {
        let now = UnixSeconds::now().0;
        if (5..20).contains(&(30 - now % 30)) {
            break now - 6 * 30;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let code = totp.code(UnixSeconds(oldest));
    let waits = "it('waits', async () => { console.log('at waits'); await pause(25_000); }, 60_000);\n";
    let reloads =
        "it('reloads', async () => { location.reload(); await pause(60_000); }, 0);\nit('after', () => {});\n";
    let mut trip = Trip::go(&[waits, reloads], &[], Faults::default(), |link| {
        let (before, _) = link.split_once("at=").unwrap();
        format!("{before}at={}", code.expose())
    });
    trip.reach("waits");
    while totp.accepts(code.expose(), UnixSeconds::now()) {
        std::thread::sleep(Duration::from_millis(100));
    }
    trip.wire.cut();
    trip.end().expect(&["passed waits", "failed reloads", "passed after"], &["reloaded"]);
}

/// O-09: a duplicated tab has the id of the first one, and is another page all the same.
#[test]
fn a_duplicated_tab_is_turned_away_and_said() {
    let waits = "it('waits', async () => { console.log('at waits'); await pause(5000); });\nit('after', () => {});\n";
    let mut trip = Trip::start(&[waits, NEXT], &[]);
    trip.reach("waits");
    trip.phone.tap("window.open(location.href) && 1");
    let report = trip.end();
    report.expect(&["passed waits", "passed after", "passed next file"], &[]);
    let told: Vec<_> = report.words().into_iter().filter(|words| words.contains("second page")).collect();
    assert!(matches!(&told[..], [words] if words.contains("--take-over")), "{}", report.outcome.transcript());
}

/// O-09
#[test]
fn with_take_over_a_second_tab_ends_what_runs_at_once_and_gets_the_rest() {
    let waits = "it('before', () => {});\n\
        it('waits', async () => { sessionStorage.first = 'yes'; console.log('at waits'); await pause(60_000); }, 0);\n\
        it('after', () => { expect(sessionStorage.first).toBeUndefined(); });\n";
    let mut trip = Trip::start(&[waits, NEXT], &["--take-over"]);
    trip.reach("waits");
    let link = trip.link.clone();
    trip.phone.open_tab(&link);
    let report = trip.end();
    report.expect(&["passed before", "failed waits", "passed after", "passed next file"], &["replaced"]);
    assert!(report.outcome.took < Duration::from_secs(50), "{:?}", report.outcome.took);
    let lost = report.of("pageLost").next().unwrap()["message"].as_str().unwrap();
    assert!(lost.contains("replaced by another page: Linux x86_64, Chrome"), "{lost}");
}

/// O-08
#[test]
fn only_the_page_that_was_asked_for_is_used_and_the_others_are_listed() {
    let running = |device: &str| {
        let other = format!("--device={device}");
        let trip = Trip::start(&[NEXT], &[&other, "--attach-timeout", "8s"]);
        trip.end()
    };
    running("chrome").expect(&["passed next file"], &[]);
    let report = running("iPhone");
    assert_eq!(report.outcome.code, Some(2), "{}", report.outcome.transcript());
    let said = report.outcome.transcript();
    assert!(said.contains("--device fits none of them: Linux x86_64, Chrome"), "{said}");
}

/// O-07: the way to the page is slow, and everything is in it before the first test all the same.
#[test]
fn globals_are_there_before_the_first_test_on_a_slow_way() {
    let project = tempfile::tempdir().unwrap();
    let test = "import { expect, it } from 'vitest';\nit('finds it', () => { expect(globalThis.API).toBe('x'); });\n";
    fs_err::write(project.path().join("a.ait.test.ts"), test).unwrap();
    let mut running = tool(project.path())
        .args(["a.ait.test.ts", "--show-url", "--global", "API=\"x\"", "--attach-timeout", "60s"])
        .start();
    let shown = running.wait_for("the attach link", link);
    let wire = Wire::to(&shown, Faults { delay: Duration::from_secs(1), ..Faults::default() });
    let phone = Phone::open(&wire.link(&shown));
    let outcome = running.wait();
    drop(phone);
    outcome.expect_code(0);
    assert!(outcome.stdout.contains("1 passed"), "{}", outcome.transcript());
}
