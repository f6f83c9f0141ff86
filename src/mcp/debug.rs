//! A debug session: where its pages come from, the page that is attached, and what is remembered of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::envelope::{Fault, FaultCode};
use super::guard::Guard;
use super::mode::Mode;
use super::observe::observe;
use super::show::Shown;
use super::store::Store;
use super::view::View;
use super::words;
use crate::assets;
use crate::cdp::page::{Page, PageSource, PageUnavailable};
use crate::cdp::runtime::{EvaluateOptions, evaluate};
use crate::chrome::{attach_beside, let_go};
use crate::dashboard::Feed;
use crate::event::{EventKind, Events, LossCause, RunEvent};
use crate::report::{Fold, Reporter};
use crate::secret::Hidden;
use crate::settings::Settings;

/// A page that is there answers this soon, a slow phone behind a tunnel included.
const ECHO_WITHIN: Duration = Duration::from_secs(5);
/// How long a session gets to end what it started: a browser takes a second, a tunnel another.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);

/// A session. It lasts until another is started in its place, or the server ends.
#[derive(Debug)]
pub(super) struct Debug {
    /// How its pages come about.
    pub(super) mode: Mode,
    /// What it was started with.
    pub(super) settings: Settings,
    /// What its pages said.
    pub(super) store: Arc<Store>,
    /// Where code may be evaluated.
    pub(super) guard: Guard,
    /// The invitation that is shown now.
    pub(super) shown: Shown,
    /// What a person should know about it.
    pub(super) warnings: Vec<String>,
    /// Where a person sees the code.
    pub(super) dashboard: Option<Hidden>,
    /// Whether a run is using the page, and tells of it itself.
    pub(super) running: AtomicBool,
    /// A run was stopped in the middle: its test may go on in the page for ever, so the next run takes another.
    pub(super) unfinished: AtomicBool,
    view: watch::Sender<View>,
    source: Arc<Mutex<Source>>,
    events: Events,
    cancel: CancellationToken,
    tasks: TaskTracker,
}

/// Where pages come from.
pub(super) struct Source {
    pages: Box<dyn PageSource>,
    opened: bool,
}

/// What a session is made of.
pub(super) struct Parts {
    pub(super) mode: Mode,
    pub(super) settings: Settings,
    pub(super) pages: Box<dyn PageSource>,
    pub(super) store: Arc<Store>,
    pub(super) guard: Guard,
    pub(super) events: Events,
    pub(super) heard: mpsc::Receiver<RunEvent>,
    pub(super) feed: Option<Feed>,
    pub(super) view: watch::Sender<View>,
    pub(super) shown: Shown,
    pub(super) warnings: Vec<String>,
    pub(super) dashboard: Option<Hidden>,
}

