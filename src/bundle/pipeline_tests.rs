//! Bundling ahead, in the order in which files are asked for.
#![allow(clippy::unwrap_used)]

use super::super::discover::discover;
use super::*;

fn project(sources: &[&str]) -> (tempfile::TempDir, Vec<TestFile>, BundleOptions) {
    let dir = tempfile::tempdir().unwrap();
    for (index, source) in sources.iter().enumerate() {
        fs_err::write(dir.path().join(format!("{index:03}.ait.test.ts")), source).unwrap();
    }
    let root = Utf8PathBuf::from_path_buf(dir.path().into()).unwrap();
    let files = discover(&root, &root, &[".".into()], false).unwrap().files;
    let defaults = Options::new("");
    let options = BundleOptions { root, sdk_packages: defaults.sdk_packages, target: defaults.target, jobs: 2 };
    (dir, files, options)
}

#[tokio::test]
async fn bundles_come_in_the_order_in_which_they_are_asked_for() {
    let sources: Vec<_> = (0..40).map(|index| format!("globalThis.number = {index};")).collect();
    let (_dir, files, options) = project(&sources.iter().map(String::as_str).collect::<Vec<_>>());
    let mut pipeline = Pipeline::start(&files, options);
    for index in [0, 1, 2, 7, 20, 39] {
        let bundle = pipeline.get(index).await.unwrap();
        assert!(bundle.function.contains(&format!("number = {index};")), "{}", bundle.function);
    }
    let again = pipeline.get(3).await.unwrap_err();
    assert!(again[0].message.contains("already given"), "{again:?}");
}

#[tokio::test]
async fn what_is_wrong_is_shown_in_the_source() {
    let bad = "import { it } from 'vitest';\n\nimport fs from 'node:fs';\nit('한글', () => fs.readFileSync('x'));\n";
    let (_dir, files, options) = project(&[bad, "export {};"]);
    let mut pipeline = Pipeline::start(&files, options);
    let errors = pipeline.get(0).await.unwrap_err();
    let [error] = errors.as_slice() else { panic!("{errors:?}") };
    assert_eq!(error.name, "BundleError");
    assert_eq!(error.message, "'node:fs' is a module of Node and cannot run in a page.");
    let at = &error.frames[0].location;
    assert_eq!((at.file.as_str(), at.line, at.column), ("000.ait.test.ts", 3, 16));
    insta::assert_snapshot!(error.code_frame.as_deref().unwrap());
    assert!(pipeline.get(1).await.is_ok());
}

#[tokio::test]
async fn warnings_say_where() {
    let (_dir, files, options) = project(&["export const f = () => import('not-installed');"]);
    let bundle = Pipeline::start(&files, options).get(0).await.unwrap();
    let warnings = Pipeline::warnings(&bundle);
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(warning.starts_with("000.ait.test.ts:1:31: Could not resolve 'not-installed'"), "{warning}");
}

#[tokio::test]
async fn a_dropped_request_loses_nothing_and_async_code_may_drop_the_pipeline() {
    let (_dir, files, options) = project(&["globalThis.a = 1;"]);
    let mut pipeline = Pipeline::start(&files, options);
    drop(pipeline.get(0));
    assert!(pipeline.get(0).await.is_ok());
    drop(pipeline);
}
