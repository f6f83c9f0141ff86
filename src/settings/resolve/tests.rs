#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::time::Duration;

use secrecy::ExposeSecret;
use serde_json::json;

use crate::event::TargetKind;
use crate::secret::Hidden;
use crate::settings::file::{FileGiven, parse};
use crate::settings::{Given, LinkWish, Settings, SettingsError, Source, Sourced, Surroundings, TunnelWish};

/// Flags, environment and file of one check.
#[derive(Default)]
struct Check {
    flags: Given,
    variables: Vec<(&'static str, &'static str)>,
    file: Option<FileGiven>,
}

impl Check {
    fn flags(change: impl FnOnce(&mut Given)) -> Self {
        let mut check = Self::default();
        change(&mut check.flags);
        check
    }

    fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    fn file(mut self, text: &str) -> Self {
        self.file = Some(parse("/project/devtools-test.toml".into(), text).unwrap());
        self
    }

    fn resolve(self) -> Result<Settings, SettingsError> {
        let environment =
            |name: &str| self.variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let around = Surroundings { environment: &environment, cwd: "/project/sub".into(), stdout_is_terminal: false };
        super::resolve(self.flags, self.file, &around)
    }

    fn refused(self) -> String {
        self.resolve().unwrap_err().to_string()
    }
}

fn some(text: &str) -> Option<String> {
    Some(text.into())
}

#[test]
fn defaults() {
    let settings = Check::default().resolve().unwrap();
    assert_eq!(settings.target.kind, TargetKind::Device);
    assert_eq!(settings.limits.file, Duration::from_secs(60));
    assert!(settings.limits.silence < settings.limits.file);
    assert_eq!(settings.attach.timeout, None);
    assert!(settings.selection.allow_only);
    assert_eq!(settings.selection.patterns.source, Source::Default);
    assert_eq!(settings.cell, None);
    assert_eq!(settings.cell_or_default().file_stem(), "2.x.mock");
    assert!(!settings.look.color && !settings.look.progress);
}

#[test]
fn flag_beats_environment_beats_file_beats_default() {
    let file = "cell-platform = \"webkit\"\ncell-sdk-line = 3\n";
    let platform = |check: Check| check.resolve().unwrap().cell.unwrap().platform;
    assert_eq!(platform(Check::default().file(file)), "webkit");
    assert_eq!(platform(Check::default().file(file).variable("AIT_CELL_PLATFORM", "ios")), "ios");
    let flags = Check::flags(|given| given.cell_platform = some("android"));
    assert_eq!(platform(flags.file(file).variable("AIT_CELL_PLATFORM", "ios")), "android");
    assert_eq!(platform(Check::default().file(file).variable("AIT_CELL_PLATFORM", "")), "webkit");
    assert_eq!(Check::default().file(file).resolve().unwrap().cell.unwrap().sdk_line, "3");
}

#[test]
fn a_refusal_blames_who_said_it() {
    let message = Check::default().variable("AIT_CELL_PLATFORM", "x").refused();
    assert_eq!(
        message,
        "AIT_CELL_PLATFORM is \"x\": it must be one of mock, chromium, webkit, ios, ios-sim, ios-pwa, android"
    );
    let message = Check::flags(|given| given.cell_platform = some("")).refused();
    assert!(message.starts_with("--cell-platform is \"\": it must be one of"), "{message}");
    let message = Check::default().file("test-timeout = 1.9").refused();
    assert!(message.starts_with("test-timeout in /project/devtools-test.toml is \"1.9\": give a whole"), "{message}");
    let message = Check::default().file("[globals]\n\"a-b\" = 1").refused();
    assert!(message.starts_with("globals in /project/devtools-test.toml is \"a-b\""), "{message}");
    let message = Check::flags(|given| given.timeout = some("5000abc")).refused();
    assert!(message.starts_with("--timeout is \"5000abc\": give a whole number of milliseconds"), "{message}");
}

#[test]
fn ci_bounds_the_wait_and_forbids_focus() {
    let settings = Check::default().variable("CI", "true").resolve().unwrap();
    assert_eq!(settings.attach.timeout.unwrap().value, Duration::from_secs(120));
    assert!(!settings.selection.allow_only);
    for off in ["", "false", "0"] {
        assert!(!Check::default().variable("CI", off).resolve().unwrap().ci);
    }
    let asked = Check::flags(|given| {
        given.allow_only = Some(true);
        given.attach_timeout = some("5s");
    });
    let settings = asked.variable("CI", "1").resolve().unwrap();
    assert!(settings.selection.allow_only);
    assert_eq!(settings.attach.timeout.unwrap().value, Duration::from_secs(5));
}

