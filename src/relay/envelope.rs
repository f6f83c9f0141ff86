//! The outside of a CDP message: its id and method, found without reading what is inside.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// What is looked at of a message.
#[derive(Debug, Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    /// Present in commands and events.
    #[serde(borrow, default)]
    pub(super) method: Option<Cow<'a, str>>,
    /// As they were sent.
    #[serde(borrow, default)]
    pub(super) params: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    /// `None` when the text is no JSON object.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        // An array would do for serde, but not for CDP.
        text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok())?
    }

    /// The id as it was written, `null` counting as none.
    pub(super) fn id(&self) -> Option<&'a str> {
        self.id.map(RawValue::get).filter(|id| *id != "null")
    }

    /// The id as a number.
    pub(super) fn number(&self) -> Option<u64> {
        self.id()?.parse().ok()
    }

    /// The same message under another id. `text` must be what this was read from.
    pub(super) fn with_id(&self, text: &str, id: &str) -> Option<String> {
        let old = self.id()?;
        let start = (old.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
        let (before, after) = (text.get(..start)?, text.get(start + old.len()..)?);
        Some([before, id, after].concat())
    }
}

/// An error reply. The id is JSON text as the asker wrote it.
pub(super) fn error_reply(id: &str, code: i32, message: &str) -> String {
    let message = serde_json::Value::from(message);
    format!(r#"{{"id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_the_id_changes() {
        let text = r#"{"method":"A.b", "params":{"id":7,"s":"\"id\":7"}, "id" : 7 }"#;
        let envelope = Envelope::read(text).unwrap();
        assert_eq!(envelope.number(), Some(7));
        assert_eq!(
            envelope.with_id(text, "4711").unwrap(),
            r#"{"method":"A.b", "params":{"id":7,"s":"\"id\":7"}, "id" : 4711 }"#
        );
    }

    #[test]
    fn what_is_no_message_is_none() {
        for text in ["", "[]", "1", "null", "{", r#"{"id":1"#] {
            assert!(Envelope::read(text).is_none(), "{text}");
        }
        assert_eq!(Envelope::read(r#"{"id":null}"#).unwrap().id(), None);
    }
}
