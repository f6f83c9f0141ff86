//! From what the page says of an error to the user's sources.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bundler::Bundle;
use camino::Utf8PathBuf;

use super::frame;
use crate::event::{Frame, Location, TestError};
use crate::ident::FileId;
use crate::wire::{PageError, PageFrame};

/// What the URL of every script made of a test file begins with.
const TEST_SCRIPT: &str = "ait-test://bundle/";

/// Schemes of the tool's other scripts, whose frames nobody wants to see.
const OWN_SCRIPTS: [&str; 3] = ["ait-runtime:", "ait-agent:", "ait-interceptors:"];

/// Scripts whose maps are kept. An error may come late, from a timer of an earlier file, but rarely from this far
/// back; and the maps of a long run of large files would fill the memory.
const KEPT: usize = 32;

/// Knows which script came from which file, and draws code frames.
#[derive(Debug)]
pub struct SourceMaps {
    root: Utf8PathBuf,
    next: AtomicU64,
    /// Newest last.
    scripts: Mutex<VecDeque<(String, Arc<Bundle>)>>,
}

impl SourceMaps {
    /// For the project in `root` (absolute), which mapped files are relative to.
    pub fn new(root: impl Into<Utf8PathBuf>) -> Self {
        Self { root: root.into(), next: AtomicU64::new(0), scripts: Mutex::default() }
    }

    /// The URL under which this bundle is now sent to a page (`//# sourceURL=`); each call gives another. The script
    /// must have [`Bundle::function`] begin on its first line.
    pub fn register(&self, file: &FileId, bundle: &Arc<Bundle>) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let url = format!("{TEST_SCRIPT}{number}/{}", percent_encode(&file.0));
        let mut scripts = self.scripts();
        if scripts.len() == KEPT {
            scripts.pop_front();
        }
        scripts.push_back((url.clone(), bundle.clone()));
        url
    }

    /// An error of a page with its positions in the user's sources, and the lines around the first frame in the user's
    /// own code (not in `node_modules`).
    pub fn map_error(&self, error: &PageError) -> TestError {
        let mut code_frame = None;
        let mut frames = Vec::new();
        for page_frame in &error.frames {
            let Some((frame, own)) = self.map(page_frame) else { continue };
            if own && code_frame.is_none() {
                code_frame = self.code_frame(&frame.location);
            }
            frames.push(frame);
        }
        TestError {
            name: error.name.clone(),
            message: error.message.clone(),
            kind: error.kind,
            code: error.code.clone(),
            diff: error.diff.clone(),
            expected: error.expected.clone(),
            actual: error.actual.clone(),
            frames,
            code_frame,
            hook: error.hook.clone(),
            cause: error.cause.as_ref().map(|cause| Box::new(self.map_error(cause))),
        }
    }

    /// A frame in the user's sources. Frames of unknown scripts stay as they are; `None` for frames of the tool's own
    /// code and for those without a script.
    pub fn map_frame(&self, frame: &PageFrame) -> Option<Frame> {
        self.map(frame).map(|(frame, _)| frame)
    }

    /// The lines around a place in the project, drawn without colours.
    pub fn code_frame(&self, at: &Location) -> Option<String> {
        frame::draw(at, &fs_err::read_to_string(self.root.join(&at.file)).ok()?)
    }

    /// The mapped frame, and whether it lies in the user's own code.
    fn map(&self, frame: &PageFrame) -> Option<(Frame, bool)> {
        if frame.url.is_empty() || OWN_SCRIPTS.iter().any(|scheme| frame.url.starts_with(scheme)) {
            return None;
        }
        // V8 calls a function without a name `eval` where the script was handed to `eval`.
        let function = if frame.function == "eval" { String::new() } else { frame.function.clone() };
        let Some(bundle) = self.bundle(&frame.url) else {
            let location = Location { file: frame.url.clone(), line: frame.line, column: frame.column };
            return Some((Frame { function, location }, false));
        };
        let place = bundle.position(frame.line, frame.column)?;
        let own = !place.file.split('/').any(|part| part == "node_modules");
        let location = Location { file: place.file, line: place.line, column: place.column };
        Some((Frame { function, location }, own))
    }

    fn bundle(&self, url: &str) -> Option<Arc<Bundle>> {
        if !url.starts_with(TEST_SCRIPT) {
            return None;
        }
        self.scripts().iter().rev().find(|(known, _)| known == url).map(|(_, bundle)| bundle.clone())
    }

    fn scripts(&self) -> MutexGuard<'_, VecDeque<(String, Arc<Bundle>)>> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps what may stand in a `sourceURL` comment and in a stack line of either engine; the rest as `%XX`.
fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
#[path = "maps_tests.rs"]
mod tests;
