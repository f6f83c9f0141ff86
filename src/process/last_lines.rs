//! The last lines of a program's stderr: kept for the message of a failed start, judged by nobody.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Lines kept: a crash report's head is above, its cause is in the last few.
const LINES: usize = 15;
/// Characters kept of each.
const LINE_LENGTH: usize = 300;

/// Kept lines; clones share them.
#[derive(Clone, Debug, Default)]
pub struct LastLines(Arc<Mutex<VecDeque<String>>>);

impl LastLines {
    /// Reads until the other end closes.
    pub async fn read(self, from: impl AsyncRead + Unpin) {
        let mut lines = BufReader::new(from).split(b'\n');
        while let Ok(Some(line)) = lines.next_segment().await {
            let line = String::from_utf8_lossy(&line);
            let line: String = line.trim_end().chars().take(LINE_LENGTH).collect();
            tracing::debug!(target: "devtools_test::process", "{line}");
            if line.is_empty() {
                continue;
            }
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() == LINES {
                kept.pop_front();
            }
            kept.push_back(line);
        }
    }

    /// `; its last lines were:` and the lines, or nothing.
    pub fn for_message(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_empty() {
            return "; it wrote nothing on stderr".into();
        }
        let lines: Vec<&str> = kept.iter().map(String::as_str).collect();
        format!("; its last lines on stderr were:\n  {}", lines.join("\n  "))
    }
}
