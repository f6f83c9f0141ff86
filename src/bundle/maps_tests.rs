//! Positions of scripts that were bundled for real.
#![allow(clippy::unwrap_used)]

use bundler::{Bundler, Options};

use super::*;

const SOURCE: &str = "import { it } from 'vitest';\nimport { fail } from 'dep';\n\nit('한글 😀', () => { fail(); });\n";

struct Fixture {
    dir: tempfile::TempDir,
    bundle: Arc<Bundle>,
    maps: SourceMaps,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        };
        write("src/a.ait.test.ts", SOURCE);
        write("node_modules/dep/package.json", r#"{"main":"i.js"}"#);
        write("node_modules/dep/i.js", "export function fail() {\n  throw new Error('x');\n}\n");
        let bundler = Bundler::new(Options::new(dir.path())).unwrap();
        let bundle = Arc::new(bundler.bundle(&dir.path().join("src/a.ait.test.ts")).unwrap());
        let maps = SourceMaps::new(Utf8PathBuf::from_path_buf(dir.path().into()).unwrap());
        Self { dir, bundle, maps }
    }

    fn register(&self) -> String {
        self.maps.register(&FileId("src/a b.ait.test.ts".into()), &self.bundle)
    }

    /// A frame at the first place in the script where `needle` stands.
    fn frame(&self, url: &str, needle: &str) -> PageFrame {
        let mut lines = self.bundle.function.lines().enumerate();
        let (line, text) = lines.find(|(_, text)| text.contains(needle)).unwrap();
        let column = text[..text.find(needle).unwrap()].encode_utf16().count();
        let number = |n: usize| u32::try_from(n + 1).unwrap();
        PageFrame { function: "f".into(), url: url.into(), line: number(line), column: number(column) }
    }
}

fn at(frame: &Frame) -> String {
    format!("{}:{}:{}", frame.location.file, frame.location.line, frame.location.column)
}

#[test]
fn every_script_has_a_url_of_its_own() {
    let fixture = Fixture::new();
    assert_eq!(fixture.register(), "ait-test://bundle/0/src/a%20b.ait.test.ts");
    assert_eq!(fixture.register(), "ait-test://bundle/1/src/a%20b.ait.test.ts");
}

#[test]
fn frames_are_mapped_and_our_own_are_left_out() {
    let fixture = Fixture::new();
    let url = fixture.register();
    let own = |url: &str| PageFrame { function: "run".into(), url: url.into(), line: 3, column: 4 };
    let error = PageError {
        name: "Error".into(),
        message: "x".into(),
        frames: vec![
            own(""),
            fixture.frame(&url, "new Error"),
            fixture.frame(&url, "fail();"),
            PageFrame { line: 1, column: 5, ..own(&url) },
            own("ait-runtime://runtime.js"),
            own("ait-agent://agent.js"),
            own("https://app.example/main.js"),
            own("ait-test://bundle/99/gone.ts"),
        ],
        cause: Some(Box::new(PageError { frames: vec![fixture.frame(&url, "fail();")], ..Default::default() })),
        ..Default::default()
    };
    let mapped = fixture.maps.map_error(&error);
    let frames: Vec<_> = mapped.frames.iter().map(at).collect();
    let expected = [
        "node_modules/dep/i.js:2:9",
        "src/a.ait.test.ts:4:21",
        "https://app.example/main.js:3:4",
        "ait-test://bundle/99/gone.ts:3:4",
    ];
    assert_eq!(frames, expected);
    insta::assert_snapshot!(mapped.code_frame.unwrap());
    assert_eq!(at(&mapped.cause.unwrap().frames[0]), "src/a.ait.test.ts:4:21");
}

#[test]
fn a_source_that_is_gone_has_no_code_frame() {
    let fixture = Fixture::new();
    let url = fixture.register();
    fs_err::remove_file(fixture.dir.path().join("src/a.ait.test.ts")).unwrap();
    let error = PageError { frames: vec![fixture.frame(&url, "fail();")], ..Default::default() };
    let mapped = fixture.maps.map_error(&error);
    assert_eq!((mapped.frames.len(), mapped.code_frame), (1, None));
}

#[test]
fn only_the_newest_scripts_are_kept() {
    let fixture = Fixture::new();
    let first = fixture.register();
    let last = (0..KEPT).map(|_| fixture.register()).last().unwrap();
    assert_eq!(fixture.maps.map_frame(&fixture.frame(&first, "fail();")).unwrap().location.file, first);
    assert_eq!(at(&fixture.maps.map_frame(&fixture.frame(&last, "fail();")).unwrap()), "src/a.ait.test.ts:4:21");
}
