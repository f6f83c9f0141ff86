//! What a run finds around it: environment, working directory, terminal.

use std::path::PathBuf;

use super::error::SettingsError;

/// Looks an environment variable up.
pub type Environment<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// What a run finds around it, passed in so that settings can be resolved without a process.
#[derive(Clone)]
pub struct Surroundings<'a> {
    /// The environment; values that are no Unicode are read with replacement characters.
    pub environment: Environment<'a>,
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// Whether stdout is a terminal.
    pub stdout_is_terminal: bool,
}

impl Surroundings<'_> {
    /// A variable's value; an empty one counts as unset.
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.is_empty())
    }

    /// Whether a CI service runs us: `CI` is set and is none of `false`, `0`, `no`.
    pub fn is_ci(&self) -> bool {
        self.variable("CI").is_some_and(|value| !is_off(&value))
    }
}

/// Whether the text of a switch says no.
pub(super) fn is_off(value: &str) -> bool {
    matches!(value.trim().to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off")
}

impl Surroundings<'static> {
    /// Those of this process.
    ///
    /// # Errors
    /// The working directory was removed, or must not be read.
    pub fn of_process() -> Result<Self, SettingsError> {
        use std::io::IsTerminal;
        Ok(Self {
            environment: &|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()),
            cwd: std::env::current_dir().map_err(SettingsError::NoWorkingDirectory)?,
            stdout_is_terminal: std::io::stdout().is_terminal(),
        })
    }
}
