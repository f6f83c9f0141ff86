//! The secret and its file, as a person meets them.

use std::path::Path;

use support::tool::Outcome;

use crate::tool;

const ONE: &str = "00112233445566778899aabbccddeeff";
const OTHER: &str = "ffeeddccbbaa99887766554433221100";

/// A project inside a repository, with one file that holds.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs_err::create_dir(folder.path().join(".git")).unwrap();
    fs_err::write(folder.path().join("package.json"), "{}").unwrap();
    fs_err::write(folder.path().join("a.ait.test.ts"), "import { it } from 'vitest';\nit('holds', () => {});\n")
        .unwrap();
    folder
}

fn init(folder: &Path) -> Outcome {
    tool(folder).args(["secret", "init"]).run()
}

/// A run that waits for a page that nobody opens.
fn attach(folder: &Path) -> support::tool::Tool {
    tool(folder).args(["a.ait.test.ts", "--attach-timeout", "300ms"])
}

fn times(outcome: &Outcome, words: &str) -> usize {
    outcome.transcript().matches(words).count()
}

/// O-41, second half: mode 0600, ignored by git, both said once.
#[test]
#[cfg(unix)]
fn init_makes_a_private_file_that_git_ignores() {
    use std::os::unix::fs::PermissionsExt;
    let project = project();
    let made = init(project.path());
    made.expect_code(0);
    assert_eq!((times(&made, "mode 600"), times(&made, ".gitignore")), (1, 1), "{}", made.transcript());
    let path = project.path().join(".ait_relay");
    let text = fs_err::read_to_string(&path).unwrap();
    let digits = text.trim_end();
    assert!(digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()), "64 hex digits");
    assert_eq!(fs_err::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs_err::read_to_string(project.path().join(".gitignore")).unwrap(), ".ait_relay\n");
    assert!(!made.transcript().contains(digits));

    let again = init(project.path());
    again.expect_code(0);
    assert_eq!(fs_err::read_to_string(&path).unwrap(), text);
    assert!(!again.transcript().contains(digits) && times(&again, "left as it is") == 1, "{}", again.transcript());

    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    for refused in [init(project.path()), attach(project.path()).run()] {
        assert!(matches!(refused.code, Some(2 | 64)), "{}", refused.transcript());
        assert!(
            times(&refused, "chmod 600") == 1 && !refused.transcript().contains(digits),
            "{}",
            refused.transcript()
        );
    }
}

/// O-41, first half: one warning without values, which says who wins.
#[test]
#[cfg(unix)]
fn two_different_secrets_are_warned_of_once() {
    use std::os::unix::fs::PermissionsExt;
    let project = project();
    let path = project.path().join(".ait_relay");
    fs_err::write(&path, ONE).unwrap();
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let same = attach(project.path()).env("AIT_DEBUG_TOTP_SECRET", ONE).run();
    assert_eq!(times(&same, "different secrets"), 0, "{}", same.transcript());
    let differ = attach(project.path()).env("AIT_DEBUG_TOTP_SECRET", OTHER).run();
    differ.expect_code(2);
    assert_eq!(times(&differ, "different secrets; the variable is used"), 1, "{}", differ.transcript());
    assert!(!differ.transcript().contains(ONE) && !differ.transcript().contains(OTHER));
    assert_eq!(fs_err::read_to_string(&path).unwrap(), ONE);
}

#[test]
fn a_run_never_writes_the_file() {
    let project = project();
    attach(project.path()).run().expect_code(2);
    assert!(!project.path().join(".ait_relay").exists() && !project.path().join(".gitignore").exists());
}
