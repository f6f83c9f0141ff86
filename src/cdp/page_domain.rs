//! The `Page` domain, as far as we use it.

use serde::Deserialize;

use super::lenient::or_default;

/// Event `Page.javascriptDialogOpening`.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct DialogOpening {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    /// What it says.
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
}
