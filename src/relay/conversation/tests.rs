#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn hello(doc: &str, received: u64) -> Hello {
    Hello { doc: doc.into(), received, ..Hello::default() }
}

fn command(id: u64, method: &str) -> String {
    json!({ "id": id, "method": method, "params": {} }).to_string()
}

fn id_of(text: &str) -> u64 {
    Envelope::read(text).unwrap().number().unwrap()
}

fn reply(id: u64) -> String {
    json!({ "id": id, "result": {} }).to_string()
}

#[test]
fn replies_come_back_under_the_askers_id_once() {
    let mut talk = Conversation::default();
    talk.connected(&hello("d1", 0));
    let sent = talk.client_says(r#"{"id":"mine","method":"Runtime.evaluate"}"#);
    let number = id_of(&sent.to_page[0]);
    let got = talk.page_says(reply(number));
    assert_eq!(got.to_client, [r#"{"id":"mine","result":{}}"#]);
    assert_eq!(talk.page_says(reply(number)), Step::default());
    assert_eq!(talk.page_says("no json".into()), Step::default());
    assert_eq!(talk.received(), 3);
}

#[test]
fn a_reconnect_of_the_same_document_sends_what_was_not_received() {
    let mut talk = Conversation::default();
    talk.connected(&hello("d1", 0));
    let first = talk.client_says(&command(1, "A.a")).to_page.remove(0);
    let second = talk.client_says(&command(2, "A.b")).to_page.remove(0);
    talk.disconnected();
    assert!(talk.client_says(&command(3, "A.c")).to_page.is_empty());
    let (step, new_document) = talk.connected(&hello("d1", 1));
    assert!(!new_document && step.to_client.is_empty());
    assert_eq!(step.to_page.len(), 2, "the second and the third, not {first}");
    assert_eq!(step.to_page[0], second);
    // The reply to what ran before the cut arrives on the new connection.
    assert_eq!(talk.page_says(reply(id_of(&first))).to_client, [reply(1)]);
}

#[test]
fn another_document_looks_like_a_navigation_in_chrome() {
    let mut talk = Conversation::default();
    talk.connected(&hello("d1", 0));
    talk.client_says(&command(1, "Runtime.enable"));
    talk.client_says(r#"{"id":2,"method":"Runtime.addBinding","params":{"name":"one"}}"#);
    talk.client_says(r#"{"id":3,"method":"Runtime.addBinding","params":{"name":"two"}}"#);
    talk.client_says(r#"{"id":4,"method":"Runtime.removeBinding","params":{"name":"one"}}"#);
    let (step, new_document) = talk.connected(&hello("d2", 0));
    assert!(new_document);
    let errors: Vec<Value> = step.to_client[..4].iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(errors[0], json!({ "id": 1, "error": { "code": -32000, "message": NAVIGATED } }));
    assert!(step.to_client[4].contains("Runtime.executionContextsCleared"));
    let methods: Vec<String> =
        step.to_page.iter().map(|text| Envelope::read(text).unwrap().method.unwrap().into_owned()).collect();
    assert_eq!(methods, ["Runtime.enable", "Runtime.addBinding"]);
    assert!(step.to_page[1].contains("two"));
    // The client did not ask for these, so it does not hear of them.
    assert_eq!(talk.page_says(reply(id_of(&step.to_page[0]))), Step::default());
}

#[test]
fn commands_before_the_first_connection_wait_for_it() {
    let mut talk = Conversation::default();
    assert!(talk.client_says(&command(1, "A.a")).to_page.is_empty());
    let (step, new_document) = talk.connected(&hello("d1", 0));
    assert!(!new_document);
    assert_eq!(step.to_page.len(), 1);
}

#[test]
fn the_former_clients_replies_are_dropped() {
    let mut talk = Conversation::default();
    talk.connected(&hello("d1", 0));
    let old = talk.client_says(&command(1, "A.a")).to_page.remove(0);
    talk.client_changed();
    let new = talk.client_says(&command(1, "A.b")).to_page.remove(0);
    assert_eq!(talk.page_says(reply(id_of(&old))), Step::default());
    assert_eq!(talk.page_says(reply(id_of(&new))).to_client, [reply(1)]);
}

#[test]
fn messages_that_are_no_commands_are_answered() {
    let mut talk = Conversation::default();
    for text in ["", "[1]", r#"{"method":"A.a"}"#, r#"{"id":1}"#] {
        let step = talk.client_says(text);
        assert!(step.to_page.is_empty() && step.to_client[0].contains("-32600"), "{text}");
    }
}

/// A page that may lose its connection at any point, with what is on the way in either direction.
#[derive(Default)]
struct Phone {
    executed: Vec<u64>,
    outbox: Vec<String>,
}

proptest! {
    #[test]
    fn no_command_is_lost_or_executed_twice(cuts in prop::collection::vec((0_usize..4, 0_usize..4), 1..30)) {
        let mut talk = Conversation::default();
        let mut phone = Phone::default();
        let mut answered = Vec::new();
        let mut asked = 0;
        talk.connected(&hello("d", 0));
        for (arrives_up, arrives_down) in cuts {
            let mut on_the_way = Vec::new();
            for _ in 0..3 {
                asked += 1;
                on_the_way.extend(talk.client_says(&command(asked, "A.a")).to_page);
            }
            deliver(&mut talk, &mut phone, on_the_way, arrives_down, arrives_up, &mut answered);
            talk.disconnected();
            let (step, _) = talk.connected(&hello("d", phone.executed.len() as u64));
            deliver(&mut talk, &mut phone, step.to_page, usize::MAX, usize::MAX, &mut answered);
        }
        prop_assert_eq!(&phone.executed, &(1..=asked).collect::<Vec<_>>());
        prop_assert_eq!(answered, (1..=asked).collect::<Vec<_>>());
    }
}

/// The page executes the first `down` of the commands; the first `up` of its unread replies reach the host.
fn deliver(
    talk: &mut Conversation,
    phone: &mut Phone,
    commands: Vec<String>,
    down: usize,
    up: usize,
    answered: &mut Vec<u64>,
) {
    for text in commands.iter().take(down) {
        phone.executed.push(id_of(text));
        phone.outbox.push(reply(id_of(text)));
    }
    let unread = phone.outbox.split_off(usize::try_from(talk.received()).unwrap());
    for text in unread.iter().take(up) {
        answered.extend(talk.page_says(text.clone()).to_client.iter().map(|text| id_of(text)));
    }
    phone.outbox.extend(unread);
}

#[test]
fn a_page_that_counts_wildly_breaks_nothing() {
    let mut conversation = Conversation::default();
    let hello = |received| Hello { doc: "d".into(), received, ..Hello::default() };
    conversation.connected(&hello(u64::MAX));
    conversation.skipped(u64::MAX);
    let step = conversation.page_says(r#"{"method":"Page.x"}"#.into());
    assert_eq!((step.to_client.len(), conversation.received()), (1, u64::MAX));
    conversation.confirmed(u64::MAX);
    assert_eq!(conversation.client_says(r#"{"id":1,"method":"Page.y"}"#).to_page.len(), 1);
    conversation.confirmed(u64::MAX);
    conversation.disconnected();
    assert!(conversation.connected(&hello(0)).0.to_page.is_empty(), "what was confirmed is not sent again");
}
