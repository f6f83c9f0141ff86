//! The run's events: one type between those who run and those who report.
//!
//! Every output (terminal, JSON, artifact, dashboard, MCP) is a fold of this stream and of nothing else. Written out,
//! an event is one JSON object a line.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::ident::{Cell, FileId, TestId};
use crate::secret::Scrub;
pub use crate::wire::{ErrorKind, TestMode, TestState, UncaughtOrigin};
pub use error::{Frame, Location, TestError};
pub use outcome::{Counts, FileResult, RunResult};

mod error;
mod outcome;
mod texts;

/// One event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEvent {
    /// Milliseconds since the run started (monotonic clock).
    pub at: u64,
    /// The file it belongs to, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileId>,
    /// The test it belongs to, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<TestId>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum EventKind {
    /// The first event of every run.
    RunStarted(RunInfo),
    /// Where the attach of a page stands; many may come, also again after a page was lost.
    AttachState {
        /// The stage.
        stage: AttachStage,
        /// One sentence for a person, without secrets.
        message: String,
    },
    /// A page is ready to run tests; comes again when another page takes over.
    PageAttached(PageInfo),
    /// How the page is changed while a run works with it, as its own agent tells; a reload or a change of network that
    /// is over in a moment is left out.
    PageState {
        /// How it is now.
        state: PageState,
        /// One sentence for a person, without secrets.
        message: String,
    },
    /// The file's code was loaded in the page, these are its tests.
    FileStarted {
        /// All tests of the file in order, also those that will not run.
        tests: Vec<TestInfo>,
    },
    /// A test began.
    TestStarted {
        /// Its titles: suites first, own title last.
        path: Vec<String>,
        /// 0, or the number of the retry.
        attempt: u32,
    },
    /// A test is over.
    TestFinished(TestResult),
    /// The page wrote to its console.
    Console {
        /// `log`, `warning`, `error`, `info`, `debug` ... as CDP `Runtime.consoleAPICalled` names it.
        level: String,
        /// The arguments as text, joined by a space.
        text: String,
        /// Where it was written, mapped to the user's source.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        location: Option<Location>,
    },
    /// An error outside any test's own flow: it makes the run red.
    Exception {
        /// How it came up.
        origin: UncaughtOrigin,
        /// What it is.
        error: TestError,
    },
    /// A batch of what the transport interceptors saw.
    Transport {
        /// The records, as the interceptors wrote them.
        records: Vec<Value>,
    },
    /// A test wrote a `__AIT_CAPTURE__` line.
    Capture {
        /// Category as the page wrote it (not yet safe as a file name).
        category: String,
        /// The JSON it carried.
        payload: Value,
    },
    /// A picture of the page as it was when a test's own code had failed; comes before the test is over.
    Screenshot {
        /// The PNG; not written out, since it is in the report folder.
        #[serde(skip)]
        png: Arc<[u8]>,
        /// Its size.
        bytes: usize,
    },
    /// Something a person should know; never a failure by itself.
    Notice {
        /// Informational, or worth a warning colour.
        level: NoticeLevel,
        /// One or two sentences, without secrets.
        message: String,
    },
    /// The page stopped being usable while it was needed.
    PageLost {
        /// What happened to it.
        cause: LossCause,
        /// One or two sentences: what, the likely cause, what is done next.
        message: String,
    },
    /// A file is over.
    FileFinished(FileResult),
    /// The last event of every run.
    RunFinished(RunResult),
}

/// What is known when a run starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunInfo {
    /// Version of the tool.
    pub tool_version: String,
    /// The cell, with defaults filled in.
    pub cell: Cell,
    /// Which kind of target was asked for.
    pub target: TargetKind,
    /// Wall clock, RFC 3339 with milliseconds, UTC.
    pub started_at: String,
    /// The files that will run, in order.
    pub files: Vec<FileId>,
}

/// Which kind of page a run wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TargetKind {
    /// A page that dials into our relay.
    Device,
    /// A headless Chrome of our own.
    Chrome,
    /// A WebKit of our own, whose page dials into our relay.
    Webkit,
    /// A browser somebody else started (`--cdp-endpoint`).
    Endpoint,
}

/// How far an attach has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AttachStage {
    /// The browser, or the relay and its public address, is being started.
    Starting,
    /// Code or link is shown; nobody has called yet.
    Waiting,
    /// Somebody called with a wrong or expired code.
    Refused,
    /// A call with a right code came in.
    Accepted,
    /// The agent runs in the page.
    AgentLoaded,
    /// The page answers.
    Attached,
    /// The page was lost and is awaited again.
    Reattaching,
}