impl Debug {
    /// Nothing is started yet.
    pub(super) fn new(parts: Parts) -> Arc<Self> {
        let Parts { mode, settings, pages, store, guard, events, heard, feed, view, shown, warnings, dashboard } =
            parts;
        let source = Arc::new(Mutex::new(Source { pages, opened: false }));
        let (cancel, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(cancel.clone().run_until_cancelled_owned(follow(heard, view.clone(), feed)));
        Arc::new(Self {
            mode,
            settings,
            store,
            guard,
            shown,
            warnings,
            dashboard,
            running: AtomicBool::new(false),
            unfinished: AtomicBool::new(false),
            view,
            source,
            events,
            cancel,
            tasks,
        })
    }

    /// How it stands, and how that changes.
    pub(super) fn watch(&self) -> watch::Receiver<View> {
        self.view.subscribe()
    }

    /// How it stands.
    pub(super) fn view(&self) -> View {
        self.view.borrow().clone()
    }

    /// Changes how it stands.
    pub(super) fn change(&self, act: impl FnOnce(&mut View)) {
        self.view.send_modify(act);
    }

    /// Whether a page is attached.
    pub(super) fn is_attached(&self) -> bool {
        self.view.borrow().live_page().is_some()
    }

    /// Has a page attach, where none is attached and none is awaited. Returns at once.
    pub(super) fn attach(self: &Arc<Self>) {
        let claimed = self.view.send_if_modified(|view| {
            let free = view.live_page().is_none() && view.is_settled();
            if free {
                view.begin();
            }
            free
        });
        if !claimed {
            return;
        }
        let debug = Arc::clone(self);
        self.tasks.spawn(async move {
            let attached = async {
                let mut source = debug.source.lock().await;
                debug.take(&mut source, LossCause::Disconnected, &debug.events).await
            };
            match debug.cancel.run_until_cancelled(attached).await {
                // How it went is in the view.
                Some(_) => {}
                None => debug.change(|view| view.fail("The session was ended.")),
            }
        });
    }

    /// Takes a page from where they come from, and tells how that goes. Dropped, nobody waits for one any more.
    pub(super) async fn take(
        self: &Arc<Self>,
        source: &mut Source,
        cause: LossCause,
        events: &Events,
    ) -> Result<Page, PageUnavailable> {
        let waiting = Awaited::begin(&self.view);
        let page = source.page(events, cause).await;
        match &page {
            Ok(page) => self.adopt(page.clone(), None),
            Err(error) => self.change(|view| view.fail(&error.message)),
        }
        drop(waiting);
        page
    }

    /// A page is there: it is the one that tools work with from now on.
    pub(super) fn adopt(self: &Arc<Self>, page: Page, number: Option<u32>) {
        self.change(|view| view.attached(page.clone(), number));
        let debug = Arc::clone(self);
        self.tasks.spawn(async move {
            let cancel = debug.cancel.clone();
            let reason = cancel.run_until_cancelled(observe(&debug, &page)).await;
            if let Some(reason) = reason {
                debug.change(|view| view.lost(&page, &reason.to_string()));
            }
        });
    }

    /// Another page of the same browser is the one that tools work with from now on.
    pub(super) async fn change_to(self: &Arc<Self>, target: &str, number: u32) -> Result<(), Fault> {
        let Some(old) = self.view.borrow().live_page().cloned() else { return Ok(()) };
        let script = self.settings.capture.as_ref().map(assets::recorder_of_pages);
        let page = attach_beside(&old.session, target, script.as_deref(), ECHO_WITHIN, &self.events).await;
        let page = page.map_err(|error| {
            Fault::new(FaultCode::PageFrozen, "The page cannot be worked with.").because(error.to_string())
        })?;
        self.adopt(page, Some(number));
        let_go(&old.session).await;
        Ok(())
    }

    /// The page, if it answers now.
    pub(super) async fn answering_page(&self) -> Option<Page> {
        let page = self.view.borrow().live_page().cloned()?;
        let echo = evaluate(&page.session, "1", EvaluateOptions::default(), ECHO_WITHIN).await;
        echo.is_ok().then_some(page)
    }

    /// Pages for one run: the one that is attached first. Nobody else gets one until they are given back.
    pub(super) async fn lend(self: &Arc<Self>) -> super::lent::Lent {
        let source = Arc::clone(&self.source).lock_owned().await;
        self.running.store(true, Ordering::SeqCst);
        super::lent::Lent::new(Arc::clone(self), source)
    }

    /// The run is over: the page is as a run leaves it, but does not stop at breakpoints.
    pub(super) async fn given_back(&self) {
        self.running.store(false, Ordering::SeqCst);
        let page = self.view.borrow().live_page().cloned();
        if let Some(page) = page.filter(|page| page.abilities.debugger) {
            // Where that fails the page is gone, and whoever needs it next will find out.
            drop(page.session.call::<Value>("Debugger.disable", json!({}), ECHO_WITHIN).await);
        }
    }

    /// Waits for the stage that ends an attach, at most this long. Whether one came.
    pub(super) async fn settled(&self, within: Duration) -> bool {
        let mut watch = self.watch();
        timeout(within, watch.wait_for(View::is_settled)).await.is_ok()
    }

    /// Ends it: no page of ours stays, and no task.
    pub(super) async fn close(&self) {
        self.cancel.cancel();
        self.tasks.close();
        let ended = async {
            self.source.lock().await.pages.close().await;
            self.tasks.wait().await;
        };
        let started = Instant::now();
        if timeout(CLOSE_WITHIN, ended).await.is_err() {
            tracing::warn!(after = ?started.elapsed(), "a session did not end in time");
        }
        self.change(View::end);
    }
}

/// Keeps up with what a session says of itself between runs.
async fn follow(mut heard: mpsc::Receiver<RunEvent>, view: watch::Sender<View>, mut feed: Option<Feed>) {
    let mut fold = Fold::default();
    while let Some(event) = heard.recv().await {
        match &event.kind {
            EventKind::AttachState { stage, message } => view.send_modify(|view| view.reach(*stage, message)),
            EventKind::Notice { message, .. } => view.send_modify(|view| view.note(&words::of_a_call(message))),
            _ => {}
        }
        fold.apply(&event);
        if let Some(feed) = &mut feed {
            feed.on_event(&event, &fold);
        }
    }
}

impl Source {
    /// A page: the first, another in place of one that was lost, or a first one again where that cannot be had.
    pub(super) async fn page(&mut self, events: &Events, cause: LossCause) -> Result<Page, PageUnavailable> {
        if self.opened {
            match self.pages.replace(cause, events).await {
                Ok(page) => return Ok(page),
                Err(error) => tracing::info!(%error, "starting anew"),
            }
            self.opened = false;
            self.pages.close().await;
        }
        let page = self.pages.open(events).await?;
        self.opened = true;
        Ok(page)
    }
}

/// A page is waited for as long as this lives.
struct Awaited<'a>(&'a watch::Sender<View>);

impl<'a> Awaited<'a> {
    fn begin(view: &'a watch::Sender<View>) -> Self {
        view.send_if_modified(|view| {
            let begins = view.is_settled();
            if begins {
                view.begin();
            }
            begins
        });
        Self(view)
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.0.send_if_modified(|view| {
            let called_off = !view.is_settled();
            if called_off {
                view.fail("The wait for a page was called off.");
            }
            called_off
        });
    }
}

/// What a run holds while it has the pages.
pub(super) type Held = OwnedMutexGuard<Source>;

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("opened", &self.opened).finish_non_exhaustive()
    }
}
