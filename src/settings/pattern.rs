//! The name pattern of `-t`: the source of a JavaScript regular expression.

/// Refuses what no engine would take.
pub(super) fn parse(text: &str) -> Result<String, String> {
    match bundler::check_pattern(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(why) => {
            let why = why.trim_start_matches("Invalid regular expression: ");
            Err(format!("it is no regular expression ({why}); a backslash before a sign takes it literally"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn javascript_patterns_pass() {
        for text in [
            "",
            "a b",
            "^a$",
            "(?<=x)y|(?!z)",
            "[(]",
            "[^]]",
            "\\(",
            "a+?",
            "(a|b)*",
            "x{2}",
            "{",
            "]",
            "[*]+",
            "한글",
            "(?i:a)b",
            "(?<n>a)\\k<n>",
            "\\p",
            "a/b",
        ] {
            assert_eq!(parse(text), Ok(text.to_owned()));
        }
    }

    #[test]
    fn what_no_engine_takes_is_refused() {
        for text in [
            "(",
            "a)",
            "[",
            "[\\]",
            "\\",
            "*a",
            "a|+",
            "(*)",
            "(?",
            "^*",
            "a**",
            "a{2,1}",
            "[b-a]",
            "(?<n>a)(?<n>b)",
            "(?<1>a)",
            "(?z:a)",
            "x{1}{2}",
        ] {
            let why = parse(text).err().unwrap_or_default();
            assert!(why.starts_with("it is no regular expression ("), "{text}: {why}");
        }
    }
}
