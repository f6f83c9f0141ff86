//! What the list tools can be asked for, by the values that their schemas name.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use support::agent::Agent;
use support::server::FixtureServer;

use super::{project, server};

/// Writes a line of every level, and exchanges messages of every protocol in every direction.
const TALKS: &str = r"
const server = globalThis.__FIXTURE_URL__;
const until = (source, name) => new Promise((resolve) => source.addEventListener(name, resolve, { once: true }));
it('talks', async () => {
  for (const method of ['log', 'debug', 'info', 'warn', 'error', 'trace', 'dir', 'dirxml', 'table']) console[method]([method]);
  console.group('g'), console.groupEnd(), console.groupCollapsed('g'), console.groupEnd();
  console.assert(false, 'a'), console.count('c'), console.time('t'), console.timeEnd('t'), console.clear();
  const socket = new WebSocket(`${server.replace('http', 'ws')}/ws/echo`);
  await until(socket, 'open');
  socket.send('there');
  await until(socket, 'message');
  socket.close();
  const source = new EventSource(`${server}/sse?n=1`);
  await until(source, 'done');
  source.close();
  await (await fetch(`${server}/chunks?n=2`)).text();
  await fetch(`${server}/api/status/404`);
});";

/// The values that a property of a tool's input names; none where it takes anything.
fn values(schema: &Value) -> BTreeSet<String> {
    match schema {
        Value::Object(fields) => {
            let named = fields.get("enum").and_then(Value::as_array).into_iter().flatten().chain(fields.get("const"));
            let own: BTreeSet<_> = named.filter_map(Value::as_str).map(str::to_owned).collect();
            fields.values().flat_map(values).chain(own).collect()
        }
        Value::Array(items) => items.iter().flat_map(values).collect(),
        _ => BTreeSet::new(),
    }
}

#[test]
fn every_value_that_a_filter_names_finds_what_has_it() {
    let project = project(&[("talks.ait.test.ts", TALKS)]);
    let site = FixtureServer::start();
    let mut agent = Agent::start(server(project.path()).args(["--target", "chrome"]));
    let globals = json!({ "__FIXTURE_URL__": site.url() });
    let run = agent.call("run_tests", json!({ "files": ["talks.ait.test.ts"], "globals": globals }));
    assert_eq!(run["data"]["verdict"], "passed", "{run:#}");

    let id = agent.ask("tools/list", json!({}));
    let tools = agent.answer(id)["tools"].as_array().unwrap().clone();
    let mut asked = Vec::new();
    for tool in tools.iter().filter(|tool| tool["name"].as_str().unwrap().starts_with("list_")) {
        let name = tool["name"].as_str().unwrap();
        for (filter, schema) in tool["inputSchema"]["properties"].as_object().into_iter().flatten() {
            for value in values(schema) {
                let found = agent.call(name, json!({ filter: value }));
                assert!(found["data"]["matching"].as_u64() > Some(0), "{name} {filter}={value}: {found:#}");
                asked.push(format!("{filter}={value}"));
            }
        }
    }
    for named in ["direction=in", "direction=out", "protocol=websocket", "level=warning", "level=error"] {
        assert!(asked.iter().any(|asked| asked == named), "{named}: {asked:?}");
    }

    // The filters without a list of values.
    for (tool, arguments) in [
        ("list_transport_messages", json!({ "test": "talks.ait.test.ts > talks" })),
        ("list_transport_messages", json!({ "direction": "received", "protocol": "eventsource" })),
        ("list_network_requests", json!({ "method": "get", "failed": true })),
        ("list_console_messages", json!({ "level": "warn" })),
    ] {
        let found = agent.call(tool, arguments.clone());
        assert!(found["data"]["matching"].as_u64() > Some(0), "{tool} {arguments}: {found:#}");
    }
    let both: u64 = ["sent", "received"]
        .map(|direction| agent.call("list_transport_messages", json!({ "direction": direction, "contains": "there" })))
        .iter()
        .map(|found| found["data"]["matching"].as_u64().unwrap())
        .sum();
    assert_eq!(both, 2, "what was sent, and its echo");
    let wrong = agent.call("list_transport_messages", json!({ "direction": "sideways" }));
    assert_eq!(wrong["error"]["code"], "bad_input", "{wrong:#}");
    agent.close().expect_code(0);
}
