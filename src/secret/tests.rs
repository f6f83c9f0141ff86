#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

const ONE: &str = "00112233445566778899aabbccddeeff";
const OTHER: &str = "ffeeddccbbaa99887766554433221100";

/// The file as `secret init` makes it, with this text.
fn write_file(dir: &std::path::Path, text: &str) {
    let path = dir.join(SECRET_FILE);
    std::fs::write(&path, text).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

#[test]
fn secrets_are_hex_of_even_length_and_128_bits_or_more() {
    assert!(Secret::from_hex(&format!(" {ONE}\n")).is_some());
    assert!(Secret::from_hex(&ONE.to_uppercase()).is_some());
    assert!(Secret::from_hex(&ONE[..30]).is_none());
    assert!(Secret::from_hex(&format!("{ONE}0")).is_none());
    assert!(Secret::from_hex(&format!("{ONE}0g")).is_none());
    assert!(Secret::from_hex("é".repeat(40).as_str()).is_none());
}

#[test]
fn the_variable_wins_then_the_file_beside_package_json_then_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("src/tests");
    std::fs::create_dir_all(&inner).unwrap();
    assert_eq!(find_secret(None, &inner).unwrap().source, SecretSource::Made);
    assert!(!dir.path().join(SECRET_FILE).exists() && !inner.join(SECRET_FILE).exists());

    std::fs::write(dir.path().join("package.json"), "{}").unwrap();
    write_file(dir.path(), &format!("{ONE}\n"));
    let found = find_secret(Some(" "), &inner).unwrap();
    assert_eq!((found.source, found.secret), (SecretSource::File, Secret::from_hex(ONE).unwrap()));

    let same = find_secret(Some(ONE), &inner).unwrap();
    assert!(same.source == SecretSource::Environment && same.warning.is_none());
    let warning = find_secret(Some(OTHER), &inner).unwrap().warning.unwrap();
    assert!(!warning.contains(ONE) && !warning.contains(OTHER));
    assert_eq!(*Secret::from_hex(&ONE.to_uppercase()).unwrap().to_hex(), ONE);
}

#[test]
fn errors_name_the_place_and_not_the_value() {
    let dir = tempfile::tempdir().unwrap();
    write_file(dir.path(), "hunter2");
    assert_eq!(find_secret(Some("hunter2"), dir.path()).unwrap_err(), SecretError::BadVariable);
    let error = find_secret(None, dir.path()).unwrap_err().to_string();
    assert!(error.contains(SECRET_FILE) && !error.contains("hunter2"), "{error}");
    assert!(find_secret(Some(ONE), dir.path()).unwrap().warning.is_none());
}

#[test]
fn addresses_lose_what_must_not_be_shown() {
    let clean = |raw| SafeUrl::hiding(raw, Some("abc.example.net")).0;
    assert_eq!(clean("https://app.test/x?a=1&at=123456&relay=wss%3A%2F%2Fq&b=2#top"), "https://app.test/x?a=1&b=2#top");
    assert_eq!(clean("https://me:pw@app.test/?cat=1&AT=123456"), "https://app.test/?cat=1");
    assert_eq!(clean("http://127.0.0.1:9/at/123456/page"), "http://127.0.0.1:9/at/***/page");
    assert_eq!(clean("https://abc.example.net/attach?at=123456"), "https://relay/attach");
    assert_eq!(SafeUrl::new("https://a-b-c.trycloudflare.com/attach").0, "https://relay/attach");
    assert_eq!(clean("https://l.test/?url=https%253A%252F%252Fx%253Fat%253D123456&k=v"), "https://l.test/?k=v");
    assert_eq!(clean("https://l.test/#/list?at=123456"), "https://l.test/");
    // A name that ends like one of ours is another one.
    let others = "https://app.test/?created_at=5&at_home=1&my_relay=2";
    assert_eq!(clean(others), others);
    assert_eq!(clean("https://app.test/?x=1&created%5Fat=5"), "https://app.test/?x=1&created%5Fat=5");
    assert_eq!(clean("about:blank"), "about:blank");
    assert_eq!(clean("not an address 123456"), "");
}

proptest! {
    #[test]
    fn nothing_hidden_shows(text in "[!-~]{8,40}") {
        let hidden = Hidden::new(text.clone());
        let shown = format!("{hidden} {hidden:?} {}", serde_json::to_string(&hidden).unwrap());
        prop_assert!(!shown.contains(&text));
    }

    #[test]
    fn no_code_survives_in_an_address(code in "[0-9]{6}", key in "[a-z]{1,4}", levels in 0_usize..3) {
        let mut value = format!("https://h.test/?at={code}");
        for _ in 0..levels {
            value = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
        }
        let shown = SafeUrl::new(&format!("https://app.test/?{key}={value}&at={code}#at={code}"));
        prop_assert!(!shown.as_str().contains(&code), "{shown}");
    }
}
