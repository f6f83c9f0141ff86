#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn tls() -> PublicAddress {
    PublicAddress::new("https://relay.test/").unwrap()
}

fn made(kind: LinkKind, address: &str) -> Result<String, AttachError> {
    let address = PublicAddress::new(address).unwrap();
    link(&kind, &address, &Hidden::new("123456")).map(|link| link.expose().to_owned())
}

fn scheme(url: &str) -> String {
    link(&LinkKind::Scheme(url.into()), &tls(), &Hidden::new("123456")).unwrap().expose().to_owned()
}

fn launcher(launcher: &str, app: &str, name: Option<&str>) -> LinkKind {
    LinkKind::Launcher { launcher: launcher.into(), app: app.into(), name: name.map(Into::into) }
}

const ADDED: &str = "debug=1&relay=wss%3A%2F%2Frelay.test&at=123456";

#[test]
fn hosted_links_lead_to_the_relay() {
    let at = |text: &str| made(LinkKind::Hosted, text).unwrap();
    assert_eq!(at("http://127.0.0.1:4711"), "http://127.0.0.1:4711/attach?at=123456");
    assert_eq!(at("https://Relay.Test"), "https://relay.test/attach?at=123456");
    assert_eq!(at("http://[::1]:80"), "http://[::1]/attach?at=123456");
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
        ("x://app?to=https://a.test/?b=1#c", format!("x://app?to=https://a.test/?b=1&{ADDED}#c")),
        (
            "x://app?to=https%3A%2F%2Fa%3Fat%3D1%26relay%3D2",
            format!("x://app?to=https%3A%2F%2Fa%3Fat%3D1%26relay%3D2&{ADDED}"),
        ),
        ("x://app?at", format!("x://app?{ADDED}")),
        ("x://app#f", format!("x://app?{ADDED}#f")),
        ("x://app#", format!("x://app?{ADDED}#")),
        ("x://앱/길?이름=값#끝", format!("x://앱/길?이름=값&{ADDED}#끝")),
    ];
    for (given, expected) in cases {
        assert_eq!(scheme(given), expected, "{given}");
    }
}

#[test]
fn launcher_links_carry_the_app_as_it_is() {
    let app = "https://app.test/p?a=1&b=%26#/route?x";
    let url = "url=https%3A%2F%2Fapp.test%2Fp%3Fa%3D1%26b%3D%2526%23%2Froute%3Fx";
    let at = |base: &str, name| made(launcher(base, app, name), "https://relay.test").unwrap();
    assert_eq!(at(LAUNCHER, None), format!("{LAUNCHER}?{url}&{ADDED}"));
    assert_eq!(
        at("https://l.test/?icon=https://i.test/a&at=1&url=x#y", Some("나의 앱")),
        format!("https://l.test/?icon=https://i.test/a&{url}&{ADDED}&name=%EB%82%98%EC%9D%98%20%EC%95%B1#y")
    );
}

/// O-46
#[test]
fn links_that_cannot_work_are_not_made() {
    const LOCAL: &str = "http://127.0.0.1:1";
    const TLS: &str = "https://relay.test";
    let scheme = |url: &str, address| made(LinkKind::Scheme(url.into()), address);
    assert!(matches!(scheme("x://app", LOCAL), Err(AttachError::NeedsTls)));
    assert!(matches!(scheme("HTTPS://app.test", LOCAL), Err(AttachError::MixedContent)));
    assert!(matches!(scheme("https://app.test", "http://192.168.0.2:1"), Err(AttachError::MixedContent)));
    assert!(matches!(scheme("http://localhost:5173", TLS), Err(AttachError::AppOnThisMachine)));
    assert!(matches!(scheme("https://[::1]:5173", TLS), Err(AttachError::AppOnThisMachine)));
    assert!(scheme("http://127.0.0.1:5173/", LOCAL).is_ok(), "all on one machine");
    assert!(scheme("http://192.168.0.2:5173/", "http://192.168.0.2:1").is_ok());
    for wrong in ["", "app", "://app", "x://", "mailto:a@b", " x://app", "1x://app", "x://a\nb", "x://a\u{7f}"] {
        assert!(matches!(scheme(wrong, TLS), Err(AttachError::SchemeUrl)), "{wrong}");
    }
    let with = |base: &str, app: &str, address| made(launcher(base, app, None), address);
    assert!(matches!(with(LAUNCHER, "http://app.test", TLS), Err(AttachError::LauncherNeedsTls)));
    assert!(matches!(with(LAUNCHER, "https://app.test", LOCAL), Err(AttachError::MixedContent)));
    assert!(matches!(with(LAUNCHER, "https://127.0.0.1:5173", TLS), Err(AttachError::AppOnThisMachine)));
    assert!(with("http://127.0.0.1:2/", "http://127.0.0.1:5173", LOCAL).is_ok());
}

#[test]
fn names_that_nobody_chose_are_doubted() {
    for url in ["x://web/p", "x://LocalHost?a", "x://127.0.0.1", "x:///p", "x://App#f", "x://?a=1"] {
        assert!(doubt(url).is_some_and(|words| words.contains("deploy")), "{url}");
    }
    for url in ["x://my-app/web", "x://webapp", "http://localhost:5173", "https://app", "nonsense"] {
        assert_eq!(doubt(url), None, "{url}");
    }
}

/// What may stand in a query, at its worst.
fn parts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("(at|debug|relay|url|%61t)?[a-zA-Z%=?/:;@+~' \\[\\]{}|가-힣]{0,8}", 0..6)
}

proptest! {
    #[test]
    fn links_are_idempotent_and_only_add_at_the_end(
        path in "[a-z/%.:@가-힣]{0,12}",
        parts in parts(),
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
        if !parts.iter().any(|part| ["debug", "relay", "at"].iter().any(|name| is_named(part, name))) {
            let expected = match (parts.is_empty() || query.is_empty(), query.ends_with('&')) {
                (true, _) => format!("x://a{path}?"),
                (_, true) => url.clone(),
                (_, false) => format!("{url}&"),
            };
            prop_assert_eq!(front, expected);
        }
    }

    #[test]
    fn a_launcher_is_told_every_byte_of_the_app(
        app in "https://app\\.test/[ -~가-힣]{0,30}",
        name in prop::option::of("\\PC{1,10}"),
        parts in parts(),
    ) {
        let base = format!("https://l.test/?{}", parts.join("&"));
        let link = |base: &str| made(launcher(base, &app, name.as_deref()), "https://relay.test").unwrap();
        let once = link(&base);
        prop_assert_eq!(&link(&once), &once);
        let told: Vec<_> = Url::parse(&once).unwrap().query_pairs().into_owned().collect();
        let values = |name: &str| told.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect::<Vec<_>>();
        prop_assert_eq!(values("url"), [app.clone()]);
        prop_assert_eq!(values("relay"), ["wss://relay.test"]);
        prop_assert_eq!(values("at"), ["123456"]);
        if let Some(name) = name {
            prop_assert_eq!(values("name"), [name]);
        }
    }
}
