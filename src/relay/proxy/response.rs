//! What the phone is told: an answer of the upstream without the upstream's name in it.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use percent_encoding::{CONTROLS, percent_encode};

use super::address::AppAddress;
use super::policy::{Needs, widen_all};
use super::request::drop_hops;

/// What an answer is rewritten by.
pub(super) struct Answer<'a> {
    /// The upstream.
    pub(super) app: &'a AppAddress,
    /// Path and query that were asked for.
    pub(super) path: &'a str,
    /// Name of the relay's cookie.
    pub(super) cookie: &'a str,
    /// The phone came over TLS.
    pub(super) tls: bool,
}

/// What describes the bytes of a page that gets the agent put in, and so describes others than those that are sent.
const OF_THE_BYTES: [&str; 11] = [
    "accept-ranges",
    "content-digest",
    "content-encoding",
    "content-length",
    "content-md5",
    "digest",
    "etag",
    "expires",
    "last-modified",
    "pragma",
    "repr-digest",
];

impl Answer<'_> {
    /// The headers as the phone gets them.
    pub(super) fn headers(&self, mut headers: HeaderMap) -> HeaderMap {
        drop_hops(&mut headers);
        // Would have the browser look for the app elsewhere.
        headers.remove(header::ALT_SVC);
        if let Some(path) = headers.get(header::LOCATION).and_then(|value| self.own_path(value.as_bytes())) {
            headers.insert(header::LOCATION, path);
        }
        if let Some(refresh) = headers.get(header::REFRESH).and_then(|value| self.refresh(value)) {
            headers.insert(header::REFRESH, refresh);
        }
        if let Some(clear) = headers.get(CLEAR_SITE_DATA).map(but_cookies) {
            headers.remove(CLEAR_SITE_DATA);
            drop(clear.map(|value| headers.insert(CLEAR_SITE_DATA, value)));
        }
        let cookies: Vec<HeaderValue> = headers.get_all(header::SET_COOKIE).iter().cloned().collect();
        headers.remove(header::SET_COOKIE);
        for cookie in cookies.into_iter().filter_map(|cookie| self.cookie(cookie)) {
            headers.append(header::SET_COOKIE, cookie);
        }
        headers
    }

    /// Where an address leads, without the host, when that is the app's own. As browsers do, it takes bytes that are not
    /// ASCII for escaped ones.
    fn own_path(&self, location: &[u8]) -> Option<HeaderValue> {
        let path = self.app.own_path(&percent_encode(location, CONTROLS).to_string(), self.path)?;
        HeaderValue::from_str(&path).ok()
    }

    /// The same for `Refresh: 0; url=...`.
    fn refresh(&self, value: &HeaderValue) -> Option<HeaderValue> {
        let text = text(value);
        let (seconds, location) = text.split_once([';', ','])?;
        let location = location.trim_start();
        let location = match location.get(..4) {
            Some(name) if name.eq_ignore_ascii_case("url=") => location.get(4..)?,
            _ => location,
        };
        let path = self.own_path(&bytes(location.trim().trim_matches(['"', '\''])))?;
        HeaderValue::from_str(&format!("{seconds}; url={}", path.to_str().ok()?)).ok()
    }

    /// A `Set-Cookie` (RFC 6265bis, 5.6) that holds for the address the phone used; none for the relay's own name.
    fn cookie(&self, cookie: HeaderValue) -> Option<HeaderValue> {
        let text = text(&cookie);
        let mut parts = text.split(';');
        let pair = parts.next().unwrap_or_default();
        // One without a name comes back as its value, which may look like a pair again.
        let name = pair.trim_start_matches([' ', '\t', '=']).split('=').next().unwrap_or_default().trim();
        if name == self.cookie {
            return None;
        }
        // Such names promise TLS; without it browsers take them from this machine only, and only as they are.
        let promises = ["__Secure-", "__Host-"].iter().any(|start| name.starts_with(start));
        let mut kept = pair.to_owned();
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            match key.as_str() {
                "domain" if self.is_upstream(value) => {}
                "secure" | "partitioned" if !self.tls && !promises => {}
                "samesite" if !self.tls && !promises && value.eq_ignore_ascii_case("none") => {
                    kept.push_str("; SameSite=Lax");
                }
                _ => {
                    kept.push(';');
                    kept.push_str(part);
                }
            }
        }
        HeaderValue::from_bytes(&bytes(&kept)).ok()
    }

    fn is_upstream(&self, domain: &str) -> bool {
        let domain = domain.trim_start_matches('.').to_ascii_lowercase();
        let host = self.app.host();
        host == domain || host.ends_with(&format!(".{domain}")) || (self.app.is_local() && domain == "localhost")
    }
}

/// Name of the header by which a server has the browser forget things.
const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

/// The same without the cookies: the relay's own would be among them, and the phone outside. None when nothing is left.
fn but_cookies(value: &HeaderValue) -> Option<HeaderValue> {
    let text = text(value);
    let kept = text.split(',').map(str::trim).filter(|kind| *kind != "\"cookies\"");
    let kept: Vec<&str> = kept.map(|kind| if kind == "\"*\"" { "\"cache\", \"storage\"" } else { kind }).collect();
    Some(kept.join(", ")).filter(|kept| !kept.is_empty()).and_then(|kept| HeaderValue::from_bytes(&bytes(&kept)).ok())
}

