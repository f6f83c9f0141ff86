//! What is recorded of what the page exchanges.

use super::error::SettingsError;
use super::lookup::Sources;
use super::source::Sourced;
use crate::wire::{CaptureKind, CaptureOptions};

/// All of it.
const ALL: [CaptureKind; 3] = [CaptureKind::Websocket, CaptureKind::Fetch, CaptureKind::Eventsource];
/// What leaves the page of one payload: a photo as a data URL just about.
const DEFAULT_MAX_PAYLOAD: u64 = 1 << 20;
/// A debugging channel takes no message much longer than this, in base64.
const LARGEST_PAYLOAD: u64 = 64 << 20;

/// `--capture`, unless `--no-capture`; of the two that are given, the one on the command line goes over the file.
pub(super) fn capture(from: &Sources<'_>) -> Result<Option<CaptureOptions>, SettingsError> {
    let wish = from.text("--capture", |given| &given.capture).map(|text| text.parse(kinds)).transpose()?;
    let size = from.text("--capture-max-payload", |given| &given.capture_max_payload);
    let size = size.map(|text| text.parse(bytes)).transpose()?.map_or(DEFAULT_MAX_PAYLOAD, |size| size.value);
    let off = match (from.flags.no_capture, &from.flags.capture) {
        (Some(off), _) => off,
        (None, Some(_)) => false,
        (None, None) => from.file.given.no_capture.unwrap_or(false),
    };
    if off
        && from.flags.no_capture.is_some()
        && let Some(Sourced { source, .. }) = &wish
        && from.flags.capture.is_some()
    {
        return Err(SettingsError::Conflict(format!("{source} says what to record, but --no-capture says nothing")));
    }
    Ok((!off).then(|| CaptureOptions::new(wish.map_or(ALL.to_vec(), |wish| wish.value), size)))
}

fn kinds(text: &str) -> Result<Vec<CaptureKind>, String> {
    let asked: Vec<&str> = text.split(',').map(str::trim).collect();
    let kind = |word: &&str| match *word {
        "websocket" => Ok(CaptureKind::Websocket),
        "fetch" => Ok(CaptureKind::Fetch),
        "eventsource" => Ok(CaptureKind::Eventsource),
        _ => Err("give one or more of websocket, fetch and eventsource, with commas between".to_owned()),
    };
    let asked = asked.iter().map(kind).collect::<Result<Vec<_>, _>>()?;
    Ok(ALL.into_iter().filter(|kind| asked.contains(kind)).collect())
}

/// Reads a size: `65536`, `64KiB`, `1MiB`.
fn bytes(text: &str) -> Result<u64, String> {
    let expected = || "give a whole number of bytes, or one with a unit, like 65536, 64KiB or 1MiB".to_owned();
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "kib" | "k" => 1 << 10,
        "mb" => 1_000_000,
        "mib" | "m" => 1 << 20,
        _ => return Err(expected()),
    };
    if number.is_empty() {
        return Err(expected());
    }
    let size = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).filter(|size| *size <= LARGEST_PAYLOAD);
    size.ok_or_else(|| "it must be at most 64MiB: no debugging channel takes more at a time".into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::settings::{FileGiven, Given, Surroundings, resolve};

    fn resolved(flags: Given, file: Given) -> Result<Option<CaptureOptions>, String> {
        let environment = |_: &str| None;
        let around = Surroundings { environment: &environment, cwd: "/".into(), stdout_is_terminal: false };
        let file = FileGiven { path: "devtools-test.toml".into(), given: file };
        resolve(flags, Some(file), &around).map(|settings| settings.capture).map_err(|error| error.to_string())
    }

    fn asked(capture: &str) -> Given {
        Given { capture: Some(capture.into()), ..Given::default() }
    }

    fn off() -> Given {
        Given { no_capture: Some(true), ..Given::default() }
    }

    #[test]
    fn everything_is_recorded_unless_something_else_is_said() {
        let all = resolved(Given::default(), Given::default()).unwrap().unwrap();
        assert_eq!((all.capture.len(), all.max_payload), (3, 1_048_576));
        let two = resolved(asked("eventsource, websocket"), Given::default()).unwrap().unwrap();
        assert_eq!(two.capture, [CaptureKind::Websocket, CaptureKind::Eventsource]);
        assert_eq!(resolved(off(), Given::default()).unwrap(), None);
        assert_eq!(resolved(Given::default(), off()).unwrap(), None);
        assert_eq!(resolved(asked("fetch"), off()).unwrap().unwrap().capture, [CaptureKind::Fetch]);
        assert_eq!(resolved(off(), asked("fetch")).unwrap(), None);
        let both = Given { no_capture: Some(true), ..asked("fetch") };
        assert!(resolved(both, Given::default()).unwrap_err().contains("--no-capture"));
    }

    #[test]
    fn mistakes_are_named_with_what_is_right() {
        let refused = resolved(asked("xhr"), Given::default()).unwrap_err();
        assert!(refused.contains("--capture") && refused.contains("eventsource"), "{refused}");
        for size in ["", "x", "-1", "1.5MiB", "1GiB", "65MiB"] {
            let given = Given { capture_max_payload: Some(size.into()), ..Given::default() };
            assert!(resolved(given, Given::default()).is_err(), "{size}");
        }
        for (size, expected) in [("0", 0), ("65536", 65_536), ("64KiB", 65_536), ("2 MB", 2_000_000), ("1m", 1 << 20)] {
            let given = Given { capture_max_payload: Some(size.into()), ..Given::default() };
            assert_eq!(resolved(given, Given::default()).unwrap().unwrap().max_payload, expected, "{size}");
        }
    }
}
