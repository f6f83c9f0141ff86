//! What can be written in a test file.

use serde_json::json;

use crate::project::{Project, TEST};

#[test]
fn typescript_is_lowered() {
    let source = "
        import { it } from 'vitest';
        enum Color { Red = 'r', Blue = 'b' }
        const enum N { One = 1 }
        namespace NS { export const v = 3; }
        abstract class Base { constructor(protected readonly a: number) {} }
        class Sub extends Base { static made = 1; #p = 2; sum() { return this.a + this.#p + Sub.made; } }
        export interface Foo { a: string }
        export type T =
          | 'a'
          | 'b';
        export default { x: 1 };
        const x = { a: 1 } as const satisfies { a: number };
        declare global { interface Window { q: 1 } }
        it([Color.Red, Color.Blue, N.One, NS.v, new Sub(4).sum(), x.a]);";
    assert_eq!(Project::new(source).run(), json!([["r", "b", 1, 3, 7, 1]]));
}

#[test]
fn tsx_is_lowered_as_tsconfig_says() {
    let source = "import { it } from 'vitest';
        const h = (tag: string, props: object | null, ...kids: unknown[]) => ({ tag, props, kids });
        it(<div id=\"a\">{<b />}</div>);";
    let project = Project::with_test("src/a.ait.test.tsx", source)
        .file("tsconfig.json", r#"{"compilerOptions":{"jsx":"react","jsxFactory":"h"}}"#);
    let inner = json!({"tag": "b", "props": null, "kids": []});
    assert_eq!(project.run(), json!([{"tag": "div", "props": {"id": "a"}, "kids": [inner]}]));
}

#[test]
fn typescript_decorators_are_lowered() {
    let source = "import { it } from 'vitest';
        const log: string[] = [];
        const mark = (name: string) => (_target: object, key?: string) => { log.push(`${name}:${key ?? 'class'}`); };
        @mark('c') class A { @mark('m') run() {} @mark('p') field = 1; }
        new A(); it(log);";
    let project = Project::new(source).file("tsconfig.json", r#"{"compilerOptions":{"experimentalDecorators":true}}"#);
    assert_eq!(project.run(), json!([["m:run", "p:field", "c:class"]]));
}

#[test]
fn top_level_await_works_in_tests_and_helpers() {
    let source =
        "import { it } from 'vitest'; import { ready } from './helper'; it([ready, await Promise.resolve(3)]);";
    let project = Project::new(source).file("src/helper.ts", "export const ready = await Promise.resolve(9);");
    assert_eq!(project.run(), json!([[9, 3]]));
}

#[test]
fn files_without_code_are_bundled() {
    for source in ["", "// nothing", "export {};", "export interface A {}"] {
        assert_eq!(Project::new(source).run(), json!([]), "{source}");
    }
}

#[test]
fn a_throw_at_the_top_rejects() {
    assert_eq!(Project::new("throw new TypeError('at the top');").run(), json!(["TypeError: at the top"]));
}

#[test]
fn text_is_kept_to_the_byte() {
    let source =
        "import { it } from 'vitest';\nconst s = `a\nb\n  import x from 'y';\n`;\n/*\nimport './nothing';\n*/\n
        it([s, '\\u2028\\ud83d'.charCodeAt(1), this === undefined]);";
    assert_eq!(Project::new(source).run(), json!([["a\nb\n  import x from 'y';\n", 0xd83d, true]]));
}

#[test]
fn import_meta_has_its_documented_values() {
    let source = "import { it } from 'vitest'; import { url } from './lib dir/b';
        it([import.meta.url, url, import.meta.env.MODE, import.meta.env.DEV, import.meta.env.VITE_X ?? null]);
        it([typeof import.meta.env, typeof import.meta, import.meta.vitest === undefined, import.meta.hot === undefined]);
        it(new URL('./data.json', import.meta.url).href);
        it(await (await fetch(new URL('data.json', import.meta.url))).json());
        it([new URL('./none.json', import.meta.url).href, new URL('..', import.meta.url).href]);
        it([new URL('/x', import.meta.url).href, new URL('https://x.y/z', import.meta.url).href]);
        it(process.env.NODE_ENV);";
    let project = Project::new(source)
        .file("src/lib dir/b.ts", "export const url = import.meta.url;")
        .file("src/data.json", r#"{"a":"한"}"#);
    let data = "data:application/json;charset=utf-8,{\"a\":\"%ED%95%9C\"}";
    let expected = json!([
        ["file:///src/a.ait.test.ts", "file:///src/lib%20dir/b.ts", "test", true, null],
        ["object", "object", true, true],
        data,
        {"a": "한"},
        ["file:///src/none.json", "file:///"],
        ["file:///x", "https://x.y/z"],
        "test"
    ]);
    assert_eq!(project.run(), expected);
}

#[test]
fn functions_and_classes_keep_their_names() {
    let source = "import { it } from 'vitest';
        import { greet as other, Thing as OtherThing, arrow as otherArrow } from './helper';
        export function greet(who: string) {
          function inner(x: string) { return `hello ${x}`; }
          const named = (x: string) => inner(x);
          class Local { static y = 1; }
          return [named(who), inner.name, named.name, Local.name];
        }
        const arrow = () => 1;
        class Thing {}
        function fetch() {}
        it([greet.name, other.name, Thing.name, OtherThing.name, arrow.name, otherArrow.name, fetch.name]);
        it(new Function(`return (${greet.toString()})('you')`)());
        it(new Function(`return (${other.toString()})()`)());
        it(new Function(`return (${arrow.toString()})()`)());
        it([new Function(`return (${OtherThing.toString()})`)().name, Object.keys(OtherThing)]);";
    let helper = "export function greet() { function fetch() { return 'inner'; } return [fetch(), fetch.name]; }
        export class Thing { static text = Thing.toString(); }
        export const arrow = () => 2;";
    let project = Project::new(source).file("src/helper.ts", helper);
    let expected = json!([
        ["greet", "greet", "Thing", "Thing", "arrow", "arrow", "fetch"],
        ["hello you", "inner", "named", "Local"],
        ["inner", "fetch"],
        1,
        ["Thing", ["text"]]
    ]);
    assert_eq!(project.run(), expected);
}

#[test]
fn output_is_lowered_to_the_target() {
    let source = "export const f = async () => { using x = { [Symbol.dispose]() {} }; return x; };
        export class A { static { globalThis.q = 1; } }";
    let bundle = Project::new(source).good();
    assert!(!bundle.function.contains("using x") && !bundle.function.contains("static {"), "{}", bundle.function);
    let project = Project::new("globalThis.a ??= 1;");
    let low = bundler::Options { target: vec!["es2019".into()], ..project.options() };
    let bundle = bundler::Bundler::new(low).unwrap().bundle(&project.path(TEST)).unwrap();
    assert!(!bundle.function.contains("??"), "{}", bundle.function);
}

#[test]
fn positions_are_those_of_the_source() {
    let source = "import { it } from 'vitest';\r\nimport { boom } from './b';\r\nconst 한글 = '😀'; it('x'); boom();\n";
    let project = Project::new(source)
        .file("src/b.ts", "export type X = 1;\nexport function boom(): never {\n  throw new Error(`한 ${1}`);\n}\n");
    let bundle = project.good();
    let at = |needle: &str| {
        let (line, text) = bundle.function.lines().enumerate().find(|(_, text)| text.contains(needle)).unwrap();
        let column = text[..text.find(needle).unwrap()].encode_utf16().count() + 1;
        let place = bundle.position(u32::try_from(line).unwrap() + 1, u32::try_from(column).unwrap()).unwrap();
        format!("{}:{}:{}", place.file, place.line, place.column)
    };
    assert_eq!(at("new Error"), "src/b.ts:3:9");
    assert_eq!(at("boom();"), "src/a.ait.test.ts:3:27");
    assert_eq!(at("it(\"x\")"), "src/a.ait.test.ts:3:18");
    assert_eq!(bundle.position(1, 1), None, "the wrapper is nobody's code");
    assert_eq!(bundle.position(9999, 1), None);
    assert!(bundle.function.starts_with("async () => { \"use strict\";\n"));
    assert!(bundle.modules.iter().all(|module| module.ends_with(".ts")), "{:?}", bundle.modules);
}
