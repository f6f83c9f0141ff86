//! A project in a temporary folder, and node to run what is bundled from it.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use bundler::{Bundle, BundleResult, Bundler, Diagnostic, Options};

/// Where the test file of a project lies unless it says otherwise.
pub(crate) const TEST: &str = "src/a.ait.test.ts";

pub(crate) struct Project {
    dir: tempfile::TempDir,
    test: String,
}

impl Project {
    /// A project whose test file holds `source`.
    pub(crate) fn new(source: &str) -> Self {
        Self::with_test(TEST, source)
    }

    pub(crate) fn with_test(test: &str, source: &str) -> Self {
        let project = Self { dir: tempfile::tempdir().unwrap(), test: test.to_string() };
        project.file(test, source)
    }

    /// One more file.
    pub(crate) fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn options(&self) -> Options {
        Options::new(self.dir.path())
    }

    pub(crate) fn bundle(&self) -> BundleResult {
        Bundler::new(self.options()).unwrap().bundle(&self.path(&self.test))
    }

    /// The bundle, which must come about.
    pub(crate) fn good(&self) -> Bundle {
        self.bundle().unwrap()
    }

    /// The errors, of which there must be some.
    pub(crate) fn errors(&self) -> Vec<Diagnostic> {
        self.bundle().unwrap_err()
    }

    /// Bundles, runs in a page without an SDK, and gives back what the file passed to `it(value)` as JSON, call by call.
    pub(crate) fn run(&self) -> serde_json::Value {
        self.run_in("")
    }

    /// As [`Project::run`], after `page` ran.
    pub(crate) fn run_in(&self, page: &str) -> serde_json::Value {
        run(&self.good(), page)
    }
}

/// Runs a bundle in node after `page`; what the file gave to `it` comes back in an array, and a throw as `"Error: ..."`.
pub(crate) fn run(bundle: &Bundle, page: &str) -> serde_json::Value {
    let script = format!(
        "const seen = [];
        const vitest = {{ it: (value) => {{ seen.push(value); }}, expect: () => 'expect', describe: (_t, f) => f(), vi: {{}} }};
        globalThis.__ait = {{ vitest }};
        {page};
        const file = {};
        file().catch((error) => seen.push(String(error))).then(() => process.stdout.write(JSON.stringify(seen)));",
        bundle.function
    );
    let mut node = Command::new("node")
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("node runs: scripts/setup installs it");
    node.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}\n{}", bundle.function);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The place of the only error as `file:line:column`, and its message.
pub(crate) fn only(errors: &[Diagnostic]) -> (String, String) {
    let [error] = errors else { panic!("one error, not {errors:#?}") };
    let place = error.place.as_ref().map(|p| format!("{}:{}:{}", p.file, p.line, p.column)).unwrap_or_default();
    (place, error.message.clone())
}
