//! Colours, and paths that can be clicked.

use std::fmt::Display;
use std::path::{Component, Path, PathBuf};

use anstyle::{AnsiColor, Style};

use crate::event::Location;
use crate::report::text;

/// How a run is shown.
#[derive(Clone, Debug, Default)]
pub struct PrettyOptions {
    /// Whether to colour.
    pub color: bool,
    /// The project root, which the places of errors are relative to.
    pub project_root: PathBuf,
    /// The folder a terminal resolves paths in. Places are shown relative to it, so that they can be clicked.
    pub cwd: PathBuf,
    /// Where the artifacts go, to be named at the end.
    pub report_dir: Option<PathBuf>,
}

/// Colours text, or leaves it, where its field says no.
#[derive(Clone, Copy, Debug)]
pub struct Paint(pub bool);

impl Paint {
    /// Green: it holds.
    pub fn green(self, text: impl Display) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    /// Red: it does not.
    pub fn red(self, text: impl Display) -> String {
        self.with(AnsiColor::Red.on_default(), text)
    }

    /// Yellow: to be looked at.
    pub fn yellow(self, text: impl Display) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    /// Cyan: a place.
    pub fn cyan(self, text: impl Display) -> String {
        self.with(AnsiColor::Cyan.on_default(), text)
    }

    /// Dim: beside the point.
    pub fn dim(self, text: impl Display) -> String {
        self.with(Style::new().dimmed(), text)
    }

    /// Bold.
    pub fn bold(self, text: impl Display) -> String {
        self.with(Style::new().bold(), text)
    }

    fn with(self, style: Style, text: impl Display) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_string() }
    }
}

/// Shows places relative to where the person is.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// What stands between the working directory and the project root, `/` at its end; empty where they are one.
    prefix: String,
}

impl Places {
    pub(super) fn new(cwd: &Path, root: &Path) -> Self {
        let prefix = relative(cwd, root).to_string_lossy().replace('\\', "/");
        let slash = if prefix.is_empty() || prefix.ends_with('/') { "" } else { "/" };
        Self { prefix: prefix + slash }
    }

    /// `file:line:column`, as terminals and editors open it.
    pub(super) fn show(&self, location: &Location) -> String {
        let Location { file, line, column } = location;
        let fixed = Path::new(file).is_absolute() || file.contains("://") || file.is_empty();
        let prefix = if fixed { "" } else { &self.prefix };
        format!("{}:{line}:{column}", text::line(&format!("{prefix}{file}")))
    }
}

/// The way from one folder to another; absolute where they share nothing.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    if shared <= 1 && from != to {
        return to.to_path_buf();
    }
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(cwd: &str, root: &str, file: &str) -> String {
        let location = Location { file: file.into(), line: 3, column: 7 };
        Places::new(Path::new(cwd), Path::new(root)).show(&location)
    }

    #[test]
    fn places_can_be_opened_from_where_the_person_is() {
        assert_eq!(shown("/p", "/p", "src/a.ts"), "src/a.ts:3:7");
        assert_eq!(shown("/p/src/x", "/p", "src/a.ts"), "../../src/a.ts:3:7");
        assert_eq!(shown("/w", "/w/p", "src/a.ts"), "p/src/a.ts:3:7");
        assert_eq!(shown("/w/a", "/w/b", "src/a.ts"), "../b/src/a.ts:3:7");
        assert_eq!(shown("/a", "/b", "src/a.ts"), "/b/src/a.ts:3:7");
        assert_eq!(shown("/a/b", "/a", "/etc/x.ts"), "/etc/x.ts:3:7");
        assert_eq!(shown("/a/b", "/a", "http://127.0.0.1/x.js"), "http://127.0.0.1/x.js:3:7");
        assert_eq!(shown("/a/b", "/a", "\x1b.ts"), "../␛.ts:3:7");
    }

    #[test]
    fn no_colour_no_escape() {
        assert_eq!(Paint(false).red("x"), "x");
        assert_eq!(Paint(true).red("x"), "\u{1b}[31mx\u{1b}[0m");
    }
}
