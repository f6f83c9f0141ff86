//! What a page said, as lists: the console, exceptions, requests and transport messages. They outlive the page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::mcp::call::Call;
use crate::mcp::envelope::{Answer, Answered};
use crate::mcp::paging::{Paged, Paging};
use crate::mcp::store::Kind;
use crate::mcp::tool::{About, Effect, Tool};

/// The tools of this family.
pub(super) fn tools() -> Vec<Tool> {
    let about = |name, title, description| About { name, title, description, effect: Effect::Reads };
    vec![
        Tool::new(
            about(
                "list_console_messages",
                "List console lines",
                "The newest console lines of the session's pages, oldest first, those of runs and of pages that are \
                 gone included. Filter with level and contains.",
            ),
            list_console_messages,
        ),
        Tool::new(
            about(
                "list_exceptions",
                "List exceptions",
                "The newest errors nobody caught, with their stacks, those of pages that crashed included.",
            ),
            list_exceptions,
        ),
        Tool::new(
            about(
                "list_network_requests",
                "List network requests",
                "The newest HTTP requests of the page: method, address, status, size. Only where the page's browser \
                 tells of them; on phones use list_transport_messages.",
            ),
            list_network_requests,
        ),
        Tool::new(
            about(
                "list_transport_messages",
                "List transport messages",
                "The newest messages the page exchanged over WebSocket, fetch streams and EventSource, as the recorder \
                 saw them during runs. Filter with protocol, direction, test and contains.",
            ),
            list_transport_messages,
        ),
    ]
}

/// A page of one kind of record.
fn listed(call: &Call, kind: Kind, what: &str, paging: &Paging, wanted: impl Fn(&Value) -> bool) -> Answered<Paged> {
    let paged = paging.page(&call.session()?.store.list(kind), wanted)?;
    let text = paged.sentence(what);
    Ok(Answer::new(paged, text))
}

/// Whether a field holds what was asked for, if anything was, whatever its case.
fn is(value: &Value, field: &str, asked: Option<&str>) -> bool {
    asked.is_none_or(|asked| value[field].as_str().is_some_and(|is| is.eq_ignore_ascii_case(asked)))
}

/// Whether a field holds one of the names it may hold, by the name that records carry.
fn is_named(value: &Value, field: &str, asked: Option<impl Serialize>) -> bool {
    asked.is_none_or(|asked| serde_json::to_value(asked).is_ok_and(|asked| value[field] == asked))
}

/// Levels of console lines, as CDP's `Runtime.consoleAPICalled` names what `console` can do.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Level {
    Log,
    Debug,
    Info,
    #[serde(alias = "warn")]
    Warning,
    Error,
    Trace,
    Assert,
    Dir,
    #[serde(rename = "dirxml")]
    DirXml,
    Table,
    Count,
    TimeEnd,
    Clear,
    StartGroup,
    StartGroupCollapsed,
    EndGroup,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
struct ListConsoleMessages {
    /// Only this level; warning is what console.warn writes.
    #[serde(default)]
    level: Option<Level>,
    #[serde(flatten)]
    paging: Paging,
}

async fn list_console_messages(call: Call, args: ListConsoleMessages) -> Answered<Paged> {
    listed(&call, Kind::Console, "console lines", &args.paging, |line| is_named(line, "level", args.level))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
struct ListExceptions {
    #[serde(flatten)]
    paging: Paging,
}

async fn list_exceptions(call: Call, args: ListExceptions) -> Answered<Paged> {
    listed(&call, Kind::Exceptions, "exceptions", &args.paging, |_| true)
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
struct ListNetworkRequests {
    /// Only those that failed, or were answered with 400 or more.
    #[serde(default)]
    failed: Option<bool>,
    /// Only this method.
    #[serde(default)]
    method: Option<String>,
    #[serde(flatten)]
    paging: Paging,
}

async fn list_network_requests(call: Call, args: ListNetworkRequests) -> Answered<Paged> {
    let wanted = |request: &Value| {
        let failed = !request["failed"].is_null() || request["status"].as_f64().is_some_and(|status| status >= 400.0);
        is(request, "method", args.method.as_deref()) && args.failed.is_none_or(|asked| asked == failed)
    };
    let mut answer = listed(&call, Kind::Requests, "requests", &args.paging, wanted)?;
    let tells = call.page().is_ok_and(|page| page.abilities().debugger);
    if answer.data.total == 0 && !tells {
        answer.text = "No requests: the browser of this page does not tell of them. list_transport_messages has what \
                       the recorder saw during runs."
            .into();
    }
    Ok(answer)
}

/// Protocols of messages, as records name them.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Protocol {
    WebSocket,
    #[serde(rename = "fetch-stream")]
    FetchStream,
    EventSource,
}

/// Directions of messages, as records name them.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Direction {
    #[serde(alias = "received")]
    In,
    #[serde(alias = "sent")]
    Out,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
struct ListTransportMessages {
    /// Only this protocol.
    #[serde(default)]
    protocol: Option<Protocol>,
    /// Only what the page received (in) or sent (out).
    #[serde(default)]
    direction: Option<Direction>,
    /// Only those during the test with this id.
    #[serde(default)]
    test: Option<String>,
    #[serde(flatten)]
    paging: Paging,
}

async fn list_transport_messages(call: Call, args: ListTransportMessages) -> Answered<Paged> {
    let wanted = |message: &Value| {
        is_named(message, "protocol", args.protocol)
            && is_named(message, "direction", args.direction)
            && args.test.as_ref().is_none_or(|test| message["test"].as_str() == Some(test))
    };
    listed(&call, Kind::Transport, "transport messages", &args.paging, wanted)
}
