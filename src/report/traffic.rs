//! What the records of what the page exchanged add up to.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use serde::Deserialize;
use serde_json::Value;

use crate::ident::TestId;
use crate::secret::SafeUrl;
use crate::transport::{Coverage, Message, Protocol, log_line, lost_in};

/// Messages that a failed test shows: what happened just before, and no more than fits beside its error.
const LAST_MESSAGES: usize = 10;

/// Connections that a test names one by one: more than a person reads, and less than makes a report that none can open.
const NAMED: usize = 1_000;

/// Everything that was exchanged so far.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Of all connections together.
    pub total: Volume,
    /// Messages that are known to be missing.
    pub lost: u64,
    /// Documents whose last messages may be missing: they went before they could say that there were no more.
    pub cut_short: u64,
    /// Payloads of which only the start was kept.
    pub cut: u64,
    connections: HashMap<String, Place>,
    coverage: BTreeMap<String, Coverage>,
    tests: HashMap<TestId, TestTraffic>,
    /// Tests that passed: nobody asks for their last messages.
    passed: HashSet<TestId>,
}

/// How much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Messages to the page.
    pub incoming: u64,
    /// Messages from the page.
    pub outgoing: u64,
    /// Bytes both ways, whole payloads.
    pub bytes: u64,
}

/// What a connection is.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// By what.
    pub protocol: Protocol,
    /// Its address, fit to be shown.
    pub url: String,
}

#[derive(Clone, Debug, Default)]
struct TestTraffic {
    /// In the order of their first message, up to [`NAMED`] of them.
    connections: Vec<(String, Volume)>,
    /// All of them, with their place in that order.
    places: HashMap<String, usize>,
    /// What those beyond carried.
    others: Volume,
    last: VecDeque<Last>,
}

#[derive(Clone, Debug)]
struct Last {
    line: String,
    connection: String,
}

impl Volume {
    /// Messages both ways.
    pub fn messages(&self) -> u64 {
        self.incoming + self.outgoing
    }

    fn add(&mut self, incoming: bool, bytes: u64) {
        if incoming {
            self.incoming += 1;
        } else {
            self.outgoing += 1;
        }
        // Sizes and counts are what a page said.
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl TestTraffic {
    fn volume_of(&mut self, id: &str) -> &mut Volume {
        let place = match self.places.get(id) {
            Some(place) => *place,
            None => {
                let place = self.places.len();
                self.places.insert(id.to_owned(), place);
                if place < NAMED {
                    self.connections.push((id.to_owned(), Volume::default()));
                }
                place
            }
        };
        self.connections.get_mut(place).map_or(&mut self.others, |(_, volume)| volume)
    }
}

impl Traffic {
    /// Counts records in; `test` is the one they belong to.
    pub(super) fn take(&mut self, records: &[Value], test: Option<&TestId>) {
        for record in records {
            let text = |key: &str| record[key].as_str().unwrap_or_default();
            match text("kind") {
                "connection" if record["removed"] == true => drop(self.connections.remove(text("id"))),
                "connection" => {
                    let protocol = Protocol::deserialize(&record["protocol"]).unwrap_or_default();
                    let url = SafeUrl::new(text("url")).to_string();
                    self.connections.insert(text("id").to_owned(), Place { protocol, url });
                }
                "message" => self.message(record, test),
                // A message again, now with its bytes, or as many as there was room for.
                "payload" => self.cut += u64::from(record["truncated"] == true),
                "coverage" => {
                    let coverage = Coverage::deserialize(record).unwrap_or_default();
                    self.coverage.insert(coverage.session.clone(), coverage);
                }
                "gap" => match lost_in(record) {
                    Some(lost) => self.lost = self.lost.saturating_add(lost),
                    None => self.cut_short += 1,
                },
                _ => {}
            }
        }
    }

    fn message(&mut self, record: &Value, test: Option<&TestId>) {
        let incoming = record["direction"] == "in";
        let size = record["size"].as_u64().unwrap_or(0);
        self.total.add(incoming, size);
        // The bytes of a blob come later.
        self.cut += u64::from(record["truncated"] == true && record["metadata"]["kind"] != "blob");
        let Some(test) = test else { return };
        let of_test = self.tests.entry(test.clone()).or_default();
        let id = record["connectionId"].as_str().unwrap_or_default();
        of_test.volume_of(id).add(incoming, size);
        if !self.passed.contains(test) {
            let message = Message::deserialize(record).unwrap_or_default();
            if of_test.last.len() == LAST_MESSAGES {
                of_test.last.pop_front();
            }
            let line = log_line(&message, message.timestamp);
            of_test.last.push_back(Last { line, connection: id.to_owned() });
        }
    }

    /// A test passed.
    pub(super) fn passed(&mut self, test: &TestId) {
        self.passed.insert(test.clone());
        if let Some(of_test) = self.tests.get_mut(test) {
            of_test.last.clear();
        }
    }

    /// Connections so far.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// The first [`NAMED`] connections of a test with what each carried meanwhile.
    pub fn of_test(&self, test: &TestId) -> impl Iterator<Item = (&str, Place, Volume)> {
        let of_test = self.tests.get(test).into_iter().flat_map(|test| &test.connections);
        of_test.map(|(id, volume)| (id.as_str(), self.connections.get(id).cloned().unwrap_or_default(), *volume))
    }

    /// How many connections a test had beyond those, and what they carried together.
    pub fn others_of(&self, test: &TestId) -> Option<(usize, Volume)> {
        let of_test = self.tests.get(test)?;
        let others = of_test.places.len() - of_test.connections.len();
        (others > 0).then_some((others, of_test.others))
    }

    /// The last messages of a test that did not pass, as lines, each with the address of its connection.
    pub fn last_of(&self, test: &TestId) -> impl Iterator<Item = (&str, &str)> {
        let last = self.tests.get(test).into_iter().flat_map(|test| &test.last);
        last.map(|last| (last.line.as_str(), self.connections.get(&last.connection).map_or("", |place| &place.url)))
    }

    /// What each document's recorder could see.
    pub fn coverage(&self) -> impl Iterator<Item = &Coverage> {
        self.coverage.values()
    }

    /// What could not be seen, of all documents together: reason to count.
    pub fn not_covered(&self) -> BTreeMap<&str, u64> {
        let mut all = BTreeMap::new();
        for coverage in self.coverage.values() {
            let frames = (coverage.frames > 0).then_some(("frame", coverage.frames));
            let others = coverage.not_recorded.iter().map(|(reason, count)| (reason.as_str(), *count));
            for (reason, count) in frames.into_iter().chain(others) {
                let all = all.entry(reason).or_insert(0_u64);
                *all = all.saturating_add(count);
            }
        }
        all
    }

    /// Documents whose first scripts were not recorded.
    pub fn late_documents(&self) -> usize {
        self.coverage.values().filter(|coverage| !coverage.before_content).count()
    }
}
