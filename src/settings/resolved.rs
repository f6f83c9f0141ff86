//! The settings of one invocation, checked and complete.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::Value;

use crate::event::TargetKind;
use crate::ident::Cell;
use crate::wire::CaptureOptions;

use super::dashboard::DashboardSettings;
use super::replay::ReplaySettings;
use super::reporters::ReporterChoice;
use super::source::Sourced;
use super::tunnel::TunnelSettings;

/// Everything that was asked for, with the defaults filled in.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The project: `--project-root`, else the folder of the nearest `package.json` from the working directory upwards,
    /// else the working directory. File ids are relative to it, and `.ait_relay` is looked for from here. Absolute.
    pub project_root: Sourced<PathBuf>,
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// Which tests run.
    pub selection: Selection,
    /// The page they run in.
    pub target: TargetSettings,
    /// How a device attaches.
    pub attach: AttachSettings,
    /// The local page that shows the run.
    pub dashboard: DashboardSettings,
    /// The cell, with the missing half filled in; `None` where neither half was given.
    pub cell: Option<Cell>,
    /// Globals to define in the page, in the order in which they were given; without `__AIT_CELL__`.
    pub globals: Vec<(String, Value)>,
    /// What is recorded of what the page exchanges; `None` for nothing.
    pub capture: Option<CaptureOptions>,
    /// What is replayed to the page; `None` for nothing.
    pub replay: Option<ReplaySettings>,
    /// The deadlines.
    pub limits: Limits,
    /// Hosts on which the MCP server may evaluate, beside the usual ones: `example.com`, or `*.example.com` for those
    /// below it.
    pub allow_hosts: Vec<String>,
    /// Packages that are replaced by `window.__sdk`, sub-paths included.
    pub sdk_packages: Vec<String>,
    /// Engines the bundles must run on.
    pub bundle_targets: Sourced<Vec<String>>,
    /// What is reported and where.
    pub report: ReportSettings,
    /// Colour and progress.
    pub look: Look,
    /// The log.
    pub log: LogSettings,
    /// Whether a CI service runs us.
    pub ci: bool,
}

impl Settings {
    /// The cell for names and reports, where the defaults stand in for what was not given.
    pub fn cell_or_default(&self) -> Cell {
        self.cell.clone().unwrap_or_else(|| Cell {
            sdk_line: Cell::DEFAULT_SDK_LINE.into(),
            platform: Cell::DEFAULT_PLATFORM.into(),
        })
    }
}

/// Which tests run.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Patterns and paths as they were given, else the default patterns.
    pub patterns: Sourced<Vec<String>>,
    /// The folder they are relative to, absolute: the working directory for those typed as arguments, the project root
    /// where `--project-root` or the file gave them, or nobody did.
    pub base: PathBuf,
    /// Include `*.manual.ait.test.*`.
    pub manual: bool,
    /// Source of a JavaScript regular expression on the full title.
    pub name_pattern: Option<Sourced<String>>,
    /// Stop after so many failed tests; never 0.
    pub bail: Option<u32>,
    /// Whether `only` may be used: as asked for, else everywhere but in CI.
    pub allow_only: bool,
    /// A run without a test is green.
    pub pass_with_no_tests: bool,
}

/// The page to test in.
#[derive(Clone, Debug)]
pub struct TargetSettings {
    /// Which kind.
    pub kind: TargetKind,
    /// `--browser`, `DEVTOOLS_TEST_BROWSER`: path or name of a browser.
    pub browser: Option<Sourced<PathBuf>>,
    /// `--webdriver`, `DEVTOOLS_TEST_WEBDRIVER`: path or name of the driver that starts a WebKit.
    pub webdriver: Option<Sourced<PathBuf>>,
    /// Start the browser without its sandbox.
    pub no_sandbox: bool,
    /// http or ws address of a browser somebody else started.
    pub cdp_endpoint: Option<Sourced<String>>,
    /// The page to test in.
    pub page_url: Option<Sourced<String>>,
    /// How long the page may take until its document is there.
    pub navigation_timeout: Duration,
    /// `PATH`, to look a browser up in.
    pub search_path: Option<String>,
    /// Whether a window can be shown (`DISPLAY`, `WAYLAND_DISPLAY`).
    pub has_display: bool,
}

/// Which link leads a person to the page.
#[derive(Clone, Debug)]
pub enum LinkWish {
    /// One to the relay.
    Hosted {
        /// `--app-url`: the app that the relay serves instead of a page of ours.
        app: Option<Sourced<String>>,
    },
    /// `--scheme-url`: opens the page in its host app; may carry what must not be shown.
    Scheme(SecretString),
    /// `--attach-launcher`: a launcher opens the app.
    Launcher {
        /// `--app-url`: where the launcher finds the app.
        app: Sourced<String>,
        /// `--launcher-url`: the launcher, where it is not the usual one.
        launcher: Option<Sourced<String>>,
    },
}

/// How a device attaches.
#[derive(Clone, Debug)]
pub struct AttachSettings {
    /// How long to wait for a page; `None` for as long as it takes.
    pub timeout: Option<Sourced<Duration>>,
    /// Which link leads a person to the page.
    pub link: LinkWish,
    /// How the phone reaches the relay.
    pub tunnel: TunnelSettings,
    /// How often connections of pages are kept awake, where it was said.
    pub keep_alive: Option<Duration>,
    /// Part of the user agent, title or address of the page that is wanted.
    pub device: Option<String>,
    /// A second page takes the place of the first.
    pub take_over: bool,
    /// Show the attach link as text.
    pub show_url: bool,
    /// Show the QR code also where stdout is no terminal.
    pub qr_stdout: bool,
    /// The picture of the QR code, a `.png`; absolute.
    pub qr_file: Option<PathBuf>,
    /// `AIT_DEBUG_TOTP_SECRET` as it is set, not yet checked.
    pub secret: Option<SecretString>,
}

/// The deadlines; each is positive and fits a browser's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One file from its first line to its end, all its restarts together.
    pub file: Duration,
    /// One test's body; a test may set its own.
    pub test: Duration,
    /// One hook.
    pub hook: Duration,
    /// How long a page may answer nothing at all before it is given up.
    pub silence: Duration,
}

/// What is reported and where.
#[derive(Clone, Debug)]
pub struct ReportSettings {
    /// At least one; exactly one of them writes to stdout.
    pub reporters: Vec<ReporterChoice>,
    /// Folder of the artifacts, absolute.
    pub dir: Option<Sourced<PathBuf>>,
    /// Take a picture of the page when a test fails.
    pub screenshots: bool,
}

/// Colour and progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Colour what goes to stdout.
    pub color: bool,
    /// Draw a progress line.
    pub progress: bool,
}

/// The log.
#[derive(Clone, Debug)]
pub struct LogSettings {
    /// A `tracing` filter; `None` for no log.
    pub filter: Option<String>,
    /// Where it goes instead of stderr, absolute.
    pub file: Option<PathBuf>,
}
