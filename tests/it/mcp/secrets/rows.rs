//! What each tool is called with to have it repeat what it must not: what the page says, and what it is given itself.

use serde_json::{Value, json};

/// The calls of one tool; none where nobody has thought of it yet. `all` is everything that must not be read.
pub(super) fn rows(tool: &str, all: &str) -> Option<Vec<Value>> {
    let list = || {
        vec![
            json!({}),
            json!({ "contains": "said", "max_chars": 40_000 }),
            json!({ "contains": all }),
            json!({ "cursor": all }),
        ]
    };
    let with = |mut rows: Vec<Value>, more: &[Value]| {
        rows.extend_from_slice(more);
        rows
    };
    let evaluate = |code: &str| json!({ "expression": code, "max_chars": 300 });
    let says = |text: &str| format!("throw new Error({})", json!(text));
    let one_file = |more: Value| {
        let mut arguments = json!({ "files": ["a.ait.test.ts"], "wait_seconds": 1 });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    Some(match tool {
        "get_debug_status" => {
            vec![json!({}), json!({ "recent_errors_limit": 50 }), json!({ "recent_errors_limit": all })]
        }
        "list_pages" | "measure_safe_area" => vec![json!({})],
        "select_page" => vec![json!({ "id": all }), json!({ "id": "page-1" })],
        "run_tests" => vec![
            json!({ "files": [all] }),
            one_file(json!({ "pattern": format!("({all}") })),
            one_file(json!({ "pattern": "nothing is called so", "cell": { "sdkLine": all, "platform": all } })),
            one_file(json!({ "globals": { all: all } })),
            one_file(json!({ "project_root": all })),
            one_file(json!({ "mode": all })),
            one_file(json!({ "timeout_ms": all })),
            one_file(json!({ "app_url": all })),
            one_file(json!({ "app_url": format!("http://127.0.0.1:1/?at={all}"), "files": [all] })),
        ],
        "get_test_failure" => {
            vec![json!({}), json!({ "test": "said: a failure" }), json!({ "test": all }), json!({ "run": all })]
        }
        "compare_runs" => vec![json!({}), json!({ "before": 1, "after": 1 }), json!({ "before": all })],
        "list_tests" => with(
            list(),
            &[
                json!({ "file": "a.ait.test.ts" }),
                json!({ "file": all }),
                json!({ "files": [all] }),
                json!({ "project_root": all }),
            ],
        ),
        "evaluate" => vec![
            evaluate("ALL"),
            evaluate("document.querySelector('#at').textContent"),
            evaluate("({ [document.title]: [document.title, +CODE], deep: { ALL } })"),
            evaluate("+CODE"),
            evaluate("'x'.repeat(250) + ALL.repeat(9)"),
            evaluate("Promise.reject(new TypeError(ALL))"),
            evaluate("throw new Error(ALL.repeat(9))"),
            evaluate("throw ALL"),
            evaluate("class Named {}; Object.defineProperty(Named, 'name', { value: ALL }); new Named()"),
            evaluate(&says(all)),
            evaluate(all),
            json!({ "expression": "element => element.textContent", "ref": all }),
            evaluate("location.search"),
            evaluate("fetch(`/api/echo?${new URLSearchParams({ ALL })}`).then((response) => response.url)"),
            evaluate(
                "console.log(ALL); console.warn('said: ' + encodeURIComponent(ALL)); history.pushState({}, '', `?${new URLSearchParams({ ALL })}`)",
            ),
        ],
        "call_sdk" => vec![
            json!({ "name": "getLocale" }),
            json!({ "name": "getLocale", "args": [all] }),
            json!({ "name": all }),
            json!({ "name": "fails", "args": [all] }),
            json!({ "name": format!("no.{all}") }),
        ],
        "list_console_messages" => with(list(), &[json!({ "level": all })]),
        "list_exceptions" => list(),
        "list_network_requests" => with(list(), &[json!({ "method": all })]),
        "list_transport_messages" => with(list(), &[json!({ "protocol": all, "direction": all, "test": all })]),
        "take_snapshot" | "get_dom_document" => {
            vec![
                json!({}),
                json!({ "max_chars": 300 }),
                json!({ "ref": all }),
                json!({ "selector": all }),
                json!({ "selector": "#at" }),
            ]
        }
        "take_screenshot" => vec![json!({ "image": false }), json!({ "format": all })],
        "navigate" => vec![
            json!({ "url": format!("javascript:{all}") }),
            json!({ "url": format!("http://[{all}") }),
            json!({ "timeout_ms": all }),
        ],
        "handle_dialog" => vec![json!({ "action": all }), json!({ "action": "dismiss", "prompt_text": all })],
        "start_debug" | "start_attach" => vec![
            json!({ "mode": all }),
            json!({ "mode": "relay-hosted", "app_url": all }),
            json!({ "mode": "relay-launcher" }),
            json!({ "app_url": "http://127.0.0.1:1/", "launcher_url": all }),
            json!({ "scheme_url": all }),
            json!({ "scheme_url": format!("app://x?at={all}") }),
            json!({ "project_root": all }),
        ],
        _ => return None,
    })
}
