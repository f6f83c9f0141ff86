//! What is asked about runs that are over: one failure as a whole, and two runs side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::TestError;
use crate::ident::TestId;
use crate::mcp::call::Call;
use crate::mcp::envelope::{Answer, Answered, Fault, FaultCode};
use crate::mcp::record::{Inner, Record, Window, shown};
use crate::mcp::store::cut;
use crate::mcp::tool::{About, Effect, Tool};
use crate::report::Comparison;
use crate::run::MAX_SCREENSHOTS;

/// Characters of a message, a diff or a code frame: what a person reads of it, too.
const MAX_TEXT: usize = 2_000;
/// Characters of a printed value; the diff says where two of them differ.
const MAX_VALUE: usize = 400;
/// Frames of a stack.
const MAX_FRAMES: usize = 10;
/// Bytes of a name, or of a sentence.
const MAX_LINE: usize = 300;
/// Errors of one test.
const MAX_ERRORS: usize = 3;
/// Names in one list of a comparison.
const MAX_NAMES: usize = 30;

/// The tools of this family.
pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            About {
                name: "get_test_failure",
                title: "One failure as a whole",
                description: "Everything about one failure of a run that is over: message, position, diff, code frame, \
                              stack, what the page wrote and exchanged while the test ran, and a picture of it where \
                              its browser makes one. Use it after run_tests, for one failure at a time.",
                effect: Effect::Reads,
            },
            get_test_failure,
        ),
        Tool::new(
            About {
                name: "compare_runs",
                title: "Compare two runs",
                description: "What became of each test from one run of this server to a later one: broken, fixed, still \
                              failing, added, gone. Use it after a change, to see what it did.",
                effect: Effect::Reads,
            },
            compare_runs,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct GetTestFailure {
    /// Id of the test, or a part of it; the name of a file for an error outside its tests (default: the first failure).
    #[serde(default)]
    test: Option<String>,
    /// Number of the run (default: the newest).
    #[serde(default)]
    run: Option<u32>,
}

/// One failure.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Failure {
    run: u32,
    /// The test's id, or the file's name.
    test: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<f64>,
    #[serde(skip_serializing_if = "is_zero")]
    retries: u32,
    errors: Vec<Error>,
    /// The last lines the page wrote while the test ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    console: Vec<Value>,
    /// The last messages the page exchanged while the test ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transport: Vec<Value>,
    /// The page when the test had failed, before its hooks tidied up.
    #[serde(skip_serializing_if = "Option::is_none")]
    screenshot: Option<String>,
    /// Why there is no picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_screenshot: Option<String>,
    /// Other failures of the run, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<String>,
    /// Every event of the run, whole.
    file: String,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// An error. Long texts are cut; the file has them whole.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Error {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code_frame: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stack: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
}

/// Something that failed: a test, a file by itself, or what came up outside any test.
struct Failed<'a> {
    name: &'a str,
    test: Option<&'a TestId>,
    duration_ms: Option<f64>,
    retries: u32,
    errors: &'a [TestError],
}

/// Everything that failed, in the order in which `run_tests` tells it.
fn failures(run: &Inner) -> Vec<Failed<'_>> {
    let files = run.fold.files.iter().filter_map(|file| {
        let result = file.result.as_ref().filter(|result| !result.errors.is_empty())?;
        let duration_ms = Some(result.duration_ms);
        Some(Failed { name: &file.id.0, test: None, duration_ms, retries: 0, errors: &result.errors })
    });
    let tests = run.fold.failed().map(|(_, test, result)| Failed {
        name: &test.id.0,
        test: Some(&test.id),
        duration_ms: Some(result.duration_ms),
        retries: result.retries,
        errors: &result.errors,
    });
    let outside = run.fold.exceptions.iter().map(|thrown| {
        let name = thrown.test.as_ref().map(|test| &test.0).or(thrown.file.as_ref().map(|file| &file.0));
        let errors = std::slice::from_ref(&thrown.error);
        let name = name.map_or("outside any test", String::as_str);
        Failed { name, test: thrown.test.as_ref(), duration_ms: None, retries: 0, errors }
    });
    files.chain(tests).chain(outside).collect()
}

async fn get_test_failure(call: Call, args: GetTestFailure) -> Answered<Failure> {
    let record = call.hub.run(args.run)?;
    let found = record.look(|run| failure(&record, run, args.test.as_deref()))?;
    let message = found.errors.first().map_or("It failed.", |error| error.message.as_str());
    let mut text = format!("{}: {message}", found.test);
    cut(&mut text, MAX_LINE);
    Ok(Answer::new(found, text))
}

