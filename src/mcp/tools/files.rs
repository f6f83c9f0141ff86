//! `list_tests`: which test files there are, and what is known of their tests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ident::FileId;
use crate::mcp::call::Call;
use crate::mcp::envelope::{Answer, Answered, Fault};
use crate::mcp::paging::{Paged, Paging};
use crate::mcp::summary::tests_of;
use crate::mcp::tool::{About, Effect, Tool};
use crate::report::FileFold;
use crate::run::Plan;

/// The tools of this family.
pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new(
        About {
            name: "list_tests",
            title: "List test files and tests",
            description: "The test files of the project with the counts of their last run here. With file: the tests of \
                          that file and how each ended; they are known once the file was run. Use it to find what to \
                          give to run_tests.",
            effect: Effect::Reads,
        },
        list_tests,
    )]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ListTests {
    /// Paths, folders and patterns (default: every test file of the project, those that need a person included).
    #[serde(default)]
    files: Vec<String>,
    /// The tests of this file instead, by its name in a list of files.
    #[serde(default)]
    file: Option<String>,
    /// Folder of the project (default: that of the nearest package.json).
    #[serde(default, alias = "projectRoot")]
    project_root: Option<String>,
    #[serde(flatten)]
    paging: Paging,
}

async fn list_tests(call: Call, args: ListTests) -> Answered<Paged> {
    if let Some(file) = &args.file {
        let tests = last_run_of(&call, file).map(|file| tests_of(&file.tests).collect()).unwrap_or_default();
        let page = args.paging.forward(tests)?;
        let text = if page.total == 0 {
            format!("No test of {file} is known before it was run.")
        } else {
            page.sentence("tests")
        };
        return Ok(Answer::new(page, text));
    }
    let settings = call.hub.settings(|given| {
        given.project_root = args.project_root.clone().or(given.project_root.take());
        given.files.clone_from(&args.files);
        given.manual = Some(true);
    })?;
    let plan = Plan::of(&settings).map_err(Fault::bad_input)?;
    let files = plan.files.iter().map(|file| described(&call, &file.id, file.manual)).collect();
    let page = args.paging.forward(files)?;
    let mut text = page.sentence("test files");
    for warning in &plan.warnings {
        text.push_str(&format!(" Note: {warning}."));
    }
    Ok(Answer::new(page, text))
}

/// A file as the newest run that had it left it.
fn last_run_of(call: &Call, file: &str) -> Option<FileFold> {
    let id = FileId(file.to_owned());
    call.hub.runs().iter().rev().find_map(|record| record.look(|run| run.fold.file(&id).cloned()))
}

fn described(call: &Call, id: &FileId, manual: bool) -> Value {
    /// Counts that say something.
    #[derive(Serialize)]
    struct File<'a> {
        file: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        manual: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        last: Option<Value>,
    }
    let last = last_run_of(call, &id.0).map(|file| {
        let counts = file.counts;
        json!({ "passed": counts.passed, "failed": counts.failed, "skipped": counts.skipped, "todo": counts.todo })
    });
    serde_json::to_value(File { file: &id.0, manual, last }).unwrap_or_default()
}
