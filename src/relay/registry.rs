//! Which pages are attached. A pure state machine: a page is known by its connection, an id only names the newest one.

use std::fmt;

/// Longest target id; ours have 16 characters, those of the field 6.
const MAX_ID: usize = 64;

/// What a page calls itself: shared by its reloads, by duplicated tabs and by frames of its origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TargetId(String);

impl TargetId {
    /// Letters, digits, `_` and `-`, 1 to 64 of them.
    pub fn new(text: &str) -> Option<Self> {
        let fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        (!text.is_empty() && text.len() <= MAX_ID && text.bytes().all(fine)).then(|| Self(text.to_owned()))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One connection of a page; never used twice in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LegId(u64);

/// What becomes of a page that was let through the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is the page now.
    Fresh,
    /// It is the page that was there already: it reconnected, or loaded again.
    Rejoined,
    /// It is the page now, in place of one that does not answer.
    TakesOver,
    /// Another page is in use and answers.
    Refused,
}

/// The page in use and its connection.
#[derive(Debug, Default)]
pub(super) struct Registry {
    current: Option<(TargetId, LegId)>,
    next_leg: u64,
}

impl Registry {
    /// Decides about a page. `answers` tells whether the page in use is alive.
    pub(super) fn admit(&mut self, id: &TargetId, answers: bool) -> (Admission, LegId) {
        let admission = match &self.current {
            None => Admission::Fresh,
            Some((current, _)) if current == id => Admission::Rejoined,
            Some(_) if answers => Admission::Refused,
            Some(_) => Admission::TakesOver,
        };
        let leg = LegId(self.next_leg);
        self.next_leg += 1;
        if admission != Admission::Refused {
            self.current = Some((id.clone(), leg));
        }
        (admission, leg)
    }

    /// The page is gone for good; only the connection that registered last may say so.
    pub(super) fn remove(&mut self, leg: LegId) -> bool {
        let own = self.current.as_ref().is_some_and(|(_, current)| *current == leg);
        if own {
            self.current = None;
        }
        own
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_old_socket_that_closes_late_removes_nothing() {
        let mut registry = Registry::default();
        let id = TargetId::new("a").unwrap();
        let (first, old) = registry.admit(&id, false);
        let (second, new) = registry.admit(&id, true);
        assert_eq!((first, second), (Admission::Fresh, Admission::Rejoined));
        assert!(!registry.remove(old));
        assert!(registry.remove(new));
        assert!(!registry.remove(new));
    }

    #[test]
    fn a_second_page_is_refused_while_the_first_answers_and_takes_over_when_not() {
        let mut registry = Registry::default();
        let (a, b) = (TargetId::new("a").unwrap(), TargetId::new("b").unwrap());
        let (_, first) = registry.admit(&a, false);
        let (refused, late) = registry.admit(&b, true);
        assert_eq!(refused, Admission::Refused);
        assert!(!registry.remove(late), "a refused page holds nothing");
        assert_eq!(registry.admit(&b, false).0, Admission::TakesOver);
        assert!(!registry.remove(first));
    }

    #[test]
    fn ids_are_plain_words() {
        for wrong in ["", "a b", "a/b", "é", "..", "a\0", &"x".repeat(65)] {
            assert!(TargetId::new(wrong).is_none(), "{wrong:?}");
        }
        assert_eq!(TargetId::new("aB-_09").unwrap().as_str(), "aB-_09");
    }
}
