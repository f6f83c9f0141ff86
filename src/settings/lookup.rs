//! Who says something about a setting, in the order in which they are heard.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::duration;
use super::error::SettingsError;
use super::file::FileGiven;
use super::given::Given;
use super::source::{Source, Sourced};
use super::surroundings::Surroundings;

/// Everything that says something.
pub(super) struct Sources<'a> {
    pub(super) flags: &'a Given,
    pub(super) file: &'a FileGiven,
    pub(super) around: &'a Surroundings<'a>,
}

impl Sources<'_> {
    /// A flag, else the file.
    pub(super) fn text(&self, flag: &'static str, get: impl Fn(&Given) -> &Option<String>) -> Option<Sourced<String>> {
        let of_flag = get(self.flags).clone().map(|value| Sourced { value, source: Source::Flag(flag) });
        of_flag.or_else(|| get(&self.file.given).clone().map(|value| Sourced { value, source: self.in_file(flag) }))
    }

    /// A flag, else the environment, else the file.
    pub(super) fn text_or_variable(
        &self,
        flag: &'static str,
        variable: &'static str,
        get: impl Fn(&Given) -> &Option<String>,
    ) -> Option<Sourced<String>> {
        if get(self.flags).is_none()
            && let Some(value) = self.around.variable(variable)
        {
            return Some(Sourced { value, source: Source::Environment(variable) });
        }
        self.text(flag, get)
    }

    pub(super) fn switch(&self, get: impl Fn(&Given) -> Option<bool>) -> Option<bool> {
        get(self.flags).or_else(|| get(&self.file.given))
    }

    /// Values of a flag that may come more than once, else those of the file.
    pub(super) fn list(&self, flag: &'static str, get: impl Fn(&Given) -> &Vec<String>) -> Vec<Sourced<String>> {
        let (values, source) = match get(self.flags) {
            values if values.is_empty() => (get(&self.file.given), self.in_file(flag)),
            values => (values, Source::Flag(flag)),
        };
        values.iter().map(|value| Sourced { value: value.clone(), source: source.clone() }).collect()
    }

    pub(super) fn in_file(&self, flag: &'static str) -> Source {
        Source::File { path: self.file.path.clone(), key: flag.trim_start_matches('-') }
    }

    /// The folder that paths of a source are relative to.
    pub(super) fn base_of<'s>(&'s self, source: &'s Source) -> &'s Path {
        match source {
            Source::File { path, .. } => path.parent().unwrap_or(&self.around.cwd),
            _ => &self.around.cwd,
        }
    }

    pub(super) fn path(&self, text: Sourced<String>) -> Result<Sourced<PathBuf>, SettingsError> {
        let base = self.base_of(&text.source).to_path_buf();
        text.parse(|text| if text.is_empty() { Err("the path is missing".into()) } else { Ok(base.join(text)) })
    }

    /// A bare name is looked up in `PATH` later on; everything else is a path.
    pub(super) fn program(&self, text: Sourced<String>) -> Result<Sourced<PathBuf>, SettingsError> {
        if text.value.contains(['/', '\\']) {
            return self.path(text);
        }
        text.parse(|name| if name.is_empty() { Err("the path is missing".into()) } else { Ok(PathBuf::from(name)) })
    }

    pub(super) fn duration(
        &self,
        flag: &'static str,
        get: impl Fn(&Given) -> &Option<String>,
    ) -> Result<Option<Sourced<Duration>>, SettingsError> {
        self.text(flag, get).map(|text| text.parse(duration::parse)).transpose()
    }
}
