//! Makes a page ready to run tests. The order is fixed and each step is confirmed by reading back: the binding first (so
//! that nothing the page says is lost), then the globals, then the runtime.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::assets;
use crate::cdp::page::Page;
use crate::cdp::page_domain::dismiss_all;
use crate::cdp::runtime::{self, BindingCalled, EvaluateError, EvaluateOptions};
use crate::cdp::{CdpError, CdpEvent, EventStream, Session};
use crate::wire::{BINDING, Batch, CaptureInfo, RUNTIME_GLOBAL, RuntimeInfo, TRANSPORT_BINDING};

use super::channel::Channel;
use super::records::Confirmations;

/// A page with the runtime in it.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) page: Page,
    pub(super) channel: Channel,
    pub(super) confirmations: Confirmations,
    /// Whether what the page exchanges is recorded.
    pub(super) recorded: Recorded,
}

/// Whether a document is recorded.
#[derive(Debug)]
pub(super) enum Recorded {
    /// Nobody wanted it.
    Unwanted,
    /// It is, since then.
    Since(CaptureInfo),
    /// It cannot be.
    Refused(String),
}

/// Why a page could not be made ready.
#[derive(Debug, thiserror::Error)]
pub(super) enum PrepareError {
    #[error("the page could not be prepared for tests ({step}): {source}")]
    Step { step: &'static str, source: CdpError },
    #[error(
        "the page did not answer within {within:?} while it was prepared for tests ({step}): its JavaScript runs without \
         end, or it is suspended"
    )]
    Silent { step: &'static str, within: Duration },
    #[error(
        "the page did not become ready in {}s: its document was exchanged again and again, or it does not answer. Open \
         the page by hand and see whether it settles",
        READY_WITHIN.as_secs()
    )]
    NotReady,
    #[error("the page refused the global {0:?}: what was read back is not what was set; take another name for it")]
    Global(String),
    #[error("the page threw an error while it was prepared for tests ({step}): {thrown}")]
    Threw { step: &'static str, thrown: String },
    #[error(
        "the page has something of its own under window.{RUNTIME_GLOBAL}, the name of the test runtime. Call it otherwise \
         in the app; if it is another tool's runtime, end that tool first"
    )]
    Taken,
    #[error(
        "what tests report does not arrive: the page has put something of its own in the place of window.{BINDING}, by \
         which they do. Leave that name alone in the app"
    )]
    Unheard,
    #[error(
        "the page forbids all scripts (its Content-Security-Policy says sandbox without allow-scripts), so no test can run \
         in it. Test a page that is served without it"
    )]
    NoScripts,
}

impl PrepareError {
    /// Another page of the same kind would refuse in the same way.
    pub(super) fn is_final(&self) -> bool {
        !matches!(self, Self::Step { .. } | Self::Silent { .. } | Self::NotReady)
    }

    /// The document went away; another may be on its way.
    fn is_document_gone(&self) -> bool {
        match self {
            Self::Step { source, .. } => source.is_context_gone(),
            error => matches!(error, Self::NotReady),
        }
    }

    /// What became of a step.
    fn of(step: &'static str) -> impl Fn(EvaluateError) -> Self {
        move |error| match error {
            EvaluateError::Exception(details) => Self::Threw { step, thrown: details.to_string() },
            EvaluateError::Cdp(CdpError::Deadline { within, .. }) => Self::Silent { step, within },
            EvaluateError::Cdp(error) if error.is_scripts_forbidden() => Self::NoScripts,
            EvaluateError::Cdp(source) => Self::Step { step, source },
        }
    }
}

/// One step of the injection, a script of 300 KB over a slow phone connection included.
const STEP_WITHIN: Duration = Duration::from_secs(20);
/// A whole page, from the first try until the runtime is in it. A dev server that builds on first load can reload its
/// page for this long.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// What a page sent before it answered is here with the answer; over two connections it may be a moment later.
const PROVEN_WITHIN: Duration = Duration::from_secs(2);
/// A document that is still being parsed is waited for so long, then tests run in what is there.
const PARSED_WITHIN: Duration = Duration::from_secs(5);
/// Pause between two looks at a page that is not ready: a fifth of a blink.
const RETRY_AFTER: Duration = Duration::from_millis(20);

/// Injects bindings, globals, runtime and, where it is wanted and not there yet, the recorder. A document that is exchanged meanwhile is started over, within a bound.
pub(super) async fn prepare(
    page: Page,
    globals: &[(String, Value)],
    recorder: Option<&str>,
) -> Result<Live, PrepareError> {
    let started = Instant::now();
    let define = define_globals(globals);
    keep_for_new_documents(&page, &define).await;
    loop {
        // Subscribed anew for each try, and before the debugger tells of the scripts that are there.
        let stream = page.session.events();
        let injected = tokio::select! {
            injected = inject(&page, globals, &define, recorder, started) => injected,
            never = dismiss_all(&page.session), if page.abilities.dialogs => match never {},
        };
        match injected {
            Ok((info, recorded)) => {
                let mut page = page;
                page.info.title.clone_from(&info.title);
                let channel = Channel::new(stream, info.doc, info.seq);
                return Ok(Live { page, channel, confirmations: Confirmations::default(), recorded });
            }
            Err(error) if error.is_document_gone() && started.elapsed() < READY_WITHIN => {}
            Err(error) => return Err(error),
        }
        tokio::time::sleep(RETRY_AFTER).await;
    }
}

