//! Which page is used when several call, with pages that are played here.

use devtools_test::relay::{Choice, Relay, Target};
use devtools_test::secret::Secret;
use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::task::AbortOnDropHandle;

use super::gate::{Socket, closed, code, dial, status};
use super::*;

/// A relay, and what it says.
struct Lab {
    relay: Relay,
    said: mpsc::UnboundedReceiver<String>,
}

impl Lab {
    async fn new(choice: Choice) -> Self {
        let (notices, said) = mpsc::unbounded_channel();
        let options = RelayOptions { choice, notices, ..RelayOptions::local(Secret::random().unwrap(), "") };
        Self { relay: Relay::start(options).await.unwrap(), said }
    }

    /// A page calls; nothing is awaited but that it is heard.
    async fn call(&self, id: &str, doc: &str, title: &str) -> Socket {
        let path = format!("/at/{}/target/{id}", code(&self.relay));
        let mut socket = dial(&self.relay, &path, None).await.unwrap();
        let params = json!({ "doc": doc, "title": title, "userAgent": "Mozilla/5.0 (iPhone)", "visible": true });
        let hello = format!(r#"{{"method":"Agent.hello","params":{params}}}"#);
        socket.send(Message::text(hello)).await.unwrap();
        socket
    }

    /// A page attaches.
    async fn attach(&self, id: &str, doc: &str, title: &str) -> (Socket, Target) {
        let mut socket = self.call(id, doc, title).await;
        let welcome = timeout(WITHIN, socket.next()).await.unwrap().unwrap().unwrap();
        assert!(welcome.to_text().unwrap().contains("Relay.welcome"), "{welcome:?}");
        let has_title = |target: &Target| target.view().info.title == title;
        let seen = status(&self.relay, |status| status.target.as_ref().is_some_and(has_title)).await;
        (socket, seen.target.unwrap())
    }

    async fn says(&mut self, part: &str) {
        let said = timeout(WITHIN, self.said.recv()).await.unwrap().unwrap();
        assert!(said.contains(part), "{said}");
    }
}

/// Answers the relay's echo as a page does in which JavaScript runs; gives how its socket was closed.
fn alive(mut socket: Socket) -> AbortOnDropHandle<Option<u16>> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        while let Some(Ok(message)) = socket.next().await {
            match message {
                Message::Text(text) if text.contains("Relay.echo") => {
                    let echo = r#"{"method":"Agent.echo","params":{"received":0,"visible":true}}"#;
                    socket.send(Message::text(echo)).await.ok()?;
                }
                Message::Close(frame) => return frame.map(|frame| frame.code.into()),
                _ => {}
            }
        }
        None
    }))
}

