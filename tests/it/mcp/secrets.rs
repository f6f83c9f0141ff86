//! What a page says of secrets, and what no tool hands on.

use serde_json::json;
use support::agent::Agent;
use support::phone::Phone;

use super::phone::scan;
use super::{project, server};

/// A test that writes the code everywhere a page can write.
const SAYS: &str = "it(`says ${CODE} in its title`, async () => {\n\
    document.title = CODE; document.body.innerHTML = `<p id=\"at\">${LINK}</p><button>${CODE}</button>`;\n\
    console.log(CODE, LINK, { nested: [CODE] });\n\
    console.log(`__AIT_CAPTURE__ ${CODE} {\"link\":\"${LINK}\"}`);\n\
    setTimeout(() => { throw new Error(`thrown ${LINK}`); });\n\
    await new Promise((done) => setTimeout(done, 50));\n\
    expect(`<${CODE}>`).toBe(LINK);\n\
});";

#[test]
fn no_tool_hands_on_a_code_or_a_link_that_the_page_repeats() {
    let project = project(&[("a.ait.test.ts", SAYS)]);
    let mut agent = Agent::start(server(project.path()));
    let shown = agent.call("start_attach", json!({}));
    let link = scan(shown["data"]["dashboard"].as_str().unwrap());
    let code = link.split("at=").nth(1).unwrap().to_owned();
    let phone = Phone::open(&link);
    let attached = agent.call("start_attach", json!({ "wait_seconds": 60 }));
    assert_eq!(attached["ok"], true, "{attached:#}");
    let run = agent.call("run_tests", json!({ "files": ["a.ait.test.ts"], "globals": { "CODE": code, "LINK": link } }));
    assert_eq!(run["data"]["verdict"], "failed", "{run:#}");
    let says = |expression: &str| json!({ "expression": expression });
    for (tool, arguments) in [
        ("get_debug_status", json!({})),
        ("get_test_failure", json!({})),
        ("list_pages", json!({})),
        ("list_tests", json!({ "file": "a.ait.test.ts" })),
        ("compare_runs", json!({ "before": 1, "after": 1 })),
        ("list_console_messages", json!({})),
        ("list_exceptions", json!({})),
        ("list_network_requests", json!({})),
        ("list_transport_messages", json!({})),
        ("get_dom_document", json!({})),
        ("take_snapshot", json!({})),
        ("measure_safe_area", json!({})),
        ("evaluate", says("document.getElementById('at').textContent")),
        ("evaluate", says("({ [document.title]: [document.title] })")),
        ("evaluate", says("throw new Error(document.title)")),
        ("call_sdk", json!({ "name": "getLocale" })),
        ("select_page", json!({ "id": code })),
        ("navigate", json!({ "url": link })),
    ] {
        agent.call(tool, arguments);
    }
    for uri in ["report://latest", "console://latest", "transport://latest"] {
        let read = agent.ask("resources/read", json!({ "uri": uri }));
        agent.answer(read);
    }
    drop(phone);
    let outcome = agent.close();
    for line in outcome.stdout.lines() {
        assert!(!line.contains(&code), "{line}");
    }
}
