//! Phones that have a right code and nothing good in mind. Each costs the run, in bounded time and with a reason, and takes
//! nothing down.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use crate::attach_clock::link;
use crate::tool;

/// What it answers to the run's command of this id.
type Manners = fn(&Value) -> Vec<Message>;

/// Dials in as an agent does, and answers in its own way until it is sent away.
async fn phone(link: &str, manners: Manners) {
    let (host, code) = link.trim_start_matches("http://").split_once("/attach?at=").unwrap();
    let (mut socket, _) = connect_async(format!("ws://{host}/at/{code}/target/hostile")).await.unwrap();
    let hello = r#"{"method":"Agent.hello","params":{"doc":"d","url":"http://a.test/","title":"t","visible":true}}"#;
    socket.send(Message::text(hello)).await.unwrap();
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else { continue };
        let command: Value = serde_json::from_str(&text).unwrap();
        let Some(id) = command.get("id") else { continue };
        // By this it shows that it lives; what follows is the run's.
        let polite = command["params"]["expression"] == "(() => 1)()";
        let one = json!({ "id": id, "result": { "result": { "type": "number", "value": 1 } } });
        let answers = if polite { vec![Message::text(one.to_string())] } else { manners(id) };
        for answer in answers {
            // It may have been cut for what it said before.
            if socket.send(answer).await.is_err() {
                return;
            }
        }
    }
}

#[track_caller]
fn ends_the_run(manners: Manners, within: Duration, reason: &str) {
    let project = tempfile::tempdir().unwrap();
    fs_err::write(project.path().join("a.ait.test.ts"), "import { it } from 'vitest';\nit('runs', () => {});\n")
        .unwrap();
    let mut running = tool(project.path()).args(["--show-url", "--attach-timeout", "5s"]).patience(within).start();
    let link = running.wait_for("the attach link", link);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let phone = runtime.spawn(async move { phone(&link, manners).await });
    let outcome = running.wait();
    phone.abort();
    let said = outcome.transcript();
    assert!(!said.contains("panicked") && said.contains(reason), "{said}");
    outcome.expect_code(2);
}

#[test]
fn one_that_answers_every_call_with_an_error() {
    let error = |id: &Value| vec![Message::text(json!({ "id": id, "error": { "message": "no" } }).to_string())];
    ends_the_run(error, Duration::from_secs(60), "page");
}

#[test]
fn one_that_never_answers() {
    ends_the_run(|_| vec![], Duration::from_secs(150), "answer");
}

#[test]
fn one_that_says_everything_that_nobody_should() {
    let everything = |id: &Value| {
        let last = u64::MAX;
        let mut texts: Vec<String> = [
            "".to_owned(),
            "null".to_owned(),
            "[".repeat(100_000),
            format!(r#"{{"id":{id},"result":{}"#, "[".repeat(100_000)),
            format!(r#"{{"id":{id},"result":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000)),
            r#"{"method":"\ud800","params":{"x":"\udfff"}}"#.to_owned(),
            format!(r#"{{"method":"Agent.echo","params":{{"received":{last},"visible":true}}}}"#),
            format!(r#"{{"method":"Agent.skipped","params":{{"received":{last},"dropped":{last}}}}}"#),
            format!(r#"{{"method":"Agent.script","params":{{"id":{last}}}}}"#),
            r#"{"method":"Agent.hello","params":{"doc":"e"}}"#.to_owned(),
            r#"{"method":"Runtime.bindingCalled","sessionId":"other","params":{"name":"__ait_emit","payload":"{"}}"#
                .to_owned(),
            r#"{"method":"Runtime.bindingCalled","params":{"name":"__ait_emit","payload":5}}"#.to_owned(),
            r#"{"method":"Runtime.exceptionThrown","params":{"exceptionDetails":{"lineNumber":4294967295}}}"#
                .to_owned(),
            r#"{"method":"Debugger.paused"}"#.to_owned(),
            format!(r#"{{"id":{last},"result":{{}}}}"#),
            format!(r#"{{"id":-{id},"result":{{}}}}"#),
            format!(r#"{{"id":"{id}","error":[]}}"#),
        ]
        .into();
        texts.extend(
            (0..3).map(|n| format!(r#"{{"id":{id},"result":{{"result":{{"type":"object","value":[{n},1e999]}}}}}}"#)),
        );
        let binary =
            [Message::binary(vec![0xff; 100_000]), Message::Ping(vec![1].into()), Message::Pong(vec![].into())];
        texts.into_iter().map(Message::text).chain(binary).collect()
    };
    ends_the_run(everything, Duration::from_secs(90), "page");
}
