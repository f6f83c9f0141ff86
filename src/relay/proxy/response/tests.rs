#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

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
    for own in ["ait_0=mine; Path=/", " ait_0 =x", "=ait_0=x", " = ait_0=x; Path=/deep", "ait_0"] {
        assert_eq!(cookie(own, true), None, "{own}");
    }
    assert_eq!(cookie("ait_01=x", true).as_deref(), Some("ait_01=x"));
    let app = AppAddress::new("http://127.0.0.1:5173").unwrap();
    let odd = HeaderValue::from_bytes(b"a=\xec\x95\xb1\xff; Domain=localhost; Path=/").unwrap();
    assert_eq!(answer(&app, true).cookie(odd).unwrap().as_bytes(), b"a=\xec\x95\xb1\xff; Path=/");
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
    let location = |bytes: &[u8]| answer(&app, true).own_path(bytes);
    assert_eq!(location("http://localhost:5173/앱?q=값".as_bytes()).unwrap(), "/%EC%95%B1?q=%EA%B0%92");
    assert_eq!(location(b"http://localhost:5173/\xbe\xdb").unwrap(), "/%BE%DB");
    assert_eq!(location(b"http://other.test/\xbe"), None);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[header::X_FRAME_OPTIONS], "DENY");
}

#[test]
fn a_page_with_another_body_is_described_anew() {
    let needs = Needs { nonce: "N".into(), scripts: Vec::new(), sockets: Vec::new(), tls: true };
    let mut headers = HeaderMap::new();
    for name in OF_THE_BYTES {
        headers.insert(HeaderName::from_static(name), "x".parse().unwrap());
    }
    of_document(&mut headers, &needs);
    assert_eq!(headers.len(), 1);
    assert_eq!(headers[header::CACHE_CONTROL], "no-cache");
    for policy in ["script-src 'self'", "require-trusted-types-for 'script'"] {
        headers.append(header::CONTENT_SECURITY_POLICY, policy.parse().unwrap());
    }
    headers.insert(header::CONTENT_SECURITY_POLICY_REPORT_ONLY, "script-src 'none'".parse().unwrap());
    of_document(&mut headers, &needs);
    let policies: Vec<_> = headers.get_all(header::CONTENT_SECURITY_POLICY).iter().collect();
    assert_eq!(policies, ["script-src 'self' 'unsafe-eval' 'nonce-N'"]);
    let reported = &headers[header::CONTENT_SECURITY_POLICY_REPORT_ONLY];
    assert_eq!(reported, "script-src 'unsafe-eval' 'nonce-N'");
    let odd = HeaderValue::from_bytes(b"script-src 'self'; report-uri /\xec\x95\xb1").unwrap();
    headers.insert(header::CONTENT_SECURITY_POLICY, odd);
    of_document(&mut headers, &needs);
    let widened = b"script-src 'self' 'unsafe-eval' 'nonce-N'; report-uri /\xec\x95\xb1";
    assert_eq!(headers[header::CONTENT_SECURITY_POLICY].as_bytes(), widened);
}

#[test]
fn refreshes_stay_with_the_phone_and_its_ticket_is_kept() {
    let app = AppAddress::new("http://localhost:5173").unwrap();
    let told = |name: HeaderName, value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(name.clone(), value.parse().unwrap());
        answer(&app, true).headers(headers).get(name).map(|value| value.to_str().unwrap().to_owned())
    };
    for (given, expected) in [
        ("0; url=http://localhost:5173/a?b", "0; url=/a?b"),
        ("3;URL='http://127.0.0.1:5173/'", "3; url=/"),
        ("0, http://localhost:5173/a", "0; url=/a"),
        ("0; url=/a", "0; url=/a"),
        ("5", "5"),
        ("0; url=https://other.test/", "0; url=https://other.test/"),
    ] {
        assert_eq!(told(header::REFRESH, given).as_deref(), Some(expected), "{given}");
    }
    for (given, expected) in [
        ("\"cookies\"", None),
        ("\"cache\",\"cookies\", \"storage\"", Some("\"cache\", \"storage\"")),
        ("\"*\"", Some("\"cache\", \"storage\"")),
    ] {
        assert_eq!(told(CLEAR_SITE_DATA, given).as_deref(), expected, "{given}");
    }
}

