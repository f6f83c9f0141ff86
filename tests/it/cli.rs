//! The command line as a person meets it.

use std::path::Path;
use std::process::{Command, Stdio};

use support::tool::{Outcome, Tool};

use crate::{EXE, tool};

/// A project with one file that holds.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.ait.test.ts", "import { it } from 'vitest';\nit('holds', () => {});\n");
    folder
}

fn write(folder: &Path, name: &str, text: &str) {
    fs_err::write(folder.join(name), text).unwrap();
}

fn run(folder: &Path, args: &[&str]) -> Outcome {
    tool(folder).args(args).run()
}

/// Whether either stream says it.
#[track_caller]
fn says(outcome: &Outcome, words: &[&str]) {
    for word in words {
        let said = outcome.stdout.contains(word) || outcome.stderr.contains(word);
        assert!(said, "{word:?} is said nowhere\n{}", outcome.transcript());
    }
}

#[test]
fn a_wrong_command_line_is_64_and_says_what_is_wrong() {
    let project = project();
    for (args, words) in [
        (&["a.ait.test.ts", "--no-such-option"][..], &["--no-such-option"][..]),
        (&["a.ait.test.ts", "--target", "toaster"], &["toaster", "chrome", "device"]),
        (&["a.ait.test.ts", "--target", "chrome", "--cell-platform", "fridge"], &["fridge", "ios-pwa", "android"]),
        (&["a.ait.test.ts", "--target", "chrome", "--timeout", "5000abc"], &["--timeout", "5000abc"]),
        (&["a.ait.test.ts", "--target", "chrome", "--timeout", "-1"], &["--timeout"]),
        (&["a.ait.test.ts", "--target", "chrome", "--global", "NAME=text"], &["--global", "NAME"]),
        (&["a.ait.test.ts", "--target", "chrome", "--global", "location=\"x\""], &["--global", "location"]),
        (&["a.ait.test.ts", "--target", "chrome", "-t", "a{2,1}"], &["--test-name-pattern", "a{2,1}"]),
        (&["a.ait.test.ts", "--target", "chrome", "--bundle-target", "netscape4"], &["--bundle-target", "netscape4"]),
        (&["a.ait.test.ts", "--target", "chrome", "--bundle-target", "es2022,es2020"], &["--bundle-target", "es2022"]),
        (&["a.ait.test.ts", "--reporter", "json=x", "--log-file", "./x"], &["--reporter", "--log-file", "./x"]),
    ] {
        let outcome = run(project.path(), args);
        assert_eq!(outcome.code, Some(64), "{args:?}\n{}", outcome.transcript());
        says(&outcome, words);
    }
}

#[test]
fn a_variable_is_blamed_by_its_name() {
    let project = project();
    let outcome =
        tool(project.path()).args(["a.ait.test.ts", "--target", "chrome"]).env("AIT_CELL_PLATFORM", "fridge").run();
    outcome.expect_code(64);
    says(&outcome, &["AIT_CELL_PLATFORM", "fridge"]);
}

#[test]
fn help_and_version_need_nothing() {
    let empty = tempfile::tempdir().unwrap();
    let help = run(empty.path(), &["--help"]);
    help.expect_code(0);
    says(&help, &["--target", "--report-dir", "--timeout", "64", "143"]);
    let version = run(empty.path(), &["--version"]);
    version.expect_code(0);
    says(&version, &[env!("CARGO_PKG_VERSION")]);
}

#[test]
fn nothing_matched_is_4_and_names_every_argument() {
    let project = project();
    let none = run(project.path(), &["nowhere/*.ait.test.ts", "gone.ait.test.ts", "--target", "chrome"]);
    none.expect_code(4);
    says(&none, &["nowhere/*.ait.test.ts", "gone.ait.test.ts"]);

    let one = run(project.path(), &["a.ait.test.ts", "nowhere/*.ait.test.ts", "--target", "chrome"]);
    says(&one, &["nowhere/*.ait.test.ts", "1 passed"]);
}

#[test]
fn no_test_is_never_green_unless_asked_for() {
    let project = project();
    write(project.path(), "empty.ait.test.ts", "");
    let empty = run(project.path(), &["empty.ait.test.ts", "--target", "chrome"]);
    empty.expect_code(4);
    let asked = run(project.path(), &["empty.ait.test.ts", "--target", "chrome", "--pass-with-no-tests"]);
    asked.expect_code(0);
    let filtered = run(project.path(), &["a.ait.test.ts", "--target", "chrome", "-t", "no such title"]);
    filtered.expect_code(4);
}

