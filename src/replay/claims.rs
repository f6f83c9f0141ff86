//! Which connection of a page is which recorded one: the first of its kind, method and address is the first recorded,
//! and so on, whatever document of the run asks.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc;

use super::recording::{Exchange, Key, Kind};

/// Addresses that are named; a page that polls would name thousands.
const MAX_NAMED: usize = 50;

/// Hands recorded connections out.
#[derive(Debug)]
pub(super) struct Claims {
    waiting: Mutex<HashMap<Key, VecDeque<usize>>>,
    named: Mutex<HashSet<Key>>,
    /// Takes what a person should know of connections that were not recorded.
    notices: mpsc::UnboundedSender<String>,
}

impl Claims {
    pub(super) fn new(exchanges: &[Exchange], notices: mpsc::UnboundedSender<String>) -> Self {
        let mut waiting: HashMap<Key, VecDeque<usize>> = HashMap::new();
        for (index, exchange) in exchanges.iter().enumerate() {
            waiting.entry(exchange.key.clone()).or_default().push_back(index);
        }
        Self { waiting: Mutex::new(waiting), named: Mutex::default(), notices }
    }

    /// The recorded connection that is served for this one; none where it goes to its own server.
    pub(super) fn claim(&self, key: &Key) -> Option<usize> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let list = waiting.get_mut(key);
        let was_recorded = list.is_some();
        let claimed = list.and_then(VecDeque::pop_front);
        if claimed.is_none() {
            self.name(key, was_recorded);
        }
        claimed
    }

    fn name(&self, key: &Key, was_recorded: bool) {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if named.len() >= MAX_NAMED || !named.insert(key.clone()) {
            return;
        }
        let what = match key.kind {
            Kind::WebSocket => "WebSocket".to_owned(),
            Kind::EventSource => "EventSource".to_owned(),
            Kind::Fetch => format!("fetch {}", key.method),
        };
        let why = if was_recorded { "more often than it was recorded" } else { "which was not recorded" };
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
        let exchange = |url| Exchange { key: key(url), answer: Answer::Never, steps: Vec::new(), end: End::Held };
        let (sender, mut notices) = mpsc::unbounded_channel();
        let claims = Claims::new(&[exchange("http://x/a"), exchange("http://x/b"), exchange("http://x/a")], sender);
        let asked = ["a", "a", "b", "a", "a", "c?secret=1"].map(|path| claims.claim(&key(&format!("http://x/{path}"))));
        assert_eq!(asked, [Some(0), Some(2), Some(1), None, None, None]);
        let told: Vec<String> = std::iter::from_fn(|| notices.try_recv().ok()).collect();
        assert_eq!(
            told,
            [
                "not replayed: fetch GET http://x/a, more often than it was recorded; it went to its own server",
                "not replayed: fetch GET http://x/c, which was not recorded; it went to its own server",
            ]
        );
    }
}
