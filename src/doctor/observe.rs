//! Looks at files and ports.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::DoctorOptions;
use super::verdicts::{FileSeen, SecretSeen, VariableSeen};
use crate::process::Guarded;
use crate::secret::{Secret, SecretError, SecretFile, is_ignored};

/// A run without files starts nothing and ends at once.
const RUN_LIMIT: Duration = Duration::from_secs(20);

pub(super) fn secret(options: &DoctorOptions) -> SecretSeen {
    let given = options.secret.as_ref().map(ExposeSecret::expose_secret).filter(|text| !text.trim().is_empty());
    let variable = given.map(Secret::from_hex);
    let file = SecretFile::read(&options.project_root).map_err(|error| error.to_string());
    let file = file.map(|file| file.map(|file| look_at(&file, variable.as_ref().and_then(Option::as_ref))));
    let variable = match variable {
        None => VariableSeen::Unset,
        Some(Some(_)) => VariableSeen::Secret,
        Some(None) => VariableSeen::Nonsense,
    };
    SecretSeen { variable, file }
}

fn look_at(file: &SecretFile, variable: Option<&Secret>) -> FileSeen {
    FileSeen {
        path: file.path.clone(),
        mode: file.mode,
        holds_secret: file.holds_one(),
        open: matches!(file.usable(), Err(SecretError::TooOpen { .. })),
        same: variable.is_some_and(|secret| file.holds(secret)),
        ignored: is_ignored(&file.path),
    }
}

/// The first of these ports that can be listened on.
pub(super) fn free_port(mut ports: impl Iterator<Item = u16>) -> Option<u16> {
    ports.find(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
}

/// Whether files can be made in a folder.
pub(super) fn temp(folder: &Path) -> Result<(), String> {
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        std::io::Write::write_all(&mut file, &[0; 4096])?;
        file.close()
    };
    write().map_err(|error| error.to_string())
}

/// What a run that reports JSON lines writes into a pipe: one without a file, so that it starts nothing.
pub(super) async fn stdout(program: &Path) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["run", "--target", "chrome", "--reporter", "json", "--project-root"]).arg(folder.path());
    let mut run = Guarded::start(&command, Stdio::piped()).map_err(|error| error.to_string())?;
    let Some(mut pipe) = run.take_stdout() else { return Err("it has no stdout".into()) };
    let mut written = Vec::new();
    let read = timeout(RUN_LIMIT, pipe.read_to_end(&mut written)).await;
    run.end().await;
    match read {
        Ok(Ok(_)) => Ok(written),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("it did not end within {} s", RUN_LIMIT.as_secs())),
    }
}
