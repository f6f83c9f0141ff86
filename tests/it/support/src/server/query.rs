//! A query string in which a name may come more than once.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Pairs(Vec<(String, String)>);

impl Pairs {
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn one<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).next()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.one(name).is_some()
    }
}
