//! The server as a process: what it writes, and how it ends.

use rustix::process::Signal;
use serde_json::json;
use support::agent::{Agent, VERSION};

use super::server;

#[test]
fn stdout_carries_the_protocol_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::silent(server(folder.path()).args(["-vvv"]));
    let hello = agent.hello();
    let hello = agent.answer(hello);
    assert_eq!(hello["protocolVersion"], VERSION);
    assert_eq!(hello["serverInfo"]["name"], "devtools-test");
    agent.notify("notifications/initialized", json!({}));
    // What no client should send ends nothing.
    agent.write("this is no JSON");
    let unknown = agent.ask("no/such/method", json!({}));
    assert!(agent.answer(unknown)["error"].is_object());
    let unknown = agent.ask("tools/call", json!({ "name": "no_such_tool", "arguments": {} }));
    assert!(agent.answer(unknown)["error"]["message"].as_str().unwrap().contains("no_such_tool"));
    let wrong = agent.call("get_debug_status", json!({ "recent_errors_limit": "ten" }));
    assert_eq!(wrong["error"]["code"], "bad_input", "{wrong}");
    let wrong = agent.call("get_debug_status", json!({ "recent_error_limit": 3 }));
    assert!(wrong["error"]["state"].as_str().unwrap().contains("recent_errors_limit"), "{wrong}");
    let outcome = agent.close();
    outcome.expect_code(0);
    assert!(!outcome.stderr.is_empty(), "the log went to stderr");
}

#[test]
fn all_tools_are_listed_from_the_start_with_both_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(server(folder.path()));
    let list = agent.ask("tools/list", json!({}));
    let list = agent.answer(list);
    let tools = list["tools"].as_array().unwrap();
    for tool in tools {
        assert!(tool["title"].is_string() && tool["description"].is_string(), "{tool}");
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{tool}");
            assert!(!tool[schema].to_string().contains("$ref"), "{tool}");
        }
    }
    let names: Vec<_> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    for name in ["start_debug", "get_debug_status", "start_attach", "run_tests"] {
        assert!(names.contains(&name), "{names:?}");
    }
    agent.close().expect_code(0);
}

#[test]
fn it_ends_at_once_with_its_input_and_with_each_signal_and_leaves_no_browser() {
    let folder = tempfile::tempdir().unwrap();
    for signal in [None, Some(Signal::TERM), Some(Signal::INT), Some(Signal::HUP)] {
        let mut agent = Agent::start(server(folder.path()));
        let started = agent.call("start_debug", json!({ "mode": "local-browser" }));
        assert_eq!(started["data"]["stage"], "attached", "{started}");
        assert!(agent.running().processes().len() > 1, "a browser runs");
        let scratch = agent.running().scratch();
        let outcome = match signal {
            None => agent.close(),
            Some(signal) => {
                agent.running().signal(signal);
                agent.ended()
            }
        };
        outcome.expect_code(0);
        let left: Vec<_> = fs_err::read_dir(scratch).unwrap().collect();
        assert!(left.is_empty(), "{signal:?}: {left:?}");
    }
}

#[test]
fn a_server_whose_client_says_nothing_ends_with_its_input() {
    let folder = tempfile::tempdir().unwrap();
    Agent::silent(server(folder.path())).close().expect_code(0);
}
