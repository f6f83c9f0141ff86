//! A display that nobody sees, for a WebKit that cannot do without one.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fs_err::os::unix::fs::OpenOptionsExt;
use tokio::io::{AsyncBufReadExt, BufReader};

use super::WebkitError;
use crate::process::Guarded;

/// Xvfb is up in a tenth of a second; a loaded machine takes a few.
const UP_WITHIN: Duration = Duration::from_secs(15);
/// One screen of a small laptop, in pixels and bits of colour.
const SCREEN: &str = "1280x800x24";

/// An X server of ours. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Display {
    server: Guarded,
    number: String,
    authority: PathBuf,
}

impl Display {
    /// Starts one under a number that is free; who may use it is told in a file in `folder`.
    pub(super) async fn start(xvfb: &Path, folder: &Path) -> Result<Self, WebkitError> {
        let authority = folder.join("Xauthority");
        write_authority(&authority).map_err(|why| WebkitError::Prepare { what: "display", why })?;
        let mut command = Command::new(xvfb);
        command.args(["-displayfd", "1", "-screen", "0", SCREEN, "-nolisten", "tcp", "-auth"]).arg(&authority);
        let mut server = Guarded::start(&command, Stdio::piped())
            .map_err(|why| WebkitError::NotStarted { path: xvfb.to_owned(), why })?;
        let mut stdout = server.take_stdout().map(|stdout| BufReader::new(stdout).lines());
        // It says its number once it can be used.
        let number = async {
            match &mut stdout {
                Some(lines) => lines.next_line().await.ok().flatten(),
                None => None,
            }
        };
        let path = xvfb.to_owned();
        match tokio::time::timeout(UP_WITHIN, number).await {
            Ok(Some(number)) => Ok(Self { server, number: number.trim().to_owned(), authority }),
            Ok(None) => {
                let status = server.ended().await;
                Err(WebkitError::EndedAtOnce { path, status, stderr: server.last_lines().for_message() })
            }
            Err(_) => Err(WebkitError::Mute { path, within: UP_WITHIN, stderr: server.last_lines().for_message() }),
        }
    }

    /// The variables of a program that is to use it.
    pub(super) fn variables(&self) -> [(&'static str, OsString); 3] {
        [
            ("DISPLAY", format!(":{}", self.number).into()),
            ("XAUTHORITY", self.authority.clone().into_os_string()),
            ("GDK_BACKEND", "x11".into()),
        ]
    }

    pub(super) async fn end(self) {
        self.server.end().await;
    }
}

/// An entry of Xauthority(5): family, address, display number, protocol, cookie; all but the family with their length
/// before them. This one is for every address and number, and only its owner can read it.
fn write_authority(path: &Path) -> std::io::Result<()> {
    /// `FamilyWild` of Xauth.h.
    const EVERY: [u8; 2] = 65535u16.to_be_bytes();
    const PROTOCOL: &[u8] = b"MIT-MAGIC-COOKIE-1";
    let mut cookie = [0; 16];
    getrandom::fill(&mut cookie).map_err(std::io::Error::other)?;
    let mut entry = EVERY.to_vec();
    for part in [&[][..], &[], PROTOCOL, &cookie] {
        // The longest has 18 bytes.
        entry.extend((part.len() as u16).to_be_bytes());
        entry.extend(part);
    }
    let mut file = fs_err::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(&entry)
}
