//! Every folder of `fixtures/cases` is a test; see `support::case`.
#![forbid(unsafe_code)]

use std::path::Path;

fn case(file: &Path) -> datatest_stable::Result<()> {
    let folder = support::repo().join(file.parent().ok_or("case.toml lies in a folder")?);
    support::case::run(env!("CARGO_BIN_EXE_devtools-test"), &folder).map_err(Into::into)
}

datatest_stable::harness! {
    { test = case, root = "fixtures/cases", pattern = r"/case\.toml$" },
}
