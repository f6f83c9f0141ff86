#![allow(clippy::unwrap_used)]
use super::*;

fn parsed(line: &str) -> Result<Parsed, String> {
    parse(std::iter::once("devtools-test").chain(line.split_whitespace()).map(OsString::from))
}

fn given(line: &str) -> Given {
    match parsed(line) {
        Ok(Parsed::Run(given)) => *given,
        Ok(other) => panic!("{other:?}"),
        Err(message) => panic!("{message}"),
    }
}

fn text(line: &str) -> String {
    match parsed(line) {
        Ok(Parsed::Text(text)) | Err(text) => text,
        Ok(other) => panic!("{other:?}"),
    }
}

#[test]
fn clap_finds_no_contradiction() {
    Cli::command().debug_assert();
}

#[test]
fn run_is_the_default() {
    assert_eq!(given("a.ts b.ts --target chrome").files, ["a.ts", "b.ts"]);
    assert_eq!(given("run a.ts --target chrome").files, ["a.ts"]);
    assert_eq!(given("./run").files, ["./run"]);
    assert_eq!(given("-- run --bail").files, ["run", "--bail"]);
    assert!(given("").files.is_empty());
}

#[test]
fn values_that_look_like_flags_reach_our_own_check() {
    assert_eq!(given("--timeout -1").timeout.as_deref(), Some("-1"));
    assert_eq!(given("-t -1").test_name_pattern.as_deref(), Some("-1"));
    assert_eq!(given("--bail -1").bail.as_deref(), Some("-1"));
}

#[test]
fn bail_may_stand_alone() {
    assert_eq!(given("--bail 3 a.ts").bail.as_deref(), Some("3"));
    let alone = given("--bail a.ts");
    assert_eq!((alone.bail.as_deref(), alone.files), (Some("1"), vec!["a.ts".to_owned()]));
    assert_eq!(given("a.ts --bail").bail.as_deref(), Some("1"));
    assert_eq!(given("--bail --target chrome").target.as_deref(), Some("chrome"));
    assert_eq!(given("--bail=2").bail.as_deref(), Some("2"));
}

#[test]
fn switches_that_are_not_typed_say_nothing() {
    assert_eq!(given("").manual, None);
    assert_eq!(given("--manual-blocking").manual, Some(true));
    assert_eq!(given("-vv").verbose, 2);
}

#[test]
fn help_shows_every_exit_code_and_version_the_version() {
    let help = text("--help");
    for exit in Exit::ALL {
        assert!(help.contains(&format!("  {:<4} {}", exit.code(), exit.meaning())), "{help}");
    }
    assert!(help.contains("ios-pwa") && help.contains("Time limits"), "{help}");
    assert_eq!(text("--version"), format!("devtools-test {}\n", env!("CARGO_PKG_VERSION")));
    assert!(text("run -h").contains("Exit codes"));
}

#[test]
fn a_mistake_is_named() {
    let message = text("--reportr json");
    assert!(message.starts_with("unexpected argument '--reportr' found"), "{message}");
    assert!(message.contains("--reporter"), "{message}");
}

#[test]
fn subcommands_take_their_own_options() {
    match parsed("secret init --project-root app") {
        Ok(Parsed::SecretInit(given)) => assert_eq!(given.project_root.as_deref(), Some("app")),
        other => panic!("{other:?}"),
    }
    match parsed("doctor --json --browser chromium") {
        Ok(Parsed::Doctor { given, json: true, .. }) => assert_eq!(given.browser.as_deref(), Some("chromium")),
        other => panic!("{other:?}"),
    }
    assert!(parsed("secret").is_err() && parsed("secret init --target chrome").is_err());
    assert!(text("secret --help").contains("init"));
    // Nobody sits at the terminal of an agent's server: what would be shown there is not offered.
    assert!(parsed("mcp --target chrome --headless --report-dir r").is_ok());
    for shown in ["--show-url", "--qr-stdout", "--qr-file=a.png", "--reporter=json"] {
        assert!(parsed("a.ts").is_ok() && text(&format!("mcp {shown}")).contains("unexpected argument"), "{shown}");
    }
    assert_eq!(given("./secret").files, ["./secret"]);
}
