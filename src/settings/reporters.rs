//! Which reporters run and where they write.

use std::path::PathBuf;

use super::error::SettingsError;
use super::source::Sourced;

/// A reporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReporterKind {
    /// For people.
    Pretty,
    /// Every event as one line of JSON.
    Json,
}

impl ReporterKind {
    const NAMES: [(&str, ReporterKind); 2] = [("pretty", ReporterKind::Pretty), ("json", ReporterKind::Json)];

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// A reporter and where it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReporterChoice {
    /// Which one.
    pub kind: ReporterKind,
    /// The file it writes to; stdout without one.
    pub file: Option<PathBuf>,
}

/// Reads `name` or `name=path`.
pub(super) fn parse(text: &str) -> Result<ReporterChoice, String> {
    let (name, file) = match text.split_once('=') {
        Some((_, "")) => return Err("the path behind = is missing".into()),
        Some((name, path)) => (name, Some(PathBuf::from(path))),
        None => (text, None),
    };
    let kind = ReporterKind::NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
    let Some(kind) = kind else {
        let names = ReporterKind::NAMES.map(|(name, _)| name).join(", ");
        return Err(format!("there is no such reporter; take one of {names}, or name=path to write to a file"));
    };
    Ok(ReporterChoice { kind, file })
}

/// The reporters that run: those that were asked for, and `pretty` where none of them writes to stdout.
pub(super) fn complete(asked: Vec<Sourced<ReporterChoice>>) -> Result<Vec<ReporterChoice>, SettingsError> {
    let mut all: Vec<ReporterChoice> = Vec::new();
    for choice in asked.into_iter().map(|asked| asked.value) {
        if !all.contains(&choice) {
            all.push(choice);
        }
    }
    let on_stdout: Vec<&str> = all.iter().filter(|choice| choice.file.is_none()).map(|c| c.kind.name()).collect();
    match on_stdout.as_slice() {
        [] => all.push(ReporterChoice { kind: ReporterKind::Pretty, file: None }),
        [_] => {}
        [one, two, ..] => {
            return Err(SettingsError::Conflict(format!(
                "the reporters {one} and {two} would both write to stdout; give one of them a file, like \
                 --reporter {two}=report.{two}"
            )));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn choose(texts: &[&str]) -> Result<Vec<ReporterChoice>, SettingsError> {
        complete(texts.iter().map(|text| Sourced::default_of(parse(text).unwrap())).collect())
    }

    #[test]
    fn a_report_to_a_file_leaves_the_terminal_to_pretty() {
        let json = ReporterChoice { kind: ReporterKind::Json, file: Some("a=b.json".into()) };
        let pretty = ReporterChoice { kind: ReporterKind::Pretty, file: None };
        assert_eq!(choose(&["json=a=b.json"]).unwrap(), [json, pretty.clone()]);
        assert_eq!(choose(&[]).unwrap(), std::slice::from_ref(&pretty));
        assert_eq!(choose(&["pretty", "pretty"]).unwrap(), [pretty]);
        assert_eq!(choose(&["json"]).unwrap(), [ReporterChoice { kind: ReporterKind::Json, file: None }]);
    }

    #[test]
    fn contradictions_are_refused() {
        let message = choose(&["pretty", "json"]).unwrap_err().to_string();
        assert!(message.contains("--reporter json=report.json"), "{message}");
        assert!(parse("junit").unwrap_err().contains("pretty, json"));
        assert!(parse("json=").is_err());
    }
}
