//! Discovery in small temporary trees.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

struct Tree {
    _dir: tempfile::TempDir,
    root: Utf8PathBuf,
}

impl Tree {
    fn new(files: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(dir.path().canonicalize().unwrap()).unwrap();
        let tree = Self { _dir: dir, root };
        for file in files {
            tree.write(file, "");
        }
        tree
    }

    fn write(&self, file: &str, content: &str) {
        let path = self.root.join(file);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
    }

    fn find(&self, patterns: &[&str]) -> Discovery {
        self.find_from("", patterns, false)
    }

    fn find_from(&self, base: &str, patterns: &[&str], manual: bool) -> Discovery {
        let patterns: Vec<_> = patterns.iter().map(|p| p.replace("$ROOT", self.root.as_str())).collect();
        discover(&self.root, &self.root.join(base), &patterns, manual).unwrap()
    }

    fn names(&self, patterns: &[&str]) -> Vec<String> {
        names(&self.find(patterns))
    }
}

fn names(discovery: &Discovery) -> Vec<String> {
    discovery.files.iter().map(|file| file.id.0.clone()).collect()
}

#[test]
fn globs_skip_what_nobody_means() {
    let tree = Tree::new(&[
        "src/b.ait.test.ts",
        "src/a.ait.test.ts",
        "src/deep/er/c.ait.test.tsx",
        "src/not-a-test.ts",
        "src/node_modules/p/x.ait.test.ts",
        "node_modules/p/x.ait.test.ts",
        ".hidden/x.ait.test.ts",
        "src/.x.ait.test.ts",
        "dist/x.ait.test.ts",
        "src/out/x.ait.test.ts",
        "src/dir.ait.test.ts/inner.txt",
    ]);
    tree.write(".gitignore", "dist/\n");
    tree.write("src/.gitignore", "/out\n");
    let expected = ["src/a.ait.test.ts", "src/b.ait.test.ts"];
    assert_eq!(tree.names(&["**/*.ait.test.ts"]), expected);
    assert_eq!(tree.names(&["src/*.ait.test.ts", "./src/a.*", "$ROOT/src/[ab].ait.test.ts"]), expected);
    let all = ["src/a.ait.test.ts", "src/b.ait.test.ts", "src/deep/er/c.ait.test.tsx"];
    assert_eq!(tree.names(&["src/**/*.ait.test.{ts,tsx}"]), all);
    assert_eq!(tree.names(&["src"]), all);
    assert_eq!(tree.names(&["."]), all);
    assert_eq!(tree.names(&["{src,lib/x}/**/*.tsx"]), ["src/deep/er/c.ait.test.tsx"]);
}

#[test]
fn a_path_that_exists_is_that_file() {
    let odd = [
        "src/[id]/a.ait.test.ts",
        "src/$x (1)/{a,b}.ait.test.ts",
        "시험/한글 파일.ait.test.ts",
        "dist/ignored.ait.test.ts",
        "node_modules/p/x.ait.test.ts",
        ".dot/*.ait.test.ts",
        "any.name",
    ];
    let tree = Tree::new(&odd);
    tree.write("src/i/a.ait.test.ts", "");
    tree.write(".gitignore", "dist\n");
    for name in odd {
        assert_eq!(tree.names(&[name]), [name]);
        assert_eq!(tree.names(&[&format!("$ROOT/{name}")]), [name]);
    }
}

#[test]
fn folders_that_are_named_are_searched_whatever_they_are() {
    let tree = Tree::new(&[".hidden/a.ait.test.ts", "node_modules/p/b.ait.test.mjs", "x.ait.test.ts/c.ait.test.js"]);
    assert_eq!(tree.names(&[".hidden/"]), [".hidden/a.ait.test.ts"]);
    assert_eq!(tree.names(&["node_modules/p/**/*.mjs"]), ["node_modules/p/b.ait.test.mjs"]);
    assert_eq!(tree.names(&["x.ait.test.ts"]), ["x.ait.test.ts/c.ait.test.js"]);
}

