//! What a document exchanged just before it went to another one: it is told, or told to be missing.

use std::fs::File;

use devtools_test::transport::{Direction, Payload, Timeline};
use serde_json::json;
use support::server::FixtureServer;
use support::tool::Outcome;

use crate::traffic::{on_device, suite};

/// First words of what was sent, and whether the test is known, in order.
fn sent(outcome: &Outcome) -> (Vec<String>, u64, u64) {
    let path = outcome.report_dir().join("transport.2.x.mock.jsonl");
    let mut timeline = Timeline::read(File::open(path).unwrap()).unwrap();
    let mut words = Vec::new();
    for index in 0..timeline.len() {
        let message = timeline.message(index).unwrap();
        if message.direction == Direction::Out {
            assert!(message.test.is_some() && !message.truncated, "{message:?}");
            let Payload::Text(text) = message.payload() else { panic!("{message:?}") };
            words.push(text.split(" xx").next().unwrap().to_owned());
        }
    }
    (words, timeline.lost(), timeline.cut_short())
}

/// Of 300 KB a test, more than the channel takes in one piece.
const LONG: u32 = 5_000;
/// What fits a piece.
const SHORT: u32 = 100;

fn leaves(target: &str, length: u32) -> Outcome {
    let server = FixtureServer::start();
    let tool = suite(&server, "leaves", target).args(["--global".to_owned(), format!("__LENGTH__={length}")]);
    if target == "device" { on_device(tool) } else { tool.run() }
}

fn expect_all_sent(outcome: &Outcome) {
    outcome.expect_code(1);
    let (mut words, lost, cut_short) = sent(outcome);
    let many = |what: &'static str| (0..60).map(move |n| format!("{what} {n}"));
    let one = |what: &str| std::iter::once(what.to_owned());
    let mut expected: Vec<String> =
        many("before").chain(one("after")).chain(many("first")).chain(many("second")).chain(one("parting")).collect();
    if cut_short > 0 {
        // Once the navigation has begun they race with it.
        let certain = |word: &String| word != "after" && word != "parting";
        words.retain(certain);
        expected.retain(certain);
    }
    assert_eq!(words, expected, "{}", outcome.transcript());
    let total = &outcome.artifact()["transport"];
    assert_eq!((&total["lost"], &total["cutShort"]), (&json!(lost), &json!(cut_short)), "{total}");
    assert_eq!(lost, 0, "{total}");
}

/// A Chrome says nothing of a document that goes: whether more was exchanged in its last moment nobody can know.
#[test]
fn what_chrome_does_not_tell_of_a_document_that_goes_is_said_to_be_unknown() {
    let outcome = leaves("chrome", LONG);
    expect_all_sent(&outcome);
    assert_eq!(outcome.artifact()["transport"]["cutShort"], 2);
    let text = outcome.transcript();
    assert!(text.contains("the last of 2 documents that went may be missing"), "{text}");
}

#[test]
fn a_document_behind_the_relay_has_a_last_word() {
    let outcome = leaves("device", SHORT);
    expect_all_sent(&outcome);
    assert_eq!(outcome.artifact()["transport"]["cutShort"], 0, "{}", outcome.transcript());
}

#[test]
fn a_document_in_webkit_has_a_last_word() {
    let outcome = leaves("webkit", SHORT);
    expect_all_sent(&outcome);
    assert_eq!(outcome.artifact()["transport"]["cutShort"], 0, "{}", outcome.transcript());
}

/// A socket that has much to send when its document goes loses the rest of it.
#[test]
fn what_a_phone_cannot_send_in_time_is_said_to_be_missing() {
    let outcome = leaves("device", 10 * LONG);
    let (words, _, cut_short) = sent(&outcome);
    assert!(!words.is_empty() && (words.len() == 182 || cut_short > 0), "{}", outcome.transcript());
}
