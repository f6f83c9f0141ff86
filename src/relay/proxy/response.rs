//! What the phone is told: an answer of the upstream without the upstream's name in it.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

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
        if let Some(location) = headers.get(header::LOCATION).and_then(|value| value.to_str().ok())
            && let Some(path) = self.app.own_path(location, self.path)
            && let Ok(path) = HeaderValue::from_str(&path)
        {
            headers.insert(header::LOCATION, path);
        }
        let cookies: Vec<HeaderValue> = headers.get_all(header::SET_COOKIE).iter().cloned().collect();
        headers.remove(header::SET_COOKIE);
        for cookie in cookies.into_iter().filter_map(|cookie| self.cookie(cookie)) {
            headers.append(header::SET_COOKIE, cookie);
        }
        headers
    }

    /// A `Set-Cookie` (RFC 6265bis, 5.6) that holds for the address the phone used; none for the relay's own name.
    fn cookie(&self, cookie: HeaderValue) -> Option<HeaderValue> {
        let Ok(text) = cookie.to_str() else { return Some(cookie) };
        let mut parts = text.split(';');
        let pair = parts.next().unwrap_or_default();
        let name = pair.split('=').next().unwrap_or_default().trim();
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
        HeaderValue::from_str(&kept).ok()
    }

    fn is_upstream(&self, domain: &str) -> bool {
        let domain = domain.trim_start_matches('.').to_ascii_lowercase();
        let host = self.app.host();
        host == domain || host.ends_with(&format!(".{domain}")) || (self.app.is_local() && domain == "localhost")
    }
}

/// The headers of a page that gets the agent put in. Whether a policy came with it, which the agent's tag must satisfy.
pub(super) fn of_document(headers: &mut HeaderMap, needs: &Needs) -> bool {
    OF_THE_BYTES.iter().for_each(|name| drop(headers.remove(*name)));
    // Asked for again each time, so that the nonce and the ticket it leads to are of this run; the back-forward cache
    // keeps such pages, which it does not with no-store.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let policies: Vec<HeaderValue> = headers.get_all(header::CONTENT_SECURITY_POLICY).iter().cloned().collect();
    headers.remove(header::CONTENT_SECURITY_POLICY);
    for policy in &policies {
        let widened = policy.to_str().ok().map(|text| widen_all(text, needs));
        match widened.as_deref() {
            Some("") => {}
            Some(text) => drop(HeaderValue::from_str(text).map(|v| headers.append(header::CONTENT_SECURITY_POLICY, v))),
            None => drop(headers.append(header::CONTENT_SECURITY_POLICY, policy.clone())),
        }
    }
    !policies.is_empty()
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
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Content::Unsaid };
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
    /// `deflate`, which is the zlib format.
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
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn answer(app: &AppAddress, tls: bool) -> Answer<'_> {
        Answer { app, path: "/a/b", cookie: "ait_0", tls }
    }

    fn cookie(text: &str, tls: bool) -> Option<String> {
        let app = AppAddress::new("http://127.0.0.1:5173").unwrap();
        answer(&app, tls).cookie(text.parse().unwrap()).map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn cookies_hold_for_the_address_the_phone_used() {
        for (given, with_tls, without) in [
            ("a=b", "a=b", "a=b"),
            ("a=b; Path=/x; HttpOnly", "a=b; Path=/x; HttpOnly", "a=b; Path=/x; HttpOnly"),
            ("a=\"x;y\"; Domain=127.0.0.1;path=/", "a=\"x;y\";path=/", "a=\"x;y\";path=/"),
            ("a=b; domain=.localhost", "a=b", "a=b"),
            ("a=b; Domain=other.test", "a=b; Domain=other.test", "a=b; Domain=other.test"),
            ("a=b; Secure; SameSite=None", "a=b; Secure; SameSite=None", "a=b; SameSite=Lax"),
            ("a=b;secure;samesite=Strict", "a=b;secure;samesite=Strict", "a=b;samesite=Strict"),
            ("__Host-a=b; Secure; Path=/", "__Host-a=b; Secure; Path=/", "__Host-a=b; Secure; Path=/"),
        ] {
            assert_eq!(cookie(given, true).as_deref(), Some(with_tls), "{given}");
            assert_eq!(cookie(given, false).as_deref(), Some(without), "{given}");
        }
        assert_eq!(cookie("ait_0=mine; Path=/", true), None);
    }

    #[test]
    fn redirects_to_the_app_stay_with_the_phone() {
        let app = AppAddress::new("http://localhost:5173").unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::LOCATION, "http://127.0.0.1:5173/login?next=%2F#x".parse().unwrap());
        headers.insert(header::ALT_SVC, "h3=\":443\"".parse().unwrap());
        headers.insert(header::CONNECTION, "close, x-odd".parse().unwrap());
        headers.insert("x-odd", "1".parse().unwrap());
        headers.insert(header::X_FRAME_OPTIONS, "DENY".parse().unwrap());
        let told = answer(&app, true).headers(headers);
        assert_eq!(told[header::LOCATION], "/login?next=%2F#x");
        assert_eq!(told.len(), 2, "{told:?}");
        assert_eq!(told[header::X_FRAME_OPTIONS], "DENY");
    }

    #[test]
    fn a_page_with_another_body_is_described_anew() {
        let needs = Needs { nonce: "N".into(), sockets: Vec::new(), tls: true };
        let mut headers = HeaderMap::new();
        for name in OF_THE_BYTES {
            headers.insert(HeaderName::from_static(name), "x".parse().unwrap());
        }
        assert!(!of_document(&mut headers, &needs));
        assert_eq!(headers.len(), 1);
        assert_eq!(headers[header::CACHE_CONTROL], "no-cache");
        for policy in ["script-src 'self'", "require-trusted-types-for 'script'"] {
            headers.append(header::CONTENT_SECURITY_POLICY, policy.parse().unwrap());
        }
        headers.insert(header::CONTENT_SECURITY_POLICY_REPORT_ONLY, "script-src 'none'".parse().unwrap());
        assert!(of_document(&mut headers, &needs));
        let policies: Vec<_> = headers.get_all(header::CONTENT_SECURITY_POLICY).iter().collect();
        assert_eq!(policies, ["script-src 'self' 'unsafe-eval' 'nonce-N'"]);
        assert_eq!(headers[header::CONTENT_SECURITY_POLICY_REPORT_ONLY], "script-src 'none'");
    }

    #[test]
    fn types_and_codings_are_read_as_they_are_written() {
        let said = |name: HeaderName, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            headers
        };
        let html = |value| content(&said(header::CONTENT_TYPE, value));
        assert_eq!(html("Text/HTML"), Content::Html(None));
        assert_eq!(html("text/html; x=y; Charset=\"EUC-KR\""), Content::Html(Some("EUC-KR".into())));
        assert_eq!(html("application/xhtml+xml"), Content::Xhtml);
        assert_eq!(html("text/html-sandboxed"), Content::Other);
        assert_eq!(content(&HeaderMap::new()), Content::Unsaid);
        let coded = |value| codings(&said(header::CONTENT_ENCODING, value));
        assert_eq!(codings(&HeaderMap::new()), Some(Vec::new()));
        assert_eq!(coded("identity"), Some(Vec::new()));
        assert_eq!(coded("GZIP, br"), Some(vec![Coding::Gzip, Coding::Brotli]));
        assert_eq!(coded("gzip, dcb"), None);
    }
}
