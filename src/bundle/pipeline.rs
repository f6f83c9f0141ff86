//! Bundles ahead of the run.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use bundler::{Bundle, BundleResult, Bundler, Diagnostic, Job, Options};
use camino::Utf8PathBuf;

use super::discover::TestFile;
use super::maps::SourceMaps;
use crate::event::{Frame, Location, TestError};

/// How test files are bundled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleOptions {
    /// The project (absolute); positions are relative to it.
    pub root: Utf8PathBuf,
    /// Packages whose imports are served from `window.__sdk`, sub-paths included.
    pub sdk_packages: Vec<String>,
    /// Language level of what is sent to the page, in esbuild's words (`es2022`, `safari16`).
    pub target: Vec<String>,
    /// Files bundled at the same time.
    pub jobs: usize,
}

/// Bundles that are made while earlier files run. Dropping it gives up what is under way.
#[derive(Debug)]
pub struct Pipeline {
    root: Utf8PathBuf,
    /// The threads and what they make; or why there are none.
    work: Result<(Bundler, Job), String>,
    /// Bundles that came before they were asked for.
    early: HashMap<usize, BundleResult>,
}

impl Pipeline {
    /// Starts to bundle at once, the first file first, on threads of its own. It goes ahead by a bounded number of files.
    pub fn start(files: &[TestFile], options: BundleOptions) -> Self {
        let root = options.root.clone();
        let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone().into_std_path_buf()).collect();
        let bundler = Bundler::new(Options {
            root: options.root.into_std_path_buf(),
            sdk_packages: options.sdk_packages,
            target: options.target,
            jobs: options.jobs,
        });
        let work = bundler.map_err(|error| error.to_string()).map(|bundler| {
            let job = bundler.start(paths);
            (bundler, job)
        });
        Self { root, work, early: HashMap::new() }
    }

    /// The bundle of the file with this index in the list given to [`Pipeline::start`]. Each can be had once; ask in
    /// rising order (files may be left out). Dropping the future loses nothing.
    ///
    /// # Errors
    /// Everything that is wrong with the file, each with its place and a code frame where it has one.
    pub async fn get(&mut self, index: usize) -> Result<Arc<Bundle>, Vec<TestError>> {
        let result = match &mut self.work {
            Ok((_, job)) => next(job, &mut self.early, index).await,
            Err(reason) => Err(vec![stopped(reason)]),
        };
        match result {
            Ok(bundle) => Ok(Arc::new(bundle)),
            Err(found) => Err(found.into_iter().map(|one| self.error(one)).collect()),
        }
    }

    /// What is odd about a bundle, one sentence each with its place.
    pub fn warnings(bundle: &Bundle) -> Vec<String> {
        let sentence = |warning: &Diagnostic| match &warning.place {
            Some(place) => format!("{}:{}:{}: {}", place.file, place.line, place.column, warning.message),
            None => warning.message.clone(),
        };
        bundle.warnings.iter().map(sentence).collect()
    }

    fn error(&self, diagnostic: Diagnostic) -> TestError {
        let location = diagnostic.place.map(|p| Location { file: p.file, line: p.line, column: p.column });
        let code_frame = location.as_ref().and_then(|at| SourceMaps::new(self.root.clone()).code_frame(at));
        let frames = location.into_iter().map(|location| Frame { function: String::new(), location }).collect();
        TestError { name: "BundleError".into(), message: diagnostic.message, frames, code_frame, ..Default::default() }
    }
}

/// Takes results until the one that is wanted; those of later files wait in `early`.
async fn next(job: &mut Job, early: &mut HashMap<usize, BundleResult>, index: usize) -> BundleResult {
    early.retain(|earlier, _| *earlier >= index);
    loop {
        if let Some(result) = early.remove(&index) {
            return result;
        }
        match job.results.recv().await {
            Some((ready, result)) => early.insert(ready, result),
            None => return Err(vec![stopped("it was asked for a file that it has already given")]),
        };
    }
}

fn stopped(reason: &str) -> Diagnostic {
    Diagnostic { message: format!("The bundler is not running: {reason}."), place: None }
}

#[cfg(test)]
#[path = "pipeline_tests.rs"]
mod tests;
