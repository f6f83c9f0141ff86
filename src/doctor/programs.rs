//! Looks for programs and asks them who they are.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::DoctorOptions;
use super::verdicts::{ProgramSeen, WebkitSeen};
use crate::chrome::{self, Browser, ChromeError, LaunchOptions};
use crate::process::{Finder, Guarded};
use crate::webkit::{self, Programs, WebkitError};

/// A program says its version in milliseconds; a cold disk takes a few seconds.
const VERSION_LIMIT: Duration = Duration::from_secs(10);
/// Longest version that is read.
const MAX_VERSION: u64 = 4096;
/// A browser that has spoken once answers this soon.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// The tunnel program.
const CLOUDFLARED: &str = "cloudflared";

pub(super) async fn cloudflared(options: &DoctorOptions) -> ProgramSeen {
    let finder = Finder::new(options.search_path.as_deref());
    if let Some(asked) = &options.cloudflared {
        return match finder.asked(asked) {
            Some(path) => ask(path).await,
            None => ProgramSeen::NotThere { path: asked.clone(), asked: "CLOUDFLARED_BIN" },
        };
    }
    match finder.first(&[CLOUDFLARED], []) {
        Some(path) => ask(path).await,
        None => ProgramSeen::NotFound,
    }
}

/// Looks for all that a run in a WebKit needs, as such a run does.
pub(super) async fn webkit(options: &DoctorOptions) -> WebkitSeen {
    match webkit::find(&options.webkit) {
        Ok(Programs { driver, browser, xvfb }) => {
            WebkitSeen { driver: ask(driver).await, others: browser.into_iter().chain(xvfb).collect(), lacks: None }
        }
        Err(WebkitError::NotThere { path, option, .. }) => {
            WebkitSeen { driver: ProgramSeen::NotThere { path, asked: option }, others: Vec::new(), lacks: None }
        }
        Err(error) => {
            // What is there although something else is not.
            let driver = match webkit::find_driver(&options.webkit) {
                Some(driver) => ask(driver).await,
                None => ProgramSeen::NotFound,
            };
            WebkitSeen { driver, others: Vec::new(), lacks: Some(error.to_string()) }
        }
    }
}

/// Starts the browser as a run does, and asks it over the protocol.
pub(super) async fn chrome(options: &DoctorOptions) -> ProgramSeen {
    let path = match chrome::find(options.browser.as_deref(), options.search_path.as_deref()) {
        Ok(path) => path,
        Err(ChromeError::NotThere(path)) => return ProgramSeen::NotThere { path, asked: "--browser" },
        Err(_) => return ProgramSeen::NotFound,
    };
    let launch = LaunchOptions { program: path.clone(), no_sandbox: options.no_sandbox };
    let browser = match Browser::launch(&launch).await {
        Ok(browser) => browser,
        Err(error) => return ProgramSeen::Broken { why: error.to_string() },
    };
    let version = browser.client().root().call::<Value>("Browser.getVersion", json!({}), ANSWER_LIMIT).await;
    browser.close().await;
    match version {
        Ok(version) => {
            ProgramSeen::Works { path, version: version["product"].as_str().unwrap_or("a Chrome").replace('/', " ") }
        }
        Err(error) => ProgramSeen::Broken { why: error.to_string() },
    }
}

/// Has a program say its version.
async fn ask(path: PathBuf) -> ProgramSeen {
    let slow = || Err(format!("it did not say its version within {} s", VERSION_LIMIT.as_secs()));
    match timeout(VERSION_LIMIT, version(&path)).await.unwrap_or_else(|_| slow()) {
        Ok(version) => ProgramSeen::Works { path, version },
        Err(why) => ProgramSeen::Broken { why: format!("{} does not work: {why}", path.display()) },
    }
}

async fn version(path: &Path) -> Result<String, String> {
    let mut command = Command::new(path);
    command.arg("--version");
    let mut program = Guarded::start(&command, Stdio::piped()).map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    if let Some(pipe) = program.take_stdout() {
        pipe.take(MAX_VERSION).read_to_end(&mut text).await.map_err(|error| error.to_string())?;
    }
    let ended = program.ended().await;
    let text = String::from_utf8_lossy(&text);
    // A driver that knows no such option tells its usage; that it runs is all there is to know.
    match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) if line.starts_with("Usage") => {
            Ok(path.file_name().unwrap_or_default().to_string_lossy().into_owned())
        }
        Some(line) => Ok(line.to_owned()),
        None => Err(format!("--version said nothing ({ended})")),
    }
}
