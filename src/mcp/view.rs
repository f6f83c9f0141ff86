//! How a session stands, for the tools that tell of it.

use std::collections::VecDeque;

use tokio::time::Instant;

use crate::attach::Waiting;
use crate::cdp::page::Page;
use crate::cdp::page_domain::DialogOpening;
use crate::event::AttachStage;
use schemars::JsonSchema;
use serde::Serialize;

/// How far a session is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// Nothing was started.
    #[default]
    Idle,
    /// The browser, or the relay and the way to it, is being started.
    Starting,
    /// A person is to scan a code.
    Waiting,
    /// A page is attached.
    Attached,
    /// The page is gone.
    Lost,
    /// No page came.
    Failed,
    /// The session is over.
    Ended,
}

/// Notes on other pages that are kept.
const MAX_NOTES: usize = 5;

/// How a page is listed.
pub(super) fn page_id(number: u32) -> String {
    format!("page-{number}")
}

/// How a session stands.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// How far it is.
    pub(super) stage: Stage,
    /// The same in a sentence.
    pub(super) message: String,
    /// Numbers given to pages so far.
    numbers: u32,
    /// The number of the page that is attached.
    number: u32,
    /// Numbers of pages whose target in a browser is known.
    targets: Vec<(String, u32)>,
    /// What was said of pages that called and are not the one that is attached, the newest ones.
    pub(super) notes: VecDeque<String>,
    /// How the wait for a page is going.
    pub(super) wait: Option<Waiting>,
    /// Calls with a wrong or expired code.
    pub(super) refused: u32,
    /// Nothing leads to the relay, for this reason.
    pub(super) no_way: Option<String>,
    /// A code was shown and can be scanned.
    pub(super) shown: bool,
    /// The native dialog that is open.
    pub(super) dialog: Option<DialogOpening>,
    /// When the attach that is under way, or was last, began.
    pub(super) began: Option<Instant>,
    page: Option<Page>,
}

impl View {
    /// The page that is attached.
    pub(super) fn live_page(&self) -> Option<&Page> {
        self.page.as_ref().filter(|page| !page.session.is_closed())
    }

    /// The page that is attached, or was attached last.
    pub(super) fn last_page(&self) -> Option<&Page> {
        self.page.as_ref()
    }

    /// Nothing more will come by itself.
    pub(super) fn is_settled(&self) -> bool {
        !matches!(self.stage, Stage::Starting | Stage::Waiting)
    }

    /// A page is awaited from now on.
    pub(super) fn begin(&mut self) {
        self.stage = Stage::Starting;
        self.message = "Starting.".into();
        self.began = Some(Instant::now());
        (self.wait, self.no_way, self.refused) = (None, None, 0);
    }

    /// A code is shown and can be scanned.
    pub(super) fn invite(&mut self) {
        if self.stage == Stage::Starting {
            self.stage = Stage::Waiting;
            self.message = "Waiting for a page: scan the QR code.".into();
        }
        (self.shown, self.no_way) = (true, None);
    }

    /// What the attach says of itself.
    pub(super) fn reach(&mut self, stage: AttachStage, message: &str) {
        // Said before the end of the wait, or before the code was shown, and heard after it.
        if self.is_settled() || (stage == AttachStage::Starting && self.shown) {
            return;
        }
        match stage {
            AttachStage::Refused => self.refused += 1,
            AttachStage::Waiting => self.stage = Stage::Waiting,
            AttachStage::Starting | AttachStage::Reattaching if self.stage != Stage::Waiting => {
                self.stage = Stage::Starting;
            }
            _ => {}
        }
        self.message = message.to_owned();
    }

    /// A page is there, by a number of its own or by the one it has already.
    pub(super) fn attached(&mut self, page: Page, number: Option<u32>) {
        self.stage = Stage::Attached;
        self.message = "A page is attached.".into();
        self.number = number.unwrap_or_else(|| self.next_number());
        self.page = Some(page);
        (self.wait, self.no_way, self.dialog, self.shown) = (None, None, None, false);
    }

    /// The page that is attached, by the name under which it is listed.
    pub(super) fn page_id(&self) -> String {
        page_id(self.number)
    }

    /// The target of the page that is attached, now that it is known.
    pub(super) fn is_in(&mut self, target: &str) {
        if !self.targets.iter().any(|(known, _)| known == target) {
            self.targets.push((target.to_owned(), self.number));
        }
    }

    /// The number of a target; it gets one when it is seen first.
    pub(super) fn number_of(&mut self, target: &str) -> u32 {
        if let Some((_, number)) = self.targets.iter().find(|(known, _)| known == target) {
            return *number;
        }
        let number = self.next_number();
        self.targets.push((target.to_owned(), number));
        number
    }

    /// The target that is listed by this name.
    pub(super) fn target(&self, id: &str) -> Option<(String, u32)> {
        self.targets.iter().find(|(_, number)| page_id(*number) == id).cloned()
    }

    /// Something was said of another page.
    pub(super) fn note(&mut self, text: &str) {
        if self.notes.len() >= MAX_NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back(text.to_owned());
    }

    fn next_number(&mut self) -> u32 {
        self.numbers += 1;
        self.numbers
    }

    /// The page is at another address.
    pub(super) fn moved(&mut self, url: &str, title: &str) {
        if let Some(page) = &mut self.page {
            (page.info.url, page.info.title) = (url.to_owned(), title.to_owned());
        }
    }

    /// This page is gone; another may be there by now.
    pub(super) fn lost(&mut self, page: &Page, reason: &str) {
        let is_this =
            self.page.as_ref().is_some_and(|now| now.session.id() == page.session.id() && now.session.is_closed());
        if is_this && self.stage == Stage::Attached {
            self.stage = Stage::Lost;
            self.message = format!("The page is gone: {reason}.");
            self.dialog = None;
        }
    }

    /// No page came.
    pub(super) fn fail(&mut self, why: &str) {
        self.stage = Stage::Failed;
        self.message = why.to_owned();
        (self.wait, self.shown) = (None, false);
    }

    /// The session is over.
    pub(super) fn end(&mut self) {
        self.stage = Stage::Ended;
        self.message = "The session is over.".into();
        (self.wait, self.shown, self.page, self.dialog) = (None, false, None, None);
    }
}
