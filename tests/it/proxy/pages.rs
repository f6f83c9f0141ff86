//! Pages of every charset and with frames, as browsers show them.

use super::plain::{Call, Plain};
use super::*;

const KOREAN: &[u8] = b"<!doctype html><head><meta charset=\"euc-kr\"><title>\xbe\xdb</title></head><body>\xb0\xa1";

fn utf_16(mark: &[u8]) -> Vec<u8> {
    let page = "<!doctype html><head><title>앱</title></head><body>가";
    mark.iter().copied().chain(page.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}

fn app(kind: &'static str, page: Vec<u8>) -> Plain {
    Plain::start(move |mut call: Call| match call.path() {
        "/" => call.answer("200 OK", &format!("Content-Type: {kind}\r\n"), &page),
        _ => call.answer("404 Not Found", "", ""),
    })
}

/// The suite for a page in this charset.
fn shown_in(charset: &str) -> String {
    format!(
        "import {{ expect, it }} from 'vitest';
it('is shown as it was meant', () => {{
  expect([document.characterSet, document.title, document.body.textContent]).toEqual(['{charset}', '앱', '가']);
  expect(document.compatMode).toBe('CSS1Compat');
  expect(document.head.children[0].getAttribute('src')).toBe('/target.js');
}});
"
    )
}

#[test]
fn every_charset_is_shown_in_chrome() {
    for (kind, page, charset) in [
        ("text/html", KOREAN.to_vec(), "EUC-KR"),
        ("text/html; charset=euc-kr", KOREAN.to_vec(), "EUC-KR"),
        ("text/html; charset=utf-16", utf_16(b""), "UTF-8"),
        ("text/html", utf_16(b"\xff\xfe"), "UTF-8"),
    ] {
        let (app, project) = (app(kind, page), project(&shown_in(charset)));
        let outcome = finished(scanned(tool(project.path(), &app.url())));
        assert_eq!(outcome.code, Some(0), "{kind}\n{}", outcome.transcript());
    }
}

#[test]
fn a_page_in_korean_is_shown_in_webkit() {
    let (app, project) = (app("text/html", KOREAN.to_vec()), project(&shown_in("EUC-KR")));
    tool(project.path(), &app.url()).args(["--target", "webkit"]).run().expect_code(0);
}

#[test]
fn frames_and_what_scripts_fetch_are_left_alone() {
    let page = "<!doctype html><head><title>outer</title></head><body><iframe src=/inner></iframe>";
    let app = Plain::start(move |mut call: Call| match call.path() {
        "/" => call.answer("200 OK", "Content-Type: text/html\r\n", page),
        _ => call.answer("200 OK", "Content-Type: text/html\r\nSet-Cookie: seen=1; Domain=127.0.0.1\r\n", "<p>inner"),
    });
    let test = "import { expect, it, vi } from 'vitest';
it('only the page itself has the agent', async () => {
  const inner = () => document.querySelector('iframe').contentDocument;
  await vi.waitFor(() => expect(inner().querySelector('p').textContent).toBe('inner'), { timeout: 10000 });
  expect(inner().querySelector('script')).toBeNull();
  expect(await (await fetch('/fetched', { headers: { accept: 'text/html' } })).text()).toBe('<p>inner');
  expect(document.cookie).toBe('seen=1');
  expect((await fetch('/attach')).status).toBe(200);
  expect(document.cookie).toBe('seen=1');
});
";
    let project = project(test);
    let outcome = finished(scanned(tool(project.path(), &app.url())));
    outcome.expect_code(0);
    assert!(!outcome.transcript().contains("turned away"), "{}", outcome.transcript());
}

#[test]
fn what_an_app_asks_for_without_cookies_is_refused_aloud() {
    let app = app("text/html", b"<!doctype html><link rel=manifest href=/manifest.json><title>x</title>".to_vec());
    let test = "import { expect, it } from 'vitest';
it('needs cookies', async () => {
  expect((await fetch('/api', { credentials: 'omit' })).status).toBe(401);
  expect((await fetch('/api')).status).toBe(404);
});
";
    let project = project(test);
    let outcome = finished(scanned(tool(project.path(), &app.url())));
    outcome.expect_code(0);
    assert_eq!(outcome.transcript().matches("without cookies").count(), 1, "{}", outcome.transcript());
    assert!(app.heads().iter().all(|head| !head.contains("manifest")), "{:?}", app.heads());
}
