//! Listens to a page between runs, and to what a run does not tell of, and remembers it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::debug::Debug;
use super::store::Kind;
use crate::cdp::page::Page;
use crate::cdp::page_domain::DialogOpening;
use crate::cdp::{CdpEvent, CloseReason, runtime};
use crate::secret::SafeUrl;

/// One small call to a page that answers.
const CALL_WITHIN: Duration = Duration::from_secs(10);
/// Requests whose end is awaited; a page that has more under way has lost track of them, too.
const MAX_OPEN_REQUESTS: usize = 2_000;

/// Listens until the page is gone, and says why it is.
pub(super) async fn observe(debug: &Arc<Debug>, page: &Page) -> CloseReason {
    let mut stream = page.session.events();
    let mut requests = HashMap::new();
    let enabled = async {
        // What cannot be enabled is not told of; the page is as good as before.
        drop(page.session.call::<Value>("Runtime.enable", json!({}), CALL_WITHIN).await);
        if page.abilities.debugger {
            drop(page.session.call::<Value>("Network.enable", json!({}), CALL_WITHIN).await);
        }
    };
    let heard = async {
        while let Some(event) = stream.next().await {
            hear(debug, &event, &mut requests);
        }
    };
    tokio::join!(enabled, heard);
    page.session.closed().await
}

fn hear(debug: &Debug, event: &CdpEvent, requests: &mut HashMap<String, u64>) {
    let store = &debug.store;
    let running = debug.running.load(Ordering::SeqCst);
    if event.lost_before > 0 && !running {
        let text = format!("{} messages of the page came faster than they could be kept", event.lost_before);
        store.add(Kind::Console, json!({ "level": "lost", "text": text }));
    }
    match event.method.as_str() {
        "Runtime.consoleAPICalled" if !running => {
            let Ok(call) = event.parse::<runtime::ConsoleApiCalled>() else { return };
            let frame = call.stack_trace.as_ref().and_then(|stack| stack.page_frames().into_iter().next());
            let location = frame.map(|frame| format!("{}:{}:{}", SafeUrl::new(&frame.url), frame.line, frame.column));
            store.add(Kind::Console, json!({ "level": call.kind, "text": call.text(), "location": location }));
        }
        "Runtime.exceptionThrown" if !running => {
            let Ok(thrown) = event.parse::<Thrown>() else { return };
            store.add(Kind::Exceptions, exception(&thrown.exception_details));
        }
        "Page.javascriptDialogOpening" => {
            let opening = event.parse::<DialogOpening>().ok().map(|mut opening| {
                store.scrub.clean(&mut opening.message);
                opening
            });
            debug.change(|view| view.dialog = opening);
        }
        "Page.javascriptDialogClosed" => debug.change(|view| view.dialog = None),
        method if method.starts_with("Network.") => request(debug, event, requests),
        _ => {}
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thrown {
    #[serde(default)]
    exception_details: runtime::ExceptionDetails,
}

/// An exception as it is remembered.
pub(super) fn exception(details: &runtime::ExceptionDetails) -> Value {
    let error = details.to_page_error();
    let stack: Vec<String> = error
        .frames
        .iter()
        .map(|frame| format!("{} {}:{}:{}", frame.function, SafeUrl::new(&frame.url), frame.line, frame.column))
        .collect();
    json!({ "name": error.name, "text": error.message, "stack": stack })
}

/// What of `Network.*` is remembered: one record a request, changed as it goes on.
fn request(debug: &Debug, event: &CdpEvent, requests: &mut HashMap<String, u64>) {
    let store = &debug.store;
    let Ok(told) = event.parse::<Value>() else { return };
    let id = told["requestId"].as_str().unwrap_or_default().to_owned();
    match event.method.as_str() {
        "Network.requestWillBeSent" => {
            if requests.len() >= MAX_OPEN_REQUESTS {
                requests.clear();
            }
            let request = &told["request"];
            let url = SafeUrl::new(request["url"].as_str().unwrap_or_default()).to_string();
            let record = json!({ "id": id, "method": request["method"], "url": url, "type": told["type"] });
            requests.insert(id, store.add(Kind::Requests, record));
        }
        "Network.responseReceived" => {
            let response = &told["response"];
            if let Some(n) = requests.get(&id) {
                let fields = json!({ "status": response["status"], "mimeType": response["mimeType"] });
                store.change(Kind::Requests, *n, fields);
            }
        }
        "Network.loadingFinished" => {
            if let Some(n) = requests.remove(&id) {
                store.change(Kind::Requests, n, json!({ "bytes": told["encodedDataLength"] }));
            }
        }
        "Network.loadingFailed" => {
            if let Some(n) = requests.remove(&id) {
                store.change(Kind::Requests, n, json!({ "failed": told["errorText"] }));
            }
        }
        _ => {}
    }
}
