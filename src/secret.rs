//! Things that must never be read in an output: the secret one-time codes are made from, the codes and links made with
//! it, and the addresses pages report of themselves. Each is a type that redacts itself.

use std::fmt;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use serde::{Serialize, Serializer};
use url::Url;
use zeroize::Zeroizing;

/// Environment variable that carries the secret, read by `settings`.
pub const SECRET_VARIABLE: &str = "AIT_DEBUG_TOTP_SECRET";
/// File that holds the secret, beside the nearest `package.json`.
pub const SECRET_FILE: &str = ".ait_relay";

/// Fewest hex digits of a secret: 128 bits, what RFC 4226 asks for at least.
const MIN_HEX_DIGITS: usize = 32;
/// Bytes of a secret made for one run: 256 bits, as `openssl rand -hex 32` gives.
const MADE_BYTES: usize = 32;
/// What stands in place of something that must not be read.
const REDACTED: &str = "***";

/// The secret that one-time codes are made from. `Debug`, `Display` and `Serialize` show `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Reads the hex form; white space around it is ignored.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.trim().as_bytes();
        if digits.len() < MIN_HEX_DIGITS || !digits.len().is_multiple_of(2) {
            return None;
        }
        let byte = |pair: &[u8]| Some((hex_digit(pair[0])? << 4) | hex_digit(pair[1])?);
        digits.chunks_exact(2).map(byte).collect::<Option<Vec<u8>>>().map(|bytes| Self(Zeroizing::new(bytes)))
    }

    /// A new one from the operating system's random numbers.
    pub fn random() -> Result<Self, SecretError> {
        let mut bytes = Zeroizing::new(vec![0; MADE_BYTES]);
        getrandom::fill(&mut bytes).map_err(|_| SecretError::NoRandomness)?;
        Ok(Self(bytes))
    }

    /// The key itself, for the code generator only.
    pub(crate) fn expose(&self) -> &[u8] {
        &self.0
    }
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// A text that may be shown only where a person asked for it: a one-time code, a ticket, an attach link.
/// `Debug`, `Display` and `Serialize` show `***`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Hidden(String);

impl Hidden {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the QR code, the link a person asked for, or the wire; never for a log, an error or an event.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// A random ticket of 128 bits as 32 hex digits.
pub fn random_ticket() -> Result<Hidden, SecretError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| SecretError::NoRandomness)?;
    Ok(Hidden(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
}

/// The address of a page as it may be shown: without user name and password, without the values of `at`, `relay`
/// and anything that carries them, and without the name of the public host the relay is reached by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SafeUrl(String);

/// Longest address that is shown; `data:` pages can be megabytes long.
const MAX_SHOWN_URL: usize = 2048;
/// Names that cloudflared gives to tunnels nobody registered.
const QUICK_TUNNELS: &str = ".trycloudflare.com";
/// What stands in place of a host that must not be read.
const HIDDEN_HOST: &str = "relay";
/// How often a value is decoded to look for a code inside: links nested in links are encoded once per level.
const DECODE_LEVELS: usize = 3;

impl SafeUrl {
    /// Cleans an address.
    pub fn new(raw: &str) -> Self {
        Self::hiding(raw, None)
    }

    /// Cleans an address. `public_host` is the host name of the relay's public address, if it has one: it is not shown
    /// either. Hosts of quick tunnels never are.
    pub fn hiding(raw: &str, public_host: Option<&str>) -> Self {
        let Ok(mut url) = Url::parse(raw) else { return Self(String::new()) };
        // Both fail on addresses that cannot carry a user (`about:`, `data:`), which is fine.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        if url.host_str().is_some_and(|host| host.ends_with(QUICK_TUNNELS)) {
            let _ = url.set_host(Some(HIDDEN_HOST));
        }
        if url.query().is_some() {
            let kept = clean_parameters(url.query().unwrap_or_default(), public_host);
            url.set_query((!kept.is_empty()).then_some(&kept));
        }
        if url.fragment().is_some() {
            let kept = clean_parameters(url.fragment().unwrap_or_default(), public_host);
            url.set_fragment((!kept.is_empty()).then_some(&kept));
        }
        let mut text = clean_path(&url);
        if let Some(host) = public_host.filter(|host| !host.is_empty() && !is_loopback(host)) {
            text = text.replace(host, HIDDEN_HOST);
        }
        Self(truncate(text, MAX_SHOWN_URL))
    }

    /// The cleaned address; empty when the page reported something that is no address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a host name means this machine and may be shown.
fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "::1" | "[::1]")
}

