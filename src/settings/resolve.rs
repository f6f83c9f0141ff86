//! Puts flags, environment, file and defaults together.

use std::path::PathBuf;
use std::time::Duration;

use bundler::{DEFAULT_SDK_PACKAGE, DEFAULT_TARGET};

use crate::event::TargetKind;
use crate::ident::Cell;

use super::attach::attach;
use super::dashboard::dashboard;
use super::error::SettingsError;
use super::file::{FileGiven, nearest_package};
use super::given::Given;
use super::lookup::Sources;
use super::resolved::{Limits, LogSettings, Look, ReportSettings, Selection, Settings, TargetSettings};
use super::source::{Source, Sourced};
use super::surroundings::Surroundings;
use super::{capture, cell, globals, look, outputs, pattern, replay, reporters};

/// The files of a run that was given none.
const DEFAULT_PATTERNS: [&str; 1] = ["**/*.ait.test.{ts,tsx,js,jsx,mts,mjs}"];
/// A file of a hundred bridge calls of half a second each just fits.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// As Vitest in a browser; a bridge call that shows native UI takes seconds.
const DEFAULT_TEST_TIMEOUT: Duration = Duration::from_secs(15);
/// As Vitest in a browser: hooks may prepare what many tests need.
const DEFAULT_HOOK_TIMEOUT: Duration = Duration::from_secs(30);
/// A page that answers nothing for so long is not busy but gone. A phone that was locked or put aside for a moment (the
/// twenty seconds iOS gives an app in the background) is back by then, and the rest of the file still fits its deadline.
const DEFAULT_SILENCE_TIMEOUT: Duration = Duration::from_secs(30);
/// As Playwright and Puppeteer: a dev server that builds on the first request is through by then.
const DEFAULT_NAVIGATION_TIMEOUT: Duration = Duration::from_secs(30);

/// Resolves settings. Pure: reads nothing but its arguments, except that it asks whether paths exist for
/// [`project_root`].
pub fn resolve(flags: Given, file: Option<FileGiven>, around: &Surroundings<'_>) -> Result<Settings, SettingsError> {
    let root = project_root(&flags, around)?;
    let file = file.unwrap_or_default();
    let from = Sources { flags: &flags, file: &file, around };
    let target = target(&from)?;
    let settings = Settings {
        selection: selection(&from, &root)?,
        attach: attach(&from)?,
        dashboard: dashboard(&from, target.kind)?,
        cell: from.cell()?,
        globals: from.globals()?,
        capture: capture::capture(&from)?,
        replay: replay::replay(&from, target.kind)?,
        limits: limits(&from)?,
        allow_hosts: from.allow_hosts()?,
        sdk_packages: from.sdk_packages()?,
        bundle_targets: from.bundle_targets()?,
        report: report(&from)?,
        look: from.look()?,
        log: log(&from),
        ci: around.is_ci(),
        cwd: around.cwd.clone(),
        project_root: root,
        target,
    };
    outputs::check(&settings.report, &settings.log, settings.attach.qr_file.as_deref(), &settings.cell_or_default())?;
    Ok(settings)
}

/// `--project-root`, else the folder of the nearest `package.json`, else the working directory.
pub fn project_root(flags: &Given, around: &Surroundings<'_>) -> Result<Sourced<PathBuf>, SettingsError> {
    match &flags.project_root {
        Some(text) => Sourced { value: text.clone(), source: Source::Flag("--project-root") }.parse(|text| {
            let path = around.cwd.join(text);
            if text.is_empty() {
                return Err("the path is missing".into());
            }
            if path.is_dir() { Ok(path) } else { Err("there is no such folder".into()) }
        }),
        None => Ok(Sourced::default_of(nearest_package(&around.cwd).unwrap_or(&around.cwd).to_path_buf())),
    }
}

