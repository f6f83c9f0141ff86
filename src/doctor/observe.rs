//! Looks at files, ports and clocks.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use hyper::Method;
use secrecy::ExposeSecret;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::DoctorOptions;
use super::verdicts::{FileSeen, SecretSeen, VariableSeen};
use crate::http::{self, Answer};
use crate::process::Guarded;
use crate::secret::{Secret, SecretError, SecretFile, is_ignored};
use crate::tunnel::PublicAddress;

/// A run without files starts nothing and ends at once.
const RUN_LIMIT: Duration = Duration::from_secs(20);
/// A server that is up answers a request for nothing this soon.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

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

/// By how much the clock behind a public address is ahead of ours; `None` where it cannot be asked: TLS is for pages.
pub(super) async fn outside_clock(url: &str) -> Option<Result<i64, String>> {
    let address = PublicAddress::new(url).ok()?;
    if address.is_tls() {
        return None;
    }
    let failed = |_| "it does not answer".to_owned();
    let ask = async {
        let stream = TcpStream::connect((address.name(), address.port())).await.map_err(|_| failed(()))?;
        // Errors of a request name no host.
        http::request(stream, &address.host(), Method::HEAD, "/", None, ANSWER_LIMIT).await.map_err(|_| failed(()))
    };
    let answer = timeout(ANSWER_LIMIT, ask).await.unwrap_or_else(|_| Err(failed(())));
    Some(answer.and_then(|answer| seconds_ahead(&answer)))
}

/// By how much the clock that dated an answer is ahead of ours.
pub(super) fn seconds_ahead(answer: &Answer) -> Result<i64, String> {
    let date = answer.date.as_deref().ok_or("its answer has no date")?;
    let theirs = httpdate::parse_http_date(date).map_err(|_| "the date of its answer cannot be read")?;
    let seconds = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Ok(seconds(theirs).cast_signed() - seconds(SystemTime::now()).cast_signed())
}