async fn inject(
    page: &Page,
    globals: &[(String, Value)],
    define: &str,
    recorder: Option<&str>,
    started: Instant,
) -> Result<(RuntimeInfo, Recorded), PrepareError> {
    let session = &page.session;
    enable(session, page).await?;
    parsed(session, started).await?;
    let script = format!("{define}\n{}", read_globals(globals));
    let read_back = evaluate(session, &script).await.map_err(PrepareError::of("globals"))?;
    check_globals(globals, &read_back)?;
    let mut heard = session.events();
    let info: RuntimeInfo = match evaluate(session, assets::RUNTIME).await {
        Ok(info) => serde_json::from_value(info).map_err(|_| PrepareError::Taken)?,
        // The name is the last thing that it sets.
        Err(EvaluateError::Exception(_)) if is_taken(session).await => return Err(PrepareError::Taken),
        Err(error) => return Err(PrepareError::of("runtime")(error)),
    };
    if !has_proof(&mut heard, &info).await {
        return Err(PrepareError::Unheard);
    }
    let recorded = match recorder {
        Some(recorder) => record(session, recorder).await.map_err(PrepareError::of("recorder"))?,
        None => Recorded::Unwanted,
    };
    if matches!(recorded, Recorded::Refused(_)) {
        // A document that took the place of the one with the runtime in it refuses nothing.
        let ask = format!("typeof {RUNTIME_GLOBAL}");
        if evaluate(session, &ask).await.map_err(PrepareError::of("recorder"))? == "undefined" {
            return Err(PrepareError::NotReady);
        }
    }
    Ok((info, recorded))
}

/// Leads the document's recorder to us; puts one in where none was there before the page's own scripts. A page that
/// refuses it is tested all the same.
async fn record(session: &Session, recorder: &str) -> Result<Recorded, EvaluateError> {
    let connect = format!("{RUNTIME_GLOBAL}.capture()");
    let late = async {
        let there = evaluate(session, &connect).await?;
        if !there.is_null() {
            return Ok(there);
        }
        evaluate(session, recorder).await?;
        evaluate(session, &connect).await
    };
    match late.await {
        Ok(info) => Ok(match serde_json::from_value(info) {
            Ok(info) => Recorded::Since(info),
            Err(_) => Recorded::Refused("the recorder does not answer".into()),
        }),
        Err(EvaluateError::Exception(details)) => Ok(Recorded::Refused(details.to_string())),
        Err(error) => Err(error),
    }
}

async fn is_taken(session: &Session) -> bool {
    let taken = evaluate(session, &format!("'{RUNTIME_GLOBAL}' in globalThis")).await;
    matches!(taken, Ok(Value::Bool(true)))
}

/// Whether what the runtime sends arrives: it sends an empty batch before it says what it is.
async fn has_proof(heard: &mut EventStream, info: &RuntimeInfo) -> bool {
    let is_proof = |event: &CdpEvent| {
        let call = event.parse::<BindingCalled>().ok().filter(|call| call.name == BINDING);
        call.is_some_and(|call| Batch::parse(&call.payload).is_ok_and(|batch| batch.doc == info.doc))
    };
    let proof = async {
        while let Some(event) = heard.next().await {
            if event.method == "Runtime.bindingCalled" && is_proof(&event) {
                return true;
            }
        }
        // The session is over, which others find out by themselves.
        true
    };
    tokio::time::timeout(PROVEN_WITHIN, proof).await.unwrap_or(false)
}

async fn enable(session: &Session, page: &Page) -> Result<(), PrepareError> {
    let step = |error: CdpError| PrepareError::of("enable")(error.into());
    let binding = runtime::add_binding(session, BINDING, STEP_WITHIN);
    let transport = runtime::add_binding(session, TRANSPORT_BINDING, STEP_WITHIN);
    let runtime = session.call::<Value>("Runtime.enable", json!({}), STEP_WITHIN);
    let debugger = async {
        if page.abilities.debugger {
            session.call::<Value>("Debugger.enable", json!({}), STEP_WITHIN).await?;
            // Nobody steps through the page: a `debugger` statement would stop it for a round trip each time.
            let off = json!({ "active": false });
            session.call::<Value>("Debugger.setBreakpointsActive", off, STEP_WITHIN).await?;
            // Of a console call its place is told. Vitest makes an error a test, whose whole stack takes as long as the test.
            runtime::keep_frames(session, 1, STEP_WITHIN).await;
            Ok(())
        } else {
            Ok(())
        }
    };
    let (binding, transport, runtime, debugger) = tokio::join!(binding, transport, runtime, debugger);
    binding.map_err(|error| match error {
        // The agent could not define it.
        CdpError::Protocol { .. } if !error.is_context_gone() && !page.abilities.debugger => PrepareError::Unheard,
        error => step(error),
    })?;
    transport.map_err(step)?;
    runtime.map_err(step)?;
    debugger.map_err(step)
}