impl Sources<'_> {
    fn cell(&self) -> Result<Option<Cell>, SettingsError> {
        let sdk_line = self
            .text_or_variable("--cell-sdk-line", "AIT_CELL_SDK_LINE", |given| &given.cell_sdk_line)
            .map(|text| text.parse(cell::sdk_line))
            .transpose()?;
        let platform = self
            .text_or_variable("--cell-platform", "AIT_CELL_PLATFORM", |given| &given.cell_platform)
            .map(|text| text.parse(cell::platform))
            .transpose()?;
        if sdk_line.is_none() && platform.is_none() {
            return Ok(None);
        }
        Ok(Some(Cell {
            sdk_line: sdk_line.map_or_else(|| Cell::DEFAULT_SDK_LINE.into(), |line| line.value),
            platform: platform.map_or_else(|| Cell::DEFAULT_PLATFORM.into(), |platform| platform.value),
        }))
    }

    fn globals(&self) -> Result<Vec<(String, serde_json::Value)>, SettingsError> {
        let mut all = Vec::new();
        for (key, value) in &self.file.given.globals {
            let name = Sourced { value: key.clone(), source: self.in_file("globals") };
            name.parse(|key| globals::check_key(key).and_then(|()| globals::check_value(value)))?;
            globals::put(&mut all, key.clone(), value.clone());
        }
        for text in &self.flags.global {
            let given = Sourced { value: text.clone(), source: Source::Flag("--global") };
            let (key, value) = given.parse(globals::parse)?.value;
            globals::put(&mut all, key, value);
        }
        Ok(all)
    }

    fn sdk_packages(&self) -> Result<Vec<String>, SettingsError> {
        let given = self.list("--sdk-package", |given| &given.sdk_package);
        if given.is_empty() {
            return Ok(vec![DEFAULT_SDK_PACKAGE.into()]);
        }
        let package = |text: &str| {
            let odd = |c: char| c.is_whitespace() || matches!(c, '\\' | '*' | '"');
            if text.is_empty() || text.starts_with(['.', '/']) || text.contains(odd) {
                return Err("give the name of a package, like @apps-in-toss/web-framework".into());
            }
            Ok(text.to_owned())
        };
        given.into_iter().map(|text| text.parse(package).map(|package| package.value)).collect()
    }

    fn allow_hosts(&self) -> Result<Vec<String>, SettingsError> {
        let host = |text: &str| {
            let name = text.strip_prefix("*.").unwrap_or(text);
            let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '[' | ']' | ':');
            if !name.contains(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(fine) {
                return Err("give a host, like example.com, or *.example.com for those below it".into());
            }
            Ok(text.to_ascii_lowercase())
        };
        let given = self.list("--allow-host", |given| &given.allow_host);
        given.into_iter().map(|text| text.parse(host).map(|host| host.value)).collect()
    }

    fn bundle_targets(&self) -> Result<Sourced<Vec<String>>, SettingsError> {
        let given = self.list("--bundle-target", |given| &given.bundle_target);
        let Some(source) = given.first().map(|first| first.source.clone()) else {
            return Ok(Sourced::default_of(DEFAULT_TARGET.map(String::from).to_vec()));
        };
        let parts = given.iter().flat_map(|text| text.value.split(','));
        let value: Vec<String> = parts.map(|part| part.trim().to_owned()).collect();
        match bundler::check_target(&value) {
            Ok(()) => Ok(Sourced { value, source }),
            Err(why) => Err(SettingsError::Refused { origin: source, value: value.join(", "), why: target_rule(&why) }),
        }
    }

    fn look(&self) -> Result<Look, SettingsError> {
        let wish = self.text("--color", |given| &given.color).map(|text| text.parse(look::parse)).transpose()?;
        let wish = wish.map_or_else(Default::default, |wish| wish.value);
        // A log on the same terminal would tear a line that moves apart.
        let log_on_terminal = self.flags.verbose > 0 && self.flags.log_file.is_none();
        Ok(Look { color: look::color(wish, self.around), progress: look::progress(self.around) && !log_on_terminal })
    }
}

fn target_rule(why: &str) -> String {
    let why = why.trim_end_matches('.');
    format!("{why}; give a language level and engines with their versions, like es2022, safari16 or chrome107")
}

fn selection(from: &Sources<'_>, root: &Sourced<PathBuf>) -> Result<Selection, SettingsError> {
    let given = from.list("FILES", |given| &given.files);
    let typed = !from.flags.files.is_empty();
    let base = if typed && !root.is_given() { from.around.cwd.clone() } else { root.value.clone() };
    let patterns = match given.first().map(|first| first.source.clone()) {
        Some(source) => Sourced { value: given.into_iter().map(|text| text.value).collect(), source },
        None => Sourced::default_of(DEFAULT_PATTERNS.map(String::from).to_vec()),
    };
    let bail = from.text("--bail", |given| &given.bail).map(|text| text.parse(bail)).transpose()?;
    let pattern = from.text("--test-name-pattern", |given| &given.test_name_pattern);
    Ok(Selection {
        base,
        patterns,
        manual: from.switch(|given| given.manual).unwrap_or(false),
        name_pattern: pattern.map(|text| text.parse(pattern::parse)).transpose()?,
        bail: bail.and_then(|bail| bail.value),
        allow_only: from.switch(|given| given.allow_only).unwrap_or_else(|| !from.around.is_ci()),
        pass_with_no_tests: from.switch(|given| given.pass_with_no_tests).unwrap_or(false),
    })
}

fn bail(text: &str) -> Result<Option<u32>, String> {
    let count = text.parse::<u32>().map_err(|_| "give the number of failed tests to stop after, or 0 for never")?;
    Ok((count > 0).then_some(count))
}

