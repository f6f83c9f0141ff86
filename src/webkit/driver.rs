//! The driver's process and the browser it started.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::WebkitError;
use super::find::Programs;
use super::webdriver::{Session, WebDriver};
use crate::process::{Guarded, TempFolder};
use crate::secret::Hidden;

/// A driver listens a few milliseconds after its start; a loaded machine takes seconds.
const LISTEN_WITHIN: Duration = Duration::from_secs(20);
/// Pause between two looks at a driver that does not listen yet.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Another program may take a port between our look and the driver's start; three in a row are something else.
const PORTS: u32 = 3;
const SAFARI_HINT: &str = ". Safari must be allowed to be driven: run safaridriver --enable once, and close other \
    sessions of it";

/// A running browser and its driver. Dropping it ends both.
#[derive(Debug)]
pub(super) struct Driver {
    process: Guarded,
    session: Session,
}

impl Driver {
    /// Starts driver and browser. Their files go to the profile's folder.
    pub(super) async fn start(
        programs: &Programs,
        profile: &TempFolder,
        display: impl IntoIterator<Item = (&'static str, OsString)> + Clone,
    ) -> Result<Self, WebkitError> {
        let mut ports = 0;
        loop {
            ports += 1;
            match Self::start_once(programs, profile, display.clone()).await {
                Err(WebkitError::EndedAtOnce { .. }) if ports < PORTS => {}
                other => return other,
            }
        }
    }

    async fn start_once(
        programs: &Programs,
        profile: &TempFolder,
        display: impl IntoIterator<Item = (&'static str, OsString)>,
    ) -> Result<Self, WebkitError> {
        let prepare = |what| move |why| WebkitError::Prepare { what, why };
        let port = free_port().map_err(prepare("port"))?;
        let mut command = command(programs, port, profile.path());
        command.envs(display);
        let path = programs.driver.clone();
        let mut process = Guarded::start(&command, Stdio::null())
            .map_err(|why| WebkitError::NotStarted { path: path.clone(), why })?;
        if let Some(pid) = process.pid() {
            profile.used_by(pid).map_err(prepare("profile folder"))?;
        }
        let driver = WebDriver::at(port);
        let listens = async {
            while !driver.is_ready().await {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        let ended = tokio::select! {
            listening = tokio::time::timeout(LISTEN_WITHIN, listens) => listening.err().map(|_| None),
            status = process.ended() => Some(Some(status)),
        };
        let stderr = process.last_lines().for_message();
        match ended {
            None => {}
            Some(None) => return Err(WebkitError::Mute { path, within: LISTEN_WITHIN, stderr }),
            Some(Some(status)) => return Err(WebkitError::EndedAtOnce { path, status, stderr }),
        }
        let hint = if programs.browser.is_none() { SAFARI_HINT } else { "" };
        let session = driver.new_session(capabilities(programs)).await.map_err(|why| {
            let why = format!("{why}{}", process.last_lines().for_message());
            WebkitError::Refused { what: "be started", why, hint }
        })?;
        Ok(Self { process, session })
    }

    /// Goes to a link, without waiting until it is loaded.
    pub(super) async fn navigate(&self, link: &Hidden) -> Result<(), WebkitError> {
        let refused = |why| WebkitError::Refused { what: "open a page", why, hint: "" };
        self.session.navigate(link).await.map_err(refused)
    }

    /// Ends both; nothing they hold is worth a graceful end.
    pub(super) async fn end(self) {
        self.process.end().await;
    }
}

fn command(programs: &Programs, port: u16, folder: &Path) -> Command {
    let mut command = Command::new(&programs.driver);
    // The only way to say it that every driver knows.
    command.args(["-p", &port.to_string()]);
    if programs.browser.is_some() {
        // Nothing of the person's own profile is read or written, and no other program of the desktop is started.
        for variable in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(variable, folder);
        }
        command.env("GSETTINGS_BACKEND", "memory").env("GIO_USE_VFS", "local").env("NO_AT_BRIDGE", "1");
    }
    command
}

/// What the browser is asked to be. Loads are not waited for: the page says by itself when it is there.
fn capabilities(programs: &Programs) -> Value {
    match &programs.browser {
        Some(browser) => json!({
            "pageLoadStrategy": "none",
            "webkitgtk:browserOptions": { "binary": browser, "args": ["--automation"] },
        }),
        None => json!({ "browserName": "safari", "pageLoadStrategy": "none" }),
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
