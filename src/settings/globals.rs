//! Globals to define in the page: `KEY=JSON`.

use serde_json::Value;

/// How the names begin that the runner itself defines in the page.
const OURS: &str = crate::wire::RUNTIME_GLOBAL;

/// Names that a window has already and that it, the runner or every script leans on. A value in their place would not
/// take (`window`), lead the page away (`location`), or break what comes after it (`JSON`).
const TAKEN: &str = "\
    AggregateError Array ArrayBuffer BigInt Boolean DataView Date Error EvalError Function Infinity Intl JSON Map \
    Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set String Symbol SyntaxError \
    TypeError URIError Uint8Array WeakMap WeakRef WeakSet WebSocket Window __proto__ clearInterval clearTimeout \
    console constructor decodeURIComponent document encodeURIComponent eval frames globalThis history isNaN \
    location navigator parent parseInt performance prototype queueMicrotask self setInterval setTimeout top \
    undefined window";

/// Reads `KEY=JSON`.
pub(super) fn parse(text: &str) -> Result<(String, Value), String> {
    let Some((key, json)) = text.split_once('=') else {
        return Err("give it as KEY=JSON, like --global 'API=\"https://example.com\"'".into());
    };
    check_key(key)?;
    let value = serde_json::from_str(json).map_err(|error| not_json(key, json, &error))?;
    check_value(&value)?;
    Ok((key.to_owned(), value))
}

fn not_json(key: &str, json: &str, error: &serde_json::Error) -> String {
    let mut why = format!("the value of {key} is no JSON: {error}");
    if json.chars().next().is_some_and(|c| c.is_alphabetic() || c == '/') {
        why.push_str(&format!("; a text needs its quotes, like --global '{key}=\"...\"'"));
    }
    why
}

/// Refuses a name that could not be written in a test as a bare name.
pub(super) fn check_key(key: &str) -> Result<(), String> {
    let mut chars = key.chars();
    let first = chars.next().is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '$'));
    if !first || !chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | '$')) {
        return Err(format!("{key:?} is no name a global can have; use letters, digits, _ and $"));
    }
    // `__AIT_CELL__` and the like are the tests' own.
    if key.starts_with(OURS) {
        return Err(format!("names that begin with {OURS} are the runner's own in the page; take another one"));
    }
    if TAKEN.split(' ').any(|taken| taken == key) {
        return Err(format!("every page has a {key} of its own, which it would break without; take another name"));
    }
    Ok(())
}

/// Refuses what would be another value in JavaScript.
pub(super) fn check_value(value: &Value) -> Result<(), String> {
    match value {
        Value::Number(number) => check_number(&number.to_string()),
        Value::Array(values) => values.iter().try_for_each(check_value),
        Value::Object(members) if members.contains_key("__proto__") => {
            Err("a member __proto__ is what an object inherits from in JavaScript; give the member another name".into())
        }
        Value::Object(members) => members.values().try_for_each(check_value),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

/// A number of JavaScript is a double: of a fraction it holds the nearest one, as everybody expects; of an integer that is
/// most likely an id, that would be another id.
fn check_number(text: &str) -> Result<(), String> {
    let number: f64 = text.parse().unwrap_or(f64::INFINITY);
    if !number.is_finite() {
        return Err(format!("{text} is too large for a number of JavaScript; give it as a text, in quotes"));
    }
    let is_integer = text.chars().all(|c| c.is_ascii_digit() || c == '-');
    if is_integer && format!("{number:.0}") != text {
        return Err(format!(
            "{text} would be {number:.0} in JavaScript, which has no number between; give it as a text, in quotes"
        ));
    }
    Ok(())
}

/// Adds a global; the last one of a name wins, in the place of the first.
pub(super) fn put(globals: &mut Vec<(String, Value)>, key: String, value: Value) {
    match globals.iter_mut().find(|(known, _)| *known == key) {
        Some(entry) => entry.1 = value,
        None => globals.push((key, value)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_json() {
        assert_eq!(parse("A=1"), Ok(("A".into(), json!(1))));
        assert_eq!(parse("$a_1={\"b\":\"=\"}"), Ok(("$a_1".into(), json!({"b": "="}))));
        assert_eq!(parse("A=\"\\u0000\""), Ok(("A".into(), json!("\0"))));
    }

    #[test]
    fn what_javascript_would_make_another_value_of_is_refused() {
        for fine in ["1.0", "-0", "1e3", "0.1", "9007199254740992", "-1152921504606846976", "[{\"a\": 1e300}]"] {
            assert!(parse(&format!("A={fine}")).is_ok(), "{fine}");
        }
        let why = parse("A=[9007199254740993]").unwrap_err();
        assert!(why.starts_with("9007199254740993 would be 9007199254740992 in JavaScript"), "{why}");
        assert!(parse("A=123456789012345678901234567890123456789012").is_err());
        assert!(parse("A={\"b\": 1e999}").unwrap_err().contains("too large"));
        assert!(parse("A=[{\"__proto__\": {}}]").unwrap_err().contains("__proto__"));
    }

    #[test]
    fn mistakes_name_key_and_position() {
        let why = parse("A={\"b\":}").unwrap_err();
        assert_eq!(why, "the value of A is no JSON: expected value at line 1 column 6");
        assert!(parse("A=text").unwrap_err().contains("--global 'A=\"...\"'"));
        assert!(parse("A=").unwrap_err().starts_with("the value of A is no JSON: EOF"));
        assert!(parse("A").unwrap_err().starts_with("give it as KEY=JSON"));
        for key in ["", "1a", "a-b", "a.b", "a b", "__ait", "__ait_emit", "__proto__", "window", "location", "JSON"] {
            assert!(parse(&format!("{key}=1")).is_err(), "{key}");
        }
    }

    #[test]
    fn the_last_one_wins() {
        let mut globals = Vec::new();
        for (key, value) in [("a", 1), ("b", 2), ("a", 3)] {
            put(&mut globals, key.into(), json!(value));
        }
        assert_eq!(globals, [("a".to_string(), json!(3)), ("b".to_string(), json!(2))]);
    }
}
