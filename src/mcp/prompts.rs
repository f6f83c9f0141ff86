//! Prompts: the two ways of work this server is for, in words that a client puts before its model.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};

const FIX: &str = "fix_failing_test";
const ATTACH: &str = "attach_phone";

/// All prompts.
pub(super) fn list() -> Vec<Prompt> {
    let argument = |name: &str, text: &str| PromptArgument::new(name).with_description(text).with_required(false);
    vec![
        Prompt::new(
            FIX,
            Some("Find out why a test fails, mend it, and show that it holds"),
            Some(vec![
                argument("test", "Id of the test, or a part of it (default: the first that fails)"),
                argument("files", "Paths and patterns of the test files, with spaces between them"),
            ]),
        )
        .with_title("Mend a failing test"),
        Prompt::new(
            ATTACH,
            Some("Bring the app on a phone under this server, with a person who scans a code"),
            Some(vec![
                argument("app_url", "The app's own server, to be opened on the phone"),
                argument("scheme_url", "The link that opens the app in its host app"),
            ]),
        )
        .with_title("Attach a phone"),
    ]
}

/// One prompt with its arguments filled in.
pub(super) fn get(name: &str, arguments: &JsonObject) -> Result<GetPromptResult, ErrorData> {
    let argument = |name: &str| arguments.get(name).and_then(|value| value.as_str()).filter(|text| !text.is_empty());
    let text = match name {
        FIX => fix(argument("test"), argument("files")),
        ATTACH => attach(argument("app_url"), argument("scheme_url")),
        _ => return Err(ErrorData::invalid_params(format!("there is no prompt {name:?}"), None)),
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

fn fix(test: Option<&str>, files: Option<&str>) -> String {
    let files = files.map_or("the files that list_tests names".to_owned(), |files| {
        format!("files {}", serde_json::json!(files.split_whitespace().collect::<Vec<_>>()))
    });
    let which = test.map_or("the first failure".to_owned(), |test| format!("the failure of {test:?}"));
    format!(
        "Mend a failing test.\n\
         1. Call run_tests with {files}. Should it wait for a phone, tell me the dashboard address at which the code is \
         shown.\n\
         2. Call get_test_failure for {which}: read its position, diff, console and transport before any code.\n\
         3. Look at the page itself where that helps.\n\
         4. Say in one sentence whether the test or the app is wrong, and why. Change that, and nothing else; do not \
         weaken what the test asks for.\n\
         5. Call run_tests again with the same files, then compare_runs. It is done when the failure is in fixed and \
         broken is empty."
    )
}

fn attach(app_url: Option<&str>, scheme_url: Option<&str>) -> String {
    let how = match (app_url, scheme_url) {
        (_, Some(link)) => format!("mode relay-scheme and scheme_url {link:?}"),
        (Some(app), None) => format!("mode relay-hosted and app_url {app:?}"),
        (None, None) => "mode relay-hosted".to_owned(),
    };
    format!(
        "Attach a phone.\n\
         1. Call start_attach with {how}. It returns once the code is shown.\n\
         2. Tell me the dashboard address of the answer, and that I am to open it on this machine and scan the code.\n\
         3. Call start_attach again with wait_seconds 120. On attach_timeout ask me what the phone shows, then wait \
         on.\n\
         4. Call list_pages and tell me which page is attached, on which device."
    )
}
