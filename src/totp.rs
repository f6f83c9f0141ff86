//! One-time codes: RFC 6238 with HMAC-SHA-1, steps of 30 seconds from the Unix epoch, six digits.

use std::ops::RangeInclusive;
use std::time::{SystemTime, UNIX_EPOCH};

use totp_rs::{Algorithm, Builder};

use crate::secret::{Hidden, Secret};

/// Seconds a step lasts; the value apps in the field are built with.
pub const STEP_SECONDS: u64 = 30;
/// Digits of a code.
pub const DIGITS: usize = 6;
/// Steps back that are accepted: a person needs time to scan, open the app and let it load (three minutes).
pub const STEPS_BACK: u64 = 6;
/// Steps ahead that are accepted: the clock of whoever made the code may be up to 30 seconds fast.
pub const STEPS_AHEAD: u64 = 1;

/// Steps back for which a code is known to have ended: an hour, in which a forgotten page or screenshot is shown again.
const STEPS_KNOWN: u64 = 120;

/// Makes and checks codes.
#[derive(Clone)]
pub struct Totp(totp_rs::Totp);

impl std::fmt::Debug for Totp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Totp")
    }
}

impl Totp {
    /// With this secret as the key.
    pub fn new(secret: &Secret) -> Self {
        // "Noncompliant" only means that the length of the secret is not checked again.
        let builder = Builder::new().with_algorithm(Algorithm::SHA1).with_digits(6).with_step_duration(STEP_SECONDS);
        Self(builder.with_secret(secret.expose().to_vec().into_boxed_slice()).build_noncompliant())
    }

    /// The code of the moment.
    pub fn code(&self, now: UnixSeconds) -> Hidden {
        Hidden::new(self.0.generate(now.0).to_string())
    }

    /// Whether a code counts at this moment: exactly six ASCII digits, of a step in the window. Takes the same time
    /// whichever step matches, and whether one does.
    pub fn accepts(&self, presented: &str, now: UnixSeconds) -> bool {
        let current = now.0 / STEP_SECONDS;
        self.is_of(presented, current.saturating_sub(STEPS_BACK)..=current.saturating_add(STEPS_AHEAD))
    }

    /// Whether a code counted within the last hour and does no longer: whoever shows it has the right secret.
    pub fn has_expired(&self, presented: &str, now: UnixSeconds) -> bool {
        let current = now.0 / STEP_SECONDS;
        self.is_of(presented, current.saturating_sub(STEPS_KNOWN)..=current.saturating_sub(STEPS_BACK + 1))
    }

    fn is_of(&self, presented: &str, window: RangeInclusive<u64>) -> bool {
        let presented = presented.as_bytes();
        if presented.len() != DIGITS || !presented.iter().all(u8::is_ascii_digit) {
            return false;
        }
        window.fold(false, |matched, step| {
            let code = self.0.generate(step.saturating_mul(STEP_SECONDS)).to_string();
            let difference = code.bytes().zip(presented).fold(0, |sum, (a, b)| sum | (a ^ b));
            matched | (std::hint::black_box(difference) == 0)
        })
    }

    /// The first moment at which a code made at `made` is no longer accepted.
    pub fn end_of(made: UnixSeconds) -> UnixSeconds {
        UnixSeconds((made.0 / STEP_SECONDS + STEPS_BACK + 1) * STEP_SECONDS)
    }
}

/// Wall clock: whole seconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixSeconds(pub u64);

impl UnixSeconds {
    /// Now.
    pub fn now() -> Self {
        Self(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const RFC_SEED: &str = "3132333435363738393031323334353637383930";
    const FIELD_SEED: &str = "00112233445566778899aabbccddeeff";

    fn totp(seed: &str) -> Totp {
        Totp::new(&Secret::from_hex(seed).unwrap())
    }

    #[test]
    fn codes_are_those_of_the_rfc_and_of_apps_in_the_field() {
        let vectors = [
            (RFC_SEED, 59, "287082"),
            (RFC_SEED, 1_111_111_109, "081804"),
            (RFC_SEED, 2_000_000_000, "279037"),
            (FIELD_SEED, 0, "166448"),
            (FIELD_SEED, 30, "738396"),
            (FIELD_SEED, 1_700_000_000, "678654"),
        ];
        for (seed, at, code) in vectors {
            assert_eq!(totp(seed).code(UnixSeconds(at)).expose(), code);
            assert!(totp(seed).accepts(code, UnixSeconds(at)));
        }
    }

    #[test]
    fn the_window_is_six_back_and_one_ahead() {
        let totp = totp(FIELD_SEED);
        let now = UnixSeconds(1_700_000_000);
        for (steps, accepted) in [(-7, false), (-6, true), (0, true), (1, true), (2, false)] {
            let made = UnixSeconds(now.0.checked_add_signed(steps * 30).unwrap());
            assert_eq!(totp.accepts(totp.code(made).expose(), now), accepted, "{steps} steps away");
            assert_eq!(totp.has_expired(totp.code(made).expose(), now), steps == -7, "{steps} steps away");
        }
        let end = Totp::end_of(now);
        assert!(totp.accepts(totp.code(now).expose(), UnixSeconds(end.0 - 1)));
        assert!(!totp.accepts(totp.code(now).expose(), end));
    }

    #[test]
    fn only_six_ascii_digits_are_a_code() {
        // 081804 must not be had as 81804, nor 000000 by sending nothing.
        let totp = totp(RFC_SEED);
        let now = UnixSeconds(1_111_111_109);
        for wrong in ["", "81804", "0081804", " 081804", "081804 ", "+81804", "08180４", "٠٨١٨٠٤", "08180\u{0}"]
        {
            assert!(!totp.accepts(wrong, now), "{wrong:?}");
        }
        assert!(totp.accepts("081804", now));
    }
}
