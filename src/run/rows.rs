//! Messages as the page's recorder writes them for us, lists without names (`test-runner/src/engine/row-line.ts`), made to
//! the records that everybody else reads.

use std::sync::LazyLock;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Map, Value, json};

/// By their numbers.
const DIRECTIONS: [&str; 2] = ["in", "out"];
/// By their numbers.
const PROTOCOLS: [&str; 3] = ["websocket", "fetch-stream", "eventsource"];
/// Characters of a preview, as in the page.
const PREVIEW: usize = 100;

static NOTHING: LazyLock<Value> = LazyLock::new(|| json!({}));

/// The record of a list; nothing for a list that is none of a message.
pub(super) fn record(row: &[Value]) -> Option<Value> {
    let [n, connection, timestamp, wall_time, direction, protocol, size, payload, more @ ..] = row else { return None };
    let rest = more.first().unwrap_or(&NOTHING);
    let (session, _) = connection.as_str()?.rsplit_once('-')?;
    let named = |names: &[&'static str], number: &Value| names.get(usize::try_from(number.as_u64()?).ok()?).copied();
    let size = size.as_u64()?;
    let (payload, preview) = payload_of(payload, size)?;
    let mut fields = Map::new();
    let kind = if rest["late"] == true { "payload" } else { "message" };
    fields.insert("kind".into(), kind.into());
    fields.insert("id".into(), format!("{session}-m{}", n.as_u64()?).into());
    fields.insert("connectionId".into(), connection.clone());
    fields.insert("n".into(), n.clone());
    fields.insert("timestamp".into(), milliseconds(timestamp)?);
    fields.insert("wallTime".into(), milliseconds(wall_time)?);
    fields.insert("direction".into(), named(&DIRECTIONS, direction)?.into());
    fields.insert("protocol".into(), named(&PROTOCOLS, protocol)?.into());
    fields.insert("size".into(), size.into());
    fields.insert("payload".into(), payload);
    fields.insert("payloadPreview".into(), preview.into());
    fields.insert("metadata".into(), rest.get("metadata").unwrap_or(&NOTHING).clone());
    for name in ["type", "truncated", "test"] {
        if let Some(value) = rest.get(name) {
            fields.insert(name.into(), value.clone());
        }
    }
    Some(fields.into())
}

/// A payload as it is in a record, and its preview.
fn payload_of(payload: &Value, size: u64) -> Option<(Value, String)> {
    if let Some(text) = payload.as_str() {
        return Some((payload.clone(), text.chars().take(PREVIEW).collect()));
    }
    let base64 = payload[0].as_str()?;
    let length = BASE64_STANDARD.decode(base64).ok()?.len();
    let bytes = json!({ "type": "array-buffer", "byteLength": length, "base64": base64 });
    Some((bytes, format!("[binary {size} bytes]")))
}

/// Microseconds as milliseconds, without a fraction that says nothing.
fn milliseconds(micros: &Value) -> Option<Value> {
    let micros = micros.as_i64()?;
    #[expect(clippy::cast_precision_loss, reason = "a time of the page, which has no more digits itself")]
    let fraction = micros as f64 / 1000.0;
    Some(if micros % 1000 == 0 { (micros / 1000).into() } else { fraction.into() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SAMPLES: &str = include_str!("../../test-runner/tests/wire-samples.ts");

    fn of(line: &str) -> Option<Value> {
        record(serde_json::from_str::<Value>(line).unwrap().as_array().unwrap())
    }

    #[test]
    fn lists_become_the_records_that_the_page_would_write() {
        let json = SAMPLES.split_once("/* <json> */").unwrap().1.split_once("/* </json> */").unwrap().0;
        let samples: Value = serde_json::from_str(json).unwrap();
        for sample in samples["rows"].as_array().unwrap() {
            assert_eq!(of(sample["line"].as_str().unwrap()).unwrap(), sample["record"]);
        }
    }

    #[test]
    fn a_preview_is_a_hundred_characters() {
        let text = "é😀".repeat(60);
        let record = of(&format!(r#"[1,"s-c1",1,1,0,0,360,"{text}"]"#)).unwrap();
        assert_eq!(record["payloadPreview"], "é😀".repeat(50));
    }

    #[test]
    fn what_is_no_message_is_none() {
        let lists = ["[]", "[1]", r#"[1,"c1",1,1,0,0,1,"a"]"#, r#"[1,"s-c1",1,1,2,0,1,"a"]"#];
        for line in lists.into_iter().chain([r#"[1,"s-c1",1,1,0,3,1,"a"]"#, r#"[1,"s-c1",1,1,0,0,1,["?"]]"#]) {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
