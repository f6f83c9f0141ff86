//! What the documents say of the tool, held against the tool.

use devtools_test::exit::Exit;

use crate::tool;

fn readme() -> String {
    fs_err::read_to_string(support::repo().join("README.md")).unwrap()
}

#[test]
fn the_readme_lists_every_exit_code() {
    let readme = readme();
    let rows: Vec<&str> = readme
        .lines()
        .skip_while(|line| *line != "| code | meaning |")
        .skip(2)
        .take_while(|l| l.starts_with('|'))
        .collect();
    for exit in Exit::ALL {
        let code = exit.code().to_string();
        let row = rows.iter().find(|row| row.split('|').nth(1).unwrap().split('/').any(|c| c.trim() == code));
        assert!(row.is_some(), "{code} is in no row of {rows:#?}");
    }
}

#[test]
fn the_readme_lists_every_option_and_no_other() {
    let help = tool(&support::repo()).args(["--help"]).run();
    let in_help = options(&help.stdout);
    let readme = readme();
    let table: String =
        readme.lines().skip_while(|line| !line.starts_with("| option |")).take_while(|l| l.starts_with('|')).collect();
    let in_readme = options(&table);
    assert!(in_help.len() > 10, "{}", help.transcript());
    let missing: Vec<_> =
        in_help.iter().filter(|o| !in_readme.contains(o) && !matches!(&o[..], "--help" | "--version")).collect();
    let stale: Vec<_> = in_readme.iter().filter(|option| !in_help.contains(option)).collect();
    assert!(missing.is_empty() && stale.is_empty(), "not in the README: {missing:?}; not in --help: {stale:?}");
}

/// All `--options` a text names.
fn options(text: &str) -> Vec<String> {
    let mut found: Vec<String> = text
        .match_indices("--")
        .map(|(at, _)| text[at + 2..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect::<String>())
        .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
        .map(|name| format!("--{}", name.trim_end_matches('-')))
        .collect();
    found.sort();
    found.dedup();
    found
}
