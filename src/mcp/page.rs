//! The page of a session, as one call uses it: evaluated in only where that is allowed, waited for only so long, and with
//! every way it can fail put into words.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::call::Call;
use super::debug::Debug;
use super::envelope::{Fault, FaultCode};
use super::guard::Guard;
use super::mode::Mode;
use super::observe::exception;
use crate::cdp::page::{Abilities, Page};
use crate::cdp::runtime::{EvaluateError, EvaluateOptions, call_function_on, evaluate, evaluate_object};
use crate::cdp::{CdpError, RemoteObject, Session};
use crate::secret::Scrub;

/// One question about the page itself takes no longer, on a slow phone behind a tunnel included.
pub(super) const LOOK_WITHIN: Duration = Duration::from_secs(10);
/// Whether a page that missed its time still answers is found out this soon.
const ECHO_WITHIN: Duration = Duration::from_secs(2);

/// The page that was attached when the call came.
pub(super) struct LivePage {
    debug: Arc<Debug>,
    page: Page,
    call: Call,
}

impl Call {
    /// The session to ask.
    pub(super) fn session(&self) -> Result<&Arc<Debug>, Fault> {
        self.debug.as_ref().ok_or_else(|| {
            Fault::new(FaultCode::PageMissing, "There is no session yet.")
                .next("start_debug", "start a browser here, or prepare for a phone")
        })
    }

    /// The page to work with.
    pub(super) fn page(&self) -> Result<LivePage, Fault> {
        let debug = self.session()?;
        let view = debug.view();
        if let Some(page) = view.live_page() {
            return Ok(LivePage { debug: Arc::clone(debug), page: page.clone(), call: self.clone() });
        }
        let fault = match view.last_page() {
            Some(_) => Fault::new(FaultCode::PageLost, "The page is gone.").because(view.message),
            None => Fault::new(FaultCode::PageMissing, "No page is attached.").because(view.message),
        };
        Err(again(fault, debug))
    }
}

/// With the call by which a page comes back.
fn again(fault: Fault, debug: &Debug) -> Fault {
    fault.next(next_page(debug.mode), "get a page; list_exceptions still tells what happened before")
}

/// The call that brings a page.
pub(super) fn next_page(mode: Mode) -> &'static str {
    if mode.needs_person() { "start_attach" } else { "start_debug" }
}

impl LivePage {
    /// The session it belongs to.
    pub(super) fn debug(&self) -> &Arc<Debug> {
        &self.debug
    }

    /// What its other end can do.
    pub(super) fn abilities(&self) -> Abilities {
        self.page.abilities
    }

    /// The CDP session with it.
    pub(super) fn session(&self) -> &Session {
        &self.page.session
    }

    /// Whether a run is using it.
    pub(super) fn is_in_use(&self) -> bool {
        self.debug.running.load(Ordering::SeqCst)
    }

    /// Evaluates code, which may be several statements, and waits for its promise.
    pub(super) async fn evaluate(&self, code: &str, within: Duration) -> Result<RemoteObject, Fault> {
        let script = format!("{}{code}", self.debug.guard.preamble());
        let options = EvaluateOptions { await_promise: true, return_by_value: false, user_gesture: true };
        let evaluated = evaluate_object(&self.page.session, &script, options, within);
        self.bounded(evaluated, within).await
    }

    /// Calls a function (its text) with a value of the page as `this`, and waits for its promise.
    pub(super) async fn call_on(
        &self,
        object_id: &str,
        function: &str,
        return_by_value: bool,
        within: Duration,
    ) -> Result<RemoteObject, Fault> {
        let options = EvaluateOptions { await_promise: true, return_by_value, user_gesture: true };
        let called = call_function_on(&self.page.session, object_id, function, options, within);
        self.bounded(called, within).await
    }

