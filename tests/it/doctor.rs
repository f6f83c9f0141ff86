//! `devtools-test doctor`, run as a person runs it.

use std::net::TcpListener;
use std::path::Path;

use serde_json::Value;
use support::tool::{Outcome, Tool};

use crate::tool;

fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("package.json"), "{}").unwrap();
    folder
}

fn doctor(folder: &Path) -> Tool {
    tool(folder).args(["doctor", "--json", "--clock", "none"])
}

/// The one check of this name.
#[track_caller]
fn check(outcome: &Outcome, name: &str) -> Value {
    let all: Value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|e| panic!("{e}\n{}", outcome.transcript()));
    let found: Vec<&Value> = all["checks"].as_array().unwrap().iter().filter(|c| c["check"] == name).collect();
    assert_eq!(found.len(), 1, "{name}\n{}", outcome.transcript());
    found[0].clone()
}

#[track_caller]
fn expect(outcome: &Outcome, name: &str, verdict: &str, found: &str) {
    let check = check(outcome, name);
    let words = format!("{} {}", check["found"], check["next"]);
    assert!(check["verdict"] == verdict && words.contains(found), "{name}: {check:#}");
}

#[test]
fn a_machine_that_is_ready() {
    let project = project();
    tool(project.path()).args(["secret", "init"]).run().expect_code(0);
    let outcome = doctor(project.path()).run();
    outcome.expect_code(0);
    assert_eq!(outcome.stderr, "");
    expect(&outcome, "secret", "ok", ".ait_relay");
    expect(&outcome, "clock", "ok", "agrees");
    expect(&outcome, "relay", "ok", "4401");
    expect(&outcome, "chrome", "ok", "Chrome");
    expect(&outcome, "stdout", "ok", "JSON lines");
    expect(&outcome, "temp", "ok", "can be written to");
    let left: Vec<_> = fs_err::read_dir(outcome.scratch()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");

    let secret = fs_err::read_to_string(project.path().join(".ait_relay")).unwrap();
    let people = tool(project.path()).args(["doctor", "--clock", "none"]).run();
    people.expect_code(0);
    for output in [outcome.transcript(), people.transcript()] {
        assert!(!output.contains(secret.trim()) && !output.contains('\u{1b}'), "{output}");
    }
    assert!(people.stdout.lines().last().unwrap().starts_with("READY  "), "{}", people.stdout);
}

#[test]
#[cfg(unix)]
fn what_is_broken_is_named_with_the_next_step() {
    use std::os::unix::fs::PermissionsExt;
    let project = project();
    fs_err::write(project.path().join(".ait_relay"), "00112233445566778899aabbccddeeff").unwrap();
    fs_err::set_permissions(project.path().join(".ait_relay"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let liar = project.path().join("chrome");
    fs_err::write(&liar, "#!/bin/sh\necho out of order >&2\nexit 7\n").unwrap();
    fs_err::set_permissions(&liar, std::fs::Permissions::from_mode(0o755)).unwrap();
    let tunnel = project.path().join("cloudflared");
    fs_err::write(&tunnel, "#!/bin/sh\n[ \"$1\" = --version ] && echo 'cloudflared version 2099.1.0 (built never)'\n")
        .unwrap();
    fs_err::set_permissions(&tunnel, std::fs::Permissions::from_mode(0o755)).unwrap();
    // Nothing is in it but what the test itself needs: no Node, no WebKit.
    let bare = project.path().join("bin");
    fs_err::create_dir(&bare).unwrap();
    let setsid = ["/usr/bin/setsid", "/bin/setsid"].into_iter().find(|path| Path::new(path).exists());
    if let Some(setsid) = setsid {
        std::os::unix::fs::symlink(setsid, bare.join("setsid")).unwrap();
    }
    let outcome = doctor(project.path())
        .args(["--browser".as_ref(), liar.as_os_str()])
        .env("CLOUDFLARED_BIN", &tunnel)
        .env("FORCE_COLOR", "1")
        .env("PATH", &bare)
        .run();
    outcome.expect_code(2);
    expect(&outcome, "secret", "failed", "chmod 600");
    expect(&outcome, "chrome", "failed", "out of order");
    expect(&outcome, "chrome", "failed", "exit status 7");
    expect(&outcome, "tunnel", "ok", "2099.1.0");
    expect(&outcome, "webkit", "skipped", "webkit2gtk-driver");
    expect(&outcome, "stdout", "warning", "FORCE_COLOR");
    expect(&outcome, "relay", "ok", "4401");
    assert!(!outcome.transcript().contains("00112233445566778899aabbccddeeff"));

    let gone =
        doctor(project.path()).args(["--browser", "/no/such/chrome"]).env("CLOUDFLARED_BIN", "/no/such/tunnel").run();
    gone.expect_code(2);
    expect(&gone, "chrome", "failed", "/no/such/chrome");
    expect(&gone, "tunnel", "failed", "CLOUDFLARED_BIN");
    let people = tool(project.path()).args(["doctor", "--clock", "none", "--browser", "/no/such/chrome"]).run();
    people.expect_code(2);
    assert!(people.stdout.lines().last().unwrap().starts_with("NOT READY  "), "{}", people.stdout);
}

/// O-31: the port is taken, by us or by somebody else.
#[test]
fn a_taken_port_is_no_fault_and_the_next_one_is_named() {
    let project = project();
    let taken = TcpListener::bind("127.0.0.1:8317");
    let outcome = doctor(project.path()).args(["--browser", "/no/such/chrome"]).run();
    drop(taken);
    expect(&outcome, "ports", "ok", "8317 is taken; the dashboard gets 83");
}

#[test]
fn a_clock_that_is_wrong_is_seen_against_another() {
    let project = project();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let yesterday = || {
        let date = httpdate::fmt_http_date(std::time::SystemTime::now() - std::time::Duration::from_secs(86_400));
        std::future::ready([(axum::http::header::DATE, date)])
    };
    runtime.spawn(async move { axum::serve(listener, axum::Router::new().fallback(yesterday)).await });
    let asks = |whom: &str| {
        tool(project.path()).args(["doctor", "--json", "--clock", whom, "--browser", "/no/such/chrome"]).run()
    };
    expect(&asks(&url), "clock", "warning", "s fast");
    // Nobody listens there any more: whoever is offline has a clock all the same.
    drop(runtime);
    expect(&asks(&url), "clock", "ok", "not known (127.0.0.1: it does not answer)");
}

#[test]
fn an_address_of_a_person_is_tried() {
    let project = project();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let url = format!("http://127.0.0.1:{port}");
    let asks = |args: &[&str]| doctor(project.path()).args(["--browser", "/no/such/chrome"]).args(args).run();
    let leads_here = asks(&["--tunnel", &url, "--relay-port", &port]);
    expect(&leads_here, "tunnel", "ok", "our relay answers at the address");
    assert!(!leads_here.transcript().contains(&url), "{}", leads_here.transcript());
    expect(&asks(&["--tunnel", &url]), "tunnel", "skipped", "--relay-port");
}

#[test]
#[cfg(unix)]
fn a_tunnel_that_leads_nowhere_is_named() {
    let project = project();
    let outcome = doctor(project.path())
        .args(["--browser", "/no/such/chrome", "--tunnel", "cloudflared"])
        .env("CLOUDFLARED_BIN", support::cloudflared::stand_in())
        .env("STAND_IN", "exit-1")
        .run();
    outcome.expect_code(2);
    expect(&outcome, "tunnel", "failed", "does not lead to our relay");
    assert!(!outcome.transcript().contains("tunnel-that-was"), "{}", outcome.transcript());
}

#[test]
fn a_wrong_setting_is_64() {
    let project = project();
    doctor(project.path()).args(["--project-root", "nowhere"]).run().expect_code(64);
}