fn target(from: &Sources<'_>) -> Result<TargetSettings, SettingsError> {
    let asked = from.text("--target", |given| &given.target);
    let asked = asked.map(|text| text.parse(target_kind)).transpose()?;
    let endpoint = from.text("--cdp-endpoint", |given| &given.cdp_endpoint);
    let endpoint =
        endpoint.map(|text| text.parse(|text| address(text, &["http", "https", "ws", "wss"]))).transpose()?;
    let page = from.text("--page-url", |given| &given.page_url);
    let page = page.map(|text| text.parse(|text| address(text, &["http", "https", "file", "data"]))).transpose()?;
    let kind = match (&asked, &endpoint) {
        (Some(asked), Some(endpoint)) if asked.value != TargetKind::Chrome => {
            let word = if asked.value == TargetKind::Webkit { "webkit" } else { "device" };
            return Err(SettingsError::Conflict(format!(
                "{} says {word}, but {} names a browser to test in; give one of the two",
                asked.source, endpoint.source
            )));
        }
        (_, Some(_)) => TargetKind::Endpoint,
        (Some(asked), None) => asked.value,
        (None, None) => TargetKind::Device,
    };
    let browser = from.text_or_variable("--browser", "DEVTOOLS_TEST_BROWSER", |given| &given.browser);
    let webdriver = from.text_or_variable("--webdriver", "DEVTOOLS_TEST_WEBDRIVER", |given| &given.webdriver);
    let navigation = from.duration("--navigation-timeout", |given| &given.navigation_timeout)?;
    Ok(TargetSettings {
        kind,
        browser: browser.map(|text| from.program(text)).transpose()?,
        webdriver: webdriver.map(|text| from.program(text)).transpose()?,
        no_sandbox: from.switch(|given| given.no_sandbox).unwrap_or(false),
        cdp_endpoint: endpoint,
        page_url: page,
        navigation_timeout: navigation.map_or(DEFAULT_NAVIGATION_TIMEOUT, |given| given.value),
        search_path: from.around.variable("PATH"),
        has_display: ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| from.around.variable(name).is_some()),
    })
}

fn target_kind(text: &str) -> Result<TargetKind, String> {
    match text {
        "device" => Ok(TargetKind::Device),
        "chrome" => Ok(TargetKind::Chrome),
        "webkit" => Ok(TargetKind::Webkit),
        _ => Err("it must be device, chrome or webkit".into()),
    }
}

/// A whole address with one of these schemes.
pub(super) fn address(text: &str, schemes: &[&str]) -> Result<String, String> {
    match url::Url::parse(text) {
        Ok(url) if schemes.contains(&url.scheme()) && !text.contains(char::is_control) => Ok(text.to_owned()),
        _ => Err(format!("give a whole address that starts with {}:", schemes.join(":, "))),
    }
}

fn limits(from: &Sources<'_>) -> Result<Limits, SettingsError> {
    let or = |given: Option<Sourced<Duration>>, default| given.map_or(default, |given| given.value);
    let file = or(from.duration("--timeout", |given| &given.timeout)?, DEFAULT_TIMEOUT);
    Ok(Limits {
        file,
        test: or(from.duration("--test-timeout", |given| &given.test_timeout)?, DEFAULT_TEST_TIMEOUT),
        hook: or(from.duration("--hook-timeout", |given| &given.hook_timeout)?, DEFAULT_HOOK_TIMEOUT),
        silence: or(
            from.duration("--silence-timeout", |given| &given.silence_timeout)?,
            DEFAULT_SILENCE_TIMEOUT.min(file),
        ),
    })
}

fn report(from: &Sources<'_>) -> Result<ReportSettings, SettingsError> {
    let asked = from.list("--reporter", |given| &given.reporter).into_iter().map(|text| {
        let base = from.base_of(&text.source).to_path_buf();
        let mut choice = text.parse(reporters::parse)?;
        choice.value.file = choice.value.file.map(|file| base.join(file));
        Ok(choice)
    });
    let reporters = reporters::complete(asked.collect::<Result<_, SettingsError>>()?)?;
    let dir = from.text("--report-dir", |given| &given.report_dir).map(|text| from.path(text)).transpose()?;
    let screenshots = !from.switch(|given| given.no_screenshot_failures).unwrap_or(false);
    Ok(ReportSettings { reporters, dir, screenshots })
}

fn log(from: &Sources<'_>) -> LogSettings {
    let file = from.flags.log_file.as_ref().map(|path| from.around.cwd.join(path));
    let own = match from.flags.verbose {
        0 if file.is_none() => None,
        0 | 1 => Some("devtools_test=info"),
        2 => Some("devtools_test=debug"),
        _ => Some("devtools_test=trace"),
    };
    LogSettings { filter: from.around.variable("DEVTOOLS_TEST_LOG").or_else(|| own.map(String::from)), file }
}

#[cfg(test)]
mod tests;
