//! A client of the MCP server that writes its JSON by hand, and reads every byte that the server writes.

use std::collections::VecDeque;
use std::io::Write;
use std::process::ChildStdin;

use serde_json::{Value, json};

use crate::tool::{Outcome, Running, Tool};

/// The protocol's version of most clients in the field.
pub const VERSION: &str = "2025-06-18";

/// A server and what it said. Killed with everything it started when dropped.
#[derive(Debug)]
pub struct Agent {
    running: Running,
    stdin: Option<ChildStdin>,
    last_id: u64,
    answers: VecDeque<Value>,
    notices: Vec<Value>,
}

impl Agent {
    /// Starts the server and says hello. `tool` is about to be run with `mcp` as its first argument.
    pub fn start(tool: Tool) -> Self {
        let mut agent = Self::silent(tool);
        let id = agent.hello();
        agent.answer(id);
        agent.notify("notifications/initialized", json!({}));
        agent
    }

    /// Starts the server and says nothing.
    pub fn silent(tool: Tool) -> Self {
        let mut running = tool.listening().start();
        let stdin = running.stdin();
        Self { running, stdin: Some(stdin), last_id: 0, answers: VecDeque::new(), notices: Vec::new() }
    }

    /// Says hello; the number of the request.
    pub fn hello(&mut self) -> u64 {
        let client = json!({ "name": "by-hand", "version": "1" });
        self.ask("initialize", json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": client }))
    }

    /// Writes a line, whatever it is.
    pub fn write(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(format!("{line}\n").as_bytes()).and_then(|()| stdin.flush()).expect("the server reads");
    }

    /// Sends a request; its number.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        id
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Begins to call a tool, and wants to know how it goes; the number of the request, which is its progress token, too.
    pub fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        let token = self.last_id + 1;
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": token } }))
    }

    /// Tells the server that the answer is not wanted any more.
    pub fn cancel(&mut self, id: u64) {
        self.notify("notifications/cancelled", json!({ "requestId": id, "reason": "the test changed its mind" }));
    }

    /// The answer to a request: its `result`, or the whole message where that is an error.
    pub fn answer(&mut self, id: u64) -> Value {
        let found = self.until("an answer", |agent| {
            let at = agent.answers.iter().position(|answer| answer["id"] == id)?;
            agent.answers.remove(at)
        });
        found.get("result").cloned().unwrap_or(found)
    }

    /// Calls a tool; its `structuredContent`.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin(tool, arguments);
        self.envelope(id)
    }

    /// The `structuredContent` of a call.
    pub fn envelope(&mut self, id: u64) -> Value {
        let result = self.answer(id);
        let envelope = result["structuredContent"].clone();
        assert_eq!(result["isError"] == true, envelope["ok"] == false, "{result}");
        envelope
    }

    /// The progress of a call so far.
    pub fn progress(&self, id: u64) -> Vec<&Value> {
        let of_call =
            |notice: &&Value| notice["method"] == "notifications/progress" && notice["params"]["progressToken"] == id;
        self.notices.iter().filter(of_call).map(|notice| &notice["params"]).collect()
    }

    /// Waits for progress of a call that says this.
    pub fn until_progress(&mut self, id: u64, says: &str) -> Value {
        self.until(says, |agent| {
            let told = agent.progress(id);
            told.iter().find(|told| told["message"].as_str().is_some_and(|text| text.contains(says))).copied().cloned()
        })
    }

    /// Everything that was told without having been asked for.
    pub fn notices(&self) -> &[Value] {
        &self.notices
    }

    /// The server's process and what it wrote.
    pub fn running(&mut self) -> &mut Running {
        &mut self.running
    }

    /// Ends stdin and waits for the server's end. What it wrote on stdout was the protocol and nothing else.
    pub fn close(mut self) -> Outcome {
        drop(self.stdin.take());
        self.ended()
    }

    /// Waits for the server's end, whatever brings it about.
    pub fn ended(self) -> Outcome {
        let outcome = self.running.wait();
        for line in outcome.stdout.lines() {
            let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
        }
        assert!(outcome.stdout.is_empty() || outcome.stdout.ends_with('\n'), "{}", outcome.transcript());
        outcome
    }

    fn until<T>(&mut self, what: &str, mut found: impl FnMut(&mut Self) -> Option<T>) -> T {
        loop {
            if let Some(found) = found(self) {
                return found;
            }
            let message = self.running.wait_for(what, |line| serde_json::from_str::<Value>(line).ok());
            match message.get("id") {
                Some(_) => self.answers.push_back(message),
                None => self.notices.push(message),
            }
        }
    }
}
