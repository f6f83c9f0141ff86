//! Holds the sources against the table of `ARCHITECTURE.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Longest file of ours, in lines: what a person can keep in mind.
const MAX_LINES: usize = 400;

/// A row of the table.
#[derive(Debug)]
struct Room {
    level: u8,
    may_use: BTreeSet<String>,
}

/// The rows of the table whose head starts with `| room | level |`.
fn table(document: &str) -> BTreeMap<String, Room> {
    document
        .lines()
        .skip_while(|line| !line.starts_with("| room | level |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [name, level, may_use, _job] = cells[..] else { panic!("four cells: {line}") };
            let may_use = may_use.split_whitespace().map(str::to_owned).collect();
            (name.to_owned(), Room { level: level.parse().expect("a level is a number"), may_use })
        })
        .collect()
}

/// The rooms of ours that a source names, by `crate::x`, `crate::{x, y::z}` or, from the binary, `devtools_test::x`.
fn named_rooms(source: &str) -> BTreeSet<String> {
    let code: String = source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let mut found = BTreeSet::new();
    for start in ["crate::", "devtools_test::"] {
        for (at, _) in code.match_indices(start) {
            let inside_a_word = code[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$'));
            if !inside_a_word {
                found.extend(heads(&code[at + start.len()..]));
            }
        }
    }
    found
}

/// The first parts of a path, several where it opens with a brace.
fn heads(path: &str) -> Vec<String> {
    let word = |text: &str| -> String { text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let Some(group) = path.strip_prefix('{') else { return vec![word(path)] };
    let mut depth = 0;
    let mut words = vec![word(group.trim_start())];
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => words.push(word(group[at + 1..].trim_start())),
            _ => {}
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// All files below a folder with one of these extensions, what others made left out.
fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !matches!(name, "node_modules" | "target" | "dist") && !name.starts_with('.') {
            found.extend(files(&path, extensions));
        } else if path.extension().and_then(|e| e.to_str()).is_some_and(|e| extensions.contains(&e)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The room a file of `src/` belongs to; none for `lib.rs`, which only lists them.
fn room_of(src: &Path, file: &Path) -> Option<String> {
    let inside = file.strip_prefix(src).ok()?;
    let first = inside.iter().next()?.to_str()?;
    let room = first.strip_suffix(".rs").unwrap_or(first);
    (room != "lib").then(|| room.to_owned())
}

#[test]
fn the_table_is_sound() {
    let rooms = table(&fs_err::read_to_string(support::repo().join("ARCHITECTURE.md")).unwrap());
    assert!(rooms.len() > 10, "the table was read: {rooms:?}");
    for (name, room) in &rooms {
        for used in &room.may_use {
            let below = rooms.get(used).unwrap_or_else(|| panic!("{name} may use {used}, which is no room"));
            let down = below.level < room.level || (room.level == 0 && below.level == 0) || name == "main";
            assert!(down, "{name} (level {}) may not use {used} (level {})", room.level, below.level);
        }
    }
    let may = |from: &str, to: &str| rooms.get(from).is_some_and(|room| room.may_use.contains(to));
    assert!(!may("run", "report") && !may("report", "run"), "run and report never see each other");
}

#[test]
fn every_arrow_is_in_the_table() {
    let src = support::repo().join("src");
    let rooms = table(&fs_err::read_to_string(support::repo().join("ARCHITECTURE.md")).unwrap());
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for file in files(&src, &["rs"]) {
        let Some(room) = room_of(&src, &file) else { continue };
        seen.insert(room.clone());
        let Some(row) = rooms.get(&room) else {
            faults.push(format!("{} belongs to no room of the table", file.display()));
            continue;
        };
        for used in named_rooms(&fs_err::read_to_string(&file).unwrap()) {
            if used != room && rooms.contains_key(&used) && !row.may_use.contains(&used) {
                faults.push(format!("{}: `{room}` may not use `{used}`", file.display()));
            }
        }
    }
    faults.extend(rooms.keys().filter(|room| !seen.contains(*room)).map(|room| format!("`{room}` is nowhere in src/")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_file_is_too_long() {
    let repo = support::repo();
    let folders = ["src", "crates", "tests", "test-runner", "fixtures"];
    let long: Vec<String> = folders
        .iter()
        .map(|folder| repo.join(folder))
        .filter(|folder| folder.exists())
        .flat_map(|folder| files(&folder, &["rs", "ts", "mjs", "js"]))
        .filter_map(|file| {
            let lines = fs_err::read_to_string(&file).unwrap().lines().count();
            (lines > MAX_LINES).then(|| format!("{} has {lines} lines", file.display()))
        })
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn arrows_are_seen_in_every_form() {
    let source = "use crate::{cdp::{Page, Session}, event::Events};\n// crate::cli\nfn f() -> crate::exit::Exit {}\n\
                  use devtools_test::run::x; use mycrate::relay::y; macro_rules! m { () => { $crate::cli } }";
    let expected = ["cdp", "event", "exit", "run"].map(str::to_owned);
    assert_eq!(named_rooms(source), BTreeSet::from(expected));
}
