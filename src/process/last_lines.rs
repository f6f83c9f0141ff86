//! The last lines of a program's stderr: kept for the message of a failed start, judged by nobody.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Lines kept: a crash report's head is above, its cause is in the last few.
const LINES: usize = 15;
/// Characters kept of each.
const LINE_LENGTH: usize = 300;

/// Bytes read of each: whoever makes something of a line must see an address in it whole, however far behind it stands.
const READ_LENGTH: usize = 16 * 1024;

/// Makes of a line what may be kept and logged.
type Reader = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Kept lines; clones share them.
#[derive(Clone, Default)]
pub struct LastLines {
    kept: Arc<Mutex<VecDeque<String>>>,
    reader: Option<Reader>,
}

impl LastLines {
    /// Each line is given to `reader`, and only what that makes of it is kept and logged.
    pub fn read_by(reader: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self { reader: Some(Arc::new(reader)), ..Self::default() }
    }

    /// Reads until the other end closes. Of a line without end no more than its beginning is kept in memory.
    pub async fn read(self, from: impl AsyncRead + Unpin) {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while let Ok(some) = from.fill_buf().await {
            let end = some.iter().position(|byte| *byte == b'\n');
            let part = &some[..end.unwrap_or(some.len())];
            line.extend_from_slice(&part[..part.len().min(READ_LENGTH - line.len())]);
            let (read, over) = (end.map_or(some.len(), |end| end + 1), some.is_empty());
            from.consume(read);
            if end.is_some() || over {
                self.keep(&line);
                line.clear();
            }
            if over {
                break;
            }
        }
    }

    fn keep(&self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let line = self.reader.as_ref().map_or_else(|| line.to_string(), |reader| reader(&line));
        let line: String = line.trim_end().chars().take(LINE_LENGTH).collect();
        if line.is_empty() {
            return;
        }
        tracing::debug!(target: "devtools_test::process", "{line}");
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == LINES {
            kept.pop_front();
        }
        kept.push_back(line);
    }

    /// `; it said` and the last line in which it called something fatal, else the last one; or nothing.
    pub fn last_word(&self) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let word = kept.iter().rev().find(|line| line.contains("FATAL")).or(kept.back());
        word.map(|line| format!("; it said {line:?}")).unwrap_or_default()
    }

    /// `; its last lines were:` and the lines, or nothing.
    pub fn for_message(&self) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_empty() {
            return "; it wrote nothing on stderr".into();
        }
        let lines: Vec<&str> = kept.iter().map(String::as_str).collect();
        format!("; its last lines on stderr were:\n  {}", lines.join("\n  "))
    }
}

impl std::fmt::Debug for LastLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LastLines").field("kept", &self.kept).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_lines_are_kept_as_their_reader_makes_them() {
        let lines = LastLines::read_by(|line| line.replace("secret", "***"));
        let text: String = (0..20).map(|n| format!("{n} secret\n\n")).collect();
        lines.clone().read(text.as_bytes()).await;
        let message = lines.for_message();
        assert!(message.starts_with("; its last lines on stderr were:\n  5 ***\n"), "{message}");
        assert!(message.ends_with("  19 ***") && !message.contains("secret"), "{message}");
    }

    #[tokio::test]
    async fn the_last_word_is_what_it_died_of() {
        let word = async |text: &str| {
            let lines = LastLines::default();
            lines.clone().read(text.as_bytes()).await;
            lines.last_word()
        };
        assert_eq!(word("").await, "");
        assert_eq!(word("one\ntwo\n").await, "; it said \"two\"");
        assert_eq!(word("a:FATAL:b\nTrace\n").await, "; it said \"a:FATAL:b\"");
    }

    #[tokio::test]
    async fn a_line_without_end_is_read_to_its_end_and_only_its_beginning_is_kept() {
        let longest = Arc::new(Mutex::new(0));
        let seen = longest.clone();
        let lines = LastLines::read_by(move |line| {
            let mut seen = seen.lock().expect("no panic");
            *seen = line.len().max(*seen);
            line.to_owned()
        });
        let text = format!("{}\nlast", "x".repeat(3 * READ_LENGTH));
        lines.clone().read(text.as_bytes()).await;
        assert_eq!(*longest.lock().expect("no panic"), READ_LENGTH);
        let message = lines.for_message();
        assert!(message.ends_with(&format!("\n  {}\n  last", "x".repeat(LINE_LENGTH))), "{message}");
    }
}
