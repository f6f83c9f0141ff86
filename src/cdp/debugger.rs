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
    url: String,
    #[serde(default, deserialize_with = "or_default")]
    location: ScriptLocation,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScriptLocation {
    #[serde(default, deserialize_with = "or_default")]
    line_number: u32,
    #[serde(default, deserialize_with = "or_default")]
    column_number: u32,
}

impl Paused {
    /// Where it stopped, innermost frame first, with 1-based positions.
    pub fn page_frames(&self) -> Vec<PageFrame> {
        self.call_frames
            .iter()
            .map(|frame| PageFrame {
                function: frame.function_name.clone(),
                url: frame.url.clone(),
                line: frame.location.line_number.saturating_add(1),
                column: frame.location.column_number.saturating_add(1),
            })
            .collect()
    }
}
