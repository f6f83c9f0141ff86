#![allow(clippy::unwrap_used)]

use serde_json::Value;
use tokio::task::JoinHandle;

use super::*;
use crate::cdp::transport::Transport;
use crate::relay::queue::{QueueOut, queue_of};
use crate::relay::registry::{Presence, Registry, Rule, TargetId};
use crate::relay::target::{Target, TargetInfo};

/// A target whose connections are played by the test.
struct Lab {
    target: Target,
    registry: Registry,
    shutdown: CancellationToken,
    task: JoinHandle<Option<LegId>>,
}

impl Lab {
    fn new() -> Self {
        let info = TargetInfo {
            url: SafeUrl::default(),
            home: Hidden::new(""),
            title: String::new(),
            user_agent: String::new(),
            agent_version: String::new(),
        };
        let (target, view, input) = Target::new(TargetId::new("a").unwrap(), info);
        let shutdown = CancellationToken::new();
        let task = tokio::spawn(Attendant::new(view, None, Arc::default()).run(input, shutdown.clone()));
        Self { target, registry: Registry::default(), shutdown, task }
    }

    async fn open(&mut self, doc: &str, room: usize) -> (LegId, QueueOut) {
        let (_, leg) = self.registry.admit(self.target.id(), doc, Presence::Silent, Rule::Older);
        let (outgoing, sent) = queue_of(room);
        let hello = Hello { doc: doc.into(), visible: true, ..Hello::default() };
        let opened = Input::Opened { leg, outgoing, hello, ticket: Hidden::new("t") };
        self.target.input().send(opened).await.unwrap();
        (leg, sent)
    }

    async fn echo(&self, leg: LegId, visible: bool) {
        self.target.input().send(Input::Agent(leg, AgentSays::Echo { received: 0, visible })).await.unwrap();
    }

    /// Waits until the target is so, and returns after how long.
    async fn becomes(&self, state: TargetState) -> Duration {
        let began = Instant::now();
        self.target.watch().wait_for(|view| view.state == state).await.unwrap();
        began.elapsed()
    }
}

/// The reason with which the transport ended.
async fn end_of(transport: Transport) -> String {
    crate::cdp::Client::new(transport).closed().await.to_string()
}

#[tokio::test(start_paused = true)]
async fn a_page_without_an_echo_is_frozen_until_it_is_heard_again() {
    let mut lab = Lab::new();
    let (leg, mut sent) = lab.open("d", 64).await;
    let Some(Outgoing::Text(welcome)) = sent.recv().await else { panic!("a welcome") };
    let welcome: Value = serde_json::from_str(&welcome).unwrap();
    assert_eq!(welcome["params"], json!({ "ticket": "t", "received": 0 }));
    let took = lab.becomes(TargetState::Frozen).await;
    assert!(took > ECHO_OVERDUE && took <= ECHO_OVERDUE + ECHO_EVERY, "{took:?}");
    lab.echo(leg, false).await;
    lab.becomes(TargetState::Hidden).await;
    lab.echo(leg, true).await;
    lab.becomes(TargetState::Live).await;
    lab.target.doubt().await;
    lab.becomes(TargetState::Frozen).await;
    lab.echo(leg, true).await;
    lab.becomes(TargetState::Live).await;
    lab.target.input().send(Input::Agent(leg, AgentSays::Frozen {})).await.unwrap();
    assert_eq!(lab.becomes(TargetState::Frozen).await, Duration::ZERO, "it said so itself");
}

#[tokio::test(start_paused = true)]
async fn a_page_that_stays_away_is_gone_and_its_client_learns_why() {
    let mut lab = Lab::new();
    let (leg, _sent) = lab.open("d", 64).await;
    let transport = lab.target.connect().await;
    lab.target.input().send(Input::Agent(leg, AgentSays::Leaving {})).await.unwrap();
    lab.target.input().send(Input::Closed(leg)).await.unwrap();
    lab.becomes(TargetState::Reconnecting).await;
    assert_eq!(lab.becomes(TargetState::Gone).await, RECONNECT_LIMIT);
    assert!(end_of(transport).await.contains("was left"));
    assert_eq!(lab.task.await.unwrap(), Some(leg));
}

