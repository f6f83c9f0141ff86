//! A browser that somebody else started.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use serde_json::Value;
use support::meddler::Meddler;
use support::phone::Phone;
use support::server::FixtureServer;
use support::tool::Outcome;

use crate::tool;

/// Runs a file that holds at an endpoint.
fn run(endpoint: &str, more: &[&str]) -> Outcome {
    let project = tempfile::tempdir().unwrap();
    let test = "import { expect, it } from 'vitest';\n\
                it('holds', async () => { console.log('a line'); await Promise.resolve(); expect(1).toBe(1); });\n\
                it('refuses', () => { expect(() => expect(1).toBe(2)).toThrow(); });\n";
    fs_err::write(project.path().join("a.ait.test.ts"), test).unwrap();
    tool(project.path()).args(["a.ait.test.ts", "--cdp-endpoint", endpoint]).args(more).run()
}

/// The pages of a browser, as its `/json/list` tells them.
fn pages(port: u16) -> Vec<(String, String)> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    write!(stream, "GET /json/list HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n").unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.split("content-length:").nth(1).and_then(|rest| rest.lines().next()?.trim().parse().ok());
    let mut body = vec![0; length.expect("a length")];
    stream.read_exact(&mut body).unwrap();
    let list: Vec<Value> = serde_json::from_slice(&body).unwrap();
    let text = |page: &Value, key: &str| page[key].as_str().unwrap_or_default().to_owned();
    let mut pages: Vec<_> = list.iter().map(|page| (text(page, "id"), text(page, "url"))).collect();
    pages.sort();
    pages
}

#[test]
fn its_pages_are_left_as_they_were() {
    let server = FixtureServer::start();
    let browser = Phone::open(&server.url());
    let before = pages(browser.port());
    let outcome = run(&format!("http://127.0.0.1:{}", browser.port()), &["--page-url", &server.at("/app/index.html")]);
    outcome.expect_code(0);
    assert_eq!(pages(browser.port()), before);
}

/// O-12
#[test]
fn messages_nobody_knows_are_harmless() {
    let server = FixtureServer::start();
    let browser = Phone::open("about:blank");
    let meddler = Meddler::start(browser.endpoint());
    let outcome = run(&meddler.endpoint(), &["--page-url", &server.url()]);
    outcome.expect_code(0);
    assert!(outcome.stdout.contains("2 passed"), "{}", outcome.transcript());
    let said = outcome.transcript();
    assert!(!said.contains("New.thing") && !said.contains("Teleported"), "{said}");
}

/// O-13
#[test]
fn localhost_is_found_whichever_family_answers() {
    let server = FixtureServer::start();
    let browser = Phone::open(&server.url());
    let outcome = run(&format!("http://localhost:{}", browser.port()), &["--page-url", &server.url()]);
    outcome.expect_code(0);
}

/// O-13
#[test]
fn an_endpoint_that_is_not_there_names_both_addresses() {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let outcome = run(&format!("http://localhost:{free}"), &[]);
    outcome.expect_code(2);
    let said = outcome.transcript();
    for address in [format!("127.0.0.1:{free}"), format!("[::1]:{free}")] {
        assert!(said.contains(&address), "{address} is not named\n{said}");
    }
}

/// Runs a test that leaves the page, and one more, in the first tab of a browser.
fn after_leaving(browser: &Phone) -> Outcome {
    let project = tempfile::tempdir().unwrap();
    let test = "import { expect, it } from 'vitest';\n\
                it('leaves', async () => { location.href = '/app/index.html?elsewhere'; await new Promise(() => {}); });\n\
                it('is back', () => { expect(1).toBe(1); });\n";
    fs_err::write(project.path().join("a.ait.test.ts"), test).unwrap();
    let endpoint = format!("http://127.0.0.1:{}", browser.port());
    tool(project.path()).args(["a.ait.test.ts", "--cdp-endpoint", &endpoint, "--silence-timeout", "3s"]).run()
}

#[test]
fn a_tab_that_a_test_left_is_led_back_to_its_own_address() {
    let server = FixtureServer::start();
    // What must not be shown, what is too long to be shown whole, and what only looks as if it were a code.
    let long = "x".repeat(2500);
    let address = server.at(&format!("/app/index.html?created_at=5&at=123456&x=1&long={long}#part"));
    let browser = Phone::open(&address);
    let outcome = after_leaving(&browser);
    outcome.expect_code(1);
    assert!(outcome.stdout.contains("1 passed"), "{}", outcome.transcript());
    let there: Vec<_> = pages(browser.port()).into_iter().map(|(_, url)| url).collect();
    assert_eq!(there, [address]);
    let said = outcome.transcript();
    assert!(!said.contains("123456") && !said.contains(&long), "{said}");
}
