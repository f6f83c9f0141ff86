//! The page as a tool uses it: that of the session as it was when the call came, looked at again at the moment of effect.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::debug::Debug;
use super::envelope::{Fault, FaultCode};
use super::guard::Guard;
use super::mode::Mode;
use crate::cdp::CdpError;
use crate::cdp::page::Page;
use crate::cdp::runtime::{EvaluateError, EvaluateOptions, evaluate};

/// A page in use by one call.
#[derive(Clone, Debug)]
pub(super) struct InUse {
    /// The session it belongs to.
    pub(super) debug: Arc<Debug>,
    /// The page itself. What reads or changes it goes through the methods here, which look at its host.
    pub(super) page: Page,
}

impl InUse {
    /// The page of a session, if one is attached.
    pub(super) fn of(debug: Option<&Arc<Debug>>) -> Result<Self, Fault> {
        let Some(debug) = debug else {
            return Err(Fault::new(FaultCode::PageMissing, "No session was started, so there is no page.")
                .next("start_debug", "choose where pages come from; or run_tests, which starts what it needs"));
        };
        let view = debug.view();
        match (view.live_page(), view.last_page()) {
            (Some(page), _) => Ok(Self { debug: Arc::clone(debug), page: page.clone() }),
            (None, Some(_)) => Err(lost(debug.mode, view.message.clone())),
            (None, None) => Err(Fault::new(FaultCode::PageMissing, "No page is attached yet.")
                .because(view.message.clone())
                .next(next_page(debug.mode), "get a page first")),
        }
    }

    /// Evaluates in the page, unless its host is one on which nothing is evaluated.
    pub(super) async fn evaluate(
        &self,
        expression: &str,
        options: EvaluateOptions,
        within: Duration,
    ) -> Result<Value, Fault> {
        let script = format!("{}{expression}", self.debug.guard.preamble());
        evaluate(&self.page.session, &script, options, within).await.map_err(|error| match error {
            error if Guard::is_refusal(&error) => Guard::fault(),
            EvaluateError::Exception(details) => Fault::new(FaultCode::PageThrew, details.to_string())
                .with(super::observe::exception(&details))
                .next("list_exceptions", "see what else went wrong in the page"),
            EvaluateError::Cdp(error) => self.fault(&error),
        })
    }

    /// Calls a method of the page's protocol, unless its host is one on which nothing is done.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
        within: Duration,
    ) -> Result<T, Fault> {
        self.debug.guard.look(&self.page).await?;
        self.page.session.call(method, params, within).await.map_err(|error| self.fault(&error))
    }

    /// What a failed call means for whoever made it.
    pub(super) fn fault(&self, error: &CdpError) -> Fault {
        let mode = self.debug.mode;
        match error {
            CdpError::Closed { reason } => lost(mode, reason.to_string()),
            _ if error.is_context_gone() => {
                Fault::new(FaultCode::PageLost, "The page went to another document meanwhile.")
                    .because(error.to_string())
                    .next("list_pages", "see where it is now, then call again")
            }
            _ if error.is_unsupported() => Fault::new(FaultCode::Unsupported, "This page cannot do that.")
                .because("a page that attached through the relay knows fewer commands than a browser of this machine"),
            CdpError::Deadline { within, .. } => self.silent(*within),
            CdpError::Protocol { .. } | CdpError::BadReply { .. } => {
                Fault::new(FaultCode::Unsupported, "The page refused.").because(error.to_string())
            }
        }
    }

    /// It did not answer in time, and what is known of the reason.
    fn silent(&self, within: Duration) -> Fault {
        let dialog = self.debug.view().dialog;
        let state = format!("The page did not answer within {} ms.", within.as_millis());
        match dialog {
            Some(dialog) => Fault::new(FaultCode::Timeout, state)
                .because(format!("a native {} dialog is open: {}", dialog.kind, dialog.message))
                .next("handle_dialog", "answer the dialog"),
            None => Fault::new(FaultCode::PageFrozen, state)
                .because("it is busy, suspended, or in the background; or a promise does not settle")
                .next("get_debug_status", "see whether it answers again"),
        }
    }
}

fn lost(mode: Mode, why: String) -> Fault {
    Fault::new(FaultCode::PageLost, "The page is gone.").because(why).next(next_page(mode), "get another page")
}

/// The call that brings a page.
pub(super) fn next_page(mode: Mode) -> &'static str {
    if mode.needs_person() { "start_attach" } else { "start_debug" }
}
