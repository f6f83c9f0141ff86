//! Where WebKit, its driver and Xvfb are.

use std::path::{Path, PathBuf};

use super::{WebkitError, WebkitOptions};
use crate::process::Finder;

/// Names of drivers: that of WebKitGTK and that of Safari.
const DRIVERS: [&str; 2] = ["WebKitWebDriver", SAFARI_DRIVER];
/// Apple's driver; it finds its browser by itself.
const SAFARI_DRIVER: &str = "safaridriver";
/// Folders of WebKitGTK's own programs, by its API versions, the newest that is common first.
const VERSIONS: [&str; 3] = ["webkit2gtk-4.1", "webkitgtk-6.0", "webkit2gtk-4.0"];
/// What to do where the driver or the browser is missing.
const INSTALL: &str = "Install it (on Debian: apt-get install webkit2gtk-driver; on macOS: safaridriver --enable) or \
    give its path with --webdriver";
const INSTALL_BROWSER: &str =
    "Install it (on Debian: apt-get install webkit2gtk-driver) or give its path with --browser";
const INSTALL_DISPLAY: &str =
    "There is no display, and WebKit does not run without one. Install it (on Debian: apt-get install xvfb)";

/// What is to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// The WebDriver.
    pub driver: PathBuf,
    /// `None`: Safari, whose driver knows where it is.
    pub browser: Option<PathBuf>,
    /// What makes a display; `None` where there is one, or none is needed.
    pub xvfb: Option<PathBuf>,
}

/// Finds what these options ask for.
///
/// # Errors
/// One of them is not there.
pub fn find(options: &WebkitOptions) -> Result<Programs, WebkitError> {
    find_with(&Finder::new(options.search_path.as_deref()), options)
}

/// The driver alone, where none was asked for by name.
pub fn find_driver(options: &WebkitOptions) -> Option<PathBuf> {
    Finder::new(options.search_path.as_deref()).first(&DRIVERS, [])
}

fn find_with(finder: &Finder<'_>, options: &WebkitOptions) -> Result<Programs, WebkitError> {
    let driver = one(finder, options.driver.as_deref(), "WebDriver", "--webdriver")?
        .or_else(|| finder.first(&DRIVERS, []))
        .ok_or(WebkitError::NotFound { what: "WebKit driver (WebKitWebDriver, safaridriver)", install: INSTALL })?;
    if driver.file_name().is_some_and(|name| name == SAFARI_DRIVER) {
        return Ok(Programs { driver, browser: None, xvfb: None });
    }
    let browser = one(finder, options.browser.as_deref(), "WebKit browser", "--browser")?
        .or_else(|| finder.first(&[], browser_places()))
        .ok_or(WebkitError::NotFound { what: "WebKit browser (MiniBrowser)", install: INSTALL_BROWSER })?;
    let xvfb = if options.has_display {
        None
    } else {
        let found = finder.first(&["Xvfb"], []);
        Some(found.ok_or(WebkitError::NotFound { what: "Xvfb", install: INSTALL_DISPLAY })?)
    };
    Ok(Programs { driver, browser: Some(browser), xvfb })
}

fn one(
    finder: &Finder<'_>,
    asked: Option<&Path>,
    what: &'static str,
    option: &'static str,
) -> Result<Option<PathBuf>, WebkitError> {
    let Some(asked) = asked else { return Ok(None) };
    let path = finder.asked(asked);
    path.map(Some).ok_or_else(|| WebkitError::NotThere { what, path: asked.to_owned(), option })
}

/// Where distributions put MiniBrowser: it is not in `PATH`.
fn browser_places() -> impl Iterator<Item = PathBuf> {
    let triplet = match std::env::consts::ARCH {
        "x86" => "i386-linux-gnu".to_owned(),
        "arm" => "arm-linux-gnueabihf".to_owned(),
        other => format!("{other}-linux-gnu"),
    };
    let folders = [format!("/usr/lib/{triplet}"), "/usr/libexec".into(), "/usr/lib64".into(), "/usr/lib".into()];
    folders.into_iter().flat_map(|folder| VERSIONS.map(|version| Path::new(&folder).join(version).join("MiniBrowser")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn find(options: WebkitOptions, present: &[&str]) -> Result<Programs, WebkitError> {
        let is_file = |path: &Path| present.iter().any(|p| Path::new(p) == path);
        find_with(&Finder::with(Some("/bin:/opt/bin"), &is_file), &options)
    }

    fn said(options: WebkitOptions, present: &[&str]) -> String {
        find(options, present).unwrap_err().to_string()
    }

    #[test]
    fn a_webkit_gtk_is_found_whole() {
        let present = ["/opt/bin/WebKitWebDriver", "/usr/libexec/webkitgtk-6.0/MiniBrowser", "/bin/Xvfb"];
        let found = find(WebkitOptions::default(), &present).unwrap();
        assert_eq!(found.driver, Path::new("/opt/bin/WebKitWebDriver"));
        assert_eq!(found.browser.as_deref(), Some(Path::new("/usr/libexec/webkitgtk-6.0/MiniBrowser")));
        assert_eq!(found.xvfb.as_deref(), Some(Path::new("/bin/Xvfb")));
        let shown = WebkitOptions { has_display: true, ..WebkitOptions::default() };
        assert_eq!(find(shown, &present[..2]).unwrap().xvfb, None);
    }

    #[test]
    fn safari_needs_its_driver_only() {
        let found = find(WebkitOptions::default(), &["/bin/safaridriver"]).unwrap();
        assert_eq!(found, Programs { driver: "/bin/safaridriver".into(), browser: None, xvfb: None });
    }

    #[test]
    fn what_is_missing_is_named_with_what_to_do() {
        let driver = "/bin/WebKitWebDriver";
        let browser = "/usr/lib/webkit2gtk-4.0/MiniBrowser";
        assert!(said(WebkitOptions::default(), &[]).contains("webkit2gtk-driver"));
        assert!(said(WebkitOptions::default(), &[driver]).contains("MiniBrowser"));
        assert!(said(WebkitOptions::default(), &[driver, browser]).contains("apt-get install xvfb"));
        let asked = WebkitOptions { driver: Some("/x/driver".into()), ..WebkitOptions::default() };
        let message = said(asked, &[driver, browser]);
        assert!(message.contains("/x/driver") && message.contains("--webdriver"), "{message}");
        let asked = WebkitOptions { browser: Some("/x/mini".into()), ..WebkitOptions::default() };
        assert!(said(asked, &[driver, browser]).contains("--browser"));
    }
}
