//! Reading JSON from pages that do not send what the protocol says.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Parses JSON, and replaces lone surrogates (`\ud800` with no partner, which JavaScript strings may hold and Rust's
/// may not) by U+FFFD where there are any.
///
/// # Errors
/// What `serde_json` found wrong.
pub(super) fn parse<T: DeserializeOwned>(json: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(json)
        .or_else(|error| without_lone_surrogates(json).map_or(Err(error), |fixed| serde_json::from_str(&fixed)))
}

/// A field that is missing, `null` or of another type than the protocol says counts as its default.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).unwrap_or_default())
}

/// The text with every lone surrogate escape replaced; `None` when there is none.
fn without_lone_surrogates(json: &str) -> Option<String> {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    let mut changed = false;
    while let Some(at) = rest.find('\\') {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        let unit = code_unit(tail);
        let low = unit.is_some_and(|u| (0xD800..0xDC00).contains(&u))
            && code_unit(&tail[6..]).is_some_and(|u| (0xDC00..0xE000).contains(&u));
        let taken = match unit {
            Some(0xD800..0xE000) if low => 12,
            Some(0xD800..0xE000) => {
                changed = true;
                out.push('\u{FFFD}');
                rest = &tail[6..];
                continue;
            }
            Some(_) => 6,
            // Any other escape is a backslash and one character.
            None => 1 + tail[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&tail[..taken]);
        rest = &tail[taken..];
    }
    out.push_str(rest);
    changed.then_some(out)
}

/// The UTF-16 unit of a `\uXXXX` escape at the start of the text.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        let parsed: String = parse(r#""a\ud800b\udc00c\ud83d\ude00\\ud800\n""#).unwrap();
        assert_eq!(parsed, "a\u{FFFD}b\u{FFFD}c😀\\ud800\n");
    }

    #[test]
    fn a_high_surrogate_at_the_very_end() {
        assert_eq!(parse::<String>(r#""\ud800""#).unwrap(), "\u{FFFD}");
        assert_eq!(parse::<String>(r#""\ud800\ud800\udc00""#).unwrap(), "\u{FFFD}\u{10000}");
    }

    #[test]
    fn what_is_no_json_stays_an_error() {
        assert!(parse::<String>(r#""\ud800"#).is_err());
        assert!(parse::<String>("\\").is_err());
    }

    #[test]
    fn odd_fields_count_as_missing() {
        #[derive(Deserialize)]
        struct Odd {
            #[serde(default, deserialize_with = "or_default")]
            line: u32,
            #[serde(default, deserialize_with = "or_default")]
            url: String,
        }
        let odd: Odd = parse(r#"{"line":"x","url":null}"#).unwrap();
        assert_eq!((odd.line, odd.url.as_str()), (0, ""));
    }
}
