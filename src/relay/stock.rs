//! A page that runs chii's own `target.js`: it gets our agent and then falls silent.
//!
//! Its protocol endpoint cannot do what a run needs (there are no bindings), runs every command once more after each
//! reconnect, and dials again at once whatever it is told, except with 1000 or 1001. So it is asked one thing, which does
//! no harm when it is done twice: to load our agent, which then attaches as any other.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::envelope::Envelope;
use super::leg::{close, dismiss};
use super::registry::TargetId;

/// How long a page may take to answer; one that is frozen dials again when it is awake.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// Id of the one command. Not 0: the script does not answer that.
const COMMAND: u64 = 1;
/// Times one page is told that its code is wrong before it is silenced. Apps of the field stop at the first; the script
/// alone goes on, some thirty times a second.
const MAX_REJECTIONS: u8 = 2;
/// Pages of which that is counted: more than a house has, and no memory to fill from outside.
const MAX_COUNTED: usize = 256;

/// What became of the attempt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Bootstrap {
    /// It loads our agent.
    Done,
    /// It does not let scripts in, for this reason.
    Forbidden(String),
    /// It said nothing.
    Silent,
}

/// Has the page load our agent.
pub(super) async fn bootstrap(socket: &mut WebSocket, id: &TargetId, agent: &str) -> Bootstrap {
    let answer = timeout(ANSWER_LIMIT, reply(socket, command(id, agent))).await.ok().flatten();
    answer.as_ref().map_or(Bootstrap::Silent, outcome)
}

/// Ends the connection of a page that was asked, or that is not asked any more.
pub(super) async fn silence(socket: WebSocket, outcome: Option<&Bootstrap>) {
    match outcome {
        Some(Bootstrap::Silent) => dismiss(socket, close::COME_AGAIN, "no answer").await,
        Some(_) => dismiss(socket, close::DONE, "our agent takes over").await,
        None => dismiss(socket, close::DONE, "done").await,
    }
}

async fn reply(socket: &mut WebSocket, command: String) -> Option<Value> {
    socket.send(Message::Text(command.into())).await.ok()?;
    loop {
        // It also sends what happens in the page, which nobody listens to.
        if let Message::Text(text) = socket.recv().await?.ok()?
            && Envelope::read(&text).and_then(|envelope| envelope.number()) == Some(COMMAND)
        {
            return serde_json::from_str(&text).ok();
        }
    }
}

fn outcome(reply: &Value) -> Bootstrap {
    let thrown = &reply["result"]["exceptionDetails"];
    match (reply.get("error"), thrown.is_null()) {
        (None, true) => Bootstrap::Done,
        (Some(_), _) => Bootstrap::Forbidden("its protocol endpoint failed".to_owned()),
        (None, false) => {
            // What follows its name may quote the page's policy, and with it the relay's host.
            let words = thrown["exception"]["description"].as_str().unwrap_or_default();
            Bootstrap::Forbidden(words.split([':', '\n']).next().unwrap_or_default().to_owned())
        }
    }
}

/// Puts our script into the page, once, under the id by which the gate knows the page.
fn command(id: &TargetId, agent: &str) -> String {
    let (id, agent) = (Value::from(id.as_str()), Value::from(agent));
    let expression = format!(
        "(() => {{
  const mark = Symbol.for('ait.bootstrap');
  if (mark in window || Symbol.for('ait.agent') in window) return;
  Object.defineProperty(window, mark, {{ value: true }});
  try {{ if (!sessionStorage.getItem('ait-id')) sessionStorage.setItem('ait-id', {id}); }} catch {{}}
  const script = document.createElement('script');
  const other = document.querySelector('script[nonce]');
  if (other) script.nonce = other.nonce;
  script.src = {agent};
  (document.head || document.documentElement).append(script);
}})()"
    );
    json!({ "id": COMMAND, "method": "Runtime.evaluate", "params": { "expression": expression } }).to_string()
}

/// How often pages were told that their code is wrong. Pure.
#[derive(Debug, Default)]
pub(super) struct Rejections(HashMap<TargetId, u8>);

impl Rejections {
    /// One more. Whether the page is to be silenced.
    pub(super) fn count(&mut self, id: &TargetId) -> bool {
        if self.0.len() >= MAX_COUNTED && !self.0.contains_key(id) {
            // Whoever invents ids gets no further by it than to be counted anew.
            self.0.clear();
        }
        let count = self.0.entry(id.clone()).or_default();
        *count = count.saturating_add(1);
        *count > MAX_REJECTIONS
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn id(text: &str) -> TargetId {
        TargetId::new(text).unwrap()
    }

    #[test]
    fn a_page_that_dials_without_end_is_silenced() {
        let mut rejections = Rejections::default();
        assert_eq!([1, 2, 3, 4].map(|_| rejections.count(&id("a"))), [false, false, true, true]);
        assert!(!rejections.count(&id("b")));
        for n in 0..2 * MAX_COUNTED {
            rejections.count(&id(&format!("x{n}")));
        }
        assert!(rejections.0.len() <= MAX_COUNTED);
    }

    #[test]
    fn an_answer_is_understood() {
        assert_eq!(outcome(&json!({ "id": 1, "result": { "result": { "type": "undefined" } } })), Bootstrap::Done);
        let refused = json!({ "id": 1, "result": { "exceptionDetails": { "exception": { "description": "EvalError: no\n at" } } } });
        assert_eq!(outcome(&refused), Bootstrap::Forbidden("EvalError".into()));
        assert_eq!(
            outcome(&json!({ "id": 1, "error": { "message": "m" } })),
            Bootstrap::Forbidden("its protocol endpoint failed".into())
        );
    }

    #[test]
    fn what_it_runs_cannot_be_broken_out_of() {
        let text = command(&id("a"), "https://h/\"</script>'\\");
        let command: Value = serde_json::from_str(&text).unwrap();
        let expression = command["params"]["expression"].as_str().unwrap();
        assert!(expression.contains(r#"script.src = "https://h/\"</script>'\\";"#), "{expression}");
    }
}