/// Replaces the code in `/at/<code>/...`.
fn clean_path(url: &Url) -> String {
    let text = url.as_str();
    let Some(rest) = url.path().strip_prefix("/at/") else { return text.to_owned() };
    let code = rest.split('/').next().unwrap_or_default();
    text.replacen(&format!("/at/{code}"), &format!("/at/{REDACTED}"), 1)
}

fn clean_parameters(text: &str, public_host: Option<&str>) -> String {
    // A fragment may be a route with parameters of its own: `#/list?at=...`.
    text.split('&').filter(|part| !tells(part, public_host)).collect::<Vec<_>>().join("&")
}

/// Whether a parameter is, or holds on any level of encoding, something that must not be read.
fn tells(part: &str, public_host: Option<&str>) -> bool {
    let mut text = part.to_owned();
    for _ in 0..=DECODE_LEVELS {
        let lower = text.to_ascii_lowercase();
        let named = ["at=", "relay="].iter().any(|name| {
            lower.match_indices(name).any(|(at, _)| at == 0 || !lower.as_bytes()[at - 1].is_ascii_alphanumeric())
        });
        if named || lower.contains("/at/") || public_host.is_some_and(|h| !is_loopback(h) && lower.contains(h)) {
            return true;
        }
        text = percent_decode_str(&text).decode_utf8_lossy().into_owned();
    }
    false
}

fn truncate(mut text: String, max: usize) -> String {
    if text.len() > max {
        let end = (0..=max).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Where a secret came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// [`SECRET_VARIABLE`].
    Environment,
    /// [`SECRET_FILE`].
    File,
    /// Made for this run and kept in memory.
    Made,
}

/// A secret, and what a person should know about it.
#[derive(Clone, Debug)]
pub struct FoundSecret {
    /// The secret.
    pub secret: Secret,
    /// Where it came from.
    pub source: SecretSource,
    /// A warning without values, at most one.
    pub warning: Option<String>,
}

/// Why there is no secret. Never carries a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The variable is set to something else than a secret.
    #[error(
        "{SECRET_VARIABLE} is set but is no secret: it must be hex digits, an even number, 32 or more. Make one with \
         `openssl rand -hex 32`, or unset it"
    )]
    BadVariable,
    /// The file holds something else than a secret.
    #[error("{path} holds no secret: it must be hex digits, an even number, 32 or more. Write a new one or remove it", path = path.display())]
    BadFile {
        /// Which file.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("{path} cannot be read ({kind}). Mend its permissions or set {SECRET_VARIABLE}", path = path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the operating system said.
        kind: std::io::ErrorKind,
    },
    /// The operating system gave no random numbers.
    #[error("the operating system gave no random numbers, so no secret can be made. Set {SECRET_VARIABLE}")]
    NoRandomness,
}

/// Finds the secret: the variable's value, else the file beside the nearest `package.json` from `project_root`
/// upwards, else a new one. Writes nothing.
pub fn find_secret(variable: Option<&str>, project_root: &Path) -> Result<FoundSecret, SecretError> {
    if let Some(text) = variable.filter(|text| !text.trim().is_empty()) {
        let secret = Secret::from_hex(text).ok_or(SecretError::BadVariable)?;
        let differs = matches!(read_file(project_root), Ok(Some(other)) if other != secret);
        let warning = differs.then(|| {
            format!("{SECRET_VARIABLE} and {SECRET_FILE} hold different secrets; the variable is used. Apps built with the other one are refused.")
        });
        return Ok(FoundSecret { secret, source: SecretSource::Environment, warning });
    }
    if let Some(secret) = read_file(project_root)? {
        return Ok(FoundSecret { secret, source: SecretSource::File, warning: None });
    }
    Ok(FoundSecret { secret: Secret::random()?, source: SecretSource::Made, warning: None })
}

fn read_file(project_root: &Path) -> Result<Option<Secret>, SecretError> {
    let folder = project_root.ancestors().find(|dir| dir.join("package.json").is_file()).unwrap_or(project_root);
    let path = folder.join(SECRET_FILE);
    match fs_err::read_to_string(&path) {
        Ok(text) => Secret::from_hex(&Zeroizing::new(text)).map(Some).ok_or(SecretError::BadFile { path }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(SecretError::Unreadable { path, kind: error.kind() }),
    }
}

macro_rules! redacting {
    ($($type:ident),*) => {$(
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($type), "({})"), REDACTED)
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(REDACTED)
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(REDACTED)
            }
        }
    )*};
}
redacting!(Secret, Hidden);

impl fmt::Display for SafeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