/// A header's bytes as text, one character each, and back: what is not ASCII is nothing we look at, and must not be lost.
fn text(value: &HeaderValue) -> String {
    value.as_bytes().iter().map(|&byte| char::from(byte)).collect()
}

fn bytes(text: &str) -> Vec<u8> {
    text.chars().filter_map(|c| u8::try_from(c).ok()).collect()
}

/// The headers of a page that gets the agent put in.
pub(super) fn of_document(headers: &mut HeaderMap, needs: &Needs) {
    OF_THE_BYTES.iter().for_each(|name| drop(headers.remove(*name)));
    // Asked for again each time, so that the nonce and the ticket it leads to are of this run; the back-forward cache
    // keeps such pages, which it does not with no-store.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // What would only be reported is widened as well: the app's reports are about the app and not about us.
    for name in [header::CONTENT_SECURITY_POLICY, header::CONTENT_SECURITY_POLICY_REPORT_ONLY] {
        let policies: Vec<String> = headers.get_all(&name).iter().map(|value| widen_all(&text(value), needs)).collect();
        headers.remove(&name);
        let kept = policies.iter().filter(|policy| !policy.is_empty());
        for policy in kept.filter_map(|policy| HeaderValue::from_bytes(&bytes(policy)).ok()) {
            headers.append(&name, policy);
        }
    }
    for name in INTEGRITY_POLICIES {
        let policies: Vec<String> = headers.get_all(name).iter().map(|value| without_scripts(&text(value))).collect();
        headers.remove(name);
        for policy in policies.iter().filter_map(|policy| HeaderValue::from_bytes(&bytes(policy)).ok()) {
            headers.append(name, policy);
        }
    }
}

/// What must come with a hash of itself, or would be reported otherwise (Subresource Integrity, 3.9).
const INTEGRITY_POLICIES: [&str; 2] = ["integrity-policy", "integrity-policy-report-only"];

/// An integrity policy (a dictionary of RFC 8941) that asks nothing of scripts: neither the agent nor the scripts by which
/// tests run in a WebKit have a hash that could be known before.
fn without_scripts(policy: &str) -> String {
    let key = "blocked-destinations";
    let list = policy.find(key).and_then(|at| {
        let open = at + key.len() + policy.get(at + key.len()..)?.find('(')?;
        Some((open + 1, open + policy.get(open..)?.find(')')?))
    });
    let Some((from, to)) = list else { return policy.to_owned() };
    let kept = policy[from..to].split_ascii_whitespace().filter(|item| item.split(';').next() != Some("script"));
    format!("{}{}{}", &policy[..from], kept.collect::<Vec<_>>().join(" "), &policy[to..])
}

/// Whether a browser shows the body of such an answer to a navigation, and not a file that it downloads.
pub(super) fn is_shown(status: StatusCode, headers: &HeaderMap) -> bool {
    let partial = [StatusCode::NO_CONTENT, StatusCode::RESET_CONTENT, StatusCode::PARTIAL_CONTENT];
    let disposition = headers.get(header::CONTENT_DISPOSITION).map(text).unwrap_or_default();
    let downloaded = disposition.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("attachment"));
    !partial.contains(&status) && status != StatusCode::NOT_MODIFIED && !downloaded
}

/// How the bytes of an answer are to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// HTML, in the charset that was named.
    Html(Option<String>),
    /// HTML that is parsed as XML, where a tag in the wrong place spoils the page.
    Xhtml,
    /// Nothing was said; browsers look at the first bytes.
    Unsaid,
    /// Anything else.
    Other,
}

/// What the answer says it is.
pub(super) fn content(headers: &HeaderMap) -> Content {
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        let guessed = headers.get(header::X_CONTENT_TYPE_OPTIONS).is_none_or(|value| value != "nosniff");
        return if guessed { Content::Unsaid } else { Content::Other };
    };
    let text = value.to_str().unwrap_or_default();
    let mut parts = text.split(';');
    match parts.next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "text/html" => Content::Html(parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
        })),
        "application/xhtml+xml" => Content::Xhtml,
        _ => Content::Other,
    }
}

/// The codings of the body in the order they were applied; `None` when one of them is unknown here.
pub(super) fn codings(headers: &HeaderMap) -> Option<Vec<Coding>> {
    let values = headers.get_all(header::CONTENT_ENCODING).iter().map(|value| value.to_str().unwrap_or("?"));
    let names = values.flat_map(|list| list.split(',')).map(|name| name.trim().to_ascii_lowercase());
    names
        .filter(|name| !name.is_empty() && name != "identity")
        .map(|name| match name.as_str() {
            "gzip" | "x-gzip" => Some(Coding::Gzip),
            "deflate" => Some(Coding::Deflate),
            "br" => Some(Coding::Brotli),
            "zstd" => Some(Coding::Zstd),
            _ => None,
        })
        .collect()
}

/// A content coding (RFC 9110, 8.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// `gzip`.
    Gzip,
    /// `deflate`, which is the zlib format, or should be.
    Deflate,
    /// `br`.
    Brotli,
    /// `zstd`.
    Zstd,
}

/// A page that scripts fetch must not be found in the cache when it is navigated to: it has no agent.
pub(super) fn keep_out_of_cache(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

/// Name of the header by which a browser asks for the script of a service worker.
pub(super) const SERVICE_WORKER: HeaderName = HeaderName::from_static("service-worker");

#[cfg(test)]
mod tests;
