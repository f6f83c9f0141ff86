//! The parts of a cell.

use crate::ident::PLATFORMS;

/// Longest SDK line that is accepted; it becomes part of file names.
const MAX_SDK_LINE: usize = 64;

/// One of [`PLATFORMS`].
pub(super) fn platform(text: &str) -> Result<String, String> {
    if PLATFORMS.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("it must be one of {}", PLATFORMS.join(", ")))
}

/// Any label a person can read in a file name and in a report.
pub(super) fn sdk_line(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.len() > MAX_SDK_LINE || text.chars().any(char::is_control) {
        return Err(format!("it must be a short label such as 2.x, at most {MAX_SDK_LINE} bytes, in one line"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn platforms() {
        assert_eq!(platform("ios-sim"), Ok("ios-sim".into()));
        let why = platform("iOS").unwrap_err();
        assert_eq!(why, "it must be one of mock, chromium, webkit, ios, ios-sim, ios-pwa, android");
    }

    #[test]
    fn sdk_lines() {
        assert_eq!(sdk_line("3.x-rc"), Ok("3.x-rc".into()));
        for text in [" ", "2\n", &"x".repeat(65)] {
            assert!(sdk_line(text).is_err(), "{text:?}");
        }
    }
}
