//! Makes what came from a page harmless and visible: a title or a message must not move the cursor, recolour the
//! terminal, set its title, or hide a part of itself.

use std::borrow::Cow;

/// Text for one line: line breaks and tabs are made visible, too.
pub fn line(text: &str) -> Cow<'_, str> {
    visible(text, |_| false)
}

/// Text of several lines: `\n` and tabs stay, `\r\n` counts as `\n`.
pub fn block(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") {
        return Cow::Owned(visible(&text.replace("\r\n", "\n"), stays_in_block).into_owned());
    }
    visible(text, stays_in_block)
}

fn stays_in_block(c: char) -> bool {
    matches!(c, '\n' | '\t')
}

fn visible(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let odd = |c: char| is_odd(c) && !stays(c);
    if !text.contains(odd) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if !odd(c) => out.push(c),
            // The control pictures of Unicode: U+2400 and up show U+0000 and up.
            '\0'..='\x1f' => out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER)),
            '\x7f' => out.push('\u{2421}'),
            c => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        }
    }
    Cow::Owned(out)
}

/// Controls (C0, DEL, C1 as terminals obey them), marks that change the direction of text, invisible separators.
pub(super) fn is_odd(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The first `max_lines` lines and at most `max_chars` characters; says in one more line how much was left out.
pub(super) fn clip(text: &str, max_lines: usize, max_chars: usize) -> Cow<'_, str> {
    let by_chars = text.char_indices().nth(max_chars).map_or(text.len(), |(at, _)| at);
    let by_lines = text.match_indices('\n').nth(max_lines.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    let end = by_chars.min(by_lines);
    if end == text.len() {
        return Cow::Borrowed(text);
    }
    let left_out = text[end..].chars().count();
    Cow::Owned(format!("{}\n... {left_out} more characters", &text[..end]))
}

/// A duration as people read it: `0.4 ms`, `12 ms`, `1.20 s`, `2 min 05 s`.
pub(super) fn duration(ms: f64) -> String {
    let ms = if ms.is_finite() { ms.max(0.0) } else { 0.0 };
    match ms {
        _ if ms < 1.0 => format!("{ms:.1} ms"),
        _ if ms < 999.5 => format!("{ms:.0} ms"),
        _ if ms < 59_995.0 => format!("{:.2} s", ms / 1000.0),
        _ => {
            let seconds = (ms / 1000.0).round();
            format!("{} min {:02} s", (seconds / 60.0).floor(), seconds % 60.0)
        }
    }
}

/// `1 test`, `2 tests`.
pub(super) fn count(n: usize, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn controls_are_made_visible() {
        assert_eq!(line("a\x1b[31mred\x07\0\x7f"), "a␛[31mred␇␀␡");
        assert_eq!(line("\u{9b}31m\u{202e}x"), "\\u{9b}31m\\u{202e}x");
        assert_eq!(line("a\r\nb\tc"), "a␍␊b␉c");
        assert_eq!(block("a\r\nb\tc\rd"), "a\nb\tc␍d");
        assert!(matches!(line("한글 👩‍👩‍👧 ok"), Cow::Borrowed(_)));
    }

    #[test]
    fn clipping_says_what_is_missing() {
        assert_eq!(clip("a\nb\nc", 2, 100), "a\nb\n... 2 more characters");
        assert_eq!(clip("abcdef", 9, 4), "abcd\n... 2 more characters");
        assert_eq!(clip("a\nb", 2, 3), "a\nb");
        assert_eq!(clip("👩👩👩", 1, 1), "👩\n... 2 more characters");
    }

    #[test]
    fn durations() {
        let texts = [0.04, 0.44, 1.0, 999.4, 999.6, 59_994.0, 59_999.0, 125_000.0, f64::NAN, -1.0].map(duration);
        let right =
            ["0.0 ms", "0.4 ms", "1 ms", "999 ms", "1.00 s", "59.99 s", "1 min 00 s", "2 min 05 s", "0.0 ms", "0.0 ms"];
        assert_eq!(texts, right);
    }

    proptest! {
        #[test]
        fn nothing_odd_is_left(text in any::<String>()) {
            prop_assert!(!line(&text).contains(is_odd));
            prop_assert!(!block(&text).contains(|c| is_odd(c) && !matches!(c, '\n' | '\t')));
            prop_assert!(clip(&text, 3, 10).lines().count() <= 5);
        }
    }
}
