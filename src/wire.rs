//! What the in-page runtime and the host say to each other. Twin of `test-runner/src/wire.ts`; a test holds the
//! two against each other.
//!
//! Page to host: the binding [`BINDING`] is called with the JSON of one [`Batch`]. Host to page: short
//! `Runtime.evaluate` expressions on the global [`RUNTIME_GLOBAL`]; nothing long is awaited through one evaluate.

use serde::{Deserialize, Serialize};

/// Name of the binding (`Runtime.addBinding`) the page calls with a JSON [`Batch`].
pub const BINDING: &str = "__ait_emit";
/// Name of the binding the page calls with a [`TransportPiece`]; apart from [`BINDING`], so that results never wait
/// for what was recorded, nor the other way round.
pub const TRANSPORT_BINDING: &str = "__ait_transport";
/// Name of the global object the injected runtime installs.
pub const RUNTIME_GLOBAL: &str = "__ait";
/// Start of a console line that a test writes to leave a capture: `__AIT_CAPTURE__ <category> <JSON>`.
pub const CAPTURE_PREFIX: &str = "__AIT_CAPTURE__ ";

/// One call of the binding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Random id of the document the runtime lives in.
    pub doc: String,
    /// Number of the first event of this batch, from 0 per document: a gap means that a message was lost.
    pub seq: u64,
    /// The events, oldest first; none where the runtime only shows that it is heard.
    pub events: Vec<PageEvent>,
}

impl Batch {
    /// Reads the argument of a call of the binding.
    ///
    /// Never use `serde_json::from_str` for a type with `#[serde(tag)]` or `#[serde(flatten)]`: the bundler's crates turn
    /// serde_json's `arbitrary_precision` on for all of us, and with it numbers do not survive serde's buffering
    /// (serde-rs/json#505). By way of a `Value` they do.
    pub fn parse(payload: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<serde_json::Value>(payload).and_then(serde_json::from_value)
    }
}

/// One call of the transport binding: a piece of the document's records, which are lines: JSON objects, and messages as
/// lists (`test-runner/src/engine/row-line.ts`). The page sends the next one when this one was confirmed with
/// `__ait.took(seq)`, or when it is being left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportPiece<'a> {
    /// Random id of the document the runtime lives in.
    pub doc: &'a str,
    /// From 0 per document: a gap means that a piece was lost.
    pub seq: u64,
    /// The next part of the lines; it may begin and end anywhere in one.
    pub text: &'a str,
}

impl<'a> TransportPiece<'a> {
    /// Reads the argument of a call of the binding: a line that says which piece it is, and the piece as it is. Nothing for
    /// what the recorder would not send.
    pub fn parse(payload: &'a str) -> Option<Self> {
        let (head, text) = payload.split_once('\n')?;
        let (doc, seq) = head.split_once(' ')?;
        Some(Self { doc, seq: seq.parse().ok()?, text })
    }
}

/// A way for a page to exchange something with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CaptureKind {
    /// `WebSocket`.
    Websocket,
    /// `fetch`, bodies as they are read.
    Fetch,
    /// `EventSource`.
    Eventsource,
}

/// What the recorder is told when it is put into a page (`InstallOptions` of `engine/install.ts`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CaptureOptions {
    /// Keep what is recorded for the host, which comes a moment later.
    forward: bool,
    /// What is recorded.
    pub capture: Vec<CaptureKind>,
    /// Bytes (or characters of a text) of one payload that leave the page.
    pub max_payload: u64,
    /// None of the page's own scripts ran before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    first: bool,
}

impl CaptureOptions {
    /// For a page that is led by a host.
    pub fn new(capture: Vec<CaptureKind>, max_payload: u64) -> Self {
        Self { forward: true, capture, max_payload, first: false }
    }

    /// The same where none of the page's own scripts runs before.
    pub fn first(&self) -> Self {
        Self { first: true, ..self.clone() }
    }
}

/// What `__ait.capture()` returns where the document is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CaptureInfo {
    /// Milliseconds since the document began at which the recorder was there.
    pub from: f64,
    /// None of the page's own scripts, or hardly any, ran before.
    pub before_content: bool,
}

/// What happens in the page. `run` is the number the host gave with [`RunRequest`]; `test` is the index of a test in
/// the `collected` event of that run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PageEvent {
    /// The file was loaded; these are its tests, in the order in which they will run.
    Collected {
        /// Run number.
        run: u32,
        /// All tests, also those that will not run.
        tests: Vec<CollectedTest>,
        /// An `only` is in force somewhere in the file.
        only: bool,
    },
    /// A test starts (its `beforeEach` hooks included). Sent before its first line runs.
    TestStart {
        /// Run number.
        run: u32,
        /// Index in `collected`.
        test: u32,
        /// 0 for the first attempt, then the number of the retry or repeat.
        attempt: u32,
        /// Milliseconds its own body may take, 0 for no limit. The host adds the limits of its hooks.
        #[serde(default)]
        limit: u64,
    },
    /// A test's own code has failed and its hooks have not tidied up yet. It waits, for a second at most, until the host
    /// lets it go on (`__ait.goOn(run, test)`). Only where that was asked for.
    TestFailing {
        /// Run number.
        run: u32,
        /// Index in `collected`.
        test: u32,
    },
    /// A test is over, hooks included.
    TestEnd {
        /// Run number.
        run: u32,
        /// Index in `collected`.
        test: u32,
        /// Final verdict.
        state: TestState,
        /// Milliseconds, hooks included.
        ms: f64,
        /// What failed; a test that passed after a retry keeps the errors of the earlier attempts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        errors: Vec<PageError>,
        /// Reason given to `ctx.skip(condition, note)`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// Attempts after the first.
        #[serde(default, skip_serializing_if = "is_zero")]
        retries: u32,
    },
    /// A suite-level hook or phase begins or ends; lets the host say where a page is stuck.
    Phase {
        /// Run number.
        run: u32,
        /// `load` (the file's own code), `beforeAll`, `afterAll`, or `idle`: the suite's hook has ended.
        phase: String,
        /// Titles of the suite, empty for the file itself.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        suite: Vec<String>,
    },
    /// A `beforeAll` or `afterAll` hook, or a suite's own function, failed.
    SuiteError {
        /// Run number.
        run: u32,
        /// Titles of the suite, empty for the file itself.
        #[serde(default)]
        suite: Vec<String>,
        /// What failed.
        error: PageError,
    },
    /// An error nobody caught: `error` event, unhandled rejection, or an assertion on a promise nobody awaited.
    Uncaught {
        /// Run number of the file that was running, if one was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<u32>,
        /// Test that was running.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test: Option<u32>,
        /// How it came up.
        origin: UncaughtOrigin,
        /// What it is.
        error: PageError,
    },
    /// Something a person should know that is no failure.
    Notice {
        /// Run number, if a file was running.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<u32>,
        /// The sentence.
        message: String,
    },
    /// The file is over; nothing of this run follows.
    FileEnd {
        /// Run number.
        run: u32,
        /// Milliseconds from load to the end of the last hook.
        ms: f64,
        /// The file threw while it loaded (then no test ran).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        load_error: Option<PageError>,
    },
}

