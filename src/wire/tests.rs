//! Holds this side of the wire against `test-runner/src/wire.ts`: the sample is type-checked there, and here it must
//! equal values that are spelled out field by field.
#![allow(clippy::unwrap_used)]

use serde_json::Value;

use super::*;

const TYPES: &str = include_str!("../../test-runner/src/wire.ts");
const SAMPLES: &str = include_str!("../../test-runner/tests/wire-samples.ts");

fn samples() -> Value {
    let json = SAMPLES.split_once("/* <json> */").unwrap().1.split_once("/* </json> */").unwrap().0;
    serde_json::from_str(json).unwrap()
}

/// Reads the sample as `T` and expects it to be `value`; writes `value` and expects the sample.
fn same<T>(sample: &Value, value: T)
where
    T: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    assert_eq!(serde_json::from_value::<T>(sample.clone()).unwrap(), value);
    assert_eq!(&serde_json::to_value(&value).unwrap(), sample);
}

fn error(name: &str, kind: ErrorKind) -> PageError {
    PageError { name: name.into(), message: "m".into(), kind, ..PageError::default() }
}

fn collected(path: &[&str], mode: TestMode) -> CollectedTest {
    CollectedTest { path: path.iter().map(ToString::to_string).collect(), mode }
}

fn test_end(test: u32, state: TestState, kind: ErrorKind) -> PageEvent {
    let errors = vec![error("E", kind)];
    PageEvent::TestEnd { run: 1, test, state, ms: 1.5, errors, note: Some("n".into()), retries: 1 }
}

fn uncaught(origin: UncaughtOrigin) -> PageEvent {
    PageEvent::Uncaught { run: Some(1), test: Some(0), origin, error: error("E", ErrorKind::Error) }
}

#[test]
fn a_batch_reads_and_writes_as_in_the_page() {
    let suite = vec!["suite".to_string()];
    let events = vec![
        PageEvent::Collected {
            run: 1,
            only: true,
            tests: vec![
                collected(&["suite", "runs"], TestMode::Run),
                collected(&["skipped"], TestMode::Skip),
                collected(&["left out"], TestMode::Filtered),
                collected(&["planned"], TestMode::Todo),
            ],
        },
        PageEvent::TestStart { run: 1, test: 0, attempt: 1, limit: 5000 },
        PageEvent::TestFailing { run: 1, test: 0 },
        test_end(0, TestState::Failed, ErrorKind::Error),
        test_end(1, TestState::Passed, ErrorKind::Timeout),
        test_end(2, TestState::Skipped, ErrorKind::Unsupported),
        test_end(3, TestState::Todo, ErrorKind::Assertion),
        PageEvent::Phase { run: 1, phase: "beforeAll".into(), suite: suite.clone() },
        PageEvent::SuiteError { run: 1, suite, error: error("E", ErrorKind::Error) },
        uncaught(UncaughtOrigin::Error),
        uncaught(UncaughtOrigin::Rejection),
        uncaught(UncaughtOrigin::Unawaited),
        PageEvent::Notice { run: Some(1), message: "m".into() },
        PageEvent::FileEnd { run: 1, ms: 2.5, load_error: Some(error("E", ErrorKind::Error)) },
    ];
    same(&samples()["batch"], Batch { doc: "d1".into(), seq: 7, events });
}

#[test]
fn a_batch_reads_from_text() {
    let events = vec![
        PageEvent::TestStart { run: 4_294_967_295, test: 0, attempt: 1, limit: 9_007_199_254_740_991 },
        PageEvent::FileEnd { run: 1, ms: 12.300_000_000_745_058, load_error: None },
        PageEvent::FileEnd { run: 1, ms: 0.0, load_error: None },
        PageEvent::FileEnd { run: 1, ms: 0.000_000_5, load_error: None },
    ];
    let text = r#"{"doc":"d","seq":0,"events":[
        {"type":"testStart","run":4294967295,"test":0,"attempt":1,"limit":9007199254740991},
        {"type":"fileEnd","run":1,"ms":12.300000000745058},
        {"type":"fileEnd","run":1,"ms":0},
        {"type":"fileEnd","run":1,"ms":5e-7}
    ]}"#;
    assert_eq!(Batch::parse(text).unwrap(), Batch { doc: "d".into(), seq: 0, events });
}

#[test]
fn tests_and_errors_read_and_write_as_in_the_page() {
    same(&samples()["test"], collected(&["suite", "runs"], TestMode::Run));
    let frame = PageFrame { function: "f".into(), url: "ait-test://bundle/1/a".into(), line: 3, column: 4 };
    same(
        &samples()["error"],
        PageError {
            name: "AssertionError".into(),
            message: "m".into(),
            kind: ErrorKind::Assertion,
            code: Some("C".into()),
            diff: Some("- 1\n+ 2".into()),
            expected: Some("1".into()),
            actual: Some("2".into()),
            frames: vec![frame],
            hook: Some("beforeEach".into()),
            cause: Some(Box::new(error("E", ErrorKind::Error))),
        },
    );
}

#[test]
fn request_and_info_read_and_write_as_in_the_page() {
    same(
        &samples()["request"],
        RunRequest {
            run: 1,
            file: "a.ait.test.ts".into(),
            test_timeout: 5000,
            hook_timeout: 10_000,
            name_pattern: Some("^a".into()),
            allow_only: true,
            skip: vec![0, 2],
            hold_failing: true,
        },
    );
    same(
        &samples()["info"],
        RuntimeInfo {
            version: "0.1.0".into(),
            doc: "d1".into(),
            seq: 7,
            user_agent: "u".into(),
            url: "http://127.0.0.1/".into(),
            title: "t".into(),
        },
    );
}

#[test]
fn what_is_recorded_reads_and_writes_as_in_the_page() {
    let piece = &samples()["piece"];
    let text = piece["text"].as_str().unwrap();
    assert_eq!(
        TransportPiece::parse(piece["sent"].as_str().unwrap()),
        Some(TransportPiece { doc: "d1", seq: 3, text })
    );
    for other in ["", "d1 3", "d1\n", "d1 x\n", "{\"doc\":\"d1\"}"] {
        assert_eq!(TransportPiece::parse(other), None, "{other}");
    }
    same(&samples()["capture"], CaptureInfo { from: 1.5, before_content: true });
}

#[test]
fn names_are_the_same_on_both_sides() {
    for (constant, value) in [
        ("BINDING", BINDING),
        ("TRANSPORT_BINDING", TRANSPORT_BINDING),
        ("RUNTIME_GLOBAL", RUNTIME_GLOBAL),
        ("CAPTURE_PREFIX", CAPTURE_PREFIX),
    ] {
        assert!(TYPES.contains(&format!("export const {constant} = '{value}';")), "{constant}");
    }
}
