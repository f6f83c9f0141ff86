//! Values that may be long: cut where they are read, and whole in a file beside the server.

use std::io::Write;

use serde_json::Value;

use super::call::Call;
use super::envelope::Fault;

/// Characters of a value unless another number is asked for: some 1,000 tokens.
const DEFAULT_CHARS: usize = 4_000;
/// Most characters of a value: some 10,000 tokens.
const MAX_CHARS: usize = 40_000;

/// How many characters were asked for.
pub(super) fn chars(asked: Option<usize>) -> usize {
    asked.unwrap_or(DEFAULT_CHARS).clamp(200, MAX_CHARS)
}

/// A value as it is given.
#[derive(Debug)]
pub(super) struct Whole {
    /// The value, or the first characters of its JSON.
    pub(super) value: Value,
    /// Where it is whole, if it is cut.
    pub(super) file: Option<String>,
}

impl Whole {
    /// Cuts a value that is longer than was asked for.
    pub(super) fn of(call: &Call, name: &str, value: Value, asked: Option<usize>) -> Result<Self, Fault> {
        let text = match &value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let max = chars(asked);
        let Some((end, _)) = text.char_indices().nth(max) else { return Ok(Self { value, file: None }) };
        let file = keep(call, &format!("{name}-"), ".txt", call.scrub().text(&text).as_bytes())?;
        Ok(Self { value: format!("{}…", &text[..end]).into(), file: Some(file) })
    }
}

/// Keeps something in a file of its own for as long as the server runs. Its path.
pub(super) fn keep(call: &Call, prefix: &str, suffix: &str, bytes: &[u8]) -> Result<String, Fault> {
    let folder = call.hub.folder().join("values");
    let kept = fs_err::create_dir_all(&folder).and_then(|()| {
        let mut file = tempfile::Builder::new().prefix(prefix).suffix(suffix).tempfile_in(&folder)?;
        file.write_all(bytes)?;
        let (_, path) = file.keep().map_err(|error| error.error)?;
        Ok(path)
    });
    kept.map(|path| path.display().to_string()).map_err(|error| {
        Fault::environment("What is too long to be given cannot be kept in a file.").because(error.to_string())
    })
}
