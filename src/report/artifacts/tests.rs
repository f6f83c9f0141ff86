#![allow(clippy::unwrap_used)]

use std::path::Path;

use serde_json::{Value, json};

use crate::event::{EventKind, FileResult, RunEvent, TestMode, UncaughtOrigin};
use crate::exit::Exit;
use crate::report::testing::{Script, assertion, capture, error, failed, info, passed, play, sample, skipped};
use crate::report::{Artifacts, ReportFolder};

fn write(dir: &Path, events: &[RunEvent]) {
    let folder = ReportFolder::prepare(dir.to_path_buf()).unwrap();
    play(&mut Artifacts::new(folder), events).unwrap();
}

fn read(dir: &Path, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(dir.join(name)).unwrap()).unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let entries =
        std::fs::read_dir(dir).map(|dir| dir.map(|e| e.unwrap().file_name().into_string().unwrap()).collect());
    let mut names: Vec<String> = entries.unwrap_or_default();
    names.sort();
    names
}

#[test]
fn the_whole_shape() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &sample());
    let text = std::fs::read_to_string(dir.path().join("2.x.mock.json")).unwrap();
    insta::assert_snapshot!(text);
    assert_eq!(names(dir.path()), [".ait-capture", "2.x.mock.json"]);
    assert_eq!(read(dir.path(), ".ait-capture/clipboard.2.x.mock.json"), json!([{ "api": "read" }]));
}

#[test]
fn manual_files_have_an_artifact_and_totals_of_their_own() {
    let (plain, manual) = ("a.ait.test.ts", "b.manual.ait.test.ts");
    let events = Script::new(&[plain, manual])
        .file(plain, &["one", "two"])
        .test(plain, "one", passed())
        .test(plain, "two", passed())
        .in_file(plain, capture("c", json!(1)))
        .file_end(plain, FileResult { duration_ms: 5.0, ..FileResult::default() })
        .file(manual, &["three"])
        .test(manual, "three", failed(assertion()))
        .in_file(manual, capture("c", json!([2])))
        .in_file(manual, EventKind::Exception { origin: UncaughtOrigin::Error, error: error("outside") })
        .file_end(manual, FileResult { duration_ms: 7.0, ..FileResult::default() })
        .end(Exit::Failed, "1 test failed");
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &events);
    let (plain, manual) = (read(dir.path(), "2.x.mock.json"), read(dir.path(), "2.x.mock.manual.json"));
    assert_eq!((&plain["totals"]["passed"], &plain["totals"]["total"]), (&json!(2), &json!(2)));
    assert_eq!((&manual["totals"]["failed"], &manual["totals"]["total"]), (&json!(1), &json!(1)));
    assert_eq!((&plain["duration"], &manual["duration"]), (&json!(5.0), &json!(7.0)));
    assert_eq!((&plain["files"][0]["mode"], &manual["files"][0]["mode"]), (&Value::Null, &json!("manual")));
    assert_eq!((&plain["exceptions"], &manual["exceptions"][0]["origin"]), (&json!([]), &json!("error")));
    assert_eq!(read(dir.path(), ".ait-capture/c.2.x.mock.json"), json!([1]));
    assert_eq!(read(dir.path(), ".ait-capture/c.2.x.mock.manual.json"), json!([2]));
}

#[test]
fn nothing_of_the_cells_earlier_run_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let run = |files: &[&str], category: &str| {
        let mut script = Script::new(files);
        for file in files {
            script = script.in_file(file, capture(category, json!(1))).file_end(file, FileResult::default());
        }
        write(dir.path(), &script.end(Exit::Passed, ""));
    };
    run(&["a.ait.test.ts", "b.manual.ait.test.ts"], "old");
    std::fs::write(dir.path().join(".ait-capture/old.rc.2.x.mock.json"), "[]").unwrap();
    run(&["a.ait.test.ts"], "new");
    assert_eq!(names(dir.path()), [".ait-capture", "2.x.mock.json"]);
    let captures = names(&dir.path().join(".ait-capture"));
    assert_eq!(captures, ["new.2.x.mock.json", "old.rc.2.x.mock.json"], "another cell's file stays");
}

#[test]
fn an_edited_list_of_captures_removes_nothing_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("precious.json"), "{}").unwrap();
    let list = json!({ "captures": [{ "category": "x", "file": "../precious.json" }] });
    std::fs::write(dir.path().join("2.x.mock.json"), list.to_string()).unwrap();
    write(dir.path(), &Script::new(&[]).end(Exit::NothingRan, "no test ran"));
    assert_eq!(names(dir.path()), ["2.x.mock.json", "precious.json"]);
    assert_eq!(read(dir.path(), "2.x.mock.json")["exit"], json!("nothingRan"));
}

#[test]
fn a_run_that_was_cut_off_says_what_was_finished() {
    let a = "a.ait.test.ts";
    let tests = vec![info(a, "one", TestMode::Run), info(a, "two", TestMode::Run), info(a, "x", TestMode::Filtered)];
    let events = Script::new(&[a])
        .in_file(a, EventKind::FileStarted { tests })
        .test(a, "one", skipped("why"))
        .start(a, "two")
        .events();
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &events);
    let artifact = read(dir.path(), "2.x.mock.json");
    assert_eq!((&artifact["exit"], &artifact["reason"]), (&Value::Null, &json!("the run was cut off")));
    let tests = artifact["files"][0]["tests"].as_array().unwrap();
    let statuses: Vec<_> = tests.iter().map(|test| test["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["skip", "notRun"]);
    assert_eq!((&tests[0]["note"], &artifact["totals"]["total"]), (&json!("why"), &json!(1)));
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let folder = ReportFolder::prepare(dir.path().to_path_buf()).unwrap();
    // A folder stands where the file has to go.
    std::fs::create_dir_all(dir.path().join("2.x.mock.json/x")).unwrap();
    let message = play(&mut Artifacts::new(folder), &sample()).unwrap_err().to_string();
    assert!(message.starts_with("cannot write the report "), "{message}");
}
