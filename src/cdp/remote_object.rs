//! `Runtime.RemoteObject`: what is told of a value that stays in the page.

use serde::Deserialize;
use serde_json::Value;

use super::lenient::or_default;

/// A value in the page.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteObject {
    /// `object`, `string`, `undefined` ...
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    /// `null`, `array`, `error` ...
    #[serde(default, deserialize_with = "or_default")]
    pub subtype: String,
    /// The value, where it came by value.
    #[serde(default)]
    pub value: Option<Value>,
    /// `NaN`, `-0`, `12n` ...
    #[serde(default, deserialize_with = "or_default")]
    pub unserializable_value: String,
    /// For people; for an error its stack.
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    /// Its handle in the page.
    #[serde(default, deserialize_with = "or_default")]
    pub object_id: Option<String>,
    /// Its first properties.
    #[serde(default, deserialize_with = "or_default")]
    pub preview: Option<Preview>,
}

/// The first properties of an object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// There are more than these.
    #[serde(default, deserialize_with = "or_default")]
    pub overflow: bool,
    /// In order.
    #[serde(default, deserialize_with = "or_default")]
    pub properties: Vec<PreviewProperty>,
}

/// One property in a preview.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct PreviewProperty {
    /// Its name, or its index.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// `string`, `object` ...
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    /// As text; strings without quotes.
    #[serde(default, deserialize_with = "or_default")]
    pub value: String,
}

impl RemoteObject {
    /// As a console would show it: strings as they are, other values as JSON or by description and first properties.
    pub fn text(&self) -> String {
        match &self.value {
            Some(Value::String(text)) => return text.clone(),
            Some(value) if self.kind != "undefined" => return value.to_string(),
            _ => {}
        }
        if !self.unserializable_value.is_empty() {
            return self.unserializable_value.clone();
        }
        match &self.preview {
            Some(preview) if matches!(self.subtype.as_str(), "" | "array") => self.previewed(preview),
            _ if !self.description.is_empty() => self.description.clone(),
            _ if self.subtype == "null" => "null".into(),
            _ => self.kind.clone(),
        }
    }

    fn previewed(&self, preview: &Preview) -> String {
        let array = self.subtype == "array";
        let mut parts: Vec<String> = preview.properties.iter().map(|p| p.text(array)).collect();
        if preview.overflow {
            parts.push("…".into());
        }
        let body = parts.join(", ");
        match self.description.as_str() {
            _ if array => format!("[{body}]"),
            "Object" | "" => format!("{{{body}}}"),
            name => format!("{name} {{{body}}}"),
        }
    }
}

impl PreviewProperty {
    fn text(&self, in_array: bool) -> String {
        let value = if self.kind == "string" { format!("'{}'", self.value) } else { self.value.clone() };
        if in_array { value } else { format!("{}: {value}", self.name) }
    }
}