fn failure(record: &Record, run: &Inner, wanted: Option<&str>) -> Result<Failure, Fault> {
    let all = failures(run);
    let found = match wanted {
        None => all.first(),
        Some(wanted) => all
            .iter()
            .find(|failed| failed.name == wanted)
            .or_else(|| all.iter().find(|failed| failed.name.to_lowercase().contains(&wanted.to_lowercase()))),
    };
    let names = || all.iter().map(|failed| line(failed.name)).take(MAX_NAMES);
    let Some(found) = found else {
        let state = match wanted {
            Some(wanted) if !all.is_empty() => format!("No failure of run {} is called {wanted:?}.", record.run),
            _ => format!("Nothing failed in run {}.", record.run),
        };
        let fault = Fault::new(FaultCode::NotFound, state);
        return Err(match all.is_empty() {
            true => fault,
            false => fault
                .with(serde_json::json!({ "failures": names().collect::<Vec<_>>() }))
                .next("get_test_failure", "name one of the failures"),
        });
    };
    let screenshot = found.test.and_then(|test| run.screenshots.get(test)).map(|path| path.display().to_string());
    let no_screenshot = screenshot.is_none().then(|| why_no_screenshot(run));
    let window = found.test.and_then(|test| run.windows.get(test)).cloned().unwrap_or_default();
    let Window { console, transport } = window;
    Ok(Failure {
        run: record.run,
        test: found.name.to_owned(),
        duration_ms: found.duration_ms.map(f64::round),
        retries: found.retries,
        errors: found.errors.iter().take(MAX_ERRORS).map(Error::of).collect(),
        console: console.into(),
        transport: transport.into(),
        screenshot,
        no_screenshot,
        others: names().filter(|name| *name != line(found.name)).collect(),
        file: record.file.display().to_string(),
    })
}

fn why_no_screenshot(run: &Inner) -> String {
    match run.no_screenshots {
        Some(why) => why.to_owned(),
        None if run.screenshots.len() >= MAX_SCREENSHOTS as usize => {
            format!("only {MAX_SCREENSHOTS} are made in a run")
        }
        None => "the failure was outside the code of a test, or the page did not come to it".to_owned(),
    }
}

impl Error {
    fn of(error: &TestError) -> Self {
        let long = |text: &Option<String>, max| {
            text.as_ref().map(|text| {
                let mut text = text.clone();
                cut(&mut text, max);
                text
            })
        };
        Self {
            message: long(&Some(named(error)), MAX_TEXT).unwrap_or_default(),
            at: error.frames.first().map(|frame| shown(&frame.location)),
            diff: long(&error.diff, MAX_TEXT),
            // Where there is a diff it says the same, and says it better.
            expected: long(&error.expected, MAX_VALUE).filter(|_| error.diff.is_none()),
            actual: long(&error.actual, MAX_VALUE).filter(|_| error.diff.is_none()),
            code_frame: long(&error.code_frame, MAX_TEXT),
            stack: error
                .frames
                .iter()
                .take(MAX_FRAMES)
                .map(|frame| format!("{} {}", frame.function, shown(&frame.location)).trim_start().to_owned())
                .collect(),
            hook: error.hook.clone(),
            cause: long(&error.cause.as_ref().map(|cause| named(cause)), MAX_VALUE),
        }
    }
}

fn named(error: &TestError) -> String {
    if error.name.is_empty() { error.message.clone() } else { format!("{}: {}", error.name, error.message) }
}

fn line(name: &str) -> String {
    let mut name = name.to_owned();
    cut(&mut name, MAX_LINE);
    name
}

#[derive(Debug, Deserialize, JsonSchema)]
struct CompareRuns {
    /// Number of the earlier run (default: the one before `after`).
    #[serde(default)]
    before: Option<u32>,
    /// Number of the later run (default: the newest).
    #[serde(default)]
    after: Option<u32>,
}

/// Two runs side by side.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Compared {
    before: u32,
    after: u32,
    /// Failed, and did not before.
    broken: Names,
    /// Passed, and failed before.
    fixed: Names,
    /// Failed both times.
    still_failing: Names,
    /// Passed both times.
    still_passing: usize,
    /// Not known before.
    added: Names,
    /// Run before and not any more.
    gone: Names,
}

/// Some names, and how many there are.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Names {
    count: usize,
    /// The first ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tests: Vec<String>,
    #[serde(skip_serializing_if = "none_left_out")]
    left_out: usize,
}

fn none_left_out(n: &usize) -> bool {
    *n == 0
}

impl Names {
    fn of(tests: &[TestId]) -> Self {
        let names = tests.iter().take(MAX_NAMES).map(|test| line(&test.0)).collect();
        Self { count: tests.len(), tests: names, left_out: tests.len().saturating_sub(MAX_NAMES) }
    }
}

async fn compare_runs(call: Call, args: CompareRuns) -> Answered<Compared> {
    let after = call.hub.run(args.after)?;
    let before = match args.before {
        Some(number) => call.hub.run(Some(number))?,
        None => call.hub.runs().into_iter().rfind(|record| record.run < after.run).ok_or_else(|| {
            Fault::new(FaultCode::NotFound, format!("There is no run before run {}.", after.run))
                .next("run_tests", "run the tests once more, then compare")
        })?,
    };
    // A copy, so that comparing a run with itself does not look at it twice at a time.
    let old = before.look(|run| run.fold.clone());
    let all = after.look(|run| Comparison::of(&old, &run.fold));
    let compared = Compared {
        before: before.run,
        after: after.run,
        broken: Names::of(&all.broken),
        fixed: Names::of(&all.fixed),
        still_failing: Names::of(&all.still_failing),
        still_passing: all.still_passing,
        added: Names::of(&all.added),
        gone: Names::of(&all.gone),
    };
    let (broken, fixed, failing) = (compared.broken.count, compared.fixed.count, compared.still_failing.count);
    let text = format!("Run {} to {}: {broken} broken, {fixed} fixed, {failing} still failing.", before.run, after.run);
    Ok(Answer::new(compared, text))
}
