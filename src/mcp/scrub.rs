//! Takes out of texts what must not be read: codes, attach links, the names of tunnels. The last thing every result goes
//! through, because pages write to their console and into their tests whatever they like.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use url::Url;

use crate::secret::Hidden;

/// What stands in place of something that must not be read.
const HIDDEN: &str = "***";
/// What stands in place of a host that must not be read.
const HIDDEN_HOST: &str = "relay";
/// Names that cloudflared gives to tunnels nobody registered.
const QUICK_TUNNELS: &str = ".trycloudflare.com";
/// Links that are remembered with their codes: those of half an hour, and a code is accepted for three minutes.
const MAX_REMEMBERED: usize = 16;

/// Knows what must not be read. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Scrub(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// Texts with what stands in their place.
    texts: Vec<(Hidden, &'static str)>,
}

impl Scrub {
    /// An attach link: neither its code nor its host is to be read.
    pub(super) fn hide_link(&self, link: &Hidden) {
        self.remember(link.expose(), HIDDEN);
        let Ok(url) = Url::parse(link.expose()) else { return };
        for (key, value) in url.query_pairs() {
            match &*key {
                "at" => self.remember(&value, HIDDEN),
                "relay" => self.hide_host(&value),
                _ => {}
            }
        }
        if matches!(url.scheme(), "http" | "https") {
            self.hide_host(url.as_str());
        }
    }

    fn hide_host(&self, address: &str) {
        let Ok(url) = Url::parse(address) else { return };
        let host = url.host_str().unwrap_or_default();
        if !matches!(host, "" | "localhost" | "127.0.0.1" | "[::1]") {
            self.remember(host, HIDDEN_HOST);
        }
    }

    fn remember(&self, text: &str, instead: &'static str) {
        // A text so short would be found everywhere.
        if text.len() < 6 {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.texts.iter().any(|(one, _)| one.expose() == text) {
            return;
        }
        if known.texts.len() >= MAX_REMEMBERED * 3 {
            known.texts.remove(0);
        }
        known.texts.push((Hidden::new(text), instead));
    }

    /// The text without it.
    pub(super) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (known, instead) in &self.0.lock().unwrap_or_else(PoisonError::into_inner).texts {
            if text.contains(known.expose()) {
                text = text.replace(known.expose(), instead);
            }
        }
        codes(&tunnels(&text))
    }

    /// The same in every text of a value, keys included.
    pub(super) fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                let taken = std::mem::take(fields);
                fields.extend(taken.into_iter().map(|(key, mut value)| {
                    self.value(&mut value);
                    (self.text(&key), value)
                }));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Names of quick tunnels.
fn tunnels(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(QUICK_TUNNELS) {
        let name = rest[..at]
            .rfind(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .map_or(0, |before| before + rest[before..].chars().next().map_or(1, char::len_utf8));
        out.push_str(&rest[..name]);
        out.push_str(HIDDEN_HOST);
        rest = &rest[at + QUICK_TUNNELS.len()..];
    }
    out.push_str(rest);
    out
}

/// Codes in links: `at=123456`, also with its `=` encoded, and `/at/123456`.
fn codes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, start)) = first_code(rest) {
        out.push_str(&rest[..at + start]);
        out.push_str(HIDDEN);
        let digits = rest[at + start..].chars().take_while(char::is_ascii_digit).count();
        rest = &rest[at + start + digits..];
    }
    out.push_str(rest);
    out
}

/// Where the first code stands: the place of what introduces it, and the length of that.
fn first_code(text: &str) -> Option<(usize, usize)> {
    let introductions = ["at=", "at%3D", "at%3d", "at%253D", "/at/", "%2Fat%2F", "%2fat%2f"];
    let found = introductions.iter().flat_map(|introduction| {
        text.match_indices(introduction).filter_map(|(at, found)| {
            let is_word = found.starts_with('a') && text[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            // `%26at=`: the letters before it are an encoded separator.
            let after_escape = at >= 3 && text.as_bytes()[at - 3] == b'%';
            let follows = text[at + found.len()..].starts_with(|c: char| c.is_ascii_digit());
            ((!is_word || after_escape) && follows).then_some((at, found.len()))
        })
    });
    found.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lose_their_code_and_their_host() {
        let scrub = Scrub::default();
        scrub.hide_link(&Hidden::new("https://blue-cat-3.example.org/attach?at=123456"));
        for text in [
            "open https://blue-cat-3.example.org/attach?at=123456 now",
            "wss://blue-cat-3.example.org/at/123456/target/x",
            "the code is 123456",
            "wss%3A%2F%2Fsome-words.trycloudflare.com%2Fat%2F654321&x",
            "app://x?debug=1&relay=wss%3A%2F%2Fsome-words.trycloudflare.com&at=654321#top",
            "nested ?u=https%3A%2F%2Fh%3Fa%3D1%26at%3D654321",
        ] {
            let clean = scrub.text(text);
            for hidden in ["123456", "654321", "blue-cat-3", "some-words"] {
                assert!(!clean.contains(hidden), "{clean}");
            }
        }
        let fine = "what=5 at 12 o'clock, format=2024, http://127.0.0.1:5173/at/home";
        assert_eq!(scrub.text(fine), fine);
    }

    #[test]
    fn everything_in_a_value_is_looked_at() {
        let scrub = Scrub::default();
        scrub.remember("deadbeef", HIDDEN);
        let mut value = serde_json::json!({ "a": ["x deadbeef"], "deadbeef": { "n": 1 } });
        scrub.value(&mut value);
        assert_eq!(value, serde_json::json!({ "a": ["x ***"], "***": { "n": 1 } }));
    }
}
