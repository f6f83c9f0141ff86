//! Resources: what a client may look at without calling a tool. `?limit=`, `?cursor=`, `?contains=` and `?max_chars=` behind
//! an address say which page of it.

use std::collections::HashMap;

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};
use url::Url;

use super::hub::Hub;
use super::paging::Paging;
use super::store::Kind;
use super::summary::{Summary, all_tests};

/// What there is, by the first part of its address.
const KINDS: [About; 3] = [
    About { scheme: "report", title: "The newest run", text: "its verdict and failures, and each test with its state" },
    About {
        scheme: "transport",
        title: "What the page exchanged",
        text: "messages of sockets, streams and event sources",
    },
    About {
        scheme: "console",
        title: "What the page wrote to its console",
        text: "lines with level, time and position",
    },
];
const JSON: &str = "application/json";

struct About {
    scheme: &'static str,
    title: &'static str,
    text: &'static str,
}

/// What can be read now: the report once a run is over, the others once a session was started.
pub(super) fn list(hub: &Hub) -> Vec<Resource> {
    let (ran, began) = (!hub.runs().is_empty(), hub.debug().is_some());
    let there = KINDS.iter().filter(|about| if about.scheme == "report" { ran } else { began });
    there
        .map(|about| {
            Resource::new(format!("{}://latest", about.scheme), about.scheme)
                .with_title(about.title)
                .with_description(about.text)
                .with_mime_type(JSON)
        })
        .collect()
}

/// How a page of it is asked for.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |about: &About| {
        ResourceTemplate::new(format!("{}://latest{{?limit,cursor,contains,max_chars}}", about.scheme), about.scheme)
            .with_title(about.title)
            .with_description(format!("{}; a page of it", about.text))
            .with_mime_type(JSON)
    };
    KINDS.iter().map(template).collect()
}

/// Reads one.
pub(super) fn read(hub: &Hub, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let unknown = |why: &str| ErrorData::resource_not_found(format!("{uri:?} cannot be read: {why}"), None);
    let url = Url::parse(uri).map_err(|error| unknown(&error.to_string()))?;
    if url.host_str() != Some("latest") {
        return Err(unknown("only latest is kept"));
    }
    let paging = paging(&url).map_err(|why| ErrorData::invalid_params(why, None))?;
    let of_the_page = |kind| match hub.debug() {
        Some(debug) => paged(paging.page(&debug.store.list(kind), |_| true)),
        None => Err(unknown("no session was started; call start_debug or run_tests")),
    };
    let value = match url.scheme() {
        "console" => of_the_page(Kind::Console)?,
        "transport" => of_the_page(Kind::Transport)?,
        "report" => {
            let record = hub.run(None).map_err(|fault| unknown(fault.state()))?;
            let tests = paged(paging.forward(record.look(all_tests)))?;
            json!({ "summary": Summary::of(&record), "tests": tests })
        }
        _ => return Err(unknown("there is report, transport and console")),
    };
    let contents = ResourceContents::text(value.to_string(), uri).with_mime_type(JSON);
    Ok(ReadResourceResult::new(vec![contents]))
}

fn paged(page: Result<super::paging::Paged, super::envelope::Fault>) -> Result<Value, ErrorData> {
    let page = page.map_err(|fault| ErrorData::invalid_params(fault.state().to_owned(), None))?;
    Ok(serde_json::to_value(page).unwrap_or_default())
}

/// The page that the query asks for.
fn paging(url: &Url) -> Result<Paging, String> {
    let mut asked: HashMap<_, _> = url.query_pairs().into_owned().collect();
    let mut number = |name: &str| match asked.remove(name) {
        Some(text) => text.parse::<usize>().map(Some).map_err(|_| format!("{name}={text} is no number")),
        None => Ok(None),
    };
    let (limit, max_chars) = (number("limit")?, number("max_chars")?);
    let (cursor, contains) = (asked.remove("cursor"), asked.remove("contains"));
    match asked.keys().next() {
        Some(unknown) => Err(format!("{unknown} is unknown; there is limit, cursor, contains and max_chars")),
        None => Ok(Paging { limit, cursor, contains, max_chars }),
    }
}
