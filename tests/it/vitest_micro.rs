//! Vitest's own verdicts on the files of `fixtures/vitest-micro`, held against ours.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::tool;

/// What Vitest said of a file.
#[derive(Deserialize)]
struct Expected {
    success: bool,
    tests: Vec<ExpectedTest>,
}

#[derive(Deserialize)]
struct ExpectedTest {
    path: Vec<String>,
    state: String,
}

/// Where we differ.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deviation {
    reason: String,
    /// States of the tests, in order.
    states: Vec<String>,
    /// Whether the file fails.
    fails: bool,
}

/// A file as the artifact has it: whether it failed, and the titles and states of its tests.
#[derive(Debug, PartialEq, Eq)]
struct Verdict {
    fails: bool,
    tests: Vec<(String, String)>,
}

impl Verdict {
    fn of_vitest(expected: &Expected) -> Self {
        let tests = expected.tests.iter().map(|test| (test.path.join(" > "), test.state.clone())).collect();
        Self { fails: !expected.success, tests }
    }

    fn of_artifact(file: &Value) -> Self {
        let tests: Vec<_> = file["tests"].as_array().unwrap().iter().map(title_and_state).collect();
        let fails = file.get("error").is_some() || file["failed"] != 0;
        Self { fails, tests }
    }
}

fn title_and_state(test: &Value) -> (String, String) {
    let state = match test["status"].as_str().unwrap() {
        "pass" => "passed",
        "fail" => "failed",
        "skip" => "skipped",
        other => other,
    };
    (test["name"].as_str().unwrap().to_owned(), state.to_owned())
}

#[test]
fn verdicts_are_those_of_vitest() {
    let folder = support::fixtures().join("vitest-micro");
    let read = |name: &str| fs_err::read_to_string(folder.join(name)).unwrap();
    let expected: BTreeMap<String, Expected> = serde_json::from_str(&read("expected.json")).unwrap();
    let mut deviations: BTreeMap<String, Deviation> = toml::from_str(&read("deviations.toml")).unwrap();

    let files = expected.keys().map(|name| format!("{name}.ait.test.ts"));
    let tool = tool(&folder).args(files).args(["--target", "chrome"]);
    let report = tool.report_dir();
    let outcome = tool.args(["--report-dir".as_ref(), report.as_os_str()]).run();
    outcome.expect_code(1);
    let artifact = outcome.artifact();

    let mut faults = Vec::new();
    let mut seen = 0;
    for file in artifact["files"].as_array().unwrap() {
        let path = file["file"].as_str().unwrap();
        let name = path.rsplit('/').next().unwrap().trim_end_matches(".ait.test.ts");
        let (ours, vitests) = (Verdict::of_artifact(file), Verdict::of_vitest(&expected[name]));
        seen += 1;
        match deviations.remove(name) {
            None if ours != vitests => faults.push(format!("{name}\n  Vitest {vitests:?}\n  ours   {ours:?}")),
            Some(deviation) if ours == vitests => {
                faults.push(format!("{name} differs no longer ({}): take it out", deviation.reason));
            }
            Some(deviation) => {
                let states: Vec<&String> = ours.tests.iter().map(|(_, state)| state).collect();
                if states != deviation.states.iter().collect::<Vec<_>>() || ours.fails != deviation.fails {
                    faults.push(format!("{name} differs in another way than written down: {ours:?}"));
                }
            }
            None => {}
        }
    }
    assert_eq!(seen, expected.len(), "every file has a verdict");
    faults.extend(deviations.keys().map(|name| format!("{name} is no file with a verdict")));
    assert!(faults.is_empty(), "{}\n{}", faults.join("\n"), outcome.transcript());
}
