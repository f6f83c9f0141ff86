//! The name pattern of `-t`: the source of a JavaScript regular expression.

/// Refuses what no engine would take: unclosed or unopened groups, an unclosed class, a quantifier with nothing to
/// repeat, a lone backslash at the end. What only an engine can judge is left to the page.
pub(super) fn parse(text: &str) -> Result<String, String> {
    match mistake(text) {
        None => Ok(text.to_owned()),
        Some(what) => {
            Err(format!("it is no regular expression: {what}; put a backslash before it to mean it literally"))
        }
    }
}

fn mistake(text: &str) -> Option<&'static str> {
    let (mut open, mut in_class, mut may_repeat) = (0_u32, false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, in_class) {
            ('\\', _) if chars.next().is_none() => return Some("it ends in a backslash"),
            ('\\', _) => {}
            (']', true) => in_class = false,
            (_, true) => {}
            ('[', _) => in_class = true,
            ('(', _) => {
                open += 1;
                // `(?:`, `(?=`, `(?<name>`: the mark belongs to the parenthesis.
                chars.next_if_eq(&'?');
            }
            (')', _) if open == 0 => return Some("a ) closes nothing"),
            (')', _) => open -= 1,
            ('*' | '+' | '?', _) if !may_repeat => return Some("there is nothing to repeat before a *, + or ?"),
            _ => {}
        }
        may_repeat = in_class || !matches!(c, '(' | '|' | '^');
    }
    match (in_class, open) {
        (true, _) => Some("a [ is not closed"),
        (_, 1..) => Some("a ( is not closed"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn javascript_patterns_pass() {
        for text in
            ["", "a b", "^a$", "(?<=x)y|(?!z)", "[(]", "[^]]", "\\(", "a+?", "(a|b)*", "x{2}", "{", "]", "[*]+", "한글"]
        {
            assert_eq!(parse(text), Ok(text.to_owned()));
        }
    }

    #[test]
    fn what_no_engine_takes_is_refused() {
        for text in ["(", "a)", "[", "[\\]", "\\", "*a", "a|+", "(*)", "(?", "^*"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