#[tokio::test(start_paused = true)]
async fn the_newest_connection_counts_and_a_late_end_of_the_older_one_changes_nothing() {
    let mut lab = Lab::new();
    let (old, mut old_sent) = lab.open("d", 64).await;
    let (new, _new_sent) = lab.open("d", 64).await;
    lab.target.input().send(Input::Closed(old)).await.unwrap();
    lab.echo(old, false).await;
    lab.echo(new, true).await;
    assert!(matches!(old_sent.recv().await, Some(Outgoing::Text(_))));
    assert!(matches!(old_sent.recv().await, Some(Outgoing::Close(close::REPLACED, _))));
    assert!(old_sent.recv().await.is_none(), "its connection is let go");
    assert_eq!((lab.target.view().state, lab.target.view().document), (TargetState::Live, 1));
    let (_, _sent) = lab.open("another", 64).await;
    lab.target.watch().wait_for(|view| view.document == 2).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_takes_nothing_is_cut() {
    let mut lab = Lab::new();
    let (_, _sent) = lab.open("d", 1).await;
    // The welcome fills the queue, so the first echo finds no room.
    lab.becomes(TargetState::Reconnecting).await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_tells_page_and_client() {
    let mut lab = Lab::new();
    let (_, mut sent) = lab.open("d", 64).await;
    let transport = lab.target.connect().await;
    lab.becomes(TargetState::Live).await;
    sent.recv().await;
    lab.shutdown.cancel();
    assert!(matches!(sent.recv().await, Some(Outgoing::Close(close::DONE, _))));
    assert!(end_of(transport).await.contains("run is over"));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_asked_whether_it_is_alive_answers_itself_or_comes_back() {
    let mut lab = Lab::new();
    let (leg, mut sent) = lab.open("d", 64).await;
    sent.recv().await;
    let target = lab.target.clone();
    let (answers, ()) = tokio::join!(target.answers(), async {
        assert!(matches!(sent.recv().await, Some(Outgoing::Text(echo)) if echo.contains("Relay.echo")));
        lab.echo(leg, true).await;
    });
    assert!(answers);
    let began = Instant::now();
    assert!(!target.answers().await, "a page in a loop says nothing");
    assert_eq!(began.elapsed(), Duration::from_secs(2));
    let (answers, ()) = tokio::join!(target.answers(), async {
        lab.target.input().send(Input::Agent(leg, AgentSays::Leaving {})).await.unwrap();
    });
    assert!(!answers && began.elapsed() == Duration::from_secs(2), "a page that is left does not");
    lab.target.input().send(Input::Closed(leg)).await.unwrap();
    let (answers, _) = tokio::join!(target.answers(), lab.open("d", 64));
    assert!(answers, "it was only out of reach");
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_replaced_is_told_so() {
    let mut lab = Lab::new();
    let (_, mut sent) = lab.open("d", 64).await;
    sent.recv().await;
    lab.target.dismiss(CloseReason::Replaced("another page attached".into())).await;
    assert!(
        matches!(sent.recv().await, Some(Outgoing::Close(close::REPLACED, words)) if words.contains("another page"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_page_that_may_not_evaluate_is_told_where_its_script_waits() {
    let mut lab = Lab::new();
    let (leg, mut sent) = lab.open("d", 64).await;
    drop(sent.recv().await);
    let client = crate::cdp::Client::new(lab.target.connect().await);
    let session = client.root();
    let within = Duration::from_secs(5);
    let call = session.call::<Value>("Runtime.evaluate", json!({ "expression": "1 + 1" }), within);
    let page = async {
        let Some(Outgoing::Text(command)) = sent.recv().await else { panic!("a command") };
        let id = serde_json::from_str::<Value>(&command).unwrap()["id"].as_u64().unwrap();
        // It asks again after it has confirmed the command: its connection broke in between.
        for _ in 0..2 {
            lab.target.input().send(Input::Agent(leg, AgentSays::Script { id })).await.unwrap();
            let Some(Outgoing::Text(told)) = sent.recv().await else { panic!("an answer") };
            let told: Value = serde_json::from_str(&told).unwrap();
            assert_eq!((&told["method"], &told["params"]["id"]), (&json!("Relay.script"), &json!(id)));
            assert_eq!(told["params"]["name"].as_str().unwrap().len(), 32);
            assert_eq!(told["params"]["inserted"][0], json!([0, 0, 4]));
            lab.target.input().send(Input::Agent(leg, AgentSays::Echo { received: 1, visible: true })).await.unwrap();
        }
        let reply = json!({ "id": id, "result": {} }).to_string();
        lab.target.input().send(Input::Page(leg, reply, None)).await.unwrap();
        id
    };
    let (answered, id) = tokio::join!(call, page);
    answered.unwrap();
    // It is answered, so there is nothing to run any more.
    lab.target.input().send(Input::Agent(leg, AgentSays::Script { id })).await.unwrap();
    let Some(Outgoing::Text(told)) = sent.recv().await else { panic!("an answer") };
    assert!(told.contains("Relay.script") && !told.contains("name"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_debugger_that_takes_nothing_is_cut_off_and_told_why() {
    let mut lab = Lab::new();
    let (leg, _sent) = lab.open("d", 64).await;
    let transport = lab.target.connect().await;
    let said = |n: u32| Input::Page(leg, format!(r#"{{"method":"A.b","params":{{"n":{n}}}}}"#), None);
    let began = Instant::now();
    for n in 0..400 {
        lab.target.input().send(said(n)).await.unwrap();
    }
    // The target goes on without it.
    lab.echo(leg, false).await;
    lab.becomes(TargetState::Hidden).await;
    assert!(began.elapsed() >= CLIENT_LIMIT && began.elapsed() < 2 * CLIENT_LIMIT, "{:?}", began.elapsed());
    let reason = end_of(transport).await;
    assert!(reason.contains("took no message for 10 s"), "{reason}");
}
