//! Things that must never be read in an output: the secret one-time codes are made from, the codes and links made with
//! it, and the addresses pages report of themselves. Each is a type that redacts itself.
//!
//! - `store`: where the secret comes from: variable, file, or made for one run.
//! - `init`: makes the file, for `devtools-test secret init`.
//! - `scrub`: takes them out of texts that come from a page.

mod init;
mod scrub;
mod store;

use std::fmt;

use percent_encoding::percent_decode_str;
use serde::{Serialize, Serializer};
use url::Url;
use zeroize::Zeroizing;

pub use init::{GitIgnore, Initialized, init, is_ignored};
pub use scrub::Scrub;
pub use store::{FoundSecret, SecretError, SecretFile, SecretSource, file_in, find_secret};

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

    /// As it stands in the file.
    fn to_hex(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(self.0.len() * 2));
        for byte in self.0.iter() {
            text.extend([byte >> 4, byte & 15].map(|half| char::from_digit(half.into(), 16).unwrap_or_default()));
        }
        text
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

/// Compares without telling by its time how much of the text was right.
pub fn same(a: &Hidden, b: &Hidden) -> bool {
    let (a, b) = (a.expose().as_bytes(), b.expose().as_bytes());
    let difference = a.iter().zip(b).fold(u8::from(a.len() != b.len()), |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(difference) == 0
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
        // `created_at` is a name of its own.
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let named = ["at=", "relay="]
            .iter()
            .any(|name| lower.match_indices(name).any(|(at, _)| at == 0 || !is_word(lower.as_bytes()[at - 1])));
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
