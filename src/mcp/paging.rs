//! Lists that are capped, paged and filtered, and say what they leave out.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::envelope::Fault;
use super::store::{Listing, shorten};

/// Items of a page unless another number is asked for.
const DEFAULT_LIMIT: usize = 50;
/// Most items of a page: what a model reads in one go.
const MAX_LIMIT: usize = 500;
/// Characters of a page unless another number is asked for: some 1,000 tokens.
const DEFAULT_BUDGET: usize = 4_000;
/// Most characters of a page: some 10,000 tokens.
const MAX_BUDGET: usize = 40_000;
/// Characters of one text in an item: the file has it whole.
const MAX_ITEM_TEXT: usize = 400;

/// What is asked of a list; `#[serde(flatten)]` puts it into the arguments of a tool.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Paging {
    /// Most items to give (50 unless said, at most 500).
    pub(super) limit: Option<usize>,
    /// Where to go on: `next_cursor` of the answer before.
    pub(super) cursor: Option<String>,
    /// Only items that hold this text, whatever its case.
    pub(super) contains: Option<String>,
    /// Most characters to give (4000 unless said, at most 40000).
    pub(super) max_chars: Option<usize>,
}

/// A page of a list. Of what a page said: the newest items unless a cursor says otherwise, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Paged {
    /// The items.
    pub(super) items: Vec<Value>,
    /// How many there are in all.
    pub(super) total: u64,
    /// How many of those in memory match.
    pub(super) matching: usize,
    /// How many matching ones lie beyond these, where the cursor leads.
    pub(super) left_out: usize,
    /// Give it as `cursor` to see them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_cursor: Option<String>,
    /// Where all of them are, whole, one JSON object a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
}

impl Paging {
    /// The page that is asked for. `wanted` filters beyond `contains`.
    pub(super) fn page(&self, listing: &Listing, wanted: impl Fn(&Value) -> bool) -> Result<Paged, Fault> {
        let before = self.cursor()?.unwrap_or(u64::MAX);
        let holds = self.filter();
        let matches = |value: &Value| wanted(value) && holds(value);
        let matching: Vec<_> = listing.entries.iter().filter(|entry| matches(&entry.value)).collect();
        let (limit, mut budget) = self.room();
        let (mut items, mut older, mut first) = (Vec::new(), 0, None);
        for entry in matching.iter().rev().filter(|entry| entry.n < before) {
            let mut value = entry.value.clone();
            shorten(&mut value, MAX_ITEM_TEXT);
            let size = value.to_string().chars().count() + 1;
            // One item always fits.
            if older > 0 || items.len() >= limit || (size > budget && !items.is_empty()) {
                older += 1;
                continue;
            }
            budget = budget.saturating_sub(size);
            first = Some(entry.n);
            items.push(value);
        }
        items.reverse();
        Ok(Paged {
            items,
            total: listing.total,
            matching: matching.len(),
            left_out: older,
            next_cursor: first.filter(|_| older > 0).map(|n| n.to_string()),
            file: (listing.total > 0).then(|| shown(&listing.file)),
        })
    }

    /// A page of a list that is there as a whole, from its beginning.
    pub(super) fn forward(&self, all: Vec<Value>) -> Result<Paged, Fault> {
        let total = all.len() as u64;
        let start = usize::try_from(self.cursor()?.unwrap_or(0)).unwrap_or(usize::MAX);
        let holds = self.filter();
        let matching: Vec<Value> = all.into_iter().filter(|value| holds(value)).collect();
        let (limit, mut budget) = self.room();
        let mut items = Vec::new();
        for value in matching.iter().skip(start).take(limit) {
            let mut value = value.clone();
            shorten(&mut value, MAX_ITEM_TEXT);
            let size = value.to_string().chars().count() + 1;
            if size > budget && !items.is_empty() {
                break;
            }
            budget = budget.saturating_sub(size);
            items.push(value);
        }
        let end = start.saturating_add(items.len());
        let left_out = matching.len().saturating_sub(end);
        let next_cursor = (left_out > 0).then(|| end.to_string());
        Ok(Paged { items, total, matching: matching.len(), left_out, next_cursor, file: None })
    }

    fn cursor(&self) -> Result<Option<u64>, Fault> {
        let Some(cursor) = &self.cursor else { return Ok(None) };
        cursor.parse().map(Some).map_err(|_| {
            Fault::bad_input(format!("The cursor {cursor:?} is none of ours."))
                .because("give next_cursor of an earlier answer, or none for the first page")
        })
    }

    /// Whether an item holds the text that is looked for.
    fn filter(&self) -> impl Fn(&Value) -> bool + use<> {
        let contains = self.contains.as_ref().map(|text| text.to_lowercase());
        move |value| contains.as_ref().is_none_or(|text| value.to_string().to_lowercase().contains(text.as_str()))
    }

    /// Items and characters of one page.
    fn room(&self) -> (usize, usize) {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
        (limit, self.max_chars.unwrap_or(DEFAULT_BUDGET).clamp(200, MAX_BUDGET))
    }
}

impl Paged {
    /// `12 of 2000 console lines; 1988 left out (cursor).`
    pub(super) fn sentence(&self, what: &str) -> String {
        let (shown, all) = (self.items.len(), self.matching);
        match (all, self.left_out) {
            (0, _) if self.total == 0 => format!("No {what} yet."),
            (0, _) => format!("None of the {} {what} match.", self.total),
            (_, 0) => format!("{shown} of {all} {what}."),
            (_, left_out) => format!("{shown} of {all} {what}; {left_out} left out (cursor)."),
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::mcp::store::{Kind, Store};
    use crate::secret::Scrub;

    #[test]
    fn pages_lead_back_to_the_first_item_and_none_comes_twice() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path(), Scrub::default());
        for n in 0..2000 {
            store.add(
                Kind::Console,
                json!({ "text": format!("line {n}"), "level": if n % 2 == 0 { "log" } else { "error" } }),
            );
        }
        let listing = store.list(Kind::Console);
        let mut paging = Paging::default();
        let mut seen = Vec::new();
        loop {
            let page = paging.page(&listing, |value| value["level"] == "error").unwrap();
            assert!(serde_json::to_string(&page).unwrap().len() < DEFAULT_BUDGET + 500);
            seen.splice(0..0, page.items.iter().map(|item| item["n"].as_u64().unwrap()));
            match page.next_cursor {
                Some(cursor) => paging.cursor = Some(cursor),
                None => break,
            }
        }
        assert_eq!(seen, (1..=1000).map(|n| n * 2).collect::<Vec<_>>());
        let found = Paging { contains: Some("LINE 1999".into()), ..Paging::default() };
        let found = found.page(&listing, |_| true).unwrap();
        assert_eq!((found.items.len(), found.matching, found.total), (1, 1, 2000));
        let wrong = Paging { cursor: Some("x".into()), ..Paging::default() };
        assert!(wrong.page(&listing, |_| true).is_err());
    }
}
