//! Holding what came out against what was expected.

use serde_json::Value;

/// Any lines, as a line of its own.
const ANY_LINES: &str = "...";
/// Any characters, in a line or a JSON text; any value, as a JSON text of its own.
const ANY: &str = "[..]";

/// What is wrong with `actual`, if anything.
pub fn text_mismatch(expected: &str, actual: &str) -> Option<String> {
    let actual: Vec<&str> = actual.lines().map(str::trim_end).collect();
    let expected: Vec<&str> = expected.lines().map(str::trim_end).collect();
    let blocks: Vec<&[&str]> = expected.split(|line| *line == ANY_LINES).collect();
    let (first, rest) = blocks.split_first().expect("a split has at least one part");
    if !starts_with(&actual, first) {
        return Some(missing("does not start with", first));
    }
    let mut at = first.len();
    let Some((last, middle)) = rest.split_last() else {
        return (at < actual.len()).then(|| format!("more lines than expected: {:?}", &actual[at..]));
    };
    // The leftmost place of a block leaves most room for those after it.
    for block in middle {
        match (at..=actual.len()).find(|&start| starts_with(&actual[start..], block)) {
            Some(start) => at = start + block.len(),
            None => return Some(missing(&format!("not found after line {at}"), block)),
        }
    }
    let tail = actual.len().checked_sub(last.len()).filter(|&start| start >= at);
    match tail {
        Some(start) if starts_with(&actual[start..], last) => None,
        _ => Some(missing("does not end with", last)),
    }
}

fn missing(what: &str, block: &[&str]) -> String {
    format!("{what}:\n    {}", block.join("\n    "))
}

fn starts_with(actual: &[&str], block: &[&str]) -> bool {
    actual.len() >= block.len() && block.iter().zip(actual).all(|(pattern, line)| matches(pattern, line))
}

/// Whether a text fits a pattern with `[..]` in it.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split(ANY);
    let Some(mut rest) = parts.next().and_then(|start| text.strip_prefix(start)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}

/// What is wrong with `actual`, if anything, with the path to it.
pub fn json_mismatch(expected: &Value, actual: &Value) -> Option<String> {
    mismatch_at("$", expected, actual)
}

fn mismatch_at(path: &str, expected: &Value, actual: &Value) -> Option<String> {
    match (expected, actual) {
        (Value::String(pattern), _) if pattern == ANY => None,
        (Value::String(pattern), Value::String(text)) if matches(pattern, text) => None,
        (Value::Object(wanted), Value::Object(object)) => wanted.iter().find_map(|(key, value)| {
            let path = format!("{path}.{key}");
            match object.get(key) {
                Some(found) => mismatch_at(&path, value, found),
                None => Some(format!("{path} is missing")),
            }
        }),
        (Value::Array(wanted), Value::Array(array)) if wanted.len() == array.len() => {
            wanted.iter().zip(array).enumerate().find_map(|(i, (w, a))| mismatch_at(&format!("{path}[{i}]"), w, a))
        }
        (Value::Array(wanted), Value::Array(array)) => {
            Some(format!("{path} has {} elements, expected {}", array.len(), wanted.len()))
        }
        (Value::Number(wanted), Value::Number(number)) if wanted.as_f64() == number.as_f64() => None,
        _ if expected == actual => None,
        _ => Some(format!("{path} is {actual}, expected {expected}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_with_wildcards() {
        let text = "head 12 ms\na\nb\nc\ntail\n";
        for good in
            ["head [..] ms\n...\ntail", "...\nb\nc\n...", "head[..]\na\nb\nc\ntail", "...\na\n...\nc\n...\ntail"]
        {
            assert_eq!(text_mismatch(good, text), None, "{good:?}");
        }
        for bad in ["head [..] ms", "a\n...", "...\nc\n...\nb\n...", "...\na\nc\n...", "...\ntail\nmore", "...\nhea"] {
            assert!(text_mismatch(bad, text).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn one_line_may_not_be_used_twice() {
        assert!(text_mismatch("a\n...\na", "a").is_some());
        assert!(!matches("ab[..]ba", "aba"));
        assert!(matches("a[..]b[..]c", "a-b-b-c"));
    }

    #[test]
    fn json_is_a_subset() {
        let actual = json!({"a": [1, {"b": "x 3 y", "c": null}], "d": true});
        for good in [json!({}), json!({"a": [1.0, {"b": "x [..] y"}]}), json!({"a": "[..]"})] {
            assert_eq!(json_mismatch(&good, &actual), None, "{good}");
        }
        for (bad, path) in
            [(json!({"a": [1]}), "$.a "), (json!({"a": [1, {"b": "y"}]}), "$.a[1].b"), (json!({"e": 1}), "$.e")]
        {
            let fault = json_mismatch(&bad, &actual).unwrap();
            assert!(fault.starts_with(path), "{fault}");
        }
    }
}
