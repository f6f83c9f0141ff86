//! What can be imported, and how.

use serde_json::json;

use crate::project::{Project, TEST};

#[test]
fn vitest_can_be_imported_in_every_form() {
    let source = "
        import { it, describe as d, type Mock } from 'vitest';
        import type { TestContext } from 'vitest';
        import * as all from 'vitest';
        import whole from 'vitest';
        import {
          expect,
          vi
        } from 'vitest';
        import { it as again } from './helper';
        import * as helper from './star';
        const later = await import('vitest');
        export type Both = Mock | TestContext;
        it(1); all.it(2); whole.it(3); again(4); helper.it(5); later.it(6); d('suite', () => it(7));
        it([typeof vi, expect(), all.afterAll === undefined]);";
    let project = Project::new(source)
        .file("src/helper.ts", "export { it } from 'vitest';")
        .file("src/star.ts", "export * from 'vitest';");
    assert_eq!(project.run(), json!([1, 2, 3, 4, 5, 6, 7, ["object", "expect", true]]));
}

#[test]
fn vitest_is_read_when_the_file_starts() {
    let bundle = Project::new("import { it } from 'vitest'; it('late');").good();
    let page = "globalThis.__ait.vitest = { it: (value) => seen.push(value + '!') }";
    assert_eq!(crate::project::run(&bundle, page), json!(["late!"]));
}

#[test]
fn what_the_runtime_knows_of_the_traffic_can_be_imported() {
    let source =
        "import { transport } from 'devtools-test'; import whole from 'devtools-test'; import { it } from 'vitest';
        const later = await import('devtools-test');
        it(transport); it(whole.transport); it(later.transport);";
    let page = "globalThis.__ait.transport = 'ours'";
    assert_eq!(crate::project::run(&Project::new(source).good(), page), json!(["ours", "ours", "ours"]));
}

