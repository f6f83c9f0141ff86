//! Clients that nobody here wrote: the official SDK's, and the MCP Inspector's command line. `clients/` holds the tests,
//! which Node runs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The npm package beside this file.
fn package() -> PathBuf {
    support::repo().join("tests/it/mcp/clients")
}

/// Installs what the lockfile names, once; tests that run at the same time wait for each other.
fn install(package: &Path) {
    let guard = File::open(package.join("package-lock.json")).unwrap();
    guard.lock().unwrap();
    if package.join("node_modules").is_dir() {
        return;
    }
    let done = Command::new("npm").args(["ci", "--loglevel=error"]).current_dir(package).status().unwrap();
    assert!(done.success(), "npm ci in {}", package.display());
}

/// Runs the tests of one file.
fn run(file: &str) {
    let package = package();
    install(&package);
    let output = Command::new("node")
        .args(["--test", file])
        .current_dir(&package)
        .env("DEVTOOLS_TEST_EXE", crate::EXE)
        .env_remove("NODE_OPTIONS")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("# fail 0") || said.contains("fail 0"), "{said}");
}

#[test]
fn the_official_client_finds_nothing_wrong() {
    run("sdk.test.mjs");
}

#[test]
fn the_inspector_finds_nothing_wrong() {
    run("inspector.test.mjs");
}
