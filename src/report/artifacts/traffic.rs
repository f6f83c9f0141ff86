//! What the page exchanged, as the artifact counts it. The messages themselves are in the timeline beside it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::ident::TestId;
use crate::report::traffic::{Traffic, Volume};

/// Of the whole run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Transport<'a> {
    connections: usize,
    #[serde(flatten)]
    volume: Counted,
    /// Messages that are known to be missing.
    lost: u64,
    /// Documents whose last messages may be missing.
    cut_short: u64,
    /// Payloads of which only the start was kept.
    cut: u64,
    /// What could not be seen: reason to count.
    not_covered: BTreeMap<&'a str, u64>,
    documents: Vec<Document<'a>>,
}

#[derive(Serialize)]
pub(super) struct Counted {
    messages: u64,
    #[serde(rename = "in")]
    incoming: u64,
    #[serde(rename = "out")]
    outgoing: u64,
    bytes: u64,
}

/// From when a document is recorded.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    session: &'a str,
    /// Milliseconds since the document began.
    from: f64,
    before_content: bool,
}

/// Messages during one test.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum TestConnection {
    /// Of one connection.
    One {
        connection: String,
        protocol: &'static str,
        url: String,
        #[serde(flatten)]
        volume: Counted,
    },
    /// Of many that are not named.
    Others {
        /// How many.
        others: usize,
        #[serde(flatten)]
        volume: Counted,
    },
}

impl Counted {
    fn of(volume: Volume) -> Self {
        let Volume { incoming, outgoing, bytes } = volume;
        Self { messages: volume.messages(), incoming, outgoing, bytes }
    }
}

impl<'a> Transport<'a> {
    /// `None` where nothing was recorded.
    pub(super) fn of(traffic: &'a Traffic) -> Option<Self> {
        let documents: Vec<_> = traffic
            .coverage()
            .map(|c| Document { session: &c.session, from: c.from, before_content: c.before_content })
            .collect();
        (!documents.is_empty()).then(|| Self {
            connections: traffic.connections(),
            volume: Counted::of(traffic.total),
            lost: traffic.lost,
            cut_short: traffic.cut_short,
            cut: traffic.cut,
            not_covered: traffic.not_covered(),
            documents,
        })
    }
}

impl TestConnection {
    pub(super) fn of(traffic: &Traffic, test: &TestId) -> Vec<Self> {
        let named = traffic.of_test(test).map(|(id, place, volume)| Self::One {
            connection: id.to_owned(),
            protocol: place.protocol.word(),
            url: place.url,
            volume: Counted::of(volume),
        });
        let others = traffic.others_of(test);
        named.chain(others.map(|(others, volume)| Self::Others { others, volume: Counted::of(volume) })).collect()
    }
}
