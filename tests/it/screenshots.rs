//! Pictures of the page when a test fails, in the report folder.

use std::path::Path;

use serde_json::Value;
use support::tool::Outcome;

use crate::tool;

/// Each test paints the page and fails, but for two; what comes after a test paints it white again.
const PAINTS: &str = "import { afterEach, expect, it, vi } from 'vitest';
const paint = (colour) => { document.documentElement.style.background = colour; };
afterEach(() => { vi.useRealTimers(); paint('white'); });
it('red', () => { paint('rgb(255, 0, 0)'); expect(1).toBe(2); });
it('holds', () => { paint('black'); });
it.fails('is meant to fail', () => { expect(1).toBe(2); });
it('blue', async () => { vi.useFakeTimers(); paint('rgb(0, 0, 255)'); throw new Error('no'); });
it('passes in the end', { retry: 1 }, ({ task }) => { expect(task.result.retryCount).toBe(1); });
";

fn run(project: &Path, more: &[&str]) -> Outcome {
    tool(project).args(["--target", "chrome", "--report-dir", "report"]).args(more).run()
}

/// The tests of the artifact.
fn tests(project: &Path) -> Vec<Value> {
    let artifact = fs_err::read(project.join("report/2.x.mock.json")).unwrap();
    let artifact: Value = serde_json::from_slice(&artifact).unwrap();
    artifact["files"][0]["tests"].as_array().unwrap().clone()
}

/// The colour in the middle of a picture.
fn colour(file: &Path) -> [u8; 3] {
    let mut reader = png::Decoder::new(std::io::BufReader::new(fs_err::File::open(file).unwrap())).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let size = info.line_size / info.width as usize;
    let middle = info.line_size * (info.height as usize / 2) + size * (info.width as usize / 2);
    pixels[middle..middle + 3].try_into().unwrap()
}

fn pictures(project: &Path) -> usize {
    fs_err::read_dir(project.join("report/screenshots")).map_or(0, Iterator::count)
}

#[test]
fn a_failed_test_is_pictured_as_it_was_before_its_hooks_and_the_next_test() {
    let project = tempfile::tempdir().unwrap();
    fs_err::write(project.path().join("a.ait.test.ts"), PAINTS).unwrap();
    run(project.path(), &[]).expect_code(1);
    let found = tests(project.path());
    for (test, wanted) in [(0, Some([255, 0, 0])), (1, None), (2, None), (3, Some([0, 0, 255])), (4, None)] {
        let file = found[test]["screenshot"].as_str();
        assert_eq!(file.map(|file| colour(&project.path().join("report").join(file))), wanted, "{found:#?}");
    }
    assert_eq!(pictures(project.path()), 2);

    // Without them everything else is the same, and those of the run before are gone.
    run(project.path(), &["--no-screenshot-failures"]).expect_code(1);
    let without = tests(project.path());
    assert_eq!(pictures(project.path()), 0);
    for (with, without) in found.iter().zip(&without) {
        assert_eq!((&with["name"], &with["status"]), (&without["name"], &without["status"]));
        // Time that a test waited is not its own; a picture takes longer than any of these tests.
        assert!(with["duration"].as_f64().unwrap() < 50.0, "{with}");
        assert_eq!(without.get("screenshot"), None);
    }
}

#[test]
fn a_run_in_which_all_fails_is_pictured_only_so_often_and_within_the_limit_of_its_file() {
    let project = tempfile::tempdir().unwrap();
    let text = "import { it } from 'vitest';\nfor (let n = 0; n < 60; n++) it(`fails ${n}`, () => { throw new Error('no'); });";
    fs_err::write(project.path().join("a.ait.test.ts"), text).unwrap();
    let outcome = run(project.path(), &["--timeout", "5s"]);
    outcome.expect_code(1);
    assert_eq!(pictures(project.path()), 20, "{}", outcome.transcript());
    assert!(tests(project.path()).iter().all(|test| test["status"] == "fail"));
}
