//! Starts a headless Chrome that cannot outlive us.
//!
//! It is spoken to over `--remote-debugging-pipe`: when we end, in whatever way, the pipe closes and Chrome ends by
//! itself; it opens no port that others could use. It leads a process group of its own, so that ending it ends all of it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use command_fds::{CommandFdExt, FdMapping};
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup};
use serde_json::{Value, json};
use tokio::net::unix::pipe;
use tokio::process::Command;
use tokio::task::JoinSet;

use super::ChromeError;
use crate::cdp::{CdpError, Client, CloseReason, transport};
use crate::process::{LastLines, TempFolder, status_words, sweep};

/// How a browser is started.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// The program.
    pub program: PathBuf,
    /// `--no-sandbox` although we are not root.
    pub no_sandbox: bool,
}

/// A browser of ours. Dropping it ends it.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    child: Box<dyn ChildWrapper>,
    profile: Option<TempFolder>,
}

/// A cold start on a loaded CI machine takes a few seconds; thirty is far beyond any that ends well.
const SPEAK_WITHIN: Duration = Duration::from_secs(30);
/// How long a browser whose pipe has closed may take to say its last words, and to be reaped, before they and its exit
/// status are left out of the message.
const REAP_WITHIN: Duration = Duration::from_secs(2);
/// A killed process is gone in milliseconds; one that hangs in the kernel is not waited for.
const END_WITHIN: Duration = Duration::from_secs(1);

/// What we ask of every browser: no window, no first-run pages, no traffic of its own, no throttling of a page nobody
/// looks at (O-11), no question that nobody answers (whether a page may connect to this machine).
const SWITCHES: [&str; 26] = [
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-startup-window",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,LocalNetworkAccessChecks",
    "--disable-gpu",
    "--disable-hang-monitor",
    "--disable-ipc-flooding-protection",
    "--disable-prompt-on-repost",
    "--disable-quic",
    "--disable-sync",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
];

impl Browser {
    /// Starts a browser and waits until it speaks.
    ///
    /// # Errors
    /// It cannot be started, ends at once, or never speaks; the message holds its exit status and last stderr lines.
    pub async fn launch(options: &LaunchOptions) -> Result<Self, ChromeError> {
        // Folders of killed runs are looked for beside the start, not before it.
        drop(tokio::task::spawn_blocking(|| sweep(&std::env::temp_dir())));
        let prepare = |what| move |why| ChromeError::Prepare { what, why };
        let profile = TempFolder::create("profile").map_err(prepare("profile folder"))?;
        let (read_commands, commands) = std::io::pipe().map_err(prepare("pipe"))?;
        let (answers, write_answers) = std::io::pipe().map_err(prepare("pipe"))?;
        let mut command = command(options, profile.path());
        let fds = vec![
            FdMapping { parent_fd: read_commands.into(), child_fd: 3 },
            FdMapping { parent_fd: write_answers.into(), child_fd: 4 },
        ];
        let not_started =
            |why: std::io::Error| ChromeError::NotStarted { path: options.program.clone(), why: why.to_string() };
        command.fd_mappings(fds).map_err(|error| not_started(std::io::Error::other(error.to_string())))?;
        let mut wrap = CommandWrap::from(Command::from(command));
        wrap.wrap(ProcessGroup::leader()).wrap(KillOnDrop);
        let mut child = wrap.spawn().map_err(not_started)?;
        // Our copies of the browser's pipe ends live in the command: they have to close for its end to be seen.
        drop(wrap);
        if let Some(pid) = child.id() {
            profile.used_by(pid).map_err(prepare("profile folder"))?;
        }
        let last_lines = LastLines::default();
        let mut stderr = JoinSet::new();
        if let Some(pipe) = child.stderr().take() {
            stderr.spawn(last_lines.clone().read(pipe));
        }
        let reader = pipe::Receiver::from_owned_fd(answers.into()).map_err(prepare("pipe"))?;
        let writer = pipe::Sender::from_owned_fd(commands.into()).map_err(prepare("pipe"))?;
        let words = last_lines.clone();
        let client = Client::new(transport::pipe(reader, writer, async move {
            // The lines are complete once the reader is through with them.
            drop(tokio::time::timeout(REAP_WITHIN, stderr.join_next()).await);
            words.last_word()
        }));
        let mut browser = Self { client, child, profile: Some(profile) };
        browser.first_words(options, &last_lines).await?;
        Ok(browser)
    }

    /// Readiness is judged by the protocol alone, never by stderr (O-14).
    async fn first_words(&mut self, options: &LaunchOptions, last_lines: &LastLines) -> Result<(), ChromeError> {
        let path = options.program.clone();
        match self.client.root().call::<Value>("Browser.getVersion", json!({}), SPEAK_WITHIN).await {
            Ok(_) => Ok(()),
            Err(CdpError::Closed { .. }) => {
                let status = tokio::time::timeout(REAP_WITHIN, self.child.wait()).await;
                let status = match status {
                    Ok(Ok(status)) => status_words(status),
                    _ => "its pipe closed".into(),
                };
                Err(ChromeError::EndedAtOnce { path, status, stderr: last_lines.for_message() })
            }
            Err(CdpError::Deadline { within, .. }) => {
                Err(ChromeError::Mute { path, within, stderr: last_lines.for_message() })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The connection with it.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Its process id, as long as it was not reaped.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Ends it and removes its profile. Nothing it holds is worth a graceful end.
    pub async fn close(mut self) {
        self.client.close(CloseReason::BrowserGone("the run is over".into()));
        drop(self.child.start_kill());
        drop(tokio::time::timeout(END_WITHIN, self.child.wait()).await);
        if let Some(profile) = self.profile.take() {
            profile.remove();
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The group first, so that nothing writes into the profile folder while it is removed.
        drop(self.child.start_kill());
    }
}

fn command(options: &LaunchOptions, profile: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(&options.program);
    command.args(SWITCHES).arg(format!("--user-data-dir={}", profile.display()));
    // Chrome refuses its sandbox to root; elsewhere it stays unless the person says otherwise.
    if options.no_sandbox || rustix::process::geteuid().is_root() {
        command.arg("--no-sandbox");
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}
