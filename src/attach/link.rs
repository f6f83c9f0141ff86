//! Attach links: what the QR code carries.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::AttachError;
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

/// Parameters of a scheme link that are ours.
const OURS: [&str; 3] = ["debug", "relay", "at"];

/// Which kind of link leads a person to the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// A page of our own, on the relay.
    Hosted,
    /// The app's scheme URL, with our parameters put in.
    Scheme(String),
}

/// The link of this kind, with this code.
pub fn link(kind: &LinkKind, address: &PublicAddress, code: &Hidden) -> Result<Hidden, AttachError> {
    match kind {
        LinkKind::Hosted => Ok(address.page(&format!("/attach?at={}", code.expose()))),
        LinkKind::Scheme(url) => scheme_link(url, address, code),
    }
}

fn scheme_link(url: &str, address: &PublicAddress, code: &Hidden) -> Result<Hidden, AttachError> {
    let Some((scheme, rest)) = url.split_once("://") else { return Err(AttachError::SchemeUrl) };
    if scheme.is_empty() || rest.is_empty() {
        return Err(AttachError::SchemeUrl);
    }
    if !address.is_tls() && !scheme.eq_ignore_ascii_case("http") {
        return Err(AttachError::NeedsTls);
    }
    let (before, fragment) = match url.split_once('#') {
        Some((before, _)) => url.split_at(before.len()),
        None => (url, ""),
    };
    let (path, query) = before.split_once('?').unwrap_or((before, ""));
    // An `&` at the end is the separator already.
    let query = query.strip_suffix('&').map_or_else(|| (!query.is_empty()).then_some(query), Some);
    let kept = query.into_iter().flat_map(|query| query.split('&')).filter(|part| !is_ours(part));
    let query: String = kept.flat_map(|part| [part, "&"]).collect();
    let relay = utf8_percent_encode(address.socket().expose(), COMPONENT).to_string();
    Ok(Hidden::new(format!("{path}?{query}debug=1&relay={relay}&at={}{fragment}", code.expose())))
}

fn is_ours(part: &str) -> bool {
    let name = part.split('=').next().unwrap_or_default();
    percent_decode_str(name).decode_utf8().is_ok_and(|name| OURS.contains(&name.as_ref()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn tls() -> PublicAddress {
        PublicAddress::new("https://relay.test/").unwrap()
    }

    fn scheme(url: &str) -> String {
        link(&LinkKind::Scheme(url.into()), &tls(), &Hidden::new("123456")).unwrap().expose().to_owned()
    }

    const ADDED: &str = "debug=1&relay=wss%3A%2F%2Frelay.test&at=123456";

    #[test]
    fn hosted_links_lead_to_the_relay() {
        let at = |text: &str| {
            let address = PublicAddress::new(text).unwrap();
            link(&LinkKind::Hosted, &address, &Hidden::new("000042")).unwrap().expose().to_owned()
        };
        assert_eq!(at("http://127.0.0.1:4711"), "http://127.0.0.1:4711/attach?at=000042");
        assert_eq!(at("https://Relay.Test"), "https://relay.test/attach?at=000042");
        assert_eq!(at("http://[::1]:80"), "http://[::1]/attach?at=000042");
    }

    #[test]
    fn scheme_links_keep_every_other_byte() {
        let cases = [
            ("intoss-private://app", format!("intoss-private://app?{ADDED}")),
            ("x://app/p?", format!("x://app/p?{ADDED}")),
            ("x://app?_deploymentId=1&&b=%7E+ ", format!("x://app?_deploymentId=1&&b=%7E+ &{ADDED}")),
            ("x://app?a=1&at=999999&debug=0&z=relay=1#at=5?x", format!("x://app?a=1&z=relay=1&{ADDED}#at=5?x")),
            ("x://app?relay=wss%3A%2F%2Fold&b", format!("x://app?b&{ADDED}")),
            ("x://app?%61t=999999&cat=1&", format!("x://app?cat=1&{ADDED}")),
            ("x://app#f", format!("x://app?{ADDED}#f")),
            ("x://앱/길?이름=값#끝", format!("x://앱/길?이름=값&{ADDED}#끝")),
        ];
        for (given, expected) in cases {
            assert_eq!(scheme(given), expected, "{given}");
        }
    }

    #[test]
    fn links_that_cannot_work_are_not_made() {
        let plain = PublicAddress::new("http://127.0.0.1:1").unwrap();
        let code = Hidden::new("123456");
        let made = |url: &str, address| link(&LinkKind::Scheme(url.into()), address, &code);
        assert!(matches!(made("x://app", &plain), Err(AttachError::NeedsTls)));
        assert!(made("http://127.0.0.1:5173/", &plain).is_ok());
        let tls = tls();
        for wrong in ["", "app", "://app", "x://", "mailto:a@b"] {
            assert!(matches!(made(wrong, &tls), Err(AttachError::SchemeUrl)), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn links_are_idempotent_and_only_add_at_the_end(
            path in "[a-z/%.가-힣]{0,12}",
            parts in prop::collection::vec("[a-zA-Z%=?/:;@+~가-힣]{0,8}", 0..6),
            fragment in prop::option::of("[a-z#?&=]{0,8}"),
        ) {
            let query = parts.join("&");
            let fragment = fragment.map(|text| format!("#{text}")).unwrap_or_default();
            let mut url = format!("x://a{path}");
            if !parts.is_empty() {
                url = format!("{url}?{query}");
            }
            let once = scheme(&format!("{url}{fragment}"));
            prop_assert_eq!(&scheme(&once), &once);
            let without_fragment = once.strip_suffix(fragment.as_str()).unwrap();
            let front = without_fragment.strip_suffix(ADDED).unwrap();
            if !parts.iter().any(|part| is_ours(part)) {
                let expected = match (parts.is_empty() || query.is_empty(), query.ends_with('&')) {
                    (true, _) => format!("x://a{path}?"),
                    (_, true) => url.clone(),
                    (_, false) => format!("{url}&"),
                };
                prop_assert_eq!(front, expected);
            }
        }
    }
}
