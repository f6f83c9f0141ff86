//! The SDK packages, served from `window.__sdk`.

use serde_json::json;

use crate::project::Project;

const SDK: &str = "
    class Klass {}
    const alpha = () => 'A';
    alpha.getPermission = () => 'P';
    globalThis.Klass = Klass;
    globalThis.__sdk = { alpha, Klass, Storage: { get: () => 'stored' }, sub: () => () => {} };";

#[test]
fn names_are_handed_out_as_they_are() {
    let source = "import { it } from 'vitest';
        import { alpha, Klass, Storage as S, sub, nothing } from '@apps-in-toss/web-framework';
        import * as all from '@apps-in-toss/web-framework';
        import whole from '@apps-in-toss/web-framework';
        import { alpha as fromSub } from '@apps-in-toss/web-framework/deep/path';
        const later = await import('@apps-in-toss/web-framework');
        it([alpha(), alpha.getPermission(), S.get(), typeof sub(), nothing === undefined]);
        it([new Klass() instanceof globalThis.Klass, Klass === globalThis.Klass, alpha === globalThis.__sdk.alpha]);
        it([all.alpha(), whole.alpha(), fromSub(), later.alpha(), later.default.alpha()]);
        it([Object.keys(all).filter((k) => k !== 'default'), Object.keys(whole), 'alpha' in all, 'beta' in all]);";
    let keys = json!(["alpha", "Klass", "Storage", "sub"]);
    let expected = json!([
        ["A", "P", "stored", "function", true],
        [true, true, true],
        ["A", "A", "A", "A", "A"],
        [keys, keys, true, false]
    ]);
    assert_eq!(Project::new(source).run_in(SDK), expected);
}

#[test]
fn what_is_added_later_is_seen() {
    let source = "import { it } from 'vitest';
        import { late } from '@apps-in-toss/web-framework';
        import * as all from '@apps-in-toss/web-framework';
        import whole from '@apps-in-toss/web-framework';
        const before = late === undefined;
        globalThis.__sdk.late = () => 'late';
        it([before, late(), all.late(), whole.late(), 'late' in all]);
        globalThis.__sdk = { late: () => 'replaced' };
        it([late(), all.late()]);";
    let expected = json!([[true, "late", "late", "late", true], ["replaced", "replaced"]]);
    assert_eq!(Project::new(source).run_in("globalThis.__sdk = {}"), expected);
}

#[test]
fn frozen_and_proxy_sdks_work() {
    let source = "import { it } from 'vitest';
        import { alpha } from '@apps-in-toss/web-framework';
        import whole, * as all from '@apps-in-toss/web-framework';
        const later = await import('@apps-in-toss/web-framework');
        it([alpha(), all.alpha(), whole.alpha(), later.alpha()]);";
    let expected = json!([["A", "A", "A", "A"]]);
    for page in [
        "globalThis.__sdk = Object.freeze({ alpha: () => 'A' })",
        "globalThis.__sdk = new Proxy({}, { get: () => () => 'A' })",
        "globalThis.__sdk = new (class { alpha() { return 'A'; } })()",
    ] {
        assert_eq!(Project::new(source).run_in(page), expected, "{page}");
    }
}

#[test]
fn without_an_sdk_the_file_loads_and_the_first_use_says_so() {
    let source = "import { it } from 'vitest';
        import { getLocale, Klass } from '@apps-in-toss/web-framework';
        import whole, * as all from '@apps-in-toss/web-framework/sub';
        const later = await import('@apps-in-toss/web-framework');
        it([typeof getLocale, Object.keys(whole).length]);
        const attempt = (f: () => unknown) => { try { f(); it('no error'); } catch (e) { it(e.message.split(' was used')[0]); } };
        attempt(() => getLocale());
        attempt(() => new Klass());
        attempt(() => ({}) instanceof Klass);
        attempt(() => getLocale.isSupported);
        attempt(() => all.getLocale());
        attempt(() => whole.getLocale());
        attempt(() => later.getLocale());
        getLocale();";
    let sentence = "Error: 'getLocale' of '@apps-in-toss/web-framework' was used, but the page has no window.__sdk. \
                    Run this test in a page that loads the SDK, or put a stand-in on window.__sdk before it starts.";
    let get_locale = "'getLocale' of '@apps-in-toss/web-framework'";
    let klass = "'Klass' of '@apps-in-toss/web-framework'";
    let sub = "'getLocale' of '@apps-in-toss/web-framework/sub'";
    let expected = json!([["function", 0], get_locale, klass, klass, get_locale, sub, sub, get_locale, sentence]);
    assert_eq!(Project::new(source).run(), expected);
}

#[test]
fn re_exports_through_helpers_work() {
    let source = "import { it } from 'vitest'; import { alpha, beta } from './named'; import * as star from './star';
        globalThis.__sdk.beta = () => 'B';
        it([alpha(), beta(), star.alpha()]);";
    let project = Project::new(source)
        .file("src/named.ts", "export { alpha, beta } from '@apps-in-toss/web-framework';")
        .file("src/star.ts", "export * from '@apps-in-toss/web-framework';");
    assert_eq!(project.run_in(SDK), json!([["A", "B", "A"]]));
}

#[test]
fn packages_that_only_begin_alike_are_left_alone() {
    let source = "import { it } from 'vitest'; import { x } from '@apps-in-toss/web-framework-extras'; it(x);";
    let project = Project::new(source)
        .file("node_modules/@apps-in-toss/web-framework-extras/package.json", r#"{"main":"i.js"}"#)
        .file("node_modules/@apps-in-toss/web-framework-extras/i.js", "export const x = 'extras';");
    assert_eq!(project.run_in(SDK), json!(["extras"]));
}

#[test]
fn the_list_of_packages_can_be_changed() {
    let project = Project::new("import { it } from 'vitest'; import { alpha } from 'my-sdk/a'; it(alpha());");
    let options = bundler::Options { sdk_packages: vec!["my-sdk".into()], ..project.options() };
    let bundle = bundler::Bundler::new(options).unwrap().bundle(&project.path(crate::project::TEST)).unwrap();
    assert_eq!(crate::project::run(&bundle, SDK), json!(["A"]));
}
