//! What codes, relays and tunnels look like in a text, whoever they belong to.

use std::ops::Range;

/// Digits of a code.
const CODE_DIGITS: usize = 6;

/// What may follow an introduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The parameter `at`, without its equals sign.
    Code,
    /// The part of a path that is called `at`, without the slash behind it.
    PathCode,
    /// The parameter `relay`, without its equals sign.
    Relay,
    /// The end of a tunnel's name.
    Tunnel,
}

/// Where to look closer. In whatever way the sign after a name is encoded, it begins with one of these.
pub(super) const INTRODUCTIONS: [(&str, Shape); 12] = [
    ("at=", Shape::Code),
    ("at%", Shape::Code),
    ("at\\u003d", Shape::Code),
    ("at&#", Shape::Code),
    ("/at/", Shape::PathCode),
    ("/at\\/", Shape::PathCode),
    ("2fat%", Shape::PathCode),
    ("relay=", Shape::Relay),
    ("relay%", Shape::Relay),
    ("relay\\u003d", Shape::Relay),
    ("relay&#", Shape::Relay),
    (".trycloudflare.com", Shape::Tunnel),
];

impl Shape {
    /// What goes, if an introduction stands from `start` to `end`. Text before `kept` is gone already.
    pub(super) fn range(self, text: &str, kept: usize, start: usize, end: usize) -> Option<Range<usize>> {
        match self {
            Self::Code => {
                let value = parameter(text, start, "at".len())?;
                code(text, value)
            }
            Self::PathCode => {
                let name = text[start..end].to_ascii_lowercase().find("at")? + start;
                let value = sign(text, name + "at".len(), &["/", "\\/"], "2f", "47")?;
                code(text, value)
            }
            Self::Relay => {
                let value = parameter(text, start, "relay".len())?;
                let is_address = ["ws", "http"].iter().any(|scheme| starts_with(&text[value..], scheme));
                is_address.then(|| value..value + text[value..].find(ends_value).unwrap_or(text.len() - value))
            }
            Self::Tunnel => {
                let before = &text[kept..start];
                let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
                let mut name = kept + before.rfind(|c: char| !is_name(c)).map_or(0, |at| after_char(before, at));
                // `%2Fname`: the digits of an escape are no part of the name.
                if name > 0 && text.as_bytes()[name - 1] == b'%' {
                    name = (name + escape_levels(&text[name..]) + 2).min(start);
                }
                (name < start).then_some(name..end)
            }
        }
    }
}

fn after_char(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

fn starts_with(text: &str, start: &str) -> bool {
    text.as_bytes().get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start.as_bytes()))
}

/// Where the value of a parameter begins, if a name of this length stands alone at `start` with an equals sign behind it.
fn parameter(text: &str, start: usize, length: usize) -> Option<usize> {
    let before = text[..start].chars().next_back();
    let is_word = before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_word && !ends_with_escape(&text[..start]) {
        return None;
    }
    sign(text, start + length, &["=", "\\u003d"], "3d", "61")
}

/// Where a sign ends that begins at `at`: as itself, as `%3d` on any level of encoding, or as `&#61;`.
fn sign(text: &str, at: usize, plain: &[&str], hex: &str, decimal: &str) -> Option<usize> {
    let rest = &text[at..];
    if let Some(plain) = plain.iter().find(|plain| starts_with(rest, plain)) {
        return Some(at + plain.len());
    }
    if let Some(encoded) = rest.strip_prefix('%') {
        let levels = escape_levels(encoded);
        return starts_with(encoded.get(levels..)?, hex).then_some(at + 1 + levels + hex.len());
    }
    let named = rest.strip_prefix("&#")?.strip_prefix(decimal)?.strip_prefix(';')?;
    Some(text.len() - named.len())
}

/// How long the `25`s are with which a text begins: one for each time that a `%` was encoded once more.
fn escape_levels(text: &str) -> usize {
    text.as_bytes().chunks(2).take_while(|pair| *pair == b"25").count() * 2
}

/// A code at `at`: six digits, or what is left of them where the text was cut off.
fn code(text: &str, at: usize) -> Option<Range<usize>> {
    let digits = text[at..].bytes().take_while(u8::is_ascii_digit).count();
    let rest = &text[at + digits..];
    let cut_off = (1..CODE_DIGITS).contains(&digits) && (rest.is_empty() || rest.starts_with('…'));
    (digits == CODE_DIGITS || cut_off).then_some(at..at + digits)
}

fn ends_value(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '&' | '#' | '"' | '\'' | '`' | '<' | '>' | '\\' | ')' | ']' | '}')
}

/// Whether a number goes on before or behind this part of a text; the digits of an escape are none.
pub(super) fn is_within_digits(text: &str, start: usize, end: usize) -> bool {
    let bytes = text.as_bytes();
    let before = start > 0 && bytes[start - 1].is_ascii_digit() && !ends_with_escape(&text[..start]);
    before || bytes.get(end).is_some_and(u8::is_ascii_digit)
}

/// Whether a text ends with `%26` on any level of encoding, `\u0026` or `\x26`.
fn ends_with_escape(text: &str) -> bool {
    let digits = |count: usize| {
        let (before, digits) = text.as_bytes().split_at_checked(text.len().checked_sub(count)?)?;
        digits.iter().all(u8::is_ascii_hexdigit).then_some(before)
    };
    let escaped = |lead: &str, count| digits(count).is_some_and(|before| before.ends_with(lead.as_bytes()));
    let encoded = digits(2).is_some_and(|mut before| {
        while let Some(outer) = before.strip_suffix(b"25") {
            before = outer;
        }
        before.ends_with(b"%")
    });
    encoded || escaped("\\u", 4) || escaped("\\x", 2)
}
