//! The clock of the attach is not the clock of tests (O-15).

use std::time::Duration;

use support::phone::Phone;

use crate::tool;

const LIMIT_OF_TESTS: &str = "1s";
/// How late the phone comes: well past the limit of tests.
const LATE: Duration = Duration::from_secs(3);

fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let test = "import { it } from 'vitest';\nit('holds', () => {});\n";
    fs_err::write(folder.path().join("a.ait.test.ts"), test).unwrap();
    folder
}

/// The attach link in a line.
pub(crate) fn link(line: &str) -> Option<String> {
    let link = line[line.find("http://")?..].split_whitespace().next()?;
    link.contains("at=").then(|| link.to_owned())
}

#[test]
fn a_late_phone_is_waited_for_whatever_the_limit_of_tests() {
    let project = project();
    let mut running = tool(project.path())
        .args(["a.ait.test.ts", "--show-url", "--test-timeout", LIMIT_OF_TESTS, "--hook-timeout", LIMIT_OF_TESTS])
        .start();
    let link = running.wait_for("the attach link", link);
    std::thread::sleep(LATE);
    let phone = Phone::open(&link);
    let outcome = running.wait();
    drop(phone);
    outcome.expect_code(0);
    assert!(outcome.stdout.contains("1 passed"), "{}", outcome.transcript());
}

#[test]
fn no_phone_in_time_is_2_and_names_the_clock() {
    let project = project();
    let outcome = tool(project.path()).args(["a.ait.test.ts", "--attach-timeout", "1s"]).run();
    outcome.expect_code(2);
    assert!(outcome.transcript().contains("--attach-timeout"), "{}", outcome.transcript());
    assert!(outcome.took < Duration::from_secs(10), "{:?}", outcome.took);
}
