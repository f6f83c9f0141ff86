//! The built tool with a tunnel that does not come up, and without one.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use support::cloudflared::{StandIn, stand_in};
use support::phone::Phone;
use support::procs;
use support::tool::{Outcome, Running, Tool};

use super::dns::Dns;
use super::open;

/// How long what we started may outlive a tool that was killed.
const TO_NOTICE: Duration = Duration::from_secs(5);

/// Waits for something that only looking tells.
#[track_caller]
fn until(mut seen: impl FnMut() -> bool) {
    let deadline = Instant::now() + TO_NOTICE;
    while !seen() {
        assert!(Instant::now() < deadline, "not within {TO_NOTICE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let test = "import { it } from 'vitest';\nit('holds', () => {});\n";
    fs_err::write(folder.path().join("a.ait.test.ts"), test).unwrap();
    folder
}

/// The tool with a cloudflared that does so.
fn tool(project: &tempfile::TempDir, what: &str) -> Tool {
    let tool = crate::tool(project.path()).env("CLOUDFLARED_BIN", stand_in()).env("STAND_IN", what);
    tool.args(["a.ait.test.ts", "--tunnel", "cloudflared", "--show-url"])
}

#[test]
fn no_tunnel_is_2_and_says_why_and_what_else_there_is() {
    let project = project();
    let outcome = tool(&project, "exit-1").env("DEVTOOLS_TEST_LOG", "trace").run();
    outcome.expect_code(2);
    let said = outcome.transcript();
    for part in ["ended with exit status 1", "failed to unmarshal quick Tunnel", "--tunnel lan"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert!(!said.contains("tunnel-that-was") && !said.contains("Attach link"), "{said}");
}

#[test]
fn a_cloudflared_that_is_not_there_is_named() {
    let project = project();
    let outcome = tool(&project, "good").env("CLOUDFLARED_BIN", "/no/such/cloudflared").run();
    outcome.expect_code(2);
    assert!(outcome.stderr.contains("/no/such/cloudflared"), "{}", outcome.transcript());
}

/// A run whose cloudflared runs and says nothing.
fn waiting(project: &tempfile::TempDir) -> Running {
    let mut running = tool(project, "silent").start();
    running.wait_for("the tunnel's stage", |line| line.contains("Starting a cloudflared tunnel").then_some(()));
    until(|| running.processes().iter().any(|process| process.command.contains("config.yml")));
    running
}

/// The tool with a tunnel that leads back to this machine.
fn through(project: &tempfile::TempDir, stand_in: &StandIn, dns: &Dns) -> Tool {
    tool(project, "")
        .env("CLOUDFLARED_BIN", stand_in.program())
        .env("STAND_IN", "")
        .env("STAND_IN_PORT", "shown")
        .env("SSL_CERT_FILE", stand_in.certificate_file())
        .env("DEVTOOLS_TEST_DNS", dns.address().to_string())
}

fn link(line: &str) -> Option<String> {
    let link = line[line.find("https://stand-in-")?..].split_whitespace().next()?;
    link.contains("at=").then(|| link.to_owned())
}

/// Fails if the host of a tunnel is read anywhere but in the links that were asked for.
fn expect_no_host(outcome: &Outcome) {
    let said = outcome.transcript();
    let told = said.lines().find(|line| line.contains("stand-in-") && !line.contains("Attach link"));
    assert_eq!(told, None, "{said}");
}

#[test]
fn a_phone_attaches_as_soon_as_the_name_is_known() {
    let (project, stand_in, dns) = (project(), StandIn::new("late"), Dns::start(2));
    let mut running = through(&project, &stand_in, &dns).start();
    running.wait_for("the stage", |line| line.contains("Waiting until its name is known").then_some(()));
    let link = running.wait_for("the attach link", link);
    assert_eq!(dns.asked(), 3, "a link is shown when the name is known, and not before");
    let phone = open(&link);
    let outcome = running.wait();
    drop(phone);
    outcome.expect_code(0);
    expect_no_host(&outcome);
    assert_eq!(stand_in.living(), []);
}

/// Opens the second link of a run whose tunnel is replaced for this reason.
fn replaced(plan: &str, reason: &str) {
    let (project, stand_in, dns) = (project(), StandIn::new(plan), Dns::start(0));
    let mut running = through(&project, &stand_in, &dns).start();
    let first = running.wait_for("the first link", link);
    running.wait_for(reason, |line| (line.contains(reason) && line.contains("a new code follows")).then_some(()));
    let second = running.wait_for("the second link", link);
    assert_ne!(first.split('?').next(), second.split('?').next(), "another address");
    let phone = open(&second);
    let outcome = running.wait();
    drop(phone);
    outcome.expect_code(0);
    expect_no_host(&outcome);
    assert_eq!((stand_in.starts().len(), stand_in.living()), (2, vec![]));
}

#[test]
fn one_that_dies_comes_back_with_another_link() {
    replaced("dies good", "ended with exit status 2");
}

#[test]
fn one_whose_edge_forgets_it_comes_back_with_another_link() {
    replaced("fades good", "HTTP 530");
}

/// A run that ends because there is no tunnel, within the time that a person waits.
fn never_up(plan: &str, reasons: &[&str]) {
    let (project, stand_in, dns) = (project(), StandIn::new(plan), Dns::start(0));
    let outcome = through(&project, &stand_in, &dns).run();
    outcome.expect_code(2);
    let said = outcome.transcript();
    for part in reasons.iter().chain(&["--tunnel lan", "There is no cloudflared tunnel"]) {
        assert!(said.contains(part), "{plan}: {part} in {said}");
    }
    assert!(!said.contains("Attach link"), "{plan}: {said}");
    assert!(outcome.took < Duration::from_secs(80), "{plan}: {:?}", outcome.took);
    expect_no_host(&outcome);
    assert_eq!(stand_in.living(), [], "{plan}");
}

#[test]
fn one_that_talks_nonsense_is_quoted() {
    never_up("garbage", &["ended with exit status 0", "<html>https://example.com</html>"]);
}

#[test]
fn one_that_tells_no_address_is_given_up_after_a_minute() {
    never_up("silent", &["it gave no address within 30 s"]);
}

#[test]
fn one_that_leads_to_an_error_page_is_given_up_after_a_minute() {
    never_up("530", &["the edge knows no such tunnel, HTTP 530"]);
}

#[test]
fn one_that_ignores_signals_is_ended_with_the_run() {
    let (project, stand_in, dns) = (project(), StandIn::new("stubborn"), Dns::start(0));
    let mut running = through(&project, &stand_in, &dns).start();
    running.wait_for("the attach link", link);
    assert_eq!(stand_in.living().len(), 1);
    let asked = Instant::now();
    running.signal(Signal::INT);
    running.wait().expect_code(130);
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    assert_eq!(stand_in.living(), []);
}

#[test]
#[cfg(target_os = "linux")]
fn one_that_ignores_signals_does_not_outlive_a_tool_that_is_killed() {
    let (project, stand_in, dns) = (project(), StandIn::new("stubborn"), Dns::start(0));
    let mut running = through(&project, &stand_in, &dns).start();
    running.wait_for("the attach link", link);
    running.signal(Signal::KILL);
    until(|| stand_in.living().is_empty());
}

#[test]
fn ctrl_c_ends_the_tunnel() {
    let project = project();
    let running = waiting(&project);
    running.signal(Signal::INT);
    running.wait().expect_code(130);
}

#[test]
#[cfg(target_os = "linux")]
fn the_tunnel_does_not_outlive_a_tool_that_is_killed() {
    let project = project();
    let running = waiting(&project);
    let session = running.pid();
    running.signal(Signal::KILL);
    until(|| procs::of_session(session).iter().all(|process| process.pid == session));
}

#[test]
fn a_phone_in_the_same_network_attaches_where_it_was_told_to() {
    let project = project();
    let mut running = crate::tool(project.path())
        .args(["a.ait.test.ts", "--tunnel", "lan", "--host", "127.0.0.1", "--show-url"])
        .start();
    let link = running.wait_for("the attach link", crate::attach_clock::link);
    assert!(link.starts_with("http://127.0.0.1:"), "{link}");
    let phone = Phone::open(&link);
    let outcome = running.wait();
    drop(phone);
    outcome.expect_code(0);
    assert!(outcome.stdout.contains("pages loaded over https cannot"), "{}", outcome.transcript());
}

#[test]
fn a_network_is_chosen_by_the_default_route_or_by_name() {
    let project = project();
    let lan = |args: &[&str]| {
        let limits = ["a.ait.test.ts", "--tunnel", "lan", "--show-url", "--attach-timeout", "1s"];
        crate::tool(project.path()).args(limits).args(args).run()
    };
    let named = lan(&["--host", "no-such-interface"]);
    named.expect_code(64);
    assert!(named.stderr.contains("--host") && named.stderr.contains("(127.0.0.1)"), "{}", named.transcript());
    let networks = if_addrs::get_if_addrs().unwrap();
    let networks: Vec<_> =
        networks.iter().filter(|i| !i.is_loopback() && !i.is_link_local() && i.ip().is_ipv4()).collect();
    let chosen = lan(&[]);
    chosen.expect_code(2);
    let said = chosen.transcript();
    if networks.is_empty() {
        assert!(said.contains("in no local network"), "{said}");
    } else {
        assert!(networks.iter().any(|i| said.contains(&format!("http://{}:", i.ip()))), "{networks:?}: {said}");
        assert!(networks.iter().any(|i| said.contains(&format!("in the local network, on {}", i.name))), "{said}");
    }
}

/// The phone scans the second link when the tunnel it came by is gone while a test runs.
#[test]
fn one_that_dies_during_the_run_costs_the_test_that_was_running_at_most() {
    let (project, stand_in, dns) = (project(), StandIn::new("good good"), Dns::start(0));
    let waits = "import { it } from 'vitest';\n\
        it('waits', () => { console.log('at waits'); return new Promise(() => {}); }, 60_000);\n\
        it('after', () => {});\n";
    fs_err::write(project.path().join("0.ait.test.ts"), waits).unwrap();
    let mut running = through(&project, &stand_in, &dns).args(["0.ait.test.ts"]).start();
    let first = running.wait_for("the first link", link);
    let phone = open(&first);
    running.wait_for("the test", |line| line.contains("> waits").then_some(()));
    for tunnel in stand_in.living() {
        rustix::process::kill_process(rustix::process::Pid::from_raw(tunnel.pid).unwrap(), Signal::KILL).unwrap();
    }
    let second = running.wait_for("the second link", link);
    assert_ne!(first.split('?').next(), second.split('?').next(), "another address");
    let again = open(&second);
    let outcome = running.wait();
    drop((phone, again));
    outcome.expect_code(1);
    expect_no_host(&outcome);
    let said = outcome.transcript();
    for part in ["FAIL 0.ait.test.ts  1 passed, 1 failed", "PASS a.ait.test.ts  1 passed", "killed by signal 9"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert_eq!(said.matches("page lost:").count(), 1, "the cause is named once\n{said}");
    assert_eq!((stand_in.starts().len(), stand_in.living()), (2, vec![]));
}
