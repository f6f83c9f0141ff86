//! The built tool with a tunnel that does not come up, and without one.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use support::cloudflared::stand_in;
use support::phone::Phone;
use support::procs;
use support::tool::{Running, Tool};

/// How long what we started may outlive a tool that was killed.
const TO_NOTICE: Duration = Duration::from_secs(5);

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
    let deadline = Instant::now() + TO_NOTICE;
    while !running.processes().iter().any(|process| process.command.contains("config.yml")) {
        assert!(Instant::now() < deadline, "it is started: {:?}", running.processes());
        std::thread::yield_now();
    }
    running
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
    let killed = Instant::now();
    while procs::of_session(session).iter().any(|process| process.pid != session) {
        assert!(killed.elapsed() < TO_NOTICE, "still there: {:?}", procs::of_session(session));
        std::thread::yield_now();
    }
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
