//! A value and where it came from.

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;

use super::error::SettingsError;

/// Where a value came from; displayed as what a person would look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A flag, with its dashes.
    Flag(&'static str),
    /// An environment variable.
    Environment(&'static str),
    /// A key of the settings file.
    File {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
    },
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Flag(name) | Source::Environment(name) => f.write_str(name),
            Source::File { path, key } => write!(f, "{key} in {}", path.display()),
            Source::Default => f.write_str("the default"),
        }
    }
}

/// A value that knows where it came from. Reads as the value itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub source: Source,
}

impl<T> Sourced<T> {
    /// A value nobody gave.
    pub fn default_of(value: T) -> Self {
        Self { value, source: Source::Default }
    }

    /// Whether somebody gave it.
    pub fn is_given(&self) -> bool {
        self.source != Source::Default
    }
}

impl<T> Deref for Sourced<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl Sourced<String> {
    /// Parses the text; a refusal blames the source. `parse` says what would have been right.
    pub(super) fn parse<T>(self, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<Sourced<T>, SettingsError> {
        match parse(&self.value) {
            Ok(value) => Ok(Sourced { value, source: self.source }),
            Err(why) => Err(SettingsError::Refused { origin: self.source, value: self.value, why }),
        }
    }
}
