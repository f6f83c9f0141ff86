//! The pages of a session, lent to one run: the run opens and replaces pages as always, and when it closes them the
//! session has them back.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::debug::{Debug, Held};
use crate::cdp::page::{BoxFuture, Page, PageSource, PageUnavailable};
use crate::event::{Events, LossCause};

/// The pages of a session, as one run has them.
#[derive(Debug)]
pub(super) struct Lent {
    debug: Arc<Debug>,
    held: Held,
}

impl Lent {
    pub(super) fn new(debug: Arc<Debug>, held: Held) -> Self {
        Self { debug, held }
    }

    async fn next(&mut self, cause: LossCause, events: &Events) -> Result<Page, PageUnavailable> {
        let page = self.debug.take(&mut self.held, cause, events).await?;
        checked(&self.debug, page).await
    }
}

/// The page, unless nothing is to be evaluated where it is.
async fn checked(debug: &Debug, page: Page) -> Result<Page, PageUnavailable> {
    match debug.guard.look(&page).await {
        Ok(()) => Ok(page),
        Err(fault) => Err(PageUnavailable { message: fault.state().to_owned() }),
    }
}

impl PageSource for Lent {
    fn open<'a>(&'a mut self, events: &'a Events) -> BoxFuture<'a, Result<Page, PageUnavailable>> {
        Box::pin(async move {
            if self.debug.unfinished.swap(false, Ordering::SeqCst) {
                return self.next(LossCause::Busy, events).await;
            }
            match self.debug.answering_page().await {
                Some(page) => checked(&self.debug, page).await,
                None => self.next(LossCause::Frozen, events).await,
            }
        })
    }

    fn replace<'a>(&'a mut self, cause: LossCause, events: &'a Events) -> BoxFuture<'a, Result<Page, PageUnavailable>> {
        Box::pin(self.next(cause, events))
    }

    fn close<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(self.debug.given_back())
    }
}