#[test]
fn patterns_may_lead_out_of_the_base_and_the_root() {
    let tree = Tree::new(&["app/src/a.ait.test.ts", "lib/b.ait.test.ts"]);
    let found = tree.find_from("app/src", &["../../lib/*.ait.test.ts", "a.ait.test.ts"], false);
    assert_eq!(names(&found), ["app/src/a.ait.test.ts", "lib/b.ait.test.ts"]);
    let patterns = ["../lib/**".to_string()];
    let outside = discover(&tree.root.join("app"), &tree.root.join("app"), &patterns, false).unwrap();
    assert_eq!(names(&outside), [tree.root.join("lib/b.ait.test.ts").to_string()]);
}

#[test]
fn arguments_that_match_nothing_are_named() {
    let tree = Tree::new(&["a.ait.test.ts", "empty/readme.md"]);
    let found = tree.find(&["a.*", "nope/**/*.ts", "gone.ait.test.ts", "!a.ait.test.ts", "empty", ""]);
    assert_eq!(names(&found), ["a.ait.test.ts"]);
    assert_eq!(found.unmatched, ["nope/**/*.ts", "gone.ait.test.ts", "!a.ait.test.ts", "empty", ""]);
}

#[test]
fn an_invalid_pattern_is_an_error_that_names_it() {
    let tree = Tree::new(&[]);
    let error = discover(&tree.root, &tree.root, &["src/[a".to_string()], false).unwrap_err();
    assert!(error.to_string().starts_with("'src/[a' names no file and is no valid pattern: "), "{error}");
}

#[test]
fn files_that_need_a_person_run_last_and_only_when_wanted() {
    let tree = Tree::new(&["a.manual.ait.test.ts", "b.ait.test.ts", "z/c.manual.ait.test.ts"]);
    let left_out = tree.find(&["**/*.ait.test.ts"]);
    assert_eq!((names(&left_out), left_out.manual_left_out), (vec!["b.ait.test.ts".to_string()], 2));
    assert!(left_out.unmatched.is_empty());
    let asked = tree.find_from("", &["**/*.ait.test.ts"], true);
    assert_eq!(names(&asked), ["b.ait.test.ts", "a.manual.ait.test.ts", "z/c.manual.ait.test.ts"]);
    assert_eq!((asked.manual_left_out, asked.files[1].manual), (0, true));
    let named = tree.find(&["a.manual.ait.test.ts", "**/*.ait.test.ts"]);
    assert_eq!(names(&named), ["b.ait.test.ts", "a.manual.ait.test.ts"]);
    assert_eq!(named.manual_left_out, 1);
}

#[cfg(unix)]
#[test]
fn links_never_lead_in_circles_and_name_a_file_once() {
    use std::os::unix::fs::symlink;
    let tree = Tree::new(&["src/a.ait.test.ts", "elsewhere/b.ait.test.ts"]);
    symlink(&tree.root, tree.root.join("src/loop")).unwrap();
    symlink(tree.root.join("elsewhere"), tree.root.join("src/linked")).unwrap();
    symlink(tree.root.join("src/a.ait.test.ts"), tree.root.join("src/same.ait.test.ts")).unwrap();
    symlink(tree.root.join("gone"), tree.root.join("src/dangling.ait.test.ts")).unwrap();
    assert_eq!(tree.names(&["src/**/*.ait.test.ts"]), ["src/a.ait.test.ts"]);
    assert_eq!(tree.names(&["src/linked/*.ts"]), ["src/linked/b.ait.test.ts"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever a file is called, its own name means it, and the order of arguments changes nothing.
    #[test]
    fn any_name_means_its_file(raw in prop::collection::btree_set("[a-z가-힣 \\[\\]{}*?!$().#'\\\\-]{1,12}", 1..5)) {
        let files: BTreeSet<String> = raw.into_iter().map(|name| format!("{name}.ait.test.ts")).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let tree = Tree::new(&files);
        prop_assert_eq!(tree.names(&files), files.clone());
        let mut reversed = files.clone();
        reversed.reverse();
        reversed.push(".");
        prop_assert_eq!(tree.names(&reversed), files);
    }
}
