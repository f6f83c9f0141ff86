//! Every text of an event, so that what must not be read can be taken out of all of them. Without `..` and `_`, so that
//! whoever adds a field has to say here whether a page can write into it.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    EventKind, FileResult, Frame, Location, PageInfo, RunEvent, RunInfo, RunResult, TestError, TestInfo, TestResult,
};
use crate::ident::TestId;
use crate::secret::Scrub;

impl RunEvent {
    /// Takes out what must not be read. Names of files are our own and stay.
    pub(super) fn scrub(&mut self, scrub: &Scrub) {
        let Self { at: _, file: _, test, kind } = self;
        if let Some(TestId(id)) = test {
            scrub.clean(id);
        }
        match kind {
            // Settings, and files found before there was a page.
            EventKind::RunStarted(RunInfo { tool_version: _, cell: _, target: _, started_at: _, files: _ }) => {}
            EventKind::AttachState { stage: _, message } => scrub.clean(message),
            EventKind::PageAttached(PageInfo { url, title, user_agent, engine, device, app_version }) => {
                all([url, title, user_agent, engine, device], scrub);
                all(app_version, scrub);
            }
            EventKind::PageState { state: _, message } => scrub.clean(message),
            EventKind::FileStarted { tests } => {
                for TestInfo { id: TestId(id), path, mode: _ } in tests {
                    scrub.clean(id);
                    all(path, scrub);
                }
            }
            EventKind::TestStarted { path, attempt: _ } => all(path, scrub),
            EventKind::TestFinished(TestResult { path, state: _, duration_ms: _, errors, note, retries: _ }) => {
                all(path, scrub);
                errors.iter_mut().for_each(|one| error(one, scrub));
                all(note, scrub);
            }
            EventKind::Console { level, text, location } => {
                all([level, text], scrub);
                location.iter_mut().for_each(|location| place(location, scrub));
            }
            EventKind::Exception { origin: _, error: one } => error(one, scrub),
            EventKind::Transport { records } => records.iter_mut().for_each(|one| record(one, scrub)),
            EventKind::Capture { category, payload } => {
                scrub.clean(category);
                scrub.clean_value(payload);
            }
            // What a picture shows cannot be taken out of it.
            EventKind::Screenshot { png: _, bytes: _ } => {}
            EventKind::Notice { level: _, message } => scrub.clean(message),
            EventKind::PageLost { cause: _, message } => scrub.clean(message),
            EventKind::FileFinished(FileResult { duration_ms: _, counts: _, errors, not_run }) => {
                errors.iter_mut().for_each(|one| error(one, scrub));
                all(not_run, scrub);
            }
            EventKind::RunFinished(result) => outcome(result, scrub),
        }
    }
}

/// A preview may end within what is known only as a whole: that of a payload which has changed is made of it again.
fn record(record: &mut Value, scrub: &Scrub) {
    let mut payload = record.get_mut("payload").map(Value::take);
    if let Some(Value::String(text)) = &mut payload
        && let Cow::Owned(clean) = scrub.text(text)
    {
        *text = clean;
        if let Some(Value::String(preview)) = record.get_mut("payloadPreview") {
            *preview = text.chars().take(preview.chars().count()).collect();
        }
    }
    scrub.clean_value(record);
    if let Some(mut payload) = payload {
        if !payload.is_string() {
            scrub.clean_value(&mut payload);
        }
        record["payload"] = payload;
    }
}

fn all<'a>(texts: impl IntoIterator<Item = &'a mut String>, scrub: &Scrub) {
    texts.into_iter().for_each(|text| scrub.clean(text));
}

fn outcome(result: &mut RunResult, scrub: &Scrub) {
    let RunResult {
        counts: _,
        files_passed: _,
        files_failed: _,
        files_not_run: _,
        exceptions: _,
        duration_ms: _,
        exit: _,
        reason,
    } = result;
    scrub.clean(reason);
}

fn error(error: &mut TestError, scrub: &Scrub) {
    let TestError { name, message, kind: _, code, diff, expected, actual, frames, code_frame, hook, cause } = error;
    all([name, message], scrub);
    all([code, diff, expected, actual, code_frame, hook].into_iter().flatten(), scrub);
    for Frame { function, location } in frames {
        scrub.clean(function);
        place(location, scrub);
    }
    if let Some(cause) = cause {
        self::error(cause, scrub);
    }
}