#[test]
fn an_endpoint_is_a_target_of_its_own() {
    let endpoint = |target: Option<&str>| {
        Check::flags(|given| {
            given.cdp_endpoint = some("http://localhost:9222");
            given.target = target.map(String::from);
        })
    };
    assert_eq!(endpoint(None).resolve().unwrap().target.kind, TargetKind::Endpoint);
    assert_eq!(endpoint(Some("chrome")).resolve().unwrap().target.kind, TargetKind::Endpoint);
    for other in ["device", "webkit"] {
        let message = endpoint(Some(other)).refused();
        assert!(message.contains(&format!("says {other}")) && message.contains("give one of the two"), "{message}");
    }
    let odd = Check::flags(|given| given.cdp_endpoint = some("localhost:9222"));
    assert!(odd.refused().contains("starts with http:, https:, ws:, wss:"));
    assert!(Check::flags(|given| given.target = some("phone")).refused().contains("device, chrome or webkit"));
}

#[test]
fn a_webkit_has_a_driver_and_perhaps_a_display() {
    let webkit = || Check::flags(|given| given.target = some("webkit"));
    let target = webkit().resolve().unwrap().target;
    assert_eq!((target.kind, target.webdriver.is_none(), target.has_display), (TargetKind::Webkit, true, false));
    let around = webkit().variable("DEVTOOLS_TEST_WEBDRIVER", "./driver").variable("WAYLAND_DISPLAY", "w");
    let target = around.resolve().unwrap().target;
    assert_eq!(target.webdriver.unwrap().value, PathBuf::from("/project/sub/./driver"));
    assert!(target.has_display);
}

#[test]
fn globals_of_flags_go_over_those_of_the_file() {
    let flags = Check::flags(|given| given.global = vec!["B=2".into(), "C=[3]".into()]);
    let globals = flags.file("[globals]\nA = 1\nB = 1").resolve().unwrap().globals;
    assert_eq!(globals, [("A".into(), json!(1)), ("B".into(), json!(2)), ("C".into(), json!([3]))]);
}

#[test]
fn paths_are_relative_to_who_named_them() {
    let file = "report-dir = \"out\"\nreporter = [\"json=events.jsonl\"]\nfiles = [\"src/*.ait.test.ts\"]\n";
    let settings = Check::default().file(file).resolve().unwrap();
    assert_eq!(settings.report.dir.unwrap().value, PathBuf::from("/project/out"));
    assert_eq!(settings.report.reporters[0].file, Some(PathBuf::from("/project/events.jsonl")));
    let flags = Check::flags(|given| given.report_dir = some("out"));
    let settings = flags.file(file).resolve().unwrap();
    assert_eq!(settings.report.dir.unwrap().value, PathBuf::from("/project/sub/out"));
}

#[test]
fn typed_patterns_are_relative_to_the_working_directory() {
    let typed = || Check::flags(|given| given.files = vec!["*.ts".into()]);
    let settings = typed().resolve().unwrap();
    assert_eq!(settings.selection.base, PathBuf::from("/project/sub"));
    let mut rooted = typed();
    rooted.flags.project_root = some("/");
    assert_eq!(rooted.resolve().unwrap().selection.base, PathBuf::from("/"));
    let missing = Check::flags(|given| given.project_root = some("/no/such/folder"));
    assert_eq!(missing.refused(), "--project-root is \"/no/such/folder\": there is no such folder");
}

#[test]
fn bail_and_pattern() {
    let bail = |text: &str| Check::flags(|given| given.bail = some(text)).resolve().map(|s| s.selection.bail);
    assert_eq!(bail("3").unwrap(), Some(3));
    assert_eq!(bail("0").unwrap(), None);
    assert!(bail("-1").is_err() && bail("x").is_err());
    let message = Check::flags(|given| given.test_name_pattern = some("a(")).refused();
    assert!(message.starts_with("--test-name-pattern is \"a(\": it is no regular expression"), "{message}");
}

#[test]
fn secrets_are_never_shown() {
    let flags = Check::flags(|given| given.scheme_url = some("intoss-private://app?at=123456"));
    let settings = flags.variable("AIT_DEBUG_TOTP_SECRET", "00112233").resolve().unwrap();
    let LinkWish::Scheme(url) = &settings.attach.link else { panic!("a scheme link") };
    assert_eq!(url.expose_secret(), "intoss-private://app?at=123456");
    let shown = format!("{settings:?}");
    assert!(!shown.contains("123456") && !shown.contains("00112233"), "{shown}");
    let message = Check::flags(|given| given.scheme_url = some("at=123456")).refused();
    assert!(message.starts_with("--scheme-url cannot be used") && !message.contains("123456"), "{message}");
    let unset = Check::flags(|given| given.scheme_url = some("")).resolve().unwrap();
    assert!(matches!(unset.attach.link, LinkWish::Hosted { app: None }));
}