impl PageEvent {
    /// The run it belongs to, where it names one.
    pub fn run(&self) -> Option<u32> {
        match self {
            Self::Collected { run, .. }
            | Self::TestStart { run, .. }
            | Self::TestFailing { run, .. }
            | Self::TestEnd { run, .. }
            | Self::Phase { run, .. }
            | Self::SuiteError { run, .. }
            | Self::FileEnd { run, .. } => Some(*run),
            Self::Uncaught { run, .. } | Self::Notice { run, .. } => *run,
        }
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// One test as the file declared it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CollectedTest {
    /// Suite titles, outermost first, then the test's own title.
    pub path: Vec<String>,
    /// Whether it will run.
    pub mode: TestMode,
}

/// What will happen to a collected test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TestMode {
    /// It will run.
    Run,
    /// `skip`, `skipIf`, or left out by an `only`.
    Skip,
    /// Left out by the name pattern (`-t`); not counted anywhere.
    Filtered,
    /// `todo`.
    Todo,
}

/// Verdict on one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TestState {
    /// It ran and held.
    Passed,
    /// It ran and did not hold.
    Failed,
    /// It did not run, or stopped itself with `ctx.skip()`.
    Skipped,
    /// It is only planned.
    Todo,
}

/// How an uncaught error came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UncaughtOrigin {
    /// `error` event of the window.
    Error,
    /// `unhandledrejection` event.
    Rejection,
    /// `expect(promise).resolves...` that was never awaited.
    Unawaited,
}

/// What kind of failure an error is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ErrorKind {
    /// An `expect` did not hold.
    Assertion,
    /// Anything else that was thrown.
    #[default]
    Error,
    /// A limit of the page (test, hook) ran out.
    Timeout,
    /// The test asked for something that cannot work in a page (`vi.mock` of a module ...) or that this runner
    /// does not know.
    Unsupported,
}

/// An error as the page saw it. Every text is bounded and valid Unicode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PageError {
    /// Constructor or `name`, for example `AssertionError`; `Error` where a non-error was thrown.
    pub name: String,
    /// Message without the name; for a thrown non-error, its printed form.
    pub message: String,
    /// What kind of failure.
    pub kind: ErrorKind,
    /// `code` of the error, as many bridge errors carry one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Unified diff of expected and actual, without colours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Printed expected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Printed actual value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// Stack frames, innermost first, as the engine reported them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<PageFrame>,
    /// Name of the hook it came from (`beforeEach`, `afterAll` ...).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// `cause`, at most three deep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<PageError>>,
}

/// One frame of a stack, in the page's own coordinates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PageFrame {
    /// Function name, empty where the engine gives none.
    pub function: String,
    /// Script URL (`sourceURL` for scripts of ours), empty where unknown.
    pub url: String,
    /// 1-based line.
    pub line: u32,
    /// 1-based column in UTF-16 units.
    pub column: u32,
}

/// What the host asks for with `__ait.run(request, file)`. `file` is the async function around the bundled file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRequest {
    /// Number of this run of a file, unique in the process.
    pub run: u32,
    /// Path shown as the file's name and used in `ctx.task.file`.
    pub file: String,
    /// Milliseconds a test may take.
    pub test_timeout: u64,
    /// Milliseconds a hook may take.
    pub hook_timeout: u64,
    /// Source of a JavaScript regular expression on the full title (joined by a space, as in Vitest).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_pattern: Option<String>,
    /// Whether `only` is allowed; if not, its use is an error of the file.
    pub allow_only: bool,
    /// Indexes of tests that an earlier page has run; they count as filtered. None for a fresh run.
    pub skip: Vec<u32>,
    /// Failing tests wait until they are let go on.
    pub hold_failing: bool,
}

/// What `__ait.info()` returns, to confirm the injection by reading back. A batch without events comes before it: what the
/// page sends arrives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeInfo {
    /// Version of the runtime bundle.
    pub version: String,
    /// Random id of this document.
    pub doc: String,
    /// Number of the next event: not 0 where an earlier run has listened to this document.
    pub seq: u64,
    /// `navigator.userAgent`.
    pub user_agent: String,
    /// `location.href`.
    pub url: String,
    /// `document.title`.
    pub title: String,
}

#[cfg(test)]
mod tests;
