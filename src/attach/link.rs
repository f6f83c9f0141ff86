//! Attach links: what the QR code carries.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::Url;

use super::AttachError;
use crate::relay::is_this_machine;
use crate::secret::Hidden;
use crate::tunnel::PublicAddress;

/// What `encodeURIComponent` leaves alone, which is what apps in the field decode with.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// The launcher of apps in the field: a page that opens another page in itself and hands our parameters on to it.
pub const LAUNCHER: &str = "https://devtools.aitc.dev/launcher/";

/// Which kind of link leads a person to the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// A page of our own, on the relay.
    Hosted,
    /// The app's scheme URL, with our parameters put in.
    Scheme(String),
    /// A launcher's page, which opens the app at its own address and hands our parameters on to it.
    Launcher {
        /// The launcher; its own parameters are kept.
        launcher: String,
        /// What it opens.
        app: String,
        /// What it calls the app.
        name: Option<String>,
    },
}

/// The link of this kind, with this code. A link that the page behind it could not use is not made.
///
/// # Errors
/// When an address is none, or the page could not reach the relay.
pub fn link(kind: &LinkKind, address: &PublicAddress, code: &Hidden) -> Result<Hidden, AttachError> {
    let socket = address.socket();
    let ours = [("debug", "1"), ("relay", socket.expose()), ("at", code.expose())];
    match kind {
        LinkKind::Hosted => Ok(address.page(&format!("/attach?at={}", code.expose()))),
        LinkKind::Scheme(url) => {
            let scheme = scheme_of(url)?;
            can_reach(scheme, url, address)?;
            Ok(completed(url, &ours))
        }
        LinkKind::Launcher { launcher, app, name } => {
            can_reach(scheme_of(app)?, app, address)?;
            if scheme_of(launcher)?.eq_ignore_ascii_case("https") && !scheme_of(app)?.eq_ignore_ascii_case("https") {
                return Err(AttachError::LauncherNeedsTls);
            }
            let named = name.as_deref().map(|name| ("name", name));
            let parameters: Vec<_> = [("url", app.as_str())].into_iter().chain(ours).chain(named).collect();
            Ok(completed(launcher, &parameters))
        }
    }
}

/// The scheme of an address that has one.
fn scheme_of(url: &str) -> Result<&str, AttachError> {
    let (scheme, rest) = url.split_once("://").ok_or(AttachError::SchemeUrl)?;
    let odd = rest.is_empty() || url.contains(char::is_control);
    let named = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    if named && !odd { Ok(scheme) } else { Err(AttachError::SchemeUrl) }
}

/// Whether a page at `url` could connect to the relay, and a phone open it at all.
fn can_reach(scheme: &str, url: &str, address: &PublicAddress) -> Result<(), AttachError> {
    let of_the_web = ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    if !address.is_tls() && !scheme.eq_ignore_ascii_case("http") {
        return Err(if of_the_web { AttachError::MixedContent } else { AttachError::NeedsTls });
    }
    let local = |url: &str| Url::parse(url).is_ok_and(|url| is_this_machine(&url));
    if of_the_web && local(url) && !local(address.page("/").expose()) {
        return Err(AttachError::AppOnThisMachine);
    }
    Ok(())
}

/// The address with these parameters at the end of its query, in place of those it had by the same names. Every other
/// byte stays what and where it was.
fn completed(url: &str, parameters: &[(&str, &str)]) -> Hidden {
    let before = url.split('#').next().unwrap_or_default();
    let fragment = url.get(before.len()..).unwrap_or_default();
    let (path, query) = before.split_once('?').unwrap_or((before, ""));
    // An `&` at the end is the separator already.
    let query = query.strip_suffix('&').map_or_else(|| (!query.is_empty()).then_some(query), Some);
    let replaced = |part: &&str| parameters.iter().any(|(name, _)| is_named(part, name));
    let kept = query.into_iter().flat_map(|query| query.split('&')).filter(|part| !replaced(part));
    let encoded = |(name, value): &(&str, &str)| format!("{name}={}", utf8_percent_encode(value, COMPONENT));
    let parts: Vec<String> = kept.map(str::to_owned).chain(parameters.iter().map(encoded)).collect();
    Hidden::new(format!("{path}?{}{fragment}", parts.join("&")))
}

fn is_named(part: &str, name: &str) -> bool {
    let own = part.split('=').next().unwrap_or_default();
    percent_decode_str(own).decode_utf8().is_ok_and(|own| own == name)
}

/// What stands where the app's name belongs in links that somebody made by hand.
const PLACEHOLDERS: [&str; 5] = ["", "web", "localhost", "127.0.0.1", "app"];

/// What is odd about a scheme URL that may work all the same.
pub fn doubt(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let of_the_web = ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    let placeholder = PLACEHOLDERS.iter().any(|word| authority.eq_ignore_ascii_case(word));
    (placeholder && !of_the_web).then(|| {
        let what = if authority.is_empty() { "nothing".to_owned() } else { format!("\"{authority}\"") };
        format!(
            "--scheme-url has {what} where the app's name belongs, and may open no app: take the link that the deploy \
             command prints"
        )
    })
}

#[cfg(test)]
mod tests;
