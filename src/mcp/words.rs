//! The settings name flags of the command line; whoever calls a tool gave its inputs.

/// Flags for which a call has an input of its own. Others are said where the server is started.
const INPUTS: [(&str, &str); 12] = [
    ("--app-url", "app_url"),
    ("--attach-launcher", "mode relay-launcher"),
    ("--cell-platform", "cell.platform"),
    ("--cell-sdk-line", "cell.sdkLine"),
    ("--global", "globals"),
    ("--launcher-url", "launcher_url"),
    ("--manual", "manual"),
    ("--page-url", "page_url"),
    ("--project-root", "project_root"),
    ("--scheme-url", "scheme_url"),
    ("--test-name-pattern", "pattern"),
    ("--timeout", "timeout_ms"),
];

/// The text with the inputs' names in place of those of flags.
pub(super) fn of_a_call(text: &str) -> String {
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        let (before, flag) = rest.split_at(at);
        let end = flag.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(flag.len());
        let (flag, behind) = flag.split_at(end);
        said.push_str(before);
        said.push_str(INPUTS.iter().find(|(name, _)| *name == flag).map_or(flag, |(_, input)| input));
        rest = behind;
    }
    said + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_flags_that_have_an_input_are_renamed() {
        for (text, said) in [
            ("--global is \"location=1\": no", "globals is \"location=1\": no"),
            ("--timeout and --timeouts, --test-timeout", "timeout_ms and --timeouts, --test-timeout"),
            ("take --tunnel lan -- or --app-url", "take --tunnel lan -- or app_url"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(of_a_call(text), said);
        }
    }
}
