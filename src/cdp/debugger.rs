//! The `Debugger` domain, as far as we use it.

use serde::Deserialize;

use super::lenient::or_default;
use crate::wire::PageFrame;

/// Event `Debugger.paused`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Paused {
    #[serde(default, deserialize_with = "or_default")]
    call_frames: Vec<PausedFrame>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PausedFrame {
    #[serde(default, deserialize_with = "or_default")]
    function_name: String,
    #[serde(default, deserialize_with = "or_default")]
    location: ScriptLocation,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScriptLocation {
    #[serde(default, deserialize_with = "or_default")]
    script_id: String,
    #[serde(default, deserialize_with = "or_default")]
    line_number: u32,
    #[serde(default, deserialize_with = "or_default")]
    column_number: u32,
}

/// Event `Debugger.scriptParsed`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScriptParsed {
    /// Its number in this session.
    #[serde(default, deserialize_with = "or_default")]
    pub script_id: String,
    /// Its address, or its `sourceURL`.
    #[serde(default, deserialize_with = "or_default")]
    pub url: String,
}

impl Paused {
    /// Where it stopped, innermost frame first, with 1-based positions. A frame names its script by number only; `url_of`
    /// knows the addresses from the [`ScriptParsed`] events.
    pub fn page_frames(&self, url_of: impl Fn(&str) -> Option<String>) -> Vec<PageFrame> {
        self.call_frames
            .iter()
            .map(|frame| PageFrame {
                function: frame.function_name.clone(),
                url: url_of(&frame.location.script_id).unwrap_or_default(),
                line: frame.location.line_number.saturating_add(1),
                column: frame.location.column_number.saturating_add(1),
            })
            .collect()
    }
}