    /// Calls a function of one of our scripts (`assets::EVALUATE`, `assets::INSPECT`) and reads what it gives.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        script: &str,
        function: &str,
        args: &[Value],
        within: Duration,
    ) -> Result<T, Fault> {
        let args: Vec<_> = args.iter().map(Value::to_string).collect();
        let code = format!("(() => {{ const api = {script}\nreturn api.{function}({}); }})()", args.join(", "));
        self.value(&code, within).await
    }

    /// The JSON an expression of ours gives.
    pub(super) async fn value<T: DeserializeOwned>(&self, expression: &str, within: Duration) -> Result<T, Fault> {
        let code = format!("{}{expression}", self.debug.guard.preamble());
        let options = EvaluateOptions { await_promise: true, return_by_value: true, user_gesture: true };
        let asked = evaluate(&self.page.session, &code, options, within);
        let mut value = self.bounded(asked, within).await?;
        self.clean(&mut value);
        // What comes back is the page's word: it may have bent our script's built-ins.
        serde_json::from_value(value).map_err(|error| {
            Fault::new(FaultCode::PageThrew, "The page answered with something else than what was asked for.")
                .because(error.to_string())
        })
    }

    /// Takes out of what a page says what must not be read, before any of it is cut; a code is one as a number, too.
    pub(super) fn clean(&self, value: &mut Value) {
        let scrub = &self.call.hub.scrub;
        scrub.clean_value(value);
        clean_numbers(value, scrub);
    }

    /// A CDP call that takes something from the page. Looks at its host before.
    pub(super) async fn command(&self, method: &'static str, params: Value, within: Duration) -> Result<Value, Fault> {
        self.debug.guard.look(&self.page).await?;
        let called = self.page.session.call(method, params, within);
        self.bounded(async { Ok(called.await?) }, within).await
    }

    /// A CDP call that takes nothing from the page: on whatever host it is, it may be led away, and a dialog be answered.
    pub(super) async fn send(&self, method: &'static str, params: Value, within: Duration) -> Result<Value, Fault> {
        match self.page.session.call(method, params, within).await {
            Ok(value) => Ok(value),
            Err(error) => Err(self.fault(error.into(), within).await),
        }
    }

    /// Waits for an answer until the client is tired of it or a dialog stops the page.
    async fn bounded<T>(
        &self,
        work: impl Future<Output = Result<T, EvaluateError>> + Send,
        within: Duration,
    ) -> Result<T, Fault> {
        let mut watch = self.debug.watch();
        let dialog = async {
            let open = watch.wait_for(|view| view.dialog.is_some()).await;
            open.ok().and_then(|view| view.dialog.clone())
        };
        tokio::select! {
            biased;
            done = work => match done {
                Ok(value) => Ok(value),
                Err(error) => Err(self.fault(error, within).await),
            },
            () = self.call.cancelled.cancelled() => Err(Fault::cancelled()),
            Some(dialog) = dialog => Err(dialog_open(&dialog.kind, &dialog.message)),
        }
    }

    async fn fault(&self, error: EvaluateError, within: Duration) -> Fault {
        if Guard::is_refusal(&error) {
            return Guard::fault();
        }
        match error {
            EvaluateError::Exception(details) => {
                let record = exception(&details);
                let words = details.to_page_error();
                let state = format!("The page threw {}: {}", words.name, words.message);
                Fault::new(FaultCode::PageThrew, state).with(record)
            }
            EvaluateError::Cdp(CdpError::Deadline { .. }) => self.late(within).await,
            EvaluateError::Cdp(error) if error.is_closed() => {
                again(Fault::new(FaultCode::PageLost, "The page is gone.").because(error.to_string()), &self.debug)
            }
            EvaluateError::Cdp(error) if error.is_context_gone() => {
                Fault::new(FaultCode::PageLost, "The page loaded another document meanwhile.")
                    .next("list_pages", "see where it is now, then try again")
            }
            EvaluateError::Cdp(error) if error.is_unsupported() => {
                Fault::new(FaultCode::Unsupported, "This page cannot do that.")
                    .because(format!("{error}; pages on phones answer only what the script in them can do"))
            }
            EvaluateError::Cdp(error) => {
                Fault::new(FaultCode::Unsupported, "The page refused.").because(error.to_string())
            }
        }
    }

    /// Nothing came in time: because a promise did not settle, or because the page does not run at all.
    async fn late(&self, within: Duration) -> Fault {
        let echo = || evaluate(&self.page.session, "1", EvaluateOptions::default(), ECHO_WITHIN);
        if echo().await.is_ok() {
            let state = format!("It did not come to an end within {} ms.", within.as_millis());
            return Fault::new(FaultCode::Timeout, state)
                .because("the page still answers, so a promise it waits for is not settled")
                .next("list_exceptions", "see whether something was thrown; or give timeout_ms");
        }
        let mut cause = "it is in a loop, asleep, or in the background".to_owned();
        if self.page.abilities.debugger {
            let ended = self.page.session.call::<Value>("Runtime.terminateExecution", json!({}), ECHO_WITHIN).await;
            if ended.is_ok() && echo().await.is_ok() {
                cause = "the code was in a loop; it was ended, and the page answers again".to_owned();
            }
        }
        Fault::new(FaultCode::PageFrozen, format!("The page did not answer within {} ms.", within.as_millis()))
            .because(cause)
            .next("get_debug_status", "see how the page is; on a phone, have the person bring the app to the front")
    }
}

fn clean_numbers(value: &mut Value, scrub: &Scrub) {
    match value {
        Value::Number(number) => {
            if let Cow::Owned(clean) = scrub.text(&number.to_string()) {
                *value = clean.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| clean_numbers(item, scrub)),
        Value::Object(fields) => fields.values_mut().for_each(|field| clean_numbers(field, scrub)),
        _ => {}
    }
}

/// A native dialog keeps the page from running.
fn dialog_open(kind: &str, message: &str) -> Fault {
    let mut message = message.to_owned();
    super::store::cut(&mut message, 400);
    Fault::new(FaultCode::DialogOpen, format!("The page shows a native dialog ({kind}) and waits for its answer."))
        .because(format!("it says: {message}"))
        .next("handle_dialog", "answer it; the code goes on then")
        .with(json!({ "type": kind, "message": message }))
}
