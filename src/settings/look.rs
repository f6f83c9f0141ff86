//! Colour and progress: what the terminal is given.

use super::surroundings::{Surroundings, is_off};

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ColorWish {
    /// As the surroundings say.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// Not at all.
    Never,
}

/// Reads `--color`.
pub(super) fn parse(text: &str) -> Result<ColorWish, String> {
    match text {
        "auto" => Ok(ColorWish::Auto),
        "always" => Ok(ColorWish::Always),
        "never" => Ok(ColorWish::Never),
        _ => Err("it must be auto, always or never".into()),
    }
}

/// Whether to colour: the flag, else `NO_COLOR` (<https://no-color.org>), else `FORCE_COLOR`, else whether stdout is a
/// terminal that can.
pub(super) fn color(wish: ColorWish, around: &Surroundings<'_>) -> bool {
    match wish {
        ColorWish::Always => true,
        ColorWish::Never => false,
        ColorWish::Auto if around.variable("NO_COLOR").is_some() => false,
        ColorWish::Auto => match around.variable("FORCE_COLOR") {
            Some(force) => !is_off(&force),
            None => around.stdout_is_terminal && around.variable("TERM").as_deref() != Some("dumb"),
        },
    }
}

/// Whether to draw a progress line that moves: only on a terminal that can, never in CI.
pub(super) fn progress(around: &Surroundings<'_>) -> bool {
    around.stdout_is_terminal && !around.is_ci() && around.variable("TERM").as_deref() != Some("dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colored(wish: ColorWish, terminal: bool, variables: &[(&str, &str)]) -> bool {
        let environment = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned());
        let around = Surroundings { environment: &environment, cwd: "/".into(), stdout_is_terminal: terminal };
        color(wish, &around)
    }

    #[test]
    fn order_of_wishes() {
        use ColorWish::{Always, Auto, Never};
        assert!(colored(Auto, true, &[]));
        assert!(!colored(Auto, false, &[]));
        assert!(!colored(Auto, true, &[("NO_COLOR", "1"), ("FORCE_COLOR", "1")]));
        assert!(colored(Auto, true, &[("NO_COLOR", "")]));
        assert!(colored(Auto, false, &[("FORCE_COLOR", "1")]));
        assert!(!colored(Auto, true, &[("FORCE_COLOR", "0")]));
        assert!(!colored(Auto, true, &[("TERM", "dumb")]));
        assert!(colored(Always, false, &[("NO_COLOR", "1")]));
        assert!(!colored(Never, true, &[("FORCE_COLOR", "1")]));
    }
}