fn place(location: &mut Location, scrub: &Scrub) {
    let Location { file, line: _, column: _ } = location;
    scrub.clean(file);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::event::Counts;
    use crate::secret::Hidden;

    const CODE: &str = "271828";

    /// An event of every kind with the code in every text that a page can write into.
    fn kinds() -> Vec<Value> {
        let place = json!({ "file": CODE, "line": 1, "column": 1 });
        let frame = json!({ "function": CODE, "file": CODE, "line": 1, "column": 1 });
        let mut error = json!({
            "name": CODE, "message": CODE, "kind": "error", "code": CODE, "diff": CODE, "expected": CODE, "actual": CODE,
            "frames": [frame], "codeFrame": CODE, "hook": CODE,
        });
        error["cause"] = error.clone();
        let page = json!({ "url": CODE, "title": CODE, "userAgent": CODE, "engine": CODE, "device": CODE, "appVersion": CODE });
        let with = |kind: &str, mut fields: Value| {
            fields["type"] = kind.into();
            fields["at"] = 1.into();
            fields["test"] = CODE.into();
            fields
        };
        let result =
            json!({ "path": [CODE, CODE], "state": "failed", "durationMs": 1.0, "errors": [error], "note": CODE });
        let counts = serde_json::to_value(Counts::default()).unwrap();
        let over = json!({ "durationMs": 1.0, "counts": counts, "errors": [error], "notRun": CODE });
        let end = json!({
            "counts": counts, "filesPassed": 0, "filesFailed": 0, "filesNotRun": 0, "exceptions": 0, "durationMs": 1.0,
            "exit": "failed", "reason": CODE,
        });
        vec![
            with("attachState", json!({ "stage": "waiting", "message": CODE })),
            with("pageAttached", page),
            with("pageState", json!({ "state": "hidden", "message": CODE })),
            with("fileStarted", json!({ "tests": [{ "id": CODE, "path": [CODE], "mode": "run" }] })),
            with("testStarted", json!({ "path": [CODE], "attempt": 0 })),
            with("testFinished", result),
            with("console", json!({ "level": CODE, "text": CODE, "location": place })),
            with("exception", json!({ "origin": "error", "error": error })),
            with("transport", json!({ "records": [{ "a": [CODE], CODE: 1 }] })),
            with("capture", json!({ "category": CODE, "payload": { "a": CODE } })),
            with("notice", json!({ "level": "info", "message": CODE })),
            with("pageLost", json!({ "cause": "busy", "message": CODE })),
            with("fileFinished", over),
            with("runFinished", end),
        ]
    }

    #[test]
    fn every_text_of_every_kind_is_looked_at() {
        let scrub = Scrub::default();
        scrub.hide_code(&Hidden::new(CODE));
        for kind in kinds() {
            let mut event: RunEvent =
                serde_json::from_value(kind.clone()).unwrap_or_else(|error| panic!("{error}: {kind}"));
            let before = serde_json::to_string(&event).unwrap();
            event.scrub(&scrub);
            let after = serde_json::to_string(&event).unwrap();
            assert!(before.contains(CODE) && !after.contains(CODE), "{after}");
            assert_eq!(after.matches("***").count(), before.matches(CODE).count(), "nothing else is touched: {after}");
        }
    }

    #[test]
    fn a_preview_does_not_end_within_an_address() {
        let scrub = Scrub::default();
        let payload = format!("{}https://four-random-words-here.trycloudflare.com/ and more", "x".repeat(60));
        let preview: String = payload.chars().take(100).collect();
        assert!(preview.ends_with(".try") || preview.contains("four-random"));
        let record = json!({ "kind": "message", "payload": payload, "payloadPreview": preview, "metadata": {} });
        let kind = EventKind::Transport { records: vec![record] };
        let mut event = RunEvent { at: 0, file: None, test: None, kind };
        event.scrub(&scrub);
        let text = serde_json::to_string(&event).unwrap();
        assert!(!text.contains("four-random"), "{text}");
        assert!(text.contains("\"metadata\":{}") && text.contains("and more"), "{text}");
    }
}