async fn end(page: AbortOnDropHandle<Option<u16>>) -> Option<u16> {
    timeout(WITHIN, page).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_second_page_is_turned_away_while_the_first_answers() {
    let mut lab = Lab::new(Choice::default()).await;
    let (socket, target) = lab.attach("a", "d1", "first").await;
    target.set_in_use(true);
    let first = alive(socket);
    // Another page, and a duplicated tab: the id is the same, the document is not.
    for (id, doc) in [("b", "d2"), ("a", "d3")] {
        let mut second = lab.call(id, doc, id).await;
        assert_eq!(closed(&mut second).await, (4409, "another page is in use".into()));
        lab.says("turned away, because the run works with another one (iPhone, 'first')").await;
    }
    assert_eq!(lab.relay.status().borrow().second_pages, 2);
    assert!(lab.relay.status().borrow().target.as_ref().unwrap().is(&target));
    lab.relay.shutdown().await;
    assert_eq!(end(first).await, Some(1000));
}

#[tokio::test]
async fn a_page_that_says_nothing_gives_up_its_place() {
    let mut lab = Lab::new(Choice::default()).await;
    let (mut silent, target) = lab.attach("a", "d1", "first").await;
    target.set_in_use(true);
    // With the same id it counts as that page, loaded again.
    let (mut again, same) = lab.attach("a", "d2", "second").await;
    assert!(same.is(&target) && same.view().document == 2);
    assert_eq!(closed(&mut silent).await.0, 4408);
    let (_other, other) = lab.attach("b", "d3", "third").await;
    assert!(!other.is(&target));
    lab.says("in place of one that does not answer").await;
    assert_eq!(closed(&mut again).await, (4408, "replaced by another page".into()));
    lab.relay.shutdown().await;
}

#[tokio::test]
async fn a_page_that_was_left_is_not_waited_for() {
    let lab = Lab::new(Choice::default()).await;
    let (mut socket, target) = lab.attach("a", "d1", "first").await;
    target.set_in_use(true);
    socket.send(Message::text(r#"{"method":"Agent.leaving","params":{}}"#)).await.unwrap();
    timeout(WITHIN, target.watch().wait_for(|view| view.leaving)).await.unwrap().unwrap();
    let began = tokio::time::Instant::now();
    let (_again, same) = lab.attach("a", "d2", "second").await;
    assert!(same.is(&target) && began.elapsed() < Duration::from_millis(1500), "{:?}", began.elapsed());
    lab.relay.shutdown().await;
}

#[tokio::test]
async fn with_take_over_a_second_page_gets_the_place() {
    let mut lab = Lab::new(Choice { take_over: true, ..Choice::default() }).await;
    let (socket, target) = lab.attach("a", "d1", "first").await;
    target.set_in_use(true);
    let client = devtools_test::cdp::Client::new(target.connect().await);
    let first = alive(socket);
    let (_second, now) = lab.attach("a", "d2", "second").await;
    assert!(!now.is(&target), "a duplicated tab is another page");
    lab.says("takes the place").await;
    assert_eq!(end(first).await, Some(4408));
    let reason = timeout(WITHIN, client.closed()).await.unwrap();
    assert_eq!(reason.to_string(), "the page was replaced by another page: iPhone, 'second'");
    lab.relay.shutdown().await;
}

#[tokio::test]
async fn of_several_pages_nobody_works_with_the_newest_is_used() {
    let mut lab = Lab::new(Choice::default()).await;
    let (socket, _) = lab.attach("a", "d1", "first").await;
    let first = alive(socket);
    lab.attach("b", "d2", "second").await;
    lab.says("the newer one (iPhone, 'second') is used").await;
    assert_eq!(end(first).await, Some(4408));
    lab.relay.shutdown().await;
}

#[tokio::test]
async fn a_page_that_was_not_asked_for_is_passed_over_and_may_come_again() {
    let mut lab = Lab::new(Choice { device: Some("CART".into()), ..Choice::default() }).await;
    for _ in 0..2 {
        let mut other = lab.call("a", "d1", "shop").await;
        assert_eq!(closed(&mut other).await.0, 4410);
    }
    lab.says("A page (iPhone, 'shop') called and is not used").await;
    assert!(lab.said.try_recv().is_err(), "it is said once");
    assert_eq!(lab.relay.status().borrow().passed_over, ["iPhone, 'shop'"]);
    let (_page, target) = lab.attach("a", "d1", "my cart").await;
    assert_eq!(target.view().info.title, "my cart");
    lab.relay.shutdown().await;
}

/// O-08: it has a code that counts, since both runs have one secret, and the ticket of the other run.
#[tokio::test]
async fn a_leftover_of_an_earlier_run_is_not_let_in() {
    let lab = Lab::new(Choice::default()).await;
    let path = format!("/at/{}/target/a", code(&lab.relay));
    let mut socket = dial(&lab.relay, &path, Some("00112233445566778899aabbccddeeff")).await.unwrap();
    assert_eq!(closed(&mut socket).await, (4401, "totp-rejected".into()));
    let seen = lab.relay.status().borrow().clone();
    assert_eq!((seen.leftovers, seen.refused, seen.locked), (1, 0, 0));
    lab.relay.shutdown().await;
}