#[test]
fn a_link_leads_to_the_relay_the_app_or_its_launcher() {
    let with = |scheme: Option<&str>, app: Option<&str>, launch: bool, launcher: Option<&str>| {
        Check::flags(|given| {
            given.scheme_url = scheme.map(Into::into);
            given.app_url = app.map(Into::into);
            given.attach_launcher = launch;
            given.launcher_url = launcher.map(Into::into);
        })
    };
    let app = Some("https://app.test/?a=1");
    let link = |check: Check| check.resolve().unwrap().attach.link;
    assert!(matches!(link(with(None, app, false, None)), LinkWish::Hosted { app: Some(_) }));
    assert!(matches!(link(with(None, app, true, None)), LinkWish::Launcher { launcher: None, .. }));
    let named = link(with(None, app, true, Some("http://l.test")));
    assert!(matches!(named, LinkWish::Launcher { launcher: Some(url), .. } if url.value == "http://l.test"));
    for (wrong, part) in [
        (with(Some("x://a"), app, false, None), "one of the two"),
        (with(Some("x://a"), None, true, None), "one of the two"),
        (with(None, None, true, None), "--app-url"),
        (with(None, app, false, Some("http://l.test")), "--attach-launcher"),
        (with(None, app, true, Some("l.test")), "http:"),
        (with(None, Some("http://a\nb"), false, None), "http:"),
    ] {
        let message = wrong.refused();
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_tunnel_is_named_or_is_an_address() {
    let wish = |text: &str| Check::flags(|given| given.tunnel = some(text)).resolve().map(|s| s.attach.tunnel.wish);
    assert_eq!(Check::default().resolve().unwrap().attach.tunnel.wish, Sourced::default_of(TunnelWish::Auto));
    for (text, expected) in
        [("cloudflared", TunnelWish::Cloudflared), ("lan", TunnelWish::Lan), ("none", TunnelWish::None)]
    {
        assert_eq!(wish(text).unwrap().value, expected);
    }
    let host = "https://my-own-host.test";
    let address = wish(host).unwrap();
    assert!(!format!("{address:?}").contains("my-own-host"), "{address:?}");
    assert_eq!(address.value, TunnelWish::Address(Hidden::new(host)));
    for odd in ["", "my-own-host.test", "wss://my-own-host.test", "Lan"] {
        let message = wish(odd).unwrap_err().to_string();
        assert!(message.starts_with("--tunnel cannot be used: give cloudflared") && !message.contains("my-own-host"));
    }
    let dns = |text: &'static str| Check::default().variable("DEVTOOLS_TEST_DNS", text);
    assert_eq!(dns("10.0.0.1").resolve().unwrap().attach.tunnel.dns, Some("10.0.0.1:53".parse().unwrap()));
    assert_eq!(dns("[::1]:5300").resolve().unwrap().attach.tunnel.dns, Some("[::1]:5300".parse().unwrap()));
    assert!(dns("dns.test").refused().starts_with("DEVTOOLS_TEST_DNS is"));
    let by_variable = Check::default().variable("DEVTOOLS_TEST_TUNNEL", "none").file("tunnel = \"lan\"");
    assert_eq!(by_variable.resolve().unwrap().attach.tunnel.wish.value, TunnelWish::None);
}

#[test]
fn what_belongs_to_a_tunnel() {
    let lan = |tunnel: Option<&str>| {
        Check::flags(|given| {
            given.host = some("en0");
            given.tunnel = tunnel.map(String::from);
        })
    };
    assert_eq!(lan(Some("lan")).resolve().unwrap().attach.tunnel.host.as_deref(), Some("en0"));
    assert!(lan(None).refused().starts_with("--host chooses an address for --tunnel lan"));
    assert!(lan(Some("none")).refused().starts_with("--host chooses"));
    let settings = Check::default().variable("CLOUDFLARED_BIN", "./cf").file("relay-port = 4711").resolve().unwrap();
    assert_eq!(settings.attach.tunnel.program.unwrap().value, PathBuf::from("/project/sub/./cf"));
    assert_eq!(settings.attach.tunnel.port, 4711);
    assert!(Check::default().file("relay-port = 70000").refused().contains("give a port from 1 to 65535"));
}

#[test]
fn bundles() {
    let targets = |text: &str| Check::flags(|given| given.bundle_target = vec![text.into()]).resolve();
    assert_eq!(targets("es2020, chrome107.1").unwrap().bundle_targets.value, ["es2020", "chrome107.1"]);
    assert!(targets("").is_err() && targets("2022").is_err() && targets("Safari 16").is_err());
    let package = |text: &str| Check::flags(|given| given.sdk_package = vec![text.into()]).resolve();
    assert_eq!(package("@a/b").unwrap().sdk_packages, ["@a/b"]);
    assert!(package("./sdk").is_err() && package("").is_err());
}

#[test]
fn log_and_progress_do_not_share_a_terminal() {
    let settings = Check::flags(|given| given.verbose = 2).resolve().unwrap();
    assert_eq!(settings.log.filter.as_deref(), Some("devtools_test=debug"));
    let settings = Check::flags(|given| given.log_file = some("log")).resolve().unwrap();
    assert_eq!(settings.log.file, Some(PathBuf::from("/project/sub/log")));
    assert_eq!(settings.log.filter.as_deref(), Some("devtools_test=info"));
}