/// How an attached page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PageState {
    /// Connected, visible, and JavaScript runs.
    Live,
    /// As live, but in the background.
    Hidden,
    /// Connected, and no JavaScript runs: busy, suspended, or in the back-forward cache.
    Frozen,
    /// Not connected; may come back.
    Reconnecting,
    /// It will not come back.
    Gone,
}

/// The page tests run in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageInfo {
    /// `location.href` without credentials, codes and relay addresses.
    pub url: String,
    /// `document.title`.
    pub title: String,
    /// `navigator.userAgent`.
    pub user_agent: String,
    /// For example `Chrome 156.0` or `Safari 18.5`, from the user agent.
    pub engine: String,
    /// For example `iPhone, iOS 18.5` or `Linux x86_64`, from the user agent.
    pub device: String,
    /// Version that the app around the page reported, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_version: Option<String>,
}

/// A test that was collected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestInfo {
    /// Stable id.
    pub id: TestId,
    /// Suites first, own title last.
    pub path: Vec<String>,
    /// What will happen to it.
    pub mode: TestMode,
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestResult {
    /// Suites first, own title last.
    pub path: Vec<String>,
    /// Verdict.
    pub state: TestState,
    /// Milliseconds, hooks included; how long it had run where it was cut off.
    pub duration_ms: f64,
    /// What failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<TestError>,
    /// Reason of a skip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Attempts after the first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// How loud a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NoticeLevel {
    /// Worth knowing.
    Info,
    /// Worth acting on.
    Warning,
}

/// What happened to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LossCause {
    /// It went to another document.
    Navigated,
    /// It loaded the same document again.
    Reloaded,
    /// Its renderer crashed.
    Crashed,
    /// JavaScript ran without end.
    Busy,
    /// It did not answer at all: stopped, suspended or in the background.
    Frozen,
    /// A native dialog (`alert`, `confirm`, `prompt`, `beforeunload`) was open.
    Dialog,
    /// Its connection closed.
    Disconnected,
    /// Another page took its place.
    Replaced,
    /// The browser itself is gone.
    BrowserGone,
}

/// How many events may wait for the reporters before whoever runs the tests has to wait for them.
const EVENT_QUEUE: usize = 8192;

/// So few waiting events are no sign of a reporter that is behind; those of a recorder can be a megabyte each.
const FEW_EVENTS: usize = 32;
/// Pause between two looks at how far the reporters are.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Where a run's events go in: stamps each with the time since the run started, and takes out of its texts what must not
/// be read. No output sees anything but these events. Clones share one clock and channel.
#[derive(Clone, Debug)]
pub struct Events {
    start: Instant,
    sender: mpsc::Sender<RunEvent>,
    scrub: Scrub,
}

impl Events {
    /// A new clock at zero, and the end where the reporters listen.
    pub fn channel() -> (Self, mpsc::Receiver<RunEvent>) {
        Self::scrubbed_by(Scrub::default())
    }

    /// The same, where others are to know as well what must not be read.
    pub fn scrubbed_by(scrub: Scrub) -> (Self, mpsc::Receiver<RunEvent>) {
        let (sender, receiver) = mpsc::channel(EVENT_QUEUE);
        (Self { start: Instant::now(), sender, scrub }, receiver)
    }

    /// What must not be read in an event.
    pub fn scrub(&self) -> &Scrub {
        &self.scrub
    }

    /// Sends one event; waits when the reporters are behind, and drops it when they are gone.
    pub async fn emit(&self, file: Option<&FileId>, test: Option<&TestId>, kind: EventKind) {
        let at = u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut event = RunEvent { at, file: file.cloned(), test: test.cloned(), kind };
        event.scrub(&self.scrub);
        // The receiver only goes away when the process is ending; there is nobody left to tell.
        drop(self.sender.send(event).await);
    }

    /// Sends an event that belongs to no file.
    pub async fn emit_global(&self, kind: EventKind) {
        self.emit(None, None, kind).await;
    }

    /// Waits until the reporters have nearly caught up: for those who can wait with what they have to say.
    pub async fn caught_up(&self) {
        while self.sender.max_capacity() - self.sender.capacity() > FEW_EVENTS && !self.sender.is_closed() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Time since the run started.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}
