//! Which connection of a page is which recorded one: the first of its kind, method and address is the first recorded,
//! and so on, whatever document of the run asks.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc;

use super::recording::{Answer, Exchange, Key, Kind};

/// Addresses that are named; a page that polls would name thousands.
const MAX_NAMED: usize = 50;

/// What the recorder keeps of the address of a `fetch` (`MAX_URL` in `fetch-stream.ts`); those of pages are ASCII.
const MAX_URL: usize = 4_096;

/// Hands recorded connections out.
#[derive(Debug)]
pub(super) struct Claims {
    /// With nothing in the place of one whose answer was not seen.
    waiting: Mutex<HashMap<Key, VecDeque<Option<usize>>>>,
    named: Mutex<HashSet<(Key, &'static str)>>,
    /// Takes what a person should know of connections that were not recorded.
    notices: mpsc::UnboundedSender<String>,
}

impl Claims {
    pub(super) fn new(exchanges: &[Exchange], notices: mpsc::UnboundedSender<String>) -> Self {
        let mut waiting: HashMap<Key, VecDeque<Option<usize>>> = HashMap::new();
        for (index, exchange) in exchanges.iter().enumerate() {
            let served = (exchange.answer != Answer::Unseen).then_some(index);
            waiting.entry(exchange.key.clone()).or_default().push_back(served);
        }
        Self { waiting: Mutex::new(waiting), named: Mutex::default(), notices }
    }

    /// The recorded connection that is served for this one; none where it goes to its own server.
    pub(super) fn claim(&self, mut key: Key) -> Option<usize> {
        if key.kind == Kind::Fetch && key.url.is_char_boundary(MAX_URL) {
            key.url.truncate(MAX_URL);
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let why = match waiting.get_mut(&key).map(VecDeque::pop_front) {
            Some(Some(Some(index))) => return Some(index),
            Some(Some(None)) => "whose answer was not recorded",
            Some(None) => "more often than it was recorded",
            None => "which was not recorded",
        };
        self.name(key, why);
        None
    }

    fn name(&self, key: Key, why: &'static str) {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if named.len() >= MAX_NAMED || !named.insert((key.clone(), why)) {
            return;
        }
        let what = match key.kind {
            Kind::WebSocket => "WebSocket".to_owned(),
            Kind::EventSource => "EventSource".to_owned(),
            Kind::Fetch => format!("fetch {}", key.method),
        };
        let more = if named.len() == MAX_NAMED { "; further ones are not named" } else { "" };
        let notice = format!("not replayed: {what} {}, {why}; it went to its own server{more}", shown(&key.url));
        // Who listens to nothing wants to know nothing.
        drop(self.notices.send(notice));
    }
}

/// An address without what may be secret in it.
fn shown(url: &str) -> &str {
    url.split('?').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::replay::recording::{Answer, End};

    fn key(url: &str) -> Key {
        Key { kind: Kind::Fetch, method: "GET".into(), url: url.into() }
    }

    #[test]
    fn each_is_handed_out_once_and_what_is_not_there_is_named_once() {
        let exchange = |url, answer| Exchange { key: key(url), answer, steps: Vec::new(), end: End::Held };
        let (sender, mut notices) = mpsc::unbounded_channel();
        let recorded = [
            exchange("http://x/a", Answer::Never),
            exchange("http://x/b", Answer::Never),
            exchange("http://x/a", Answer::Unseen),
            exchange("http://x/a", Answer::Never),
        ];
        let claims = Claims::new(&recorded, sender);
        let asked = ["a", "a", "a", "b", "a", "a", "c?secret=1"];
        let got = asked.map(|path| claims.claim(key(&format!("http://x/{path}"))));
        assert_eq!(got, [Some(0), None, Some(3), Some(1), None, None, None]);
        let told: Vec<String> = std::iter::from_fn(|| notices.try_recv().ok()).collect();
        assert_eq!(
            told,
            [
                "not replayed: fetch GET http://x/a, whose answer was not recorded; it went to its own server",
                "not replayed: fetch GET http://x/a, more often than it was recorded; it went to its own server",
                "not replayed: fetch GET http://x/c, which was not recorded; it went to its own server",
            ]
        );
    }
}
