//! An error in full.

use crate::event::{ErrorKind, Frame, TestError};
use crate::report::text::{block, clip, line};

use super::style::{Paint, Places};

/// Lines of a message that are shown; a longer one is a printed structure, which the artifact has in full.
const MESSAGE_LINES: usize = 40;
/// Characters of a message or a diff that are shown: some screens full.
const TEXT_CHARS: usize = 8_000;
/// Lines of a diff that are shown.
const DIFF_LINES: usize = 120;
/// Lines of a code frame that are shown; frames come much shorter.
const FRAME_LINES: usize = 20;
/// Frames of a stack that are shown.
const STACK_FRAMES: usize = 8;
/// Causes of causes that are shown.
const CAUSES: usize = 3;

/// How errors are drawn.
#[derive(Clone, Debug)]
pub(super) struct Failures {
    pub(super) paint: Paint,
    pub(super) places: Places,
}

impl Failures {
    /// One line: what the list of a file shows of an error.
    pub(super) fn short(&self, error: &TestError) -> String {
        let first = error.message.lines().find(|text| !text.trim().is_empty()).unwrap_or(&error.name);
        let text = clip(first, 1, 200).replace('\n', " ");
        let unsupported = if error.kind == ErrorKind::Unsupported { "unsupported: " } else { "" };
        format!("{unsupported}{}{}", hook(error), line(&text))
    }

    /// The whole error, indented by two; ends in a line break.
    pub(super) fn full(&self, error: &TestError) -> String {
        let mut out = String::new();
        self.write(&mut out, error, CAUSES);
        out
    }

    fn write(&self, out: &mut String, error: &TestError, causes: usize) {
        let message = clip(&error.message, MESSAGE_LINES, TEXT_CHARS);
        let unsupported = if error.kind == ErrorKind::Unsupported { "unsupported: " } else { "" };
        let name = if error.name.is_empty() { "Error" } else { &error.name };
        let head = format!("{unsupported}{}{}: {}", hook(error), line(name), block(&message));
        indent(out, &head, |text| self.paint.red(text));
        if let Some(code) = &error.code {
            indent(out, &format!("code: {}", line(code)), |text| text.to_owned());
        }
        self.values(out, error);
        if let Some((first, rest)) = error.frames.split_first() {
            out.push('\n');
            indent(out, &self.frame(first), |text| self.paint.cyan(text));
            self.code_frame(out, error);
            for frame in rest.iter().take(STACK_FRAMES - 1) {
                indent(out, &self.frame(frame), |text| self.paint.dim(text));
            }
        } else {
            self.code_frame(out, error);
        }
        if let Some(cause) = error.cause.as_deref().filter(|_| causes > 0) {
            out.push_str("\n  Caused by:\n");
            self.write(out, cause, causes - 1);
        }
    }

    /// The diff, or expected and actual where there is none.
    fn values(&self, out: &mut String, error: &TestError) {
        if let Some(diff) = &error.diff {
            out.push('\n');
            indent(out, &block(&clip(diff, DIFF_LINES, TEXT_CHARS)), |text| match text.as_bytes().first() {
                Some(b'-') => self.paint.green(text),
                Some(b'+') => self.paint.red(text),
                _ => text.to_owned(),
            });
            return;
        }
        for (label, value) in [("expected", &error.expected), ("received", &error.actual)] {
            if let Some(value) = value {
                let value = clip(value, MESSAGE_LINES, TEXT_CHARS);
                indent(out, &format!("{label}: {}", block(&value)), |text| text.to_owned());
            }
        }
    }

    fn frame(&self, frame: &Frame) -> String {
        let place = self.places.show(&frame.location);
        match frame.function.as_str() {
            "" => format!("at {place}"),
            function => format!("at {place} ({})", line(function)),
        }
    }

    fn code_frame(&self, out: &mut String, error: &TestError) {
        let Some(code) = &error.code_frame else { return };
        // Its heading repeats the place, which stands above, where it can be clicked.
        let has_heading = !error.frames.is_empty() && code.trim_start().starts_with("-->");
        let code = if has_heading { code.split_once('\n').map_or("", |(_, rest)| rest) } else { code };
        indent(out, &block(&clip(code, FRAME_LINES, TEXT_CHARS)), |text| text.to_owned());
    }
}

/// Which hook an error came from.
fn hook(error: &TestError) -> String {
    error.hook.as_deref().map(|hook| format!("in {}: ", line(hook))).unwrap_or_default()
}

/// Writes each line behind two spaces; empty ones stay empty.
pub(super) fn indent(out: &mut String, text: &str, paint: impl Fn(&str) -> String) {
    for text in text.lines() {
        if !text.is_empty() {
            out.push_str("  ");
            out.push_str(&paint(text));
        }
        out.push('\n');
    }
}
