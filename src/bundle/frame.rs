//! Code frames: the lines around a place, with a caret.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::event::Location;

/// Lines shown before and after: enough to know the place again, few enough for a list of failures.
const CONTEXT: usize = 2;

/// Characters of a line that are shown; longer lines (minified code) are cut.
const MAX_LINE: usize = 120;

/// Wider than any line can become, so that lines are cut here and nowhere else.
const TERM_WIDTH: usize = 4 * MAX_LINE;

/// Draws the lines around `at` in `source`, without colours. `None` where `source` has no such line.
pub(super) fn draw(at: &Location, source: &str) -> Option<String> {
    let target = (at.line as usize).checked_sub(1)?;
    let first = target.saturating_sub(CONTEXT);
    let mut text = String::new();
    let mut caret = None;
    for (index, line) in source.lines().enumerate().skip(first).take(target - first + CONTEXT + 1) {
        let column = (index == target).then_some(at.column as usize);
        let (shown, offset) = cut(line, column);
        if index == target {
            caret = Some(text.len() + offset);
        }
        text.push_str(&shown);
        text.push('\n');
    }
    let caret = caret?;
    let end = text[caret..].chars().next().filter(|c| *c != '\n').map_or(caret, |c| caret + c.len_utf8());
    let snippet = Snippet::source(text.as_str())
        .line_start(first + 1)
        .fold(false)
        .annotation(AnnotationKind::Primary.span(caret..end));
    let drawn = Renderer::plain().term_width(TERM_WIDTH).render(&[Group::with_level(Level::ERROR).element(snippet)]);
    let width = (first + text.lines().count()).to_string().len();
    let mut drawn: Vec<_> = drawn.lines().map(str::trim_end).collect();
    if drawn.last().is_some_and(|line| line.trim() == "|") {
        drawn.pop();
    }
    Some(format!("{:width$}--> {}:{}:{}\n{}", "", at.file, at.line, at.column, drawn.join("\n")))
}

/// Cuts a line to what is shown of it; also the byte offset in it of a 1-based column in UTF-16 units.
fn cut(line: &str, column: Option<usize>) -> (String, usize) {
    let offset = column.map_or(0, |column| byte_offset(line, column));
    let before = line[..offset].chars().count();
    if line.chars().count() <= MAX_LINE {
        return (line.to_string(), offset);
    }
    let start = (before + MAX_LINE / 4).saturating_sub(MAX_LINE);
    let shown: String = line.chars().skip(start).take(MAX_LINE).collect();
    let skipped: usize = line.chars().take(start).map(char::len_utf8).sum();
    let mark = if start > 0 { "…" } else { "" };
    let rest = if start + MAX_LINE < line.chars().count() { "…" } else { "" };
    (format!("{mark}{shown}{rest}"), mark.len() + offset - skipped)
}

fn byte_offset(line: &str, column: usize) -> usize {
    let mut units = 1;
    for (offset, c) in line.char_indices() {
        if units >= column {
            return offset;
        }
        units += c.len_utf16();
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(line: u32, column: u32) -> Location {
        Location { file: "src/a.ait.test.ts".into(), line, column }
    }

    #[test]
    fn lines_around_the_place_are_shown() {
        let source = "one\ntwo\n  three();\r\nfour\nfive\nsix\n";
        insta::assert_snapshot!(draw(&at(3, 3), source).unwrap_or_default());
    }

    #[test]
    fn wide_characters_and_tabs_keep_the_caret_below_its_sign() {
        let source = "\tconst 이름 = '한글😀'; boom();";
        let column = source.split("boom").next().map_or(0, |before| before.encode_utf16().count() + 1);
        insta::assert_snapshot!(draw(&at(1, u32::try_from(column).unwrap_or_default()), source).unwrap_or_default());
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let source = format!("{}boom(){}", "a;".repeat(50_000), "b;".repeat(50_000));
        let frame = draw(&at(1, 100_001), &source).unwrap_or_default();
        assert!(frame.len() < 700, "{frame}");
        insta::assert_snapshot!(frame);
    }

    #[test]
    fn the_last_line_may_be_pointed_behind() {
        insta::assert_snapshot!(draw(&at(2, 9), "one\ntwo").unwrap_or_default());
        assert_eq!(draw(&at(3, 1), "one\ntwo"), None);
        assert_eq!(draw(&at(0, 1), "one\ntwo"), None);
    }

    proptest! {
        #[test]
        fn any_text_and_place_can_be_drawn(source in "(\\PC|\n|\t|\r|\u{1b}){0,400}", line in 0u32..12, column in 0u32..400) {
            let frame = draw(&at(line, column), &source);
            prop_assert_eq!(frame.is_some(), line > 0 && (line as usize) <= source.lines().count());
            let escapes = frame.is_some_and(|frame| frame.contains(char::from(27)));
            prop_assert!(!escapes);
        }
    }
}
