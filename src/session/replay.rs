//! A Chrome in which a recording is played.

use tokio::task::JoinSet;

use crate::assets;
use crate::cdp::page::{BoxFuture, Page, PageSource, PageUnavailable};
use crate::event::{EventKind, Events, LossCause, NoticeLevel};
use crate::replay::{Recording, Replay, ReplayError};
use crate::settings::ReplaySettings;

/// The pages of another source, served from a recording.
pub(super) struct ReplayPages {
    inner: Box<dyn PageSource>,
    replay: Option<Replay>,
    // Aborts server and news when dropped.
    tasks: JoinSet<()>,
}

/// A recording that was read, and a place that it will be served at.
pub(super) struct Prepared {
    replay: Replay,
    /// To run in each document before its own scripts.
    pub(super) script: String,
    /// What a person should know of it.
    pub(super) warnings: Vec<String>,
}

/// Reads the recording.
pub(super) fn prepare(settings: &ReplaySettings) -> Result<Prepared, ReplayError> {
    let recording = Recording::read(&settings.file.value)?;
    let warnings = recording.reservations();
    let replay = Replay::new(recording, settings.speed)?;
    let script = assets::replay_at(&replay.place()?);
    Ok(Prepared { replay, script, warnings })
}

impl ReplayPages {
    pub(super) fn new(inner: Box<dyn PageSource>, prepared: Prepared) -> Self {
        Self { inner, replay: Some(prepared.replay), tasks: JoinSet::new() }
    }

    /// Serves from the first page on, and tells of what was not recorded.
    fn serve(&mut self, events: &Events) -> Result<(), PageUnavailable> {
        let Some(replay) = self.replay.take() else { return Ok(()) };
        let served = replay.serve().map_err(|error| PageUnavailable { message: error.to_string() })?;
        let events = events.clone();
        self.tasks.spawn(async move {
            // The whole of it: it is served as long as this goes on.
            let mut served = served;
            while let Some(message) = served.notices.recv().await {
                events.emit_global(EventKind::Notice { level: NoticeLevel::Info, message }).await;
            }
        });
        Ok(())
    }
}

impl PageSource for ReplayPages {
    fn open<'a>(&'a mut self, events: &'a Events) -> BoxFuture<'a, Result<Page, PageUnavailable>> {
        Box::pin(async {
            self.serve(events)?;
            self.inner.open(events).await
        })
    }

    fn replace<'a>(&'a mut self, cause: LossCause, events: &'a Events) -> BoxFuture<'a, Result<Page, PageUnavailable>> {
        self.inner.replace(cause, events)
    }

    fn close<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(async {
            self.inner.close().await;
            self.tasks.shutdown().await;
        })
    }
}
