//! Finds out what a page that does not go on is doing, and frees it where that is possible.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cdp::CloseReason;
use crate::cdp::page::Page;
use crate::cdp::runtime::{self, EvaluateOptions};
use crate::event::{LossCause, PageInfo, TestError};
use crate::wire::{PageError, RUNTIME_GLOBAL};

use super::channel::Heard;
use super::drive::words;
use super::inject::Live;
use super::watch::UNRESPONSIVE_AFTER;

/// How long a page that runs JavaScript takes to stop when asked. V8 looks for the wish at every loop turn; the rest is
/// the way there and back.
const PAUSE_WITHIN: Duration = Duration::from_millis(1500);
/// Small calls to a page that is about to be given up: no longer than a person would wait for nothing.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);
/// A new document is asked for its address so long; a page that navigates slowly is then called by its cause alone.
const NEW_DOCUMENT_WITHIN: Duration = Duration::from_secs(5);

/// Whether a page that does not answer is running JavaScript: if so it is stopped, and where it was is told.
pub(super) async fn find_busy(live: &mut Live) -> Option<PageError> {
    if !live.page.abilities.debugger {
        return None;
    }
    let session = live.page.session.clone();
    let asked = session.call::<Value>("Debugger.pause", json!({}), PAUSE_WITHIN);
    let mut meanwhile = Vec::new();
    let paused = async {
        loop {
            match live.channel.next().await {
                Some(Heard::Paused(paused)) => return Some(paused),
                Some(heard) => meanwhile.push(heard),
                None => return None,
            }
        }
    };
    let paused = tokio::time::timeout(PAUSE_WITHIN, async { tokio::join!(asked, paused).1 }).await.ok().flatten();
    // It may have come to an end by itself just now.
    live.channel.put_back(meanwhile);
    let paused = paused?;
    let stopped = session.call::<Value>("Runtime.terminateExecution", json!({}), LAST_WORDS_WITHIN);
    let resumed = session.call::<Value>("Debugger.resume", json!({}), LAST_WORDS_WITHIN);
    // A page that does not stop even so is closed by whoever exchanges it.
    drop(tokio::join!(stopped, resumed));
    Some(PageError { frames: live.channel.frames_of(&paused), ..PageError::default() })
}

/// Tells the page that nobody wants to hear more of this run.
pub(super) async fn abandon(page: &Page, run: u32) {
    let forget = format!("void {RUNTIME_GLOBAL}.abort({run})");
    // A page that does not answer says nothing more anyway.
    drop(runtime::evaluate(&page.session, &forget, EvaluateOptions::default(), LAST_WORDS_WITHIN).await);
}

/// A `debugger` statement, or a pause that came late: the page goes on.
pub(super) async fn resume(page: &Page) {
    drop(page.session.call::<Value>("Debugger.resume", json!({}), LAST_WORDS_WITHIN).await);
}

/// What a new document in place of the one under test means.
pub(super) async fn describe_new_document(page: &Page) -> (LossCause, String) {
    let ask = "[performance.getEntriesByType('navigation')[0]?.type ?? '', location.href]";
    let options = EvaluateOptions { return_by_value: true, ..EvaluateOptions::default() };
    let deadline = tokio::time::Instant::now() + NEW_DOCUMENT_WITHIN;
    while tokio::time::Instant::now() < deadline {
        let answer = runtime::evaluate(&page.session, ask, options, NEW_DOCUMENT_WITHIN).await;
        if let Ok(value) = answer
            && let Ok((kind, url)) = serde_json::from_value::<(String, String)>(value)
        {
            if kind == "reload" {
                return (LossCause::Reloaded, "the page reloaded itself".into());
            }
            let url = crate::secret::SafeUrl::new(&url);
            return (LossCause::Navigated, format!("the page went to another document ({url})"));
        }
        if page.session.is_closed() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (LossCause::Navigated, "the page went to another document".into())
}

/// What the end of a session means for a run.
pub(super) fn cause_of(reason: &CloseReason) -> LossCause {
    match reason {
        CloseReason::Crashed(_) => LossCause::Crashed,
        CloseReason::BrowserGone(_) => LossCause::BrowserGone,
        CloseReason::Replaced(_) => LossCause::Replaced,
        _ => LossCause::Disconnected,
    }
}

/// The words for JavaScript that was stopped. `found` is where it was, `mapped` the same without our own frames.
pub(super) fn what_ran(mapped: &TestError, found: &PageError) -> &'static str {
    if mapped.frames.is_empty() && !found.frames.is_empty() {
        "comparing or printing a value (a very large one?) took too long and was stopped"
    } else {
        "JavaScript of the page ran without end (a loop that never gives way?) and was stopped"
    }
}

/// Where a page stands whose time is up. `busy`: it was found in JavaScript; `behind`: what it said has not been read;
/// `silent`: how long it has said nothing.
pub(super) fn what_it_does(busy: bool, behind: bool, silent: Duration) -> String {
    if busy {
        "its JavaScript runs without end".into()
    } else if behind {
        "it writes to the console faster than that can be read".into()
    } else if silent >= UNRESPONSIVE_AFTER {
        format!("it has not answered for {}", words(silent))
    } else {
        "it answers, so the test or a hook of it waits for something that does not come".into()
    }
}

/// The words for a page that did not answer at all.
pub(super) fn silent_message(limit: Duration) -> String {
    format!(
        "the page has not answered for {} (--silence-timeout): its process is stopped, its app is in the background, or \
         the device is locked",
        words(limit)
    )
}

/// A script that the page refused before its first line ran: syntax that its engine does not know, or no runtime to
/// hand it to.
pub(super) fn refused_script(mut error: TestError, page: &PageInfo) -> TestError {
    let hint = if error.name == "SyntaxError" {
        format!(
            "the page, {}, could not parse the bundled file; --bundle-target sets how far syntax is lowered",
            page.engine
        )
    } else {
        "the page refused to start the file; was the test runtime in it taken away?".to_owned()
    };
    error.message = format!("{} ({hint})", error.message);
    error
}
