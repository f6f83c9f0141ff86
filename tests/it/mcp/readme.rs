//! The table of tools in the README is what the server lists.

use std::fmt::Write;

use serde_json::json;
use support::agent::Agent;

use super::server;

const BEGIN: &str = "<!-- tools: `cargo nextest run mcp::readme` compares this table with what the server lists -->\n";
const END: &str = "<!-- end of tools -->";

#[test]
fn its_table_of_tools_is_fresh() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(server(folder.path()));
    let list = agent.ask("tools/list", json!({}));
    let list = agent.answer(list);
    let mut table = String::from("| tool | for |\n|---|---|\n");
    for tool in list["tools"].as_array().unwrap() {
        let description = tool["description"].as_str().unwrap();
        // Its first sentence; the rest is for whoever is about to call it.
        let first = description.split_inclusive(". ").next().unwrap().trim_end().trim_end_matches('.');
        writeln!(table, "| `{}` | {} |", tool["name"].as_str().unwrap(), first.replace('|', "\\|")).unwrap();
    }
    agent.close().expect_code(0);
    let readme = fs_err::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let (_, rest) = readme.split_once(BEGIN).expect("the README has the table");
    let (shown, _) = rest.split_once(END).expect("the table has an end");
    assert!(shown == table, "put this into the README:\n{table}");
}