#[test]
fn suites_and_hooks_of_helpers_run_whatever_side_effects_says() {
    let project = Project::new("import './suite'; import { x } from './lib'; import { it } from 'vitest'; it(x);")
        .file("package.json", r#"{"sideEffects": false}"#)
        .file("src/suite.ts", "import { it } from 'vitest'; it('suite');")
        .file("src/lib/index.ts", "export { x } from './x'; export { y } from './y';")
        .file("src/lib/x.ts", "export const x = 'x';")
        .file("src/lib/y.ts", "import { it } from 'vitest'; it('hook'); export const y = 'y';");
    assert_eq!(project.run(), json!(["suite", "hook", "x"]));
}

#[test]
fn a_file_without_imports_keeps_all_its_code() {
    let project = Project::new("globalThis.__ait.vitest.it('here'); export const unused = 1; export default {};");
    assert_eq!(project.run(), json!(["here"]));
}

#[test]
fn json_text_and_assets_are_values() {
    let source = "
        import { it } from 'vitest';
        import plain from './data.json';
        import typed, { n } from './data.json' with { type: 'json' };
        import raw from './raw.txt?raw';
        import code from './helper.ts?raw';
        import text from './raw.txt';
        import png from './p.png';
        import url from './data.json?url';
        it([plain.n, typed.n, n, raw, code, text]);
        it([png.startsWith('data:image/png'), url]);
        it(await (await fetch(url)).json());";
    let project = Project::new(source)
        .file("src/data.json", r#"{"n":7}"#)
        .file("src/raw.txt", "한 글\n")
        .file("src/helper.ts", "export const a: number = 1;")
        .file("src/p.png", [0x89, b'P', b'N', b'G', 0xff]);
    let expected = json!([
        [7, 7, 7, "한 글\n", "export const a: number = 1;", "한 글\n"],
        [true, "data:application/json;charset=utf-8,{\"n\":7}"],
        {"n": 7}
    ]);
    assert_eq!(project.run(), expected);
}

#[test]
fn style_sheets_are_empty_and_css_modules_name_their_classes() {
    let source = "
        import { it } from 'vitest';
        import './plain.css';
        import text from './plain.css';
        import scss from './x.scss';
        import styles, { button } from './a.module.css';
        import * as all from './a.module.css';
        it([text, scss, styles.card, button, all.title]);";
    let mut project = Project::new(source);
    for name in ["plain.css", "x.scss", "a.module.css"] {
        project = project.file(&format!("src/{name}"), "@import url(nowhere.css); .x { color: red }");
    }
    assert_eq!(project.run(), json!([["", "", "card", "button", "title"]]));
}

#[test]
fn the_nearest_tsconfig_counts_although_it_excludes_tests() {
    let tsconfig = r#"{
        // with a comment
        "extends": "./base.json",
        "exclude": ["src/**/*.ait.test.ts"],
        "include": ["lib"]
    }"#;
    let base =
        r#"{"compilerOptions": {"baseUrl": ".", "paths": {"@lib/*": ["lib/*"]}, "experimentalDecorators": true}}"#;
    let source = "import { it } from 'vitest'; import { x } from '@lib/x.js'; it(x);";
    let project = Project::new(source)
        .file("tsconfig.json", tsconfig)
        .file("base.json", base)
        .file("lib/x.ts", "export const x = 'aliased';");
    assert_eq!(project.run(), json!(["aliased"]));
}

#[test]
fn dynamic_imports_of_local_files_are_part_of_the_script() {
    let source = "
        import { it } from 'vitest';
        const { late } = await import('./late');
        it(late);
        const name = 'node:path';
        const path = await import(name);
        it(path.posix.join('a', 'b'));
        it(await import('data:text/javascript,export default 5').then((m) => m.default));
        await import('not-installed').catch((error) => it(error.code));
        try { await import('node:nothing'); } catch (error) { it(error.code); }";
    let project =
        Project::new(source).file("src/late.ts", "export const late: string = await Promise.resolve('late');");
    let bundle = project.good();
    let expected = json!(["late", "a/b", 5, "ERR_MODULE_NOT_FOUND", "ERR_UNKNOWN_BUILTIN_MODULE"]);
    assert_eq!(crate::project::run(&bundle, ""), expected);
    let [warning] = bundle.warnings.as_slice() else { panic!("{:?}", bundle.warnings) };
    assert!(warning.message.starts_with("Could not resolve 'not-installed'"), "{}", warning.message);
    assert_eq!(warning.place.as_ref().map(|p| (p.file.as_str(), p.line, p.column)), Some((TEST, 9, 22)));
}

#[test]
fn packages_resolve_for_a_browser() {
    let package = r#"{"name":"p","exports":{".":{"browser":"./b.js","node":"./n.js","default":"./n.js"}}}"#;
    let cjs = "try { require('crypto') } catch { exports.why = 'absent' } exports.kind = typeof require;";
    let project =
        Project::new("import { it } from 'vitest'; import { w } from 'p'; import c from 'c'; it([w, c.kind]);")
            .file("node_modules/p/package.json", package)
            .file("node_modules/p/b.js", "export const w = 'browser';")
            .file("node_modules/p/n.js", "export const w = 'node';")
            .file("node_modules/c/package.json", r#"{"name":"c","main":"i.js"}"#)
            .file("node_modules/c/i.js", cjs);
    assert_eq!(project.run(), json!([["browser", "function"]]));
}

#[test]
fn any_file_name_can_be_bundled() {
    for name in ["[a] $b 한글 (1).ait.test.ts", "a#b.ait.test.ts", "it's \"q\".ait.test.tsx", "모듈/b?c.ait.test.mts"]
    {
        let test = format!("src {name}/{name}");
        let project = Project::with_test(&test, "import { it } from 'vitest';\nimport h from './h';\nit(h); throw 1;")
            .file(
                &format!("src {name}/{}", if name.contains('/') { "모듈/h.ts" } else { "h.ts" }),
                "export default 1;",
            );
        let bundle = project.good();
        assert_eq!(crate::project::run(&bundle, ""), json!([1, "1"]), "{name}");
        let line = bundle.function.lines().position(|line| line.contains("throw 1")).unwrap();
        let place = bundle.position(u32::try_from(line).unwrap() + 1, 1).unwrap();
        assert_eq!((place.file.as_str(), place.line, place.column), (test.as_str(), 3, 8), "{name}");
    }
}

#[test]
fn a_tsconfig_that_only_refers_to_others_leads_to_them() {
    let source = "import { it } from 'vitest'; import { x } from '@/x'; it(<p>{x}</p>);";
    let app = r#"{"compilerOptions":{"composite":true,"baseUrl":".","paths":{"@/*":["src/*"]},"jsx":"react","jsxFactory":"h"},
        "include":["src"],"exclude":["src/**/*.ait.test.tsx"]}"#;
    let project = Project::with_test("src/a.ait.test.tsx", &format!("const h = (...all: unknown[]) => all; {source}"))
        .file(
            "tsconfig.json",
            r#"{"files":[],"references":[{"path":"./tsconfig.node.json"},{"path":"./tsconfig.app.json"},], /* x */}"#,
        )
        .file("tsconfig.node.json", r#"{"compilerOptions":{"composite":true},"include":["vite.config.ts"]}"#)
        .file("tsconfig.app.json", app)
        .file("src/x.ts", "export const x = 'x';");
    assert_eq!(project.run(), json!([["p", null, "x"]]));
}
