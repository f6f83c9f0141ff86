//! What the upstream is told. It is asked as by a browser on this machine: dev servers check `Host` and `Origin`, and
//! frameworks compare `Origin` with `Host` and with what a proxy says the host was, so all of them name the upstream and
//! nothing names the address the phone used.

use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use url::{Position, Url};

use super::super::route;
use super::address::AppAddress;

/// Headers of one connection, not of the message (RFC 9110, 7.6.1).
const OF_THE_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// What says by which address the phone came; see the top of this file.
const OF_THE_WAY: [&str; 7] = [
    "forwarded",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-forwarded-scheme",
    "x-forwarded-server",
    "x-forwarded-ssl",
];

/// With these a page may come back as "not changed" or in parts, and there would be no head to put the agent in.
const OF_A_COPY: [HeaderName; 6] = [
    header::RANGE,
    header::IF_RANGE,
    header::IF_MATCH,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_UNMODIFIED_SINCE,
];

/// Removes the headers of the connection, those it names itself included.
pub(super) fn drop_hops(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&OF_THE_CONNECTION) {
        headers.remove(name);
    }
    headers.remove("proxy-connection");
}

/// By which a browser, and no page, says what a request is for.
pub(super) const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Whether a browser wants a page of this request: what is fetched by scripts, and frames inside a page, get no agent.
pub(super) fn is_navigation(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    match text(SEC_FETCH_DEST) {
        Some(destination) => destination == "document",
        // Browsers send it to trustworthy origins only, which a page in the local network is not.
        None => text(header::ACCEPT).is_some_and(|accept| accept.contains("text/html")),
    }
}

/// The one protocol that a connection may change to: in any other, HTTP/2 above all, further requests would pass unseen.
const WEB_SOCKET: HeaderValue = HeaderValue::from_static("websocket");

/// Whether a WebSocket is asked for, or granted.
pub(super) fn is_web_socket(headers: &HeaderMap) -> bool {
    let connection = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let asks = connection.flat_map(|list| list.split(',')).any(|word| word.trim().eq_ignore_ascii_case("upgrade"));
    let mut protocols = headers.get_all(header::UPGRADE).iter();
    asks && protocols.next().is_some_and(|name| name.as_bytes().eq_ignore_ascii_case(WEB_SOCKET.as_bytes()))
        && protocols.next().is_none()
}

/// Says that the connection changes to a WebSocket.
pub(super) fn mark_web_socket(headers: &mut HeaderMap) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, WEB_SOCKET);
}

/// What a request is rewritten by.
pub(super) struct Visit<'a> {
    /// The upstream.
    pub(super) app: &'a AppAddress,
    /// Name of the relay's cookie.
    pub(super) cookie: &'a str,
    /// A page is wanted.
    pub(super) navigation: bool,
    /// The authorities by which this relay is reached.
    pub(super) names: &'a [String],
}

impl Visit<'_> {
    /// The headers as the upstream gets them.
    pub(super) fn headers(&self, mut headers: HeaderMap) -> HeaderMap {
        let web_socket = is_web_socket(&headers);
        if headers.contains_key(header::TRANSFER_ENCODING) {
            // The chunks are what counts (RFC 9112, 6.3); a length beside them is a lie.
            headers.remove(header::CONTENT_LENGTH);
        }
        drop_hops(&mut headers);
        if web_socket {
            mark_web_socket(&mut headers);
        }
        OF_THE_WAY.iter().for_each(|name| drop(headers.remove(*name)));
        // The relay has answered it already.
        headers.remove(header::EXPECT);
        if let Ok(host) = HeaderValue::from_str(self.app.authority()) {
            headers.insert(header::HOST, host);
        }
        self.addresses(&mut headers);
        self.cookies(&mut headers);
        if self.navigation {
            OF_A_COPY.iter().for_each(|name| drop(headers.remove(name)));
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        headers
    }

    fn addresses(&self, headers: &mut HeaderMap) {
        for name in [header::ORIGIN, header::REFERER] {
            let given = headers.get(&name).and_then(|value| value.to_str().ok()).and_then(|text| Url::parse(text).ok());
            let is_own =
                |url: &Url| self.names.iter().any(|name| name == &url[Position::BeforeHost..Position::AfterPort]);
            let Some(url) = given.filter(is_own) else { continue };
            let mut text = self.app.origin().to_owned();
            if name == header::REFERER && !route::is_reserved(url.path()) {
                text.push_str(&url[Position::BeforePath..]);
            }
            match HeaderValue::from_str(&text) {
                Ok(value) => drop(headers.insert(name, value)),
                Err(_) => drop(headers.remove(name)),
            }
        }
    }

    /// The ticket is between the phone and the relay.
    fn cookies(&self, headers: &mut HeaderMap) {
        let kept: Vec<HeaderValue> = headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|value| without(value.as_bytes(), self.cookie.as_bytes()))
            .filter_map(|value| HeaderValue::from_bytes(&value).ok())
            .collect();
        headers.remove(header::COOKIE);
        for value in kept {
            headers.append(header::COOKIE, value);
        }
    }
}

