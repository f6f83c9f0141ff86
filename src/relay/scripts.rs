//! Scripts for pages that may not `eval`: each is served once, to whoever knows its name.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bundler::Script;

use crate::secret::{Hidden, SecretError, random_ticket, same};

/// Scripts that may wait: a page asks for one at a time, and several if its connection broke in between.
const WAITING: usize = 8;

/// The scripts that were asked for and not yet fetched.
#[derive(Debug, Default)]
pub(super) struct Scripts(Mutex<VecDeque<(Hidden, String)>>);

impl Scripts {
    /// Keeps what is to be evaluated, as a script that hands its value to the global `ait_<name>`; gives its name, and
    /// what was put into the source ([`Script::inserted`]).
    pub(super) fn offer(&self, source: &str) -> Result<(Hidden, Vec<[usize; 3]>), SecretError> {
        let name = random_ticket()?;
        let Script { text, inserted } = bundler::as_script(source, &format!("ait_{}", name.expose()));
        let mut waiting = self.lock();
        if waiting.len() >= WAITING {
            waiting.pop_front();
        }
        waiting.push_back((name.clone(), text));
        Ok((name, inserted))
    }

    /// The script of this name, once.
    pub(super) fn take(&self, name: &Hidden) -> Option<String> {
        let mut waiting = self.lock();
        let at = waiting.iter().position(|(own, _)| same(own, name))?;
        waiting.remove(at).map(|(_, script)| script)
    }

    /// Nothing that holds this lock can panic; if it did, the list is still whole.
    fn lock(&self) -> MutexGuard<'_, VecDeque<(Hidden, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_script_is_served_once_and_the_oldest_is_given_up() {
        let scripts = Scripts::default();
        let first = scripts.offer("1").unwrap().0;
        let second = scripts.offer("2").unwrap().0;
        assert!(scripts.take(&Hidden::new("x")).is_none());
        let text = scripts.take(&second).unwrap();
        assert!(text.contains(&format!("ait_{}.value((2))", second.expose())), "{text}");
        assert!(scripts.take(&second).is_none());
        for _ in 0..WAITING {
            scripts.offer("3").unwrap();
        }
        assert!(scripts.take(&first).is_none());
    }
}
