//! What a page said, remembered beyond the page: the console, exceptions, requests and transport messages of a session.
//! The newest are kept in memory; all of it is in files beside it, one JSON object a line.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::secret::Scrub;

/// Records of one kind that are kept in memory; older ones are in the file.
const MAX_KEPT: usize = 10_000;
/// Bytes of one text that are kept in memory; pages print whole documents.
const MAX_TEXT: usize = 4096;
/// Bytes of one file: a page that logs in a loop must not fill the disk.
const MAX_FILE: u64 = 64 << 20;

/// One kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Lines on the console.
    Console,
    /// Errors nobody caught.
    Exceptions,
    /// HTTP requests, as far as the browser tells of them.
    Requests,
    /// What the recorder saw: messages of sockets, streams and event sources.
    Transport,
}

/// One record.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its number: unique in its kind, and growing.
    pub(super) n: u64,
    /// What it is.
    pub(super) value: Value,
}

/// What a session remembers.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    /// What must not be read.
    pub(super) scrub: Scrub,
    kinds: [Mutex<Ring>; 4],
}

#[derive(Debug, Default)]
struct Ring {
    entries: VecDeque<Entry>,
    next: u64,
    file: Option<File>,
    written: u64,
}

/// What is there of one kind.
#[derive(Debug)]
pub(super) struct Listing {
    /// The newest ones, oldest first.
    pub(super) entries: Vec<Entry>,
    /// How many came in all.
    pub(super) total: u64,
    /// Where all of them are.
    pub(super) file: PathBuf,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Console, Self::Exceptions, Self::Requests, Self::Transport];

    /// Name of its file.
    fn file(self) -> &'static str {
        match self {
            Self::Console => "console.jsonl",
            Self::Exceptions => "exceptions.jsonl",
            Self::Requests => "requests.jsonl",
            Self::Transport => "transport.jsonl",
        }
    }
}

impl Store {
    /// An empty one, with its files in this folder.
    pub(super) fn new(folder: &Path, scrub: Scrub) -> Self {
        Self { folder: folder.to_path_buf(), scrub, kinds: Kind::ALL.map(|_| Mutex::default()) }
    }

    /// Remembers a record; its number, and the time where it has none, are added. Fields that are null are left out.
    pub(super) fn add(&self, kind: Kind, mut value: Value) -> u64 {
        self.scrub.clean_value(&mut value);
        let mut ring = self.ring(kind);
        ring.next += 1;
        let n = ring.next;
        if let Value::Object(fields) = &mut value {
            fields.retain(|_, value| !value.is_null());
            fields.entry("time").or_insert_with(|| now().into());
            fields.insert("n".into(), n.into());
        }
        self.write(&mut ring, kind, &value);
        shorten(&mut value, MAX_TEXT);
        if ring.entries.len() >= MAX_KEPT {
            ring.entries.pop_front();
        }
        ring.entries.push_back(Entry { n, value });
        n
    }

    /// Changes a record that is still in memory.
    pub(super) fn change(&self, kind: Kind, n: u64, fields: Value) {
        let mut ring = self.ring(kind);
        let first = ring.entries.front().map_or(0, |entry| entry.n);
        let at = usize::try_from(n.saturating_sub(first)).unwrap_or(usize::MAX);
        if let (Some(entry), Value::Object(mut fields)) = (ring.entries.get_mut(at), fields) {
            fields.retain(|_, value| !value.is_null());
            if let Value::Object(all) = &mut entry.value {
                all.extend(fields);
            }
            let value = entry.value.clone();
            self.write(&mut ring, kind, &value);
        }
    }

    /// What is there of one kind.
    pub(super) fn list(&self, kind: Kind) -> Listing {
        let ring = self.ring(kind);
        Listing {
            entries: ring.entries.iter().cloned().collect(),
            total: ring.next,
            file: self.folder.join(kind.file()),
        }
    }

    fn write(&self, ring: &mut Ring, kind: Kind, value: &Value) {
        if ring.written > MAX_FILE {
            return;
        }
        let line = format!("{value}\n");
        ring.written += line.len() as u64;
        if ring.file.is_none() {
            let opened = std::fs::create_dir_all(&self.folder)
                .and_then(|()| File::options().create(true).append(true).open(self.folder.join(kind.file())));
            ring.file = opened.inspect_err(|error| tracing::warn!(%error, "a record cannot be kept in a file")).ok();
        }
        if let Some(file) = &mut ring.file
            && let Err(error) = file.write_all(line.as_bytes())
        {
            tracing::warn!(%error, "a record is not in its file");
        }
        if ring.written > MAX_FILE
            && let Some(file) = &mut ring.file
        {
            drop(writeln!(file, "{}", json!({ "cut": "this file takes no more" })));
        }
    }

    fn ring(&self, kind: Kind) -> MutexGuard<'_, Ring> {
        self.kinds[kind as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time of day, RFC 3339 with milliseconds.
fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// Cuts each text in a value after so many bytes; a file has it whole.
pub(super) fn shorten(value: &mut Value, max: usize) {
    match value {
        Value::String(text) => cut(text, max),
        Value::Array(items) => items.iter_mut().for_each(|item| shorten(item, max)),
        Value::Object(fields) => fields.values_mut().for_each(|field| shorten(field, max)),
        _ => {}
    }
}

/// Cuts a text after so many bytes, and says how many are missing. What it took beyond that is free again.
pub(super) fn cut(text: &mut String, max: usize) {
    if text.len() > max {
        let end = text.floor_char_boundary(max);
        let missing = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("… ({missing} more bytes)"));
        text.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_newest_stay_in_memory_and_all_are_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path(), Scrub::default());
        for n in 0..MAX_KEPT + 5 {
            store.add(Kind::Console, json!({ "text": n.to_string(), "location": null }));
        }
        let listing = store.list(Kind::Console);
        assert_eq!((listing.entries.len(), listing.total), (MAX_KEPT, MAX_KEPT as u64 + 5));
        assert_eq!(listing.entries[0].value["text"], "5");
        assert!(listing.entries[0].value.get("location").is_none());
        assert_eq!(std::fs::read_to_string(listing.file).unwrap().lines().count(), MAX_KEPT + 5);
    }

    #[test]
    fn what_is_cut_takes_no_more_memory_than_it_shows() {
        let mut value = json!({ "list": ["x".repeat(1 << 20)] });
        shorten(&mut value, 100);
        let Value::String(text) = value["list"][0].take() else { panic!("{value}") };
        assert!(text.len() < 130 && text.capacity() < 256, "{} of {}", text.len(), text.capacity());
    }

    #[test]
    fn long_texts_are_whole_in_the_file_only_and_codes_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path(), Scrub::default());
        let n = store.add(Kind::Requests, json!({ "url": "x".repeat(MAX_TEXT * 2) + "?at=123456" }));
        store.change(Kind::Requests, n, json!({ "status": 200 }));
        let listing = store.list(Kind::Requests);
        assert_eq!(listing.entries[0].value["status"], 200);
        assert!(listing.entries[0].value["url"].as_str().unwrap().ends_with("more bytes)"));
        let file = std::fs::read_to_string(listing.file).unwrap();
        assert!(file.lines().next().unwrap().len() > MAX_TEXT * 2 && !file.contains("123456"), "{file}");
    }
}
