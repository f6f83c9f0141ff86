//! What is replayed, and how fast.

use std::path::PathBuf;

use crate::event::TargetKind;
use crate::replay::Speed;

use super::error::SettingsError;
use super::lookup::Sources;
use super::source::Sourced;

/// `--replay` and `--replay-speed`.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplaySettings {
    /// A recorded timeline.
    pub file: Sourced<PathBuf>,
    /// How fast it is played.
    pub speed: Speed,
}

/// Nothing is replayed unless a file is named, and only in a Chrome of ours.
pub(super) fn replay(from: &Sources<'_>, target: TargetKind) -> Result<Option<ReplaySettings>, SettingsError> {
    let file = from.text("--replay", |given| &given.replay).map(|text| from.path(text)).transpose()?;
    let speed = from.text("--replay-speed", |given| &given.replay_speed).map(|text| text.parse(speed)).transpose()?;
    match (file, speed) {
        (Some(Sourced { source, .. }), _) if target != TargetKind::Chrome => Err(SettingsError::Conflict(format!(
            "{source} names a recording, which only a Chrome of ours plays. Run with --target chrome"
        ))),
        (Some(file), speed) => {
            Ok(Some(ReplaySettings { file, speed: speed.map_or(Speed::Times(1.0), |speed| speed.value) }))
        }
        (None, Some(speed)) => {
            Err(SettingsError::Conflict(format!("{} is given, but no recording. Name one with --replay", speed.source)))
        }
        (None, None) => Ok(None),
    }
}

fn speed(text: &str) -> Result<Speed, String> {
    if text.eq_ignore_ascii_case("max") {
        return Ok(Speed::Max);
    }
    let factor = text.strip_suffix('x').unwrap_or(text).parse::<f64>().ok();
    // Beyond these a pause is nothing or for ever.
    let factor = factor.filter(|factor| (0.001..=1_000_000.0).contains(factor));
    factor.map(Speed::Times).ok_or_else(|| "give a factor like 2 or 0.5, or max for no pauses at all".into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::settings::{Given, Surroundings, resolve};

    fn resolved(flags: Given) -> Result<Option<ReplaySettings>, String> {
        let environment = |_: &str| None;
        let around = Surroundings { environment: &environment, cwd: "/p".into(), stdout_is_terminal: false };
        resolve(flags, None, &around).map(|settings| settings.replay).map_err(|error| error.to_string())
    }

    fn asked(target: &str, speed: Option<&str>) -> Given {
        let text = |text: &str| Some(text.to_owned());
        Given {
            target: text(target),
            replay: text("a.jsonl"),
            replay_speed: speed.map(String::from),
            ..Given::default()
        }
    }

    #[test]
    fn a_file_is_played_as_it_was_unless_something_else_is_said() {
        assert_eq!(resolved(Given::default()).unwrap(), None);
        let plain = resolved(asked("chrome", None)).unwrap().unwrap();
        assert_eq!((plain.file.value, plain.speed), ("/p/a.jsonl".into(), Speed::Times(1.0)));
        for (text, speed) in [("2", Speed::Times(2.0)), ("0.5x", Speed::Times(0.5)), ("max", Speed::Max)] {
            assert_eq!(resolved(asked("chrome", Some(text))).unwrap().unwrap().speed, speed);
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for target in ["device", "webkit"] {
            let refused = resolved(asked(target, None)).unwrap_err();
            assert!(refused.contains("--replay") && refused.contains("--target chrome"), "{refused}");
        }
        for speed in ["0", "-1", "fast", "inf", "NaN", ""] {
            let refused = resolved(asked("chrome", Some(speed))).unwrap_err();
            assert!(refused.contains("--replay-speed"), "{speed}: {refused}");
        }
        let alone = Given { replay_speed: Some("max".into()), ..Given::default() };
        assert!(resolved(alone).unwrap_err().contains("--replay"));
    }
}
