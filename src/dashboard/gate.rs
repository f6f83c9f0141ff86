//! Who may ask the local listener for what. Pure: the head of a request goes in, a route comes out, or nothing, which
//! is answered with 404 and not a word.

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use url::form_urlencoded;

use crate::secret::{Hidden, same};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// The page.
    Page,
    /// The stream of its state.
    Events,
    /// What is kept of a message's payload.
    Payload(u64),
    /// The messages from a number on that have a text.
    Find {
        /// The number.
        from: u64,
        /// The text.
        text: String,
    },
}

/// The names of this machine that never leave it. A name that an attacker's DNS leads to 127.0.0.1 is none of them.
const LOOPBACK_NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The route of a request that may pass.
pub(super) fn admit(request: &Parts, port: u16, token: &Hidden) -> Option<Route> {
    let host = only(&request.headers, &header::HOST)?;
    let named = |name: &str| host.eq_ignore_ascii_case(&format!("{name}:{port}"));
    // Port 80 is left out of a Host header.
    let is_ours = LOOPBACK_NAMES.iter().any(|name| named(name) || (port == 80 && host.eq_ignore_ascii_case(name)));
    let own_authority = request.uri.authority().is_none_or(|authority| authority.as_str() == host);
    let own_origin = match request.headers.get(header::ORIGIN) {
        None => true,
        Some(_) => only(&request.headers, &header::ORIGIN)
            .and_then(|origin| origin.strip_prefix("http://"))
            .is_some_and(|authority| authority.eq_ignore_ascii_case(host)),
    };
    if request.method != Method::GET || !is_ours || !own_authority || !own_origin {
        return None;
    }
    let (shown, rest) = request.uri.path().strip_prefix('/')?.split_once('/')?;
    if !same(&Hidden::new(shown), token) {
        return None;
    }
    match rest {
        "" => Some(Route::Page),
        "events" => Some(Route::Events),
        "find" => find(request.uri.query()?),
        _ => rest.strip_prefix("payload/")?.parse().ok().map(Route::Payload),
    }
}

fn find(query: &str) -> Option<Route> {
    let of = |name: &str| form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value);
    Some(Route::Find { from: of("from")?.parse().ok()?, text: of("text")?.into_owned() })
}

/// A header that must be there exactly once.
fn only<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::http::Request;

    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";
    const PORT: u16 = 8317;

    fn asked(method: &str, path: &str, headers: &[(&str, &str)]) -> Option<Route> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        admit(&request.body(()).unwrap().into_parts().0, PORT, &Hidden::new(TOKEN))
    }

    fn page(headers: &[(&str, &str)]) -> Option<Route> {
        asked("GET", &format!("/{TOKEN}/"), headers)
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:8317");

    #[test]
    fn who_has_the_address_gets_in() {
        assert_eq!(page(&[HOST]), Some(Route::Page));
        assert_eq!(asked("GET", &format!("/{TOKEN}/events"), &[HOST]), Some(Route::Events));
        assert_eq!(asked("GET", &format!("/{TOKEN}/payload/7"), &[HOST]), Some(Route::Payload(7)));
        let find = asked("GET", &format!("/{TOKEN}/find?from=3&text=a%26+%ED%95%9C"), &[HOST]);
        assert_eq!(find, Some(Route::Find { from: 3, text: "a& 한".into() }));
        assert_eq!(page(&[("host", "LocalHost:8317")]), Some(Route::Page));
        assert_eq!(page(&[("host", "[::1]:8317"), ("origin", "http://[::1]:8317")]), Some(Route::Page));
        assert_eq!(asked("GET", &format!("http://127.0.0.1:8317/{TOKEN}/"), &[HOST]), Some(Route::Page));
    }

    #[test]
    fn a_name_that_was_rebound_does_not() {
        let hosts = [
            "evil.test:8317",
            "127.0.0.1.evil.test:8317",
            "localhost.evil.test:8317",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.1:83170",
            "127.0.0.2:8317",
            "0.0.0.0:8317",
            "user@127.0.0.1:8317",
            "localhost:8317, evil.test",
            "",
        ];
        for host in hosts {
            assert_eq!(page(&[("host", host)]), None, "{host}");
        }
        assert_eq!(page(&[]), None, "HTTP/1.0 without a Host");
        assert_eq!(page(&[HOST, ("host", "evil.test")]), None, "two of them");
        assert_eq!(asked("GET", &format!("http://evil.test:8317/{TOKEN}/"), &[HOST]), None, "whole addresses");
    }

    #[test]
    fn a_page_of_another_origin_does_not() {
        let origins = [
            "http://evil.test",
            "http://127.0.0.1:3000",
            "http://localhost:8317",
            "https://127.0.0.1:8317",
            "http://127.0.0.1:8317.evil.test",
            "http://127.0.0.1:8317/",
            "null",
            "",
        ];
        for origin in origins {
            assert_eq!(page(&[HOST, ("origin", origin)]), None, "{origin}");
        }
        assert_eq!(page(&[HOST, ("origin", "http://127.0.0.1:8317"), ("origin", "http://evil.test")]), None);
        assert_eq!(page(&[HOST, ("origin", "http://127.0.0.1:8317")]), Some(Route::Page));
    }

    #[test]
    fn everything_else_is_not_there() {
        let paths = [
            "/".to_owned(),
            "/json".to_owned(),
            "/json/version".to_owned(),
            "/devtools/page/1".to_owned(),
            "//".to_owned(),
            "/events".to_owned(),
            format!("/{TOKEN}"),
            format!("/{TOKEN}/events/"),
            format!("/{TOKEN}/Events"),
            format!("/{TOKEN}//"),
            format!("//{TOKEN}/"),
            format!("/{TOKEN}/%65vents"),
            format!("/{TOKEN}/payload/"),
            format!("/{TOKEN}/payload/-1"),
            format!("/{TOKEN}/payload/1/2"),
            format!("/{TOKEN}/find"),
            format!("/{TOKEN}/find?from=x&text=a"),
            format!("/{TOKEN}/../events"),
            format!("/{}/", &TOKEN[1..]),
            format!("/{TOKEN}0/"),
            format!("/{}/", TOKEN.to_uppercase()),
            format!("/{}/", TOKEN.replace('0', "1")),
        ];
        for path in paths {
            assert_eq!(asked("GET", &path, &[HOST]), None, "{path}");
        }
        for method in ["POST", "HEAD", "OPTIONS", "PUT", "CONNECT"] {
            assert_eq!(asked(method, &format!("/{TOKEN}/"), &[HOST]), None, "{method}");
        }
    }
}
