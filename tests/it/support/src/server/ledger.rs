//! What the server remembers of its answers: how much of one was taken, what came, and how it ended. Answers whose address
//! has a `key` are remembered by it; `/seen?key=` tells, `/seen?key=&end` once it has ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Query, State};
use serde::Serialize;
use tokio::sync::Notify;

use super::query::Pairs;

#[derive(Clone, Debug, Default, Serialize)]
struct Entry {
    /// Bytes of the body that the connection took.
    bytes: usize,
    /// Messages that came, binary ones in hex.
    got: Vec<String>,
    /// `done`, `gone` where the other side went before the end, or `close:<code>:<reason>`.
    end: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Ledger(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    entries: Mutex<HashMap<String, Entry>>,
    changed: Notify,
}

impl Ledger {
    pub(super) fn open(&self, key: Option<&str>) -> Watched {
        Watched { ledger: self.clone(), key: key.map(str::to_owned) }
    }

    fn change(&self, key: &str, change: impl FnOnce(&mut Entry)) {
        let mut entries = self.0.entries.lock().unwrap_or_else(PoisonError::into_inner);
        change(entries.entry(key.to_owned()).or_default());
        self.0.changed.notify_waiters();
    }

    fn entry(&self, key: &str) -> Entry {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned().unwrap_or_default()
    }
}

/// One answer on its way; when it is dropped before its end, the other side is gone.
#[derive(Debug)]
pub(super) struct Watched {
    ledger: Ledger,
    key: Option<String>,
}

impl Watched {
    pub(super) fn took(&self, bytes: usize) {
        self.change(|entry| entry.bytes += bytes);
    }

    pub(super) fn got(&self, message: String) {
        self.change(|entry| entry.got.push(message));
    }

    pub(super) fn ended(&self, how: &str) {
        self.change(|entry| entry.end = entry.end.take().or_else(|| Some(how.to_owned())));
    }

    fn change(&self, change: impl FnOnce(&mut Entry)) {
        if let Some(key) = &self.key {
            self.ledger.change(key, change);
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.ended("gone");
    }
}

pub(super) async fn seen(State(ledger): State<Ledger>, Query(pairs): Query<Pairs>) -> String {
    let key = pairs.one("key").unwrap_or_default();
    loop {
        let changed = ledger.0.changed.notified();
        let entry = ledger.entry(key);
        if entry.end.is_some() || !pairs.has("end") {
            return serde_json::to_string(&entry).unwrap();
        }
        changed.await;
    }
}
