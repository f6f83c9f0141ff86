//! What failed, and where.

use serde::{Deserialize, Serialize};

use super::ErrorKind;

/// An error, with its positions mapped to the user's sources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TestError {
    /// For example `AssertionError`.
    pub name: String,
    /// Message without the name.
    pub message: String,
    /// What kind of failure.
    pub kind: ErrorKind,
    /// `code` of the error, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Unified diff of expected and actual, without colours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Printed expected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Printed actual value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// Frames in the user's sources, innermost first; frames of the tool's own scripts are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<Frame>,
    /// The lines around the first frame, drawn with a caret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_frame: Option<String>,
    /// Hook it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// `cause`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<TestError>>,
}

/// One frame of a mapped stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Frame {
    /// Function name, may be empty.
    pub function: String,
    /// Where.
    #[serde(flatten)]
    pub location: Location,
}

/// A place in a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// Path relative to the project root, or the script's URL where no map knows it.
    pub file: String,
    /// 1-based.
    pub line: u32,
    /// 1-based, in UTF-16 units as editors count.
    pub column: u32,
}
