//! The outer layer of a frame. Parameters and results stay unparsed until somebody wants them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A request as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request<'a, P> {
    pub(super) id: u64,
    pub(super) method: &'a str,
    pub(super) params: P,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<&'a str>,
}

/// A frame that arrived.
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    /// An answer to a request of ours.
    Reply { id: u64, outcome: Result<&'a RawValue, Refusal> },
    /// An event.
    Event { method: String, params: Option<&'a RawValue>, session_id: Option<String> },
}

/// An error reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: Option<i64>,
    pub(super) message: String,
}

/// All fields are taken raw, so that an odd one cannot make the others unreadable.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    session_id: Option<&'a RawValue>,
}

/// Reads a frame; `None` for anything that is neither a reply nor an event.
pub(super) fn read(frame: &str) -> Option<Incoming<'_>> {
    let raw: Raw<'_> = serde_json::from_str(frame).ok()?;
    if let Some(id) = raw.id.and_then(number) {
        let outcome = match (raw.error, raw.result) {
            (Some(error), _) => Err(refusal(error)),
            (None, Some(result)) => Ok(result),
            (None, None) => Err(Refusal { code: None, message: "the reply has neither result nor error".into() }),
        };
        return Some(Incoming::Reply { id, outcome });
    }
    let method = raw.method.and_then(text)?;
    Some(Incoming::Event { method, params: raw.params, session_id: raw.session_id.and_then(text) })
}

fn text(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// Ids come back as we sent them, or as text, or as a float (JavaScript has no integers).
fn number(raw: &RawValue) -> Option<u64> {
    let digits = raw.get().trim_matches('"');
    digits.parse().ok().or_else(|| digits.strip_suffix(".0").and_then(|d| d.parse().ok()))
}

fn refusal(raw: &RawValue) -> Refusal {
    let value: Value = super::lenient::parse(raw.get()).unwrap_or_default();
    let message = match (&value["message"], &value) {
        (Value::String(message), _) | (_, Value::String(message)) => message.clone(),
        _ => raw.get().chars().take(MAX_ODD_ERROR).collect(),
    };
    let detail = value["data"].as_str().map(|data| format!(" ({data})")).unwrap_or_default();
    Refusal { code: value["code"].as_i64(), message: message + &detail }
}

/// Characters shown of an error that is no JSON-RPC error: enough to recognise it, short enough for one line.
const MAX_ODD_ERROR: usize = 200;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn reply(frame: &str) -> (u64, Result<String, Refusal>) {
        match read(frame).unwrap() {
            Incoming::Reply { id, outcome } => (id, outcome.map(|r| r.get().to_owned())),
            event => panic!("{event:?}"),
        }
    }

    #[test]
    fn replies_of_any_kind() {
        assert_eq!(reply(r#"{"id":3,"result":{},"new":[1],"method":"odd"}"#), (3, Ok("{}".into())));
        assert_eq!(reply(r#"{"id":"4","result":1}"#), (4, Ok("1".into())));
        assert_eq!(reply(r#"{"id":5.0,"result":1,"sessionId":7}"#), (5, Ok("1".into())));
        assert!(reply(r#"{"id":941}"#).1.unwrap_err().message.contains("neither"));
    }

    #[test]
    fn errors_may_lack_a_code() {
        let refusal = |frame| reply(frame).1.unwrap_err();
        assert_eq!(
            refusal(r#"{"id":1,"error":{"message":"A.b unimplemented"}}"#),
            Refusal { code: None, message: "A.b unimplemented".into() }
        );
        assert_eq!(refusal(r#"{"id":1,"error":{"code":-32000,"message":"m","data":"d"}}"#).message, "m (d)");
        assert_eq!(refusal(r#"{"id":1,"error":"plain"}"#).message, "plain");
        assert_eq!(refusal(r#"{"id":1,"error":[1]}"#).message, "[1]");
    }

    #[test]
    fn what_is_no_message_is_nothing() {
        for frame in ["", "null", "[]", "{", "{}", r#"{"id":null}"#, r#"{"id":{}}"#, r#"{"method":1}"#, "\u{0}"] {
            assert!(read(frame).is_none(), "{frame}");
        }
    }

    #[test]
    fn events_keep_their_session() {
        match read(r#"{"method":"A.b","sessionId":"S"}"#).unwrap() {
            Incoming::Event { method, params: None, session_id: Some(session) } => {
                assert_eq!((method.as_str(), session.as_str()), ("A.b", "S"));
            }
            other => panic!("{other:?}"),
        }
    }
}
