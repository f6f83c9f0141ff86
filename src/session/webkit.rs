//! A WebKit of our own as the phone: it opens the relay's link by itself, again when its page was lost, and is exchanged
//! for another when it does not answer.

use std::time::Duration;

use tokio::sync::watch;

use crate::attach::{AttachPresenter, DeviceOptions, DevicePages, Invitation, Visitor, Waiting};
use crate::cdp::CloseReason;
use crate::cdp::page::{BoxFuture, Page, PageSource, PageUnavailable};
use crate::event::{AttachStage, EventKind, Events, LossCause};
use crate::secret::Hidden;
use crate::webkit::{Webkit, WebkitError, WebkitOptions};

/// How long a page of a browser beside us may take to attach when no other limit was given; nobody has to scan a code.
pub(super) const ATTACH_LIMIT: Duration = Duration::from_secs(60);

/// The pages of `--target webkit`.
#[derive(Debug)]
pub(super) struct WebkitPages {
    pages: DevicePages,
    webkit: Webkit,
    links: watch::Receiver<Option<Hidden>>,
}

/// Hands the link to the browser and shows nothing: nobody has to scan it.
struct ToBrowser(watch::Sender<Option<Hidden>>);

impl AttachPresenter for ToBrowser {
    fn visitor(&self) -> Visitor {
        Visitor::Browser
    }

    fn show(&mut self, invitation: &Invitation) {
        self.0.send_replace(Some(invitation.link.clone()));
    }

    fn waiting(&mut self, _: &Waiting) {}

    fn done(&mut self) {}
}

impl WebkitPages {
    /// Nothing is started yet. `device` is the relay's side.
    pub(super) fn new(webkit: WebkitOptions, device: DeviceOptions) -> Self {
        let (sender, links) = watch::channel(None);
        let pages = DevicePages::new(device, Box::new(ToBrowser(sender)));
        Self { pages, webkit: Webkit::new(webkit), links }
    }
}

/// Waits for the page while the browser is led to it.
async fn led(
    awaited: BoxFuture<'_, Result<Page, PageUnavailable>>,
    webkit: &mut Webkit,
    links: &mut watch::Receiver<Option<Hidden>>,
) -> Result<Page, PageUnavailable> {
    tokio::select! {
        page = awaited => page,
        error = lead(webkit, links) => Err(PageUnavailable { message: error.to_string() }),
    }
}

/// Opens every link that comes, until that fails.
async fn lead(webkit: &mut Webkit, links: &mut watch::Receiver<Option<Hidden>>) -> WebkitError {
    while links.changed().await.is_ok() {
        let link = links.borrow_and_update().clone();
        if let Some(link) = link
            && let Err(error) = webkit.open(&link).await
        {
            return error;
        }
    }
    // Whoever sends links has ended, and with it the wait.
    std::future::pending().await
}

/// Whether only another browser helps: its page takes no command, or there is none.
fn is_beyond_reload(cause: LossCause) -> bool {
    match cause {
        LossCause::Crashed | LossCause::Busy | LossCause::Frozen | LossCause::Dialog | LossCause::BrowserGone => true,
        LossCause::Navigated | LossCause::Reloaded | LossCause::Disconnected | LossCause::Replaced => false,
    }
}

impl PageSource for WebkitPages {
    fn open<'a>(&'a mut self, events: &'a Events) -> BoxFuture<'a, Result<Page, PageUnavailable>> {
        Box::pin(async move {
            let message = "Starting WebKit.".to_owned();
            events.emit_global(EventKind::AttachState { stage: AttachStage::Starting, message }).await;
            led(self.pages.open(events), &mut self.webkit, &mut self.links).await
        })
    }

    fn replace<'a>(&'a mut self, cause: LossCause, events: &'a Events) -> BoxFuture<'a, Result<Page, PageUnavailable>> {
        Box::pin(async move {
            if is_beyond_reload(cause) {
                let message = "Starting WebKit again.".to_owned();
                events.emit_global(EventKind::AttachState { stage: AttachStage::Reattaching, message }).await;
                self.webkit.stop().await;
                self.pages.give_up_page(CloseReason::BrowserGone("it was ended to start another".into())).await;
            }
            led(self.pages.replace(cause, events), &mut self.webkit, &mut self.links).await
        })
    }

    fn close<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            tokio::join!(self.pages.close(), self.webkit.close());
        })
    }
}
