//! One call of a tool: what it may use, and how it tells of its progress.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use tokio_util::sync::CancellationToken;

use super::debug::Debug;
use super::envelope::{Fault, Meta};
use super::hub::{Hub, Turn};
use crate::secret::Scrub;

/// What a call met when it was read.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    debug: Option<Arc<Debug>>,
    turn: Arc<Mutex<Option<Turn>>>,
}

impl Arrival {
    /// A call is read. `alone`: nobody else may change the session or run tests while it is worked on.
    pub(super) fn now(hub: &Hub, alone: bool) -> Self {
        let turn = if alone { hub.turn().ok() } else { None };
        Self { debug: hub.debug(), turn: Arc::new(Mutex::new(turn)) }
    }
}

/// One call.
#[derive(Clone)]
pub(super) struct Call {
    /// What all calls share.
    pub(super) hub: Arc<Hub>,
    /// The session when the call came. A switch that happens meanwhile is not this call's business.
    pub(super) debug: Option<Arc<Debug>>,
    /// Cancelled when the client does not want the answer any more.
    pub(super) cancelled: CancellationToken,
    /// How it tells how far it is.
    pub(super) progress: Progress,
    turn: Arc<Mutex<Option<Turn>>>,
}

impl Call {
    /// A call as it comes in.
    pub(super) fn new(hub: Arc<Hub>, context: &RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        let progress =
            Progress(token.map(|token| Arc::new(Meter { peer: context.peer.clone(), token, last: Mutex::new(0.0) })));
        let arrival = context.extensions.get::<Arrival>().cloned();
        let Arrival { debug, turn } = arrival.unwrap_or_else(|| Arrival::now(&hub, false));
        Self { hub, debug, cancelled: context.ct.clone(), progress, turn }
    }

    /// The right to change the session or to run tests, which a call that is alone has had since it was read.
    pub(super) fn turn(&self) -> Result<Turn, Fault> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner).take().map_or_else(|| self.hub.turn(), Ok)
    }

    /// What its answer is about.
    pub(super) fn meta(&self, tool: &'static str) -> Meta {
        let debug = self.debug.as_ref();
        Meta { tool, mode: debug.map(|debug| debug.mode), attached: debug.is_some_and(|debug| debug.is_attached()) }
    }

    /// What must not be read.
    pub(super) fn scrub(&self) -> Scrub {
        self.hub.scrub.clone()
    }
}

/// Tells the client how far a call is, where it wants to know.
#[derive(Clone)]
pub(super) struct Progress(Option<Arc<Meter>>);

struct Meter {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    last: Mutex<f64>,
}

/// The number of a notification is greater than that of the one before by this at least, as the protocol wants it.
const LEAST_STEP: f64 = 0.001;

impl Progress {
    /// Tells it. Numbers rise, whatever `done` is.
    pub(super) async fn tell(&self, done: f64, total: Option<f64>, message: &str) {
        let Some(meter) = &self.0 else { return };
        let progress = {
            let mut last = meter.last.lock().unwrap_or_else(PoisonError::into_inner);
            *last = done.max(*last + LEAST_STEP);
            *last
        };
        let mut told = ProgressNotificationParam::new(meter.token.clone(), progress).with_message(message);
        told.total = total;
        // A client that cannot be told any more has ended, and the call is being cancelled.
        drop(meter.peer.notify_progress(told).await);
    }
}
