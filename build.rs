//! Builds the scripts that run inside a page from `test-runner/src` (or takes the ready ones a published crate carries)
//! and leaves them in `OUT_DIR`, where `src/assets.rs` embeds them.
#![allow(clippy::print_stdout)] // A build script speaks to cargo on its standard output.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the bundles are made of, relative to `test-runner/`.
const SOURCES: [&str; 8] = [
    "src",
    "package.json",
    "package-lock.json",
    "build.mjs",
    "build-plugins.mjs",
    "build-late-globals.mjs",
    "build-natives.mjs",
    "tsconfig.json",
];

/// Copy of the lockfile that the installed `node_modules` were made from.
const INSTALLED_LOCK: &str = "node_modules/.installed-lock.json";

fn main() {
    if let Err(message) = run() {
        println!("cargo::error={}", message.replace('\n', " "));
    }
}

fn run() -> Result<(), String> {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    let package = root.join("test-runner");
    println!("cargo::rerun-if-changed=build.rs");
    let ready = package.join("dist");
    if ready.is_dir() {
        println!("cargo::rerun-if-changed={}", ready.display());
        return copy_scripts(&ready, &out);
    }
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", package.join(source).display());
    }
    // Builds of one checkout into two target folders share node_modules.
    let guard = File::open(root.join("build.rs")).map_err(|e| format!("cannot open build.rs: {e}"))?;
    guard.lock().map_err(|e| format!("cannot lock build.rs: {e}"))?;
    install(&package)?;
    call(Command::new("node").arg("build.mjs").arg(&out).current_dir(&package), "bundling test-runner/src")
}

fn variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("{name} is not set: build.rs is meant to be run by cargo"))
}

fn copy_scripts(from: &Path, to: &Path) -> Result<(), String> {
    let fail = |e: std::io::Error| format!("cannot copy the page scripts of {}: {e}", from.display());
    for entry in fs::read_dir(from).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        if entry.path().extension().is_some_and(|x| x == "js") {
            fs::copy(entry.path(), to.join(entry.file_name())).map_err(fail)?;
        }
    }
    Ok(())
}

/// Runs `npm ci`, but only when there are no modules yet or the lockfile is another one than they were made from.
fn install(package: &Path) -> Result<(), String> {
    let lock =
        fs::read(package.join("package-lock.json")).map_err(|e| format!("cannot read package-lock.json: {e}"))?;
    let stamp = package.join(INSTALLED_LOCK);
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    call(
        Command::new(npm).args(["ci", "--include=dev", "--loglevel=error"]).current_dir(package),
        "npm ci in test-runner",
    )?;
    fs::write(&stamp, lock).map_err(|e| format!("cannot write {}: {e}", stamp.display()))
}

fn call(command: &mut Command, what: &str) -> Result<(), String> {
    let output = command.output().map_err(|e| match e.kind() {
        ErrorKind::NotFound => {
            "the scripts that run inside a page are built with Node: install Node.js 20 or newer with npm, and build again"
                .to_string()
        }
        _ => format!("{what} could not be started: {e}"),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(format!("{what} failed ({}): {}", output.status, String::from_utf8_lossy(&text).trim()))
}