/// Waits until the document is parsed: tests want a body. Never for `load`, which may not come.
async fn parsed(session: &Session, started: Instant) -> Result<(), PrepareError> {
    loop {
        let state = evaluate(session, "document.readyState").await;
        match state {
            Ok(state) if state != "loading" || started.elapsed() > PARSED_WITHIN => return Ok(()),
            Ok(_) => {}
            Err(EvaluateError::Cdp(error)) if error.is_context_gone() => return Err(PrepareError::NotReady),
            Err(error) => return Err(PrepareError::of("document")(error)),
        }
        tokio::time::sleep(RETRY_AFTER).await;
    }
}

/// Where the browser can do it, later documents of the page get the globals before their first script.
async fn keep_for_new_documents(page: &Page, define: &str) {
    if page.abilities.new_document_scripts && !define.is_empty() {
        let params = json!({ "source": define });
        // Without it a reloaded page gets the globals a moment later, from `inject`.
        drop(page.session.call::<Value>("Page.addScriptToEvaluateOnNewDocument", params, STEP_WITHIN).await);
    }
}

async fn evaluate(session: &Session, expression: &str) -> Result<Value, EvaluateError> {
    let options = EvaluateOptions { return_by_value: true, ..EvaluateOptions::default() };
    runtime::evaluate(session, expression, options, STEP_WITHIN).await
}

/// JSON is JavaScript since ES2019, U+2028 in strings included.
fn define_globals(globals: &[(String, Value)]) -> String {
    let mut script = String::new();
    for (key, value) in globals {
        script.push_str(&format!("globalThis[{}] = {value};\n", Value::from(key.as_str())));
    }
    script
}

fn read_globals(globals: &[(String, Value)]) -> String {
    let keys: Vec<String> =
        globals.iter().map(|(key, _)| format!("globalThis[{}]", Value::from(key.as_str()))).collect();
    // Not as JSON of the page's own making: pages replace `JSON`.
    format!("[{}]", keys.join(","))
}

fn check_globals(globals: &[(String, Value)], read_back: &Value) -> Result<(), PrepareError> {
    let values: &[Value] = read_back.as_array().map_or(&[], Vec::as_slice);
    for (index, (key, value)) in globals.iter().enumerate() {
        if !values.get(index).is_some_and(|read| is_same(read, value)) {
            return Err(PrepareError::Global(key.clone()));
        }
    }
    Ok(())
}

/// Whether JavaScript would call them equal, all the way down: it writes 1.0 as 1, and 1e3 as 1000.
fn is_same(read: &Value, set: &Value) -> bool {
    match (read, set) {
        (Value::Number(read), Value::Number(set)) => read.as_f64() == set.as_f64(),
        (Value::Array(read), Value::Array(set)) => {
            read.len() == set.len() && read.iter().zip(set).all(|(read, set)| is_same(read, set))
        }
        (Value::Object(read), Value::Object(set)) => {
            read.len() == set.len() && set.iter().all(|(key, set)| read.get(key).is_some_and(|read| is_same(read, set)))
        }
        (read, set) => read == set,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globals_are_set_and_read_back_whatever_their_name() {
        let globals = vec![("__AIT_CELL__".to_string(), json!({"sdkLine": "2.x"})), ("a\"b".to_string(), json!(1))];
        assert_eq!(
            define_globals(&globals),
            "globalThis[\"__AIT_CELL__\"] = {\"sdkLine\":\"2.x\"};\nglobalThis[\"a\\\"b\"] = 1;\n"
        );
        assert!(check_globals(&globals, &json!([{"sdkLine": "2.x"}, 1])).is_ok());
        assert!(check_globals(&globals, &json!([{"sdkLine": "2.x"}, null])).is_err());
        assert!(check_globals(&[], &json!([])).is_ok());
    }

    #[test]
    fn numbers_are_compared_as_javascript_does() {
        let set = serde_json::from_str(r#"[1.0, {"a": [1e3, -0.0, 12.50]}, "1.0"]"#).expect("JSON");
        let globals = vec![("A".to_string(), set)];
        assert!(check_globals(&globals, &json!([[1, {"a": [1000, 0, 12.5]}, "1.0"]])).is_ok());
        for other in
            [json!([1, {"a": [1000, 0, 12.6]}, "1.0"]), json!([1, {"a": [1000, 0]}, "1.0"]), json!([1, {}, "1.0"])]
        {
            assert!(check_globals(&globals, &json!([other])).is_err(), "{other}");
        }
    }
}
