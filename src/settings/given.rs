//! What one source says, not yet checked.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};

/// What the flags, or `devtools-test.toml`, say. Texts as they were typed; `None`, empty or `false` where nothing was
/// said. Keys of the file are the field names with dashes; fields marked `skip` are flags only, because they belong
/// to one invocation or may carry what should not stand in a repository.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Given {
    /// Patterns of the test files.
    pub files: Vec<String>,
    /// Include `*.manual.ait.test.*`.
    pub manual: Option<bool>,
    /// `-t`.
    pub test_name_pattern: Option<String>,
    /// Stop after so many failed tests; 0 for never.
    #[serde(deserialize_with = "text")]
    pub bail: Option<String>,
    /// Whether `only` may be used.
    pub allow_only: Option<bool>,
    /// A run without a test is green.
    pub pass_with_no_tests: Option<bool>,
    /// `device`, `chrome` or `webkit`.
    pub target: Option<String>,
    /// Path of the browser.
    pub browser: Option<String>,
    /// Path of the driver that starts a WebKit.
    pub webdriver: Option<String>,
    /// Start the browser without its sandbox.
    pub no_sandbox: Option<bool>,
    /// Address of a browser somebody else started.
    pub cdp_endpoint: Option<String>,
    /// Page to test in.
    pub page_url: Option<String>,
    /// SDK line of the cell.
    #[serde(deserialize_with = "text")]
    pub cell_sdk_line: Option<String>,
    /// Platform of the cell.
    pub cell_platform: Option<String>,
    /// `KEY=JSON`, as typed.
    #[serde(skip)]
    pub global: Vec<String>,
    /// Globals as the file gives them.
    pub globals: serde_json::Map<String, serde_json::Value>,
    /// Deadline of a file.
    #[serde(deserialize_with = "text")]
    pub timeout: Option<String>,
    /// Deadline of a test.
    #[serde(deserialize_with = "text")]
    pub test_timeout: Option<String>,
    /// Deadline of a hook.
    #[serde(deserialize_with = "text")]
    pub hook_timeout: Option<String>,
    /// How long a page may not answer.
    #[serde(deserialize_with = "text")]
    pub silence_timeout: Option<String>,
    /// How long a page of a Chrome may take to answer.
    #[serde(deserialize_with = "text")]
    pub navigation_timeout: Option<String>,
    /// How long to wait for a page.
    #[serde(deserialize_with = "text")]
    pub attach_timeout: Option<String>,
    /// What is recorded of what the page exchanges.
    pub capture: Option<String>,
    /// A recorded timeline to play to the page.
    pub replay: Option<String>,
    /// How fast: a factor, or max.
    #[serde(deserialize_with = "text")]
    pub replay_speed: Option<String>,
    /// Record nothing.
    pub no_capture: Option<bool>,
    /// How much of one payload is recorded.
    #[serde(deserialize_with = "text")]
    pub capture_max_payload: Option<String>,
    /// How often connections of pages are kept awake.
    #[serde(deserialize_with = "text")]
    pub keep_alive: Option<String>,
    /// `name` or `name=path`.
    pub reporter: Vec<String>,
    /// Folder of the artifacts.
    pub report_dir: Option<String>,
    /// Take no picture of the page when a test fails.
    pub no_screenshot_failures: Option<bool>,
    /// Folder of the project.
    #[serde(skip)]
    pub project_root: Option<String>,
    /// Show the attach link as text.
    #[serde(skip)]
    pub show_url: bool,
    /// Show the QR code also where stdout is no terminal.
    #[serde(skip)]
    pub qr_stdout: bool,
    /// Where the QR code is written as a picture.
    #[serde(skip)]
    pub qr_file: Option<String>,
    /// `cloudflared`, `lan`, `none`, or an address that leads to the relay.
    pub tunnel: Option<String>,
    /// Address or interface of this machine in the local network.
    #[serde(skip)]
    pub host: Option<String>,
    /// Where the relay listens.
    #[serde(deserialize_with = "text")]
    pub relay_port: Option<String>,
    /// Where the dashboard listens.
    #[serde(deserialize_with = "text")]
    pub dashboard_port: Option<String>,
    /// Open no browser.
    pub headless: Option<bool>,
    /// Part of the user agent, title or address of the page that is wanted.
    pub device: Option<String>,
    /// A second page takes the place of the first.
    pub take_over: Option<bool>,
    /// Link that opens the page in its host app.
    #[serde(skip)]
    pub scheme_url: Option<String>,
    /// Address of the app that a hosted link or a launcher opens.
    pub app_url: Option<String>,
    /// A launcher opens the app.
    #[serde(skip)]
    pub attach_launcher: bool,
    /// Address of the launcher.
    pub launcher_url: Option<String>,
    /// Hosts on which the MCP server may evaluate, beside the usual ones.
    pub allow_host: Vec<String>,
    /// Packages that stand for the SDK.
    pub sdk_package: Vec<String>,
    /// Engines the bundles must run on.
    pub bundle_target: Vec<String>,
    /// `auto`, `always` or `never`.
    #[serde(skip)]
    pub color: Option<String>,
    /// How often `-v` was given.
    #[serde(skip)]
    pub verbose: u8,
    /// Where the log goes instead of stderr.
    #[serde(skip)]
    pub log_file: Option<String>,
}

/// Reads a text, or a number as the text it was written as, so that `timeout = 5000` and `timeout = "5s"` are one kind
/// of value and refused with one sentence.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number or a text")
        }

        fn visit_i64<E: de::Error>(self, value: i64) -> Result<String, E> {
            Ok(value.to_string())
        }

        fn visit_f64<E: de::Error>(self, value: f64) -> Result<String, E> {
            Ok(value.to_string())
        }

        fn visit_str<E: de::Error>(self, value: &str) -> Result<String, E> {
            Ok(value.to_owned())
        }
    }
    deserializer.deserialize_any(Text).map(Some)
}
