//! Where browsers are.

use std::path::{Path, PathBuf};

use super::ChromeError;
use crate::process::Finder;

/// Names looked for in `PATH`, the quickest to start first.
const NAMES: [&str; 7] = [
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
];

/// Places outside `PATH` where installers put them.
const PLACES: [&str; 6] = [
    "/usr/bin/chromium-headless-shell",
    "/usr/bin/chromium",
    "/opt/google/chrome/chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
];

/// Finds the browser to start. `asked` is a path, or a name to be looked up in `search_path` (the value of `PATH`).
///
/// # Errors
/// The one asked for is not there, or none was found; the message says what to do.
pub fn find(asked: Option<&Path>, search_path: Option<&str>) -> Result<PathBuf, ChromeError> {
    find_with(&Finder::new(search_path), asked)
}

fn find_with(finder: &Finder<'_>, asked: Option<&Path>) -> Result<PathBuf, ChromeError> {
    match asked {
        Some(asked) => finder.asked(asked).ok_or_else(|| ChromeError::NotThere(asked.to_owned())),
        None => finder
            .first(&NAMES, PLACES.map(PathBuf::from))
            .ok_or_else(|| ChromeError::NotFound { looked_for: NAMES.join(", ") }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn find(asked: Option<&str>, present: &[&str]) -> Result<PathBuf, ChromeError> {
        let is_file = |path: &Path| present.iter().any(|p| Path::new(p) == path);
        find_with(&Finder::with(Some("/a:/b"), &is_file), asked.map(Path::new))
    }

    #[test]
    fn the_quickest_in_path_comes_first() {
        let found = find(None, &["/a/chromium", "/b/chromium-headless-shell"]).unwrap();
        assert_eq!(found, Path::new("/b/chromium-headless-shell"));
        assert_eq!(find(None, &["/opt/google/chrome/chrome"]).unwrap(), Path::new("/opt/google/chrome/chrome"));
    }

    #[test]
    fn what_was_asked_for_is_never_exchanged() {
        let error = find(Some("/x/chrome"), &["/a/chromium"]).unwrap_err().to_string();
        assert!(error.contains("/x/chrome") && error.contains("--browser"), "{error}");
        assert_eq!(find(Some("chromium"), &["/b/chromium"]).unwrap(), Path::new("/b/chromium"));
        let here = find(Some("chromium"), &["chromium", "/b/chromium"]).unwrap();
        assert_eq!(here.as_os_str(), "./chromium", "a bare name would be started from PATH");
    }

    #[test]
    fn nothing_found_says_what_to_install() {
        let error = find(None, &[]).unwrap_err().to_string();
        assert!(error.contains("chromium-headless-shell") && error.contains("apt-get install"), "{error}");
    }
}