#[test]
fn only_pages_that_are_shown_get_the_agent() {
    let with = |disposition: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_DISPOSITION, disposition.parse().unwrap());
        is_shown(StatusCode::OK, &headers)
    };
    assert!(with("inline; filename=a.html") && !with("Attachment; filename=a.html"));
    for (status, shown) in [(200, true), (404, true), (500, true), (204, false), (206, false), (304, false)] {
        assert_eq!(is_shown(StatusCode::from_u16(status).unwrap(), &HeaderMap::new()), shown, "{status}");
    }
}

proptest! {
    #[test]
    fn whatever_is_answered_the_phone_hears_no_name_of_the_upstream_and_keeps_its_ticket(
        sent in prop::collection::vec((0..6_usize, prop_oneof![
            prop::collection::vec(any::<u8>(), 0..24),
            "(http:|//|localhost:5173|ait_0|evil.test|url=|[ ;,=/:@\"*])([0-9a-z;,=/ ]{0,4}(ait_0=x|//localhost:5173)?)"
                .prop_map(String::into_bytes),
        ]), 0..8),
        tls: bool,
    ) {
        let names = [header::LOCATION, header::REFRESH, header::SET_COOKIE, CLEAR_SITE_DATA,
            header::CONTENT_SECURITY_POLICY, header::CONTENT_TYPE];
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                headers.append(names[name].clone(), value);
            }
        }
        let app = AppAddress::new("http://localhost:5173").unwrap();
        let mut told = answer(&app, tls).headers(headers);
        if let Some(location) = told.get(header::LOCATION) {
            prop_assert!(!location.as_bytes().to_ascii_lowercase().starts_with(b"http://localhost:5173"), "{:?}", location);
        }
        for cookie in told.get_all(header::SET_COOKIE) {
            // As a browser sends it back.
            let pair = cookie.as_bytes().split(|byte| *byte == b';').next().unwrap().trim_ascii();
            let pair = pair.strip_prefix(b"=").unwrap_or(pair).trim_ascii();
            prop_assert!(pair != b"ait_0" && !pair.starts_with(b"ait_0="), "{:?}", cookie);
        }
        prop_assert!(told.get_all(CLEAR_SITE_DATA).iter().all(|value| !text(value).contains("\"cookies\"")));
        of_document(&mut told, &Needs { nonce: "N".into(), scripts: Vec::new(), sockets: Vec::new(), tls });
        prop_assert!(content(&told) != Content::Html(Some("\"".into())));
    }
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
    assert_eq!(content(&said(header::X_CONTENT_TYPE_OPTIONS, "nosniff")), Content::Other);
    let coded = |value| codings(&said(header::CONTENT_ENCODING, value));
    assert_eq!(codings(&HeaderMap::new()), Some(Vec::new()));
    assert_eq!(coded("identity"), Some(Vec::new()));
    assert_eq!(coded("GZIP, br"), Some(vec![Coding::Gzip, Coding::Brotli]));
    assert_eq!(coded("gzip, dcb"), None);
}

#[test]
fn integrity_policies_ask_nothing_of_scripts() {
    for (policy, expected) in [
        ("blocked-destinations=(script)", "blocked-destinations=()"),
        (
            "blocked-destinations=( style script;x=1  ), sources=(inline), endpoints=(script)",
            "blocked-destinations=(style), sources=(inline), endpoints=(script)",
        ),
        (
            "endpoints=(script), blocked-destinations = (scripts)",
            "endpoints=(script), blocked-destinations = (scripts)",
        ),
        ("blocked-destinations=(script", "blocked-destinations=(script"),
        ("blocked-destinations", "blocked-destinations"),
        ("", ""),
    ] {
        assert_eq!(without_scripts(policy), expected, "{policy}");
    }
}
