//! The line that moves.

use crate::report::fold::Fold;
use crate::report::text::line;

/// What goes on now: `2/12 files, 40 passed, 1 failed | src/x.ait.test.ts > a test`.
pub(super) fn progress_line(fold: &Fold) -> String {
    let mut out = format!("{}/{} files, {} passed", fold.files_over(), fold.files.len(), fold.counts.passed);
    if fold.counts.failed > 0 {
        out.push_str(&format!(", {} failed", fold.counts.failed));
    }
    if let Some(running) = &fold.running {
        let test = running.test.as_ref().map(|test| test.0.as_str());
        out.push_str(&format!(" | {}", line(test.unwrap_or(&running.file.0))));
    }
    out
}
