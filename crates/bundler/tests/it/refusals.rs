//! What is refused, where, and in which words.

use crate::project::{Project, only};

/// The place and the message of the only error of a file with this source.
fn refusal(source: &str) -> (String, String) {
    only(&Project::new(source).errors())
}

#[test]
fn unknown_names_of_vitest_are_named() {
    let (place, message) =
        refusal("import { it } from 'vitest';\nimport { EvaluatedModules } from 'vitest';\nit(EvaluatedModules);");
    assert_eq!(place, "src/a.ait.test.ts:2:10");
    assert_eq!(message, "'EvaluatedModules' is not among the names of 'vitest' that a page can import.");
}

#[test]
fn unknown_names_of_our_own_are_named() {
    let (place, message) = refusal("import { traffic } from 'devtools-test';\ntraffic();");
    assert_eq!(place, "src/a.ait.test.ts:1:10");
    assert_eq!(message, "'traffic' is not among the names of 'devtools-test' that a page can import.");
    let (place, message) = refusal("import { transport } from 'devtools-test/transport';\ntransport.clear();");
    assert_eq!(place, "src/a.ait.test.ts:1:27");
    assert_eq!(message, "There is no 'devtools-test/transport'; import from 'devtools-test'.");
}

#[test]
fn sub_paths_of_vitest_are_refused() {
    let (place, message) =
        refusal("import { it } from 'vitest';\nimport { startVitest } from 'vitest/node';\nit(startVitest);");
    assert_eq!(place, "src/a.ait.test.ts:2:29");
    assert!(message.contains("'vitest/node'") && message.contains("cannot run in a page"), "{message}");
}

#[test]
fn node_modules_are_refused_with_and_without_prefix() {
    for (specifier, column) in [("node:fs", 16), ("fs", 16), ("fs/promises", 16)] {
        let (place, message) = refusal(&format!("import fs from '{specifier}';\nfs.readFileSync('x');"));
        assert_eq!(place, format!("src/a.ait.test.ts:1:{column}"));
        assert_eq!(message, format!("'{specifier}' is a module of Node and cannot run in a page."));
    }
}

#[test]
fn imports_that_cannot_be_found_are_all_reported() {
    let errors =
        Project::new("import 'nowhere';\nimport { x } from '@a/b';\nimport './gone';\nconsole.log(x);").errors();
    let mut lines: Vec<_> =
        errors.iter().map(|error| (error.place.as_ref().unwrap().line, error.message.as_str())).collect();
    lines.sort_unstable();
    assert_eq!(
        lines.first().map(|(_, message)| *message),
        Some("Could not resolve './gone': there is no such file."),
        "{errors:#?}"
    );
}

#[test]
fn unresolvable_packages_are_errors() {
    let errors = Project::new("import 'nowhere';\nimport { x } from '@a/b';\nconsole.log(x);").errors();
    let lines: Vec<_> = errors.iter().map(|error| error.place.as_ref().unwrap().line).collect();
    assert_eq!(lines, [1, 2], "{errors:#?}");
    assert!(errors[1].message.starts_with("Could not resolve '@a/b': no such package"), "{errors:#?}");
}

#[test]
fn addresses_are_refused_as_static_imports() {
    let (place, message) = refusal("import x from 'https://x.y/z.js';\nx();");
    assert_eq!(place, "src/a.ait.test.ts:1:15");
    assert!(message.contains("await import"), "{message}");
}

#[test]
fn syntax_errors_have_their_place() {
    let (place, message) = refusal("import { it } from 'vitest';\nconst 한 = '😀'; it('x', () => { let let = 1; });");
    assert!(place.starts_with("src/a.ait.test.ts:2:"), "{place} {message}");
}

#[test]
fn missing_exports_name_the_file() {
    let project = Project::new("import { nope } from './b';\nnope();").file("src/b.ts", "export const yes = 1;");
    let (place, message) = only(&project.errors());
    assert_eq!(place, "src/a.ait.test.ts:1:10");
    assert!(message.contains("\"nope\" is not exported by \"src/b.ts\""), "{message}");
}

#[test]
fn errors_in_helpers_say_how_they_got_in() {
    let project = Project::new("import { b } from './b'; b();")
        .file("src/b.ts", "export { c as b } from './c';")
        .file("src/c.ts", "import { gone } from 'gone';\nexport const c = gone;");
    let (place, message) = only(&project.errors());
    assert_eq!(place, "src/c.ts:1:22");
    assert!(message.contains("Could not resolve 'gone'"), "{message}");
}

#[test]
fn import_meta_glob_is_refused() {
    let (place, message) = refusal("const all =\n  import.meta.glob('./*.ts');\nconsole.log(all);");
    assert_eq!(place, "src/a.ait.test.ts:2:3");
    assert!(message.contains("import.meta.glob"), "{message}");
}

#[test]
fn standard_decorators_are_refused() {
    let (place, message) = refusal("const log = (f: unknown) => f as never;\nclass A {\n  @log m() {}\n}\nnew A();");
    assert_eq!(place, "src/a.ait.test.ts:3:3");
    assert!(message.contains("experimentalDecorators"), "{message}");
}

#[test]
fn broken_configuration_and_data_are_named() {
    let (_, message) = only(&Project::new("export {};").file("tsconfig.json", "{ nope").errors());
    assert!(message.contains("tsconfig.json"), "{message}");
    let project = Project::new("import d from './d.json';\nconsole.log(d);").file("src/d.json", "{\n  \"a\": ,\n}");
    let (place, _) = only(&project.errors());
    assert_eq!(place, "src/d.json:2:8");
}

#[test]
fn a_file_that_is_no_text_is_blamed_itself() {
    for (name, test) in [(crate::project::TEST, ""), ("src/lib.ts", "import { x } from './lib';\nx();")] {
        let project = Project::new(test);
        std::fs::write(project.path(name), b"// \xed\x95\x9c\nexport const x = '\xff';\n").unwrap();
        let (place, message) = only(&project.errors());
        assert_eq!(place, format!("{name}:2:19"));
        assert!(message.contains("not valid UTF-8"), "{message}");
    }
}

#[test]
fn a_file_that_is_gone_is_an_error() {
    let project = Project::new("");
    std::fs::remove_file(project.path(crate::project::TEST)).unwrap();
    let (_, message) = only(&project.errors());
    assert!(message.contains("a.ait.test.ts cannot be read"), "{message}");
}

#[test]
fn no_message_shows_an_inner_name() {
    for source in [
        "import { zz } from 'vitest'; zz();",
        "import 'vitest/x';",
        "import { a } from './a.module.css'; import 'nope'; a;",
    ] {
        for error in Project::new(source).errors() {
            let text = format!("{error:?}");
            assert!(!text.contains("ait:") && !text.contains("\\0"), "{text}");
        }
    }
}

#[test]
fn one_bad_file_does_not_keep_the_others_back() {
    let project = Project::new("syntax error here").file("src/b.ait.test.ts", "export {};");
    let bundler = bundler::Bundler::new(project.options()).unwrap();
    let many = (0..40).map(|i| project.path(if i % 2 == 0 { "src/a.ait.test.ts" } else { "src/b.ait.test.ts" }));
    let mut job = bundler.start(many.collect());
    let mut seen = vec![None; 40];
    while let Some((index, result)) = job.results.blocking_recv() {
        seen[index] = Some(result.map(|_| ()));
    }
    assert!(
        seen.iter().enumerate().all(|(index, ok)| ok.as_ref().is_some_and(|ok| ok.is_ok() == (index % 2 == 1))),
        "{seen:?}"
    );
}
