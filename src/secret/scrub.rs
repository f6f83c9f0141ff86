//! Takes out of texts what must not be read. Pages write what they like into their console, their errors and their
//! titles, their own address with the code in it among others, so this stands where such texts come in.
//!
//! Found by their value: what this run knows ([`Scrub::hide_secret`] and its like). Found by their looks: codes in links
//! (`at=123456`, `/at/123456`), addresses of relays (`relay=wss://..`), names of quick tunnels; all of them on any level
//! of URL encoding and in JSON.

mod shape;

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};

use aho_corasick::{AhoCorasick, Input, MatchKind};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use url::Url;

use super::{HIDDEN_HOST, Hidden, REDACTED, Secret, is_loopback};
use shape::{INTRODUCTIONS, Shape, is_within_digits};

/// Values of one kind that are remembered, the newest ones: codes of hours, tickets of all pages a run may meet.
const REMEMBERED: usize = 64;
/// Shorter values would be found everywhere.
const MIN_LENGTH: usize = 6;

/// Knows what must not be read. Clones share what they know.
#[derive(Clone, Debug, Default)]
pub struct Scrub(Arc<RwLock<Arc<Known>>>);

/// What is known, and the automaton that finds it.
#[derive(Clone, Debug)]
struct Known {
    values: Vec<(Kind, Hidden)>,
    /// Finds introductions of shapes (the first patterns), then values.
    finder: Option<AhoCorasick>,
}

/// How a value is found and what takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The secret itself.
    Secret,
    /// Random, so never anything else.
    Ticket,
    /// Six digits: only where they are no part of a longer number.
    Code,
    /// A host.
    Host,
}

impl Default for Known {
    fn default() -> Self {
        Self::of(Vec::new())
    }
}

impl Known {
    fn of(values: Vec<(Kind, Hidden)>) -> Self {
        let patterns = INTRODUCTIONS.iter().map(|(text, _)| *text).chain(values.iter().map(|(_, v)| v.expose()));
        let builder = &mut AhoCorasick::builder();
        let finder = builder.ascii_case_insensitive(true).match_kind(MatchKind::LeftmostLongest).build(patterns).ok();
        Self { values, finder }
    }
}

impl Scrub {
    /// The secret, as hex.
    pub fn hide_secret(&self, secret: &Secret) {
        self.remember(Kind::Secret, &secret.to_hex());
    }

    /// A ticket, or something else as random.
    pub fn hide_ticket(&self, ticket: &Hidden) {
        self.remember(Kind::Ticket, ticket.expose());
    }

    /// A one-time code that is, or was, good.
    pub fn hide_code(&self, code: &Hidden) {
        self.remember(Kind::Code, code.expose());
    }

    /// The name of the host by which the relay is reached; this machine's own names may be read.
    pub fn hide_host(&self, name: &str) {
        if is_loopback(name) {
            return;
        }
        self.remember(Kind::Host, name);
        // As it stands inside a link: the brackets and colons of an address of IPv6.
        self.remember(Kind::Host, &utf8_percent_encode(name, NON_ALPHANUMERIC).to_string().replace("%2E", "."));
    }

    /// An attach link: its code, and the host it leads to.
    pub fn hide_link(&self, link: &Hidden) {
        let Ok(url) = Url::parse(link.expose()) else { return };
        let hide_host_of = |address: &Url| self.hide_host(address.host_str().unwrap_or_default());
        for (name, value) in url.query_pairs() {
            match &*name {
                "at" => self.hide_code(&Hidden::new(value)),
                "relay" => drop(Url::parse(&value).map(|relay| hide_host_of(&relay))),
                _ => {}
            }
        }
        if matches!(url.scheme(), "http" | "https") {
            hide_host_of(&url);
        }
    }

    fn remember(&self, kind: Kind, text: &str) {
        if text.len() < MIN_LENGTH {
            return;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let entry = (kind, Hidden::new(text));
        if known.values.contains(&entry) {
            return;
        }
        let mut values = known.values.clone();
        let of_kind = values.iter().filter(|(other, _)| *other == kind).count();
        if of_kind >= REMEMBERED
            && let Some(oldest) = values.iter().position(|(other, _)| *other == kind)
        {
            values.remove(oldest);
        }
        values.push(entry);
        *known = Arc::new(Known::of(values));
    }

    /// The text without what must not be read.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.once(text) {
            // Digits beside a value belonged to a longer number, and are a code of their own when the value is gone.
            Cow::Owned(clean) => self.once(&clean).into_owned().into(),
            untouched @ Cow::Borrowed(_) => untouched,
        }
    }

    fn once<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner));
        // Without an automaton (there were too many patterns for one, which cannot be) nothing is safe to show.
        let Some(finder) = &known.finder else { return REDACTED.into() };
        let mut out = String::new();
        let (mut kept, mut at) = (0, 0);
        while let Some(found) = finder.find(Input::new(text).range(at..)) {
            let Some(hit) = known.hit(text, kept, found.pattern().as_usize(), found.start(), found.end()) else {
                at = found.end();
                continue;
            };
            out.push_str(&text[kept..hit.start]);
            out.push_str(hit.instead);
            (kept, at) = (hit.end, hit.end);
        }
        if kept == 0 {
            return text.into();
        }
        out.push_str(&text[kept..]);
        out.into()
    }

    /// The same, in place.
    pub fn clean(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.text(text) {
            *text = clean;
        }
    }

    /// The same in every text of a value, names of fields included.
    pub fn clean_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.clean(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.clean_value(item)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.clean_value(field));
                if fields.keys().any(|key| matches!(self.text(key), Cow::Owned(_))) {
                    let taken = std::mem::take(fields);
                    fields.extend(taken.into_iter().map(|(key, field)| (self.text(&key).into_owned(), field)));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// A part of a text that goes.
struct Hit {
    start: usize,
    end: usize,
    instead: &'static str,
}

impl Known {
    /// What goes because a pattern was found from `start` to `end`, if anything does. Text before `kept` is gone already.
    fn hit(&self, text: &str, kept: usize, pattern: usize, start: usize, end: usize) -> Option<Hit> {
        if let Some((_, shape)) = INTRODUCTIONS.get(pattern) {
            return shape.hit(text, kept, start, end);
        }
        let (kind, _) = self.values.get(pattern - INTRODUCTIONS.len())?;
        match kind {
            Kind::Code if is_within_digits(text, start, end) => None,
            Kind::Host => Some(Hit { start, end, instead: HIDDEN_HOST }),
            Kind::Secret | Kind::Ticket | Kind::Code => Some(Hit { start, end, instead: REDACTED }),
        }
    }
}

impl Shape {
    fn hit(self, text: &str, kept: usize, start: usize, end: usize) -> Option<Hit> {
        let instead = if self == Self::Tunnel { HIDDEN_HOST } else { REDACTED };
        self.range(text, kept, start, end).map(|range| Hit { start: range.start, end: range.end, instead })
    }
}

#[cfg(test)]
mod tests;
