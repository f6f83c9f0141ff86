//! Which page is attached. A pure state machine: a page is known by its connection, an id only names the newest one.

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

/// What is known of the page that is attached when another connection comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// It will not come back.
    Gone,
    /// Its document said that it is being left.
    Left,
    /// It has to be asked.
    Unknown,
    /// It was asked and did not answer.
    Silent,
    /// It was asked and answered.
    Answers,
}

/// Which of two pages that both answer is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The one that is attached: a run works with it.
    Older,
    /// The one that calls: nobody works with the other, or the person said so.
    Newer,
}

/// What becomes of a page that was let through the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is the page now.
    Fresh,
    /// It is the page that was there already: it reconnected, or loaded again.
    Rejoined,
    /// It is the page now, in place of another; `answered` when that one is alive.
    TakesOver {
        /// The other one is alive.
        answered: bool,
    },
    /// Another page is in use and answers.
    Refused,
    /// It depends on whether the page that is attached answers.
    Ask,
}

/// The page that is attached.
#[derive(Debug)]
struct Current {
    id: TargetId,
    /// Its document.
    doc: String,
    leg: LegId,
}

/// The page that is attached and its connection.
#[derive(Debug, Default)]
pub(super) struct Registry {
    current: Option<Current>,
    next_leg: u64,
}

impl Registry {
    /// Decides about the document `doc` of the page `id`. The connection it gets counts only if it was admitted.
    pub(super) fn admit(&mut self, id: &TargetId, doc: &str, presence: Presence, rule: Rule) -> (Admission, LegId) {
        let admission = self.current.as_ref().map_or(Admission::Fresh, |current| {
            let same_id = current.id == *id;
            match presence {
                _ if same_id && current.doc == doc => Admission::Rejoined,
                Presence::Gone => Admission::Fresh,
                // Two documents with one id: a page that loaded again, unless the older one is still there.
                Presence::Left | Presence::Silent if same_id => Admission::Rejoined,
                Presence::Left | Presence::Unknown => Admission::Ask,
                Presence::Silent => Admission::TakesOver { answered: false },
                Presence::Answers if rule == Rule::Newer => Admission::TakesOver { answered: true },
                Presence::Answers => Admission::Refused,
            }
        });
        let leg = LegId(self.next_leg);
        self.next_leg += 1;
        if !matches!(admission, Admission::Refused | Admission::Ask) {
            self.current = Some(Current { id: id.clone(), doc: doc.to_owned(), leg });
        }
        (admission, leg)
    }

    /// The page is gone for good; only the connection that registered last may say so.
    pub(super) fn remove(&mut self, leg: LegId) -> bool {
        let own = self.current.as_ref().is_some_and(|current| current.leg == leg);
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

    fn id(text: &str) -> TargetId {
        TargetId::new(text).unwrap()
    }

    #[test]
    fn an_old_socket_that_closes_late_removes_nothing() {
        let mut registry = Registry::default();
        let (first, old) = registry.admit(&id("a"), "d", Presence::Gone, Rule::Older);
        let (second, new) = registry.admit(&id("a"), "d", Presence::Answers, Rule::Older);
        assert_eq!((first, second), (Admission::Fresh, Admission::Rejoined), "one document is one page");
        assert!(!registry.remove(old));
        assert!(registry.remove(new));
        assert!(!registry.remove(new));
    }

    #[test]
    fn a_second_page_is_refused_while_the_first_answers_and_takes_over_when_not() {
        use Admission::{Ask, Refused, TakesOver};
        let mut registry = Registry::default();
        let (_, first) = registry.admit(&id("a"), "d1", Presence::Gone, Rule::Older);
        for (presence, expected) in [(Presence::Unknown, Ask), (Presence::Left, Ask), (Presence::Answers, Refused)] {
            let (admission, late) = registry.admit(&id("b"), "d2", presence, Rule::Older);
            assert_eq!(admission, expected);
            assert!(!registry.remove(late), "it holds nothing");
        }
        let (admission, _) = registry.admit(&id("b"), "d2", Presence::Silent, Rule::Older);
        assert_eq!(admission, TakesOver { answered: false });
        assert!(!registry.remove(first));
        let (admission, _) = registry.admit(&id("c"), "d3", Presence::Answers, Rule::Newer);
        assert_eq!(admission, TakesOver { answered: true });
    }

    #[test]
    fn a_duplicated_tab_is_a_second_page_and_a_reload_is_not() {
        use Admission::{Ask, Fresh, Refused, Rejoined, TakesOver};
        for (presence, rule, expected) in [
            (Presence::Unknown, Rule::Newer, Ask),
            (Presence::Answers, Rule::Older, Refused),
            (Presence::Answers, Rule::Newer, TakesOver { answered: true }),
            (Presence::Silent, Rule::Older, Rejoined),
            (Presence::Left, Rule::Older, Rejoined),
            (Presence::Gone, Rule::Older, Fresh),
        ] {
            let mut registry = Registry::default();
            registry.admit(&id("a"), "d1", Presence::Gone, Rule::Older);
            assert_eq!(registry.admit(&id("a"), "d2", presence, rule).0, expected, "{presence:?}");
        }
    }

    #[test]
    fn ids_are_plain_words() {
        for wrong in ["", "a b", "a/b", "é", "..", "a\0", &"x".repeat(65)] {
            assert!(TargetId::new(wrong).is_none(), "{wrong:?}");
        }
        assert_eq!(TargetId::new("aB-_09").unwrap().as_str(), "aB-_09");
    }
}
