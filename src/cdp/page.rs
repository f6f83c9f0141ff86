//! A page that can be tested, and where such pages come from. `run` knows these and nothing of how they came about.

use std::future::Future;
use std::pin::Pin;

use crate::event::{Events, LossCause, PageInfo};

use super::Session;

/// An open page.
#[derive(Clone, Debug)]
pub struct Page {
    /// The CDP session with it.
    pub session: Session,
    /// What is known of it.
    pub info: PageInfo,
    /// What its other end can do.
    pub abilities: Abilities,
}

/// What the other end of a page's session can do beyond `Runtime.evaluate` and `Runtime.addBinding`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// `Debugger.enable`, `Debugger.pause`, `Runtime.terminateExecution`.
    pub debugger: bool,
    /// `Page.javascriptDialogOpening` and `Page.handleJavaScriptDialog`.
    pub dialogs: bool,
    /// `Page.addScriptToEvaluateOnNewDocument`.
    pub new_document_scripts: bool,
}

/// Why no page could be had. The message says cause and next step, without secrets.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct PageUnavailable {
    /// One or two sentences.
    pub message: String,
}

/// A boxed future, so that [`PageSource`] can be used as a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Where pages come from: a Chrome of our own, a foreign endpoint, or the relay.
///
/// Every wait inside has a deadline of its own unless the person asked for an unbounded one, and dropping the future
/// cancels it.
pub trait PageSource: Send {
    /// Opens the first page, or waits for it to attach. Says how it goes with `AttachState` events; does not send
    /// `PageAttached` (the run does, once the page has answered).
    fn open<'a>(&'a mut self, events: &'a Events) -> BoxFuture<'a, Result<Page, PageUnavailable>>;

    /// Gives a page that answers in place of one that was lost: a new target, a reload, or the next attach.
    /// The lost page is closed or left, as its source sees fit.
    fn replace<'a>(&'a mut self, cause: LossCause, events: &'a Events) -> BoxFuture<'a, Result<Page, PageUnavailable>>;

    /// Ends everything this source started and leaves foreign pages as they were found. Bounded.
    fn close<'a>(&'a mut self) -> BoxFuture<'a, ()>;
}
