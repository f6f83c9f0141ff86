//! Durations as people write them.

use std::time::Duration;

/// Longest duration that is accepted: timers of a browser count milliseconds in a signed 32-bit number and fire at
/// once when given more (24.8 days).
const MAX_MS: u64 = i32::MAX as u64;

/// Reads a positive whole number of milliseconds, or of another unit: `5000`, `500ms`, `60s`, `1m`, `2h`.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim_start() {
        "" | "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(expected()),
    };
    if number.is_empty() {
        return Err(expected());
    }
    let ms = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).filter(|ms| *ms <= MAX_MS);
    match ms {
        Some(0) => Err(format!("it must be more than 0; {}", expected())),
        Some(ms) => Ok(Duration::from_millis(ms)),
        None => Err(format!("it must be at most {MAX_MS} ms (24.8 days), the longest a browser's timer can wait")),
    }
}

fn expected() -> String {
    "give a whole number of milliseconds, or one with a unit, like 5000, 500ms, 60s or 1m".into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units() {
        for (text, ms) in
            [("1", 1), ("5000", 5000), ("500ms", 500), ("60s", 60_000), ("1m", 60_000), (" 2 h ", 7_200_000)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", " ", "5000abc", "1.9", "1e3", "-1", "+1", "0", "0s", "s", "1m30s", "Infinity", "٣", "0x10"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn too_much_is_refused_with_the_limit() {
        for text in ["2147483648", "99999999999999999999999999", "18446744073709551615h", "600h"] {
            assert!(parse(text).is_err_and(|why| why.contains("24.8 days")), "{text}");
        }
        assert!(parse("2147483647").is_ok());
    }

    proptest! {
        #[test]
        fn never_panics_and_never_gives_zero(text in "\\PC{0,30}|[0-9]{1,25}(ms|s|m|h)?") {
            if let Ok(duration) = parse(&text) {
                prop_assert!(!duration.is_zero() && duration.as_millis() <= u128::from(MAX_MS));
            }
        }
    }
}