/// The pairs of a `Cookie` header but those of this name; `None` where nothing is left.
fn without(pairs: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let own = |pair: &&[u8]| pair.trim_ascii().split(|byte| *byte == b'=').next() == Some(name);
    let kept: Vec<&[u8]> = pairs.split(|byte| *byte == b';').filter(|pair| !own(pair)).collect();
    let kept = kept.join(&b';');
    Some(kept.trim_ascii().to_vec()).filter(|kept| !kept.is_empty())
}

/// The target of the request line: what the phone asked for, byte for byte, but never another host.
pub(super) fn target(uri: &axum::http::Uri) -> Option<PathAndQuery> {
    uri.path_and_query().filter(|path| path.as_str().starts_with('/')).cloned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn map(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        headers
    }

    fn told(pairs: &[(&str, &str)], navigation: bool) -> Vec<(String, String)> {
        let app = AppAddress::new("http://localhost:5173/app").unwrap();
        let names = ["relay.test".to_owned(), "127.0.0.1:4711".to_owned()];
        let visit = Visit { app: &app, cookie: "ait_0", navigation, names: &names };
        let headers = visit.headers(map(pairs));
        let mut told: Vec<_> =
            headers.iter().map(|(name, value)| pair(name.as_str(), value.to_str().unwrap())).collect();
        told.sort();
        told
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn the_upstream_hears_its_own_name() {
        let headers = told(
            &[
                ("host", "relay.test"),
                ("origin", "https://relay.test"),
                ("referer", "https://relay.test/a?b"),
                ("x-forwarded-proto", "https"),
                ("x-forwarded-host", "relay.test"),
                ("x-forwarded-for", "10.0.0.7"),
                ("accept-encoding", "br"),
                ("if-none-match", "\"1\""),
            ],
            false,
        );
        let expected = [
            pair("accept-encoding", "br"),
            pair("host", "localhost:5173"),
            pair("if-none-match", "\"1\""),
            pair("origin", "http://localhost:5173"),
            pair("referer", "http://localhost:5173/a?b"),
            pair("x-forwarded-for", "10.0.0.7"),
        ];
        assert_eq!(headers, expected);
    }

    #[test]
    fn strangers_keep_their_names_and_codes_stay_here() {
        let origins = [("origin", "https://evil.test"), ("referer", "https://evil.test/x")];
        assert_eq!(told(&origins, false)[1..], [pair("origin", origins[0].1), pair("referer", origins[1].1)]);
        let code = told(&[("referer", "http://127.0.0.1:4711/attach?at=123456")], false);
        assert!(code.contains(&pair("referer", "http://localhost:5173")), "{code:?}");
        assert!(told(&[("origin", "null")], false).contains(&pair("origin", "null")));
    }

    #[test]
    fn pages_are_asked_for_whole_and_plain() {
        let headers = told(
            &[("accept-encoding", "gzip, br"), ("if-none-match", "\"1\""), ("range", "bytes=0-9"), ("if-range", "x")],
            true,
        );
        assert_eq!(headers, [pair("accept-encoding", "identity"), pair("host", "localhost:5173")]);
    }

    #[test]
    fn what_belongs_to_the_connection_stays_on_it() {
        let headers = told(
            &[
                ("connection", "keep-alive, X-Hop"),
                ("x-hop", "1"),
                ("keep-alive", "timeout=5"),
                ("te", "trailers"),
                ("transfer-encoding", "chunked"),
                ("content-length", "4"),
                ("upgrade", "h2c"),
                ("proxy-connection", "x"),
                ("expect", "100-continue"),
            ],
            false,
        );
        assert_eq!(headers, [pair("host", "localhost:5173")]);
        let socket = told(&[("connection", "keep-alive, Upgrade"), ("upgrade", "WebSocket")], false);
        assert!(socket.contains(&pair("connection", "upgrade")) && socket.contains(&pair("upgrade", "websocket")));
        for other in ["h2c", "TLS/1.0", "websocket, h2c"] {
            let headers = told(&[("connection", "upgrade"), ("upgrade", other)], false);
            assert_eq!(headers, [pair("host", "localhost:5173")], "{other}");
        }
        let two = told(&[("connection", "upgrade"), ("upgrade", "websocket"), ("upgrade", "h2c")], false);
        assert_eq!(two, [pair("host", "localhost:5173")]);
    }

    #[test]
    fn the_ticket_is_not_handed_on() {
        let cookies = |given: &[(&str, &str)]| -> Vec<String> {
            told(given, false).into_iter().filter(|(name, _)| name == "cookie").map(|(_, value)| value).collect()
        };
        assert_eq!(cookies(&[("cookie", "a=1; ait_0=t; b=2")]), ["a=1; b=2"]);
        assert_eq!(cookies(&[("cookie", "ait_0=t"), ("cookie", "ait_01=x;ait_0=y")]), ["ait_01=x"]);
        assert!(cookies(&[("cookie", " ait_0 =t ; ait_0=t")]).iter().all(|value| !value.contains("ait_0=")));
    }

    #[test]
    fn pages_are_told_from_what_scripts_fetch() {
        let navigation = |pairs: &[(&str, &str)]| is_navigation(&map(pairs));
        assert!(navigation(&[("sec-fetch-dest", "document"), ("accept", "*/*")]));
        assert!(navigation(&[("accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")]));
        for other in ["iframe", "empty", "script", "serviceworker"] {
            assert!(!navigation(&[("sec-fetch-dest", other), ("accept", "text/html")]), "{other}");
        }
        assert!(!navigation(&[("accept", "*/*")]) && !navigation(&[]));
    }

    proptest! {
        #[test]
        fn whatever_is_sent_the_upstream_hears_one_name_no_hop_and_no_ticket(
            sent in prop::collection::vec((0..9_usize, prop_oneof![
                prop::collection::vec(any::<u8>(), 0..24),
                "(ait_0|host|upgrade|websocket|chunked|https?://relay.test|[ ;,=/:@]){0,6}".prop_map(String::into_bytes),
            ]), 0..8),
            navigation: bool,
        ) {
            const NAMES: [&str; 9] =
                ["host", "cookie", "connection", "upgrade", "te", "transfer-encoding", "origin", "referer", "x-other"];
            let mut headers = HeaderMap::new();
            for (name, value) in sent {
                if let Ok(value) = HeaderValue::from_bytes(&value) {
                    headers.append(HeaderName::from_static(NAMES[name]), value);
                }
            }
            let app = AppAddress::new("http://localhost:5173/app").unwrap();
            let visit = Visit { app: &app, cookie: "ait_0", navigation, names: &["relay.test".to_owned()] };
            let told = visit.headers(headers);
            let hosts: Vec<_> = told.get_all(header::HOST).iter().collect();
            prop_assert_eq!(hosts, ["localhost:5173"]);
            prop_assert!(!told.contains_key(header::TRANSFER_ENCODING) && !told.contains_key(header::TE));
            prop_assert!(told.get(header::UPGRADE).is_none_or(|value| value == "websocket"));
            prop_assert!(told.get(header::CONNECTION).is_none_or(|value| value == "upgrade"));
            for cookie in told.get_all(header::COOKIE) {
                let pairs = cookie.as_bytes().split(|byte| *byte == b';');
                prop_assert!(pairs.into_iter().all(|pair| pair.trim_ascii() != b"ait_0" && !pair.trim_ascii().starts_with(b"ait_0=")));
            }
        }
    }

    #[test]
    fn no_request_line_names_another_host() {
        for (uri, expected) in [
            ("/a//b?c", Some("/a//b?c")),
            ("http://evil.test/a?b", Some("/a?b")),
            ("http://evil.test", Some("/")),
            ("*", None),
            ("evil.test:443", None),
        ] {
            let found = target(&uri.parse().unwrap());
            assert_eq!(found.as_ref().map(PathAndQuery::as_str), expected, "{uri}");
        }
    }
}