#[test]
fn focus_is_refused_in_ci_unless_allowed() {
    let project = project();
    write(
        project.path(),
        "focus.ait.test.ts",
        "import { it } from 'vitest';\nit.only('focused', () => {});\nit('other', () => {});\n",
    );
    let args = ["focus.ait.test.ts", "--target", "chrome"];
    let here = run(project.path(), &args);
    here.expect_code(0);
    let in_ci = tool(project.path()).args(args).env("CI", "true").run();
    in_ci.expect_code(1);
    says(&in_ci, &["only", "--allow-only"]);
    let allowed = tool(project.path()).args(args).args(["--allow-only"]).env("CI", "true").run();
    allowed.expect_code(0);
}

#[test]
fn bail_stops_after_the_first_failure() {
    let project = project();
    write(
        project.path(),
        "0.ait.test.ts",
        "import { it } from 'vitest';\nit('fails', () => { throw new Error('no'); });\n",
    );
    let outcome = run(project.path(), &["*.ait.test.ts", "--target", "chrome", "--bail", "1"]);
    outcome.expect_code(1);
    says(&outcome, &["FAILED  0 passed, 1 failed in 2 files", "1 not run", "--bail"]);
}

/// The built tool through a link, from another folder, into a pipe: always its summary.
#[test]
#[cfg(unix)]
fn a_link_a_pipe_and_another_folder_change_nothing() {
    let project = project();
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("linked-tool");
    std::os::unix::fs::symlink(EXE, &link).unwrap();

    let file = project.path().join("a.ait.test.ts");
    let linked =
        Tool::new(&link, elsewhere.path()).args([file.as_os_str(), "--target".as_ref(), "chrome".as_ref()]).run();
    linked.expect_code(0);
    says(&linked, &["PASS ", "PASSED  1 passed in 1 file"]);

    let mut child = Command::new(&link)
        .args(["a.ait.test.ts", "--target", "chrome"])
        .current_dir(project.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let piped = Command::new("cat").stdin(child.stdout.take().unwrap()).output().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let text = String::from_utf8(piped.stdout).unwrap();
    assert!(text.contains("PASSED  1 passed in 1 file"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours into a pipe: {text:?}");
}

/// A reader that goes away ends the run quietly, and nothing is left behind.
#[test]
#[cfg(unix)]
fn a_pipe_that_closes_is_no_crash() {
    let project = project();
    let mut child = Command::new(EXE)
        .args(["a.ait.test.ts", "--target", "chrome"])
        .current_dir(project.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{errors}");
    assert!(output.status.code().is_some(), "no signal ended it: {:?}\n{errors}", output.status);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_no_success() {
    let project = project();
    let full = || Stdio::from(fs_err::OpenOptions::new().write(true).open("/dev/full").unwrap().into_file());
    for args in [
        &["a.ait.test.ts", "--target", "chrome"][..],
        &["a.ait.test.ts", "--target", "chrome", "--reporter", "json"],
        &["--help"],
    ] {
        let run = Command::new(EXE).args(args).current_dir(project.path()).stdout(full()).output().unwrap();
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{args:?}\n{stderr}");
        assert_eq!(stderr.matches("cannot write to stdout: ").count(), 1, "{args:?}\n{stderr}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_working_directory_that_was_removed_is_named() {
    let project = project();
    let script = format!("rmdir \"$PWD\" && exec {EXE} --target chrome");
    let gone = project.path().join("gone");
    fs_err::create_dir(&gone).unwrap();
    let run = Command::new("sh").args(["-c", &script]).current_dir(gone).output().unwrap();
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("the working directory cannot be used: ") && stderr.contains("change to"), "{stderr}");
}

#[test]
fn a_page_that_never_answers_is_said_to_be_waited_for_and_given_up_once() {
    let project = project();
    let server = support::server::FixtureServer::start();
    let outcome = run(
        project.path(),
        &["a.ait.test.ts", "--target", "chrome", "--page-url", &server.at("/hang"), "--navigation-timeout", "5s"],
    );
    outcome.expect_code(2);
    says(&outcome, &["/hang has not answered yet; waiting up to 5s (--navigation-timeout)", "came within 5s"]);
    assert!(outcome.took < std::time::Duration::from_secs(15), "{:?}\n{}", outcome.took, outcome.transcript());
}
