#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::json;

use super::*;

const SECRET: &str = "00112233445566778899aabbccddeeff";

fn knowing() -> Scrub {
    let scrub = Scrub::default();
    scrub.hide_secret(&Secret::from_hex(SECRET).unwrap());
    scrub.hide_ticket(&Hidden::new("5f1e".repeat(8)));
    scrub.hide_code(&Hidden::new("314159"));
    scrub.hide_host("blue-cat.example.org");
    scrub
}

#[test]
fn links_lose_their_code_and_their_host() {
    let scrub = knowing();
    for (text, clean) in [
        ("open https://blue-cat.example.org/attach?at=123456 now", "open https://relay/attach?at=*** now"),
        ("wss://Blue-Cat.Example.org:8443/at/123456/target/x", "wss://relay:8443/at/***/target/x"),
        ("the code is 314159.", "the code is ***."),
        (
            "app://x?debug=1&relay=wss%3A%2F%2Fsome-words.trycloudflare.com&at=654321#top",
            "app://x?debug=1&relay=***&at=***#top",
        ),
        ("wss%3A%2F%2Fsome-words.trycloudflare.com%2Fat%2F654321&x", "wss%3A%2F%2Frelay%2Fat%2F***&x"),
        (
            "?u=https%253A%252F%252Fh%253Fa%253D1%2526at%253D654321",
            "?u=https%253A%252F%252Fh%253Fa%253D1%2526at%253D***",
        ),
        (r#"{"u":"?a=1\u0026at\u003d654321","code":"314159"}"#, r#"{"u":"?a=1\u0026at\u003d***","code":"***"}"#),
        ("<a href='?a=1&amp;at&#61;654321'>", "<a href='?a=1&amp;at&#61;***'>"),
        (r#""https:\/\/h\/at\/654321\/x""#, r#""https:\/\/h\/at\/***\/x""#),
        ("cut ?at=6543", "cut ?at=***"),
        ("cut ?at=6543… (9 more characters)", "cut ?at=***… (9 more characters)"),
        ("%20314159 \\u0020314159", "%20*** \\u0020***"),
        (SECRET, "***"),
    ] {
        assert_eq!(scrub.text(text), clean);
        assert_eq!(scrub.text(clean), clean, "once is enough");
    }
    assert_eq!(scrub.text(&format!("x{}x", SECRET.to_uppercase())), "x***x");
}

#[test]
fn everything_else_stays() {
    let scrub = knowing();
    for text in [
        "",
        "what=123456 format=202412 lat=375665 _at=123456",
        "at 12 o'clock, at=5, at=12:30, at=1234567, at=",
        "http://127.0.0.1:5173/at/home /at/2024/12 /at/",
        "3141592 131415 1314159",
        "relay=2, relay=on, relay%, at%",
        "trycloudflare.com https://trycloudflare.com .trycloudflare.com",
        "한글?at=한글 /at/한글 %2fat%2f",
        "example.org cat.example.org",
    ] {
        assert_eq!(scrub.text(text), text);
        assert!(matches!(scrub.text(text), Cow::Borrowed(_)), "{text}: nothing is copied");
    }
}

#[test]
fn this_machine_may_be_named_and_short_values_are_not_looked_for() {
    let scrub = Scrub::default();
    scrub.hide_host("127.0.0.1");
    scrub.hide_host("localhost");
    scrub.hide_host("pc");
    scrub.hide_ticket(&Hidden::new(""));
    assert_eq!(scrub.text("http://127.0.0.1:1/ localhost pc"), "http://127.0.0.1:1/ localhost pc");
    scrub.hide_host("[fe80::1]");
    assert_eq!(scrub.text("http://[fe80::1]/ %5Bfe80%3A%3A1%5D"), "http://relay/ relay");
}

#[test]
fn the_newest_codes_are_remembered_and_the_secret_is_not_forgotten() {
    let scrub = knowing();
    for code in 100_000..100_000 + REMEMBERED {
        scrub.hide_code(&Hidden::new(code.to_string()));
    }
    assert_eq!(scrub.text("314159 100000 100063"), "314159 *** ***");
    assert_eq!(scrub.text(SECRET), "***");
}

#[test]
fn a_code_that_touches_another_value_goes_with_it() {
    let scrub = Scrub::default();
    let (secret, code, ticket) = ("7".repeat(32), "314159", "8".repeat(32));
    scrub.hide_secret(&Secret::from_hex(&secret).unwrap());
    scrub.hide_ticket(&Hidden::new(ticket.as_str()));
    scrub.hide_code(&Hidden::new(code));
    for text in [format!("{secret}{code}"), format!("{code}{secret}"), format!("{ticket}{code}{secret} {code}")] {
        assert!(!scrub.text(&text).contains(|c: char| c.is_ascii_digit()), "{text}: {}", scrub.text(&text));
    }
}

#[test]
fn every_text_of_a_value_is_looked_at() {
    let mut value = json!({ "a": ["x 314159"], "?at=123456": { "n": 314159, "b": [null, true] } });
    knowing().clean_value(&mut value);
    assert_eq!(value, json!({ "a": ["x ***"], "?at=***": { "n": 314159, "b": [null, true] } }));
}

/// As a page may write it: plain, in links, and in JSON.
fn written(text: &str, levels: usize, json: bool) -> String {
    let mut text = text.to_owned();
    for _ in 0..levels {
        text = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    }
    if json { serde_json::to_string(&text).unwrap() } else { text }
}

proptest! {
    #[test]
    fn nothing_known_gets_through(
        secret in "([0-9a-f]{2}){16,32}", ticket in "[0-9a-f]{32}", code in "[0-9]{6}", host in "[a-z]{3,9}-[a-z]{3,9}\\.[a-z]{2,6}",
        around in "\\PC{0,12}", other in "[^0-9]{1,6}", levels in 0_usize..4, json in any::<bool>(),
    ) {
        let scrub = Scrub::default();
        scrub.hide_secret(&Secret::from_hex(&secret).unwrap());
        scrub.hide_ticket(&Hidden::new(ticket.clone()));
        scrub.hide_code(&Hidden::new(code.clone()));
        scrub.hide_host(&host);
        // What stands around them must not hold them by itself.
        prop_assume!(!around.contains(&code) && !around.ends_with(|c: char| c.is_ascii_digit()));
        let text = format!("{around}{secret}{other}{code}{other}{ticket}{other}wss://{host}/at/{code}/t?at={code}&relay=wss://{host}");
        let clean = scrub.text(&written(&text, levels, json)).into_owned();
        for hidden in [&secret, &ticket, &host] {
            prop_assert!(!clean.contains(hidden.as_str()), "{clean}");
        }
        // In a secret or a ticket its digits would be no code, and those are gone.
        prop_assert!(!clean.contains(&code), "{clean}");
        prop_assert_eq!(scrub.text(&clean), clean.as_str());
    }

    #[test]
    fn codes_in_links_go_whoever_made_them(code in "[0-9]{6}", name in "[a-z]{1,8}-[a-z]{1,8}", levels in 0_usize..4, json in any::<bool>()) {
        let text = format!("https://{name}.trycloudflare.com/at/{code}/x?debug=1&relay=wss://h.test&at={code}");
        let clean = Scrub::default().text(&written(&text, levels, json)).into_owned();
        prop_assert!(!clean.contains(&code) && !clean.contains(&name) && !clean.contains("h.test"), "{clean}");
    }

    #[test]
    fn any_text_can_be_read(text in "\\PC{0,40}", parts in prop::collection::vec("at=|/at/|%2fat%2f|relay=|at%|at&#|\\.trycloudflare\\.com|[0-9]{1,7}|\\PC", 0..12)) {
        let scrub = knowing();
        for text in [text, parts.concat()] {
            prop_assert!(scrub.text(&text).len() <= text.len() + REDACTED.len() * text.len());
        }
    }
}
