//! Pages in a Chrome of our own.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::open::{Opening, open};
use super::own_page::OwnPage;
use super::{Browser, ChromeError, LaunchOptions, find};
use crate::cdp::Client;
use crate::cdp::page::{BoxFuture, Page, PageSource, PageUnavailable};
use crate::event::{AttachStage, EventKind, Events, LossCause};

/// What kind of Chrome, and which page in it.
#[derive(Clone, Debug)]
pub struct ChromeOptions {
    /// Path or name of the browser, if one was asked for.
    pub browser: Option<PathBuf>,
    /// Value of `PATH`, to look for one.
    pub search_path: Option<String>,
    /// `--no-sandbox` although we are not root.
    pub no_sandbox: bool,
    /// The page to test in; without it an empty one of ours.
    pub page_url: Option<String>,
    /// A script to run in each document of a page before the document's own.
    pub first_script: Option<String>,
    /// Pages may connect to what their content security policy forbids.
    pub bypass_csp: bool,
    /// How long the page may take until its document is there.
    pub navigate_within: Duration,
}

/// Starts a Chrome and opens pages in it, one at a time.
#[derive(Debug)]
pub struct ChromePages {
    options: ChromeOptions,
    browser: Option<Browser>,
    own_page: Option<OwnPage>,
    target: Option<String>,
}

/// Calls to the browser process, which is never busy with a page.
const BROWSER_WITHIN: Duration = Duration::from_secs(10);
/// A target whose renderer is stopped may not confirm that it is closed; nothing waits for it longer.
const CLOSE_TARGET_WITHIN: Duration = Duration::from_secs(2);

impl ChromePages {
    /// Nothing is started yet.
    pub fn new(options: ChromeOptions) -> Self {
        Self { options, browser: None, own_page: None, target: None }
    }

    async fn start(&mut self, events: &Events) -> Result<Page, ChromeError> {
        let program = find(self.options.browser.as_deref(), self.options.search_path.as_deref())?;
        let message = format!("starting {}", program.display());
        events.emit_global(EventKind::AttachState { stage: AttachStage::Starting, message }).await;
        let launch = LaunchOptions { program, no_sandbox: self.options.no_sandbox };
        let serve = async {
            match self.options.page_url {
                Some(_) => Ok(None),
                None => OwnPage::serve().await.map(Some),
            }
        };
        let (browser, own_page) = tokio::join!(Browser::launch(&launch), serve);
        self.own_page = own_page.map_err(|why| ChromeError::Prepare { what: "page server", why })?;
        let browser = self.browser.insert(browser?);
        let client = browser.client().clone();
        self.open_target(&client, events).await
    }

    async fn open_target(&mut self, client: &Client, events: &Events) -> Result<Page, ChromeError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Created {
            target_id: String,
        }
        let blank = json!({ "url": "about:blank" });
        let created: Created = client.root().call("Target.createTarget", blank, BROWSER_WITHIN).await?;
        self.target = Some(created.target_id.clone());
        let url = self.options.page_url.as_deref().or(self.own_page.as_ref().map(OwnPage::url));
        let first_script = self.options.first_script.as_deref();
        let opening = Opening {
            url,
            first_script,
            bypass_csp: self.options.bypass_csp,
            within: self.options.navigate_within,
            events,
        };
        open(client, &created.target_id, opening).await
    }

    async fn exchange(&mut self, events: &Events) -> Result<Page, ChromeError> {
        let Some(client) = self.browser.as_ref().map(|browser| browser.client().clone()) else {
            let why = "the browser is not running".to_owned();
            return Err(ChromeError::Page { url: "for the next file".into(), why });
        };
        let old = self.target.take();
        // The new page first: a browser without any page may end.
        let page = self.open_target(&client, events).await?;
        if let Some(target_id) = old {
            let close = json!({ "targetId": target_id });
            // A page that cannot be closed stays behind in a browser that ends soon anyway.
            drop(client.root().call::<Value>("Target.closeTarget", close, CLOSE_TARGET_WITHIN).await);
        }
        Ok(page)
    }
}

impl PageSource for ChromePages {
    fn open<'a>(&'a mut self, events: &'a Events) -> BoxFuture<'a, Result<Page, PageUnavailable>> {
        Box::pin(async { self.start(events).await.map_err(unavailable) })
    }

    fn replace<'a>(
        &'a mut self,
        _cause: LossCause,
        events: &'a Events,
    ) -> BoxFuture<'a, Result<Page, PageUnavailable>> {
        Box::pin(async { self.exchange(events).await.map_err(unavailable) })
    }

    fn close<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(async {
            if let Some(browser) = self.browser.take() {
                browser.close().await;
            }
            self.own_page = None;
        })
    }
}

pub(super) fn unavailable(error: ChromeError) -> PageUnavailable {
    PageUnavailable { message: error.to_string() }
}
