//! Pages whose policy forbids what debugging needs: the built tool, and both engines.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use support::tool::Outcome;

use super::*;
use crate::attach_clock::link;
use crate::tool;

/// The nonce of the page's own scripts.
const NONCE: &str = "n0nce";

/// Passes where scripts run and `eval` does not, and says how values and mistakes come through.
const SUITE: &str = "import { expect, it } from 'vitest';
it('runs', async () => {
  expect(document.title).toBe('strict');
  expect(() => (0, eval)('1')).toThrow();
  await new Promise((done) => setTimeout(done, 10));
});
it('fails here', () => {
  console.log('seen');
  expect({ a: 1 }).toEqual({ a: 2 });
});
";

/// A server for one page that loads the agent by its tag; ends when dropped.
struct StrictPage {
    address: String,
    over: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

impl StrictPage {
    /// `{relay}` in the policy stands for the relay's address.
    fn serve(link: &str, policy: &str) -> Self {
        let (relay, code) = link.split_once("/attach?at=").unwrap();
        let policy = policy.replace("{relay}", relay);
        let body = format!(
            "<!doctype html><title>strict</title><script nonce=\"{NONCE}\" src=\"{relay}/at/{code}/target.js\"></script>"
        );
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Security-Policy: {policy}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{body}",
            body.len()
        );
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let server = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let mut stream = stream.unwrap();
                drop(stream.read(&mut [0; 4096]));
                drop(stream.write_all(answer.as_bytes()));
            }
        });
        Self { address, over, server: Some(server) }
    }
}

impl Drop for StrictPage {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        drop(std::net::TcpStream::connect(self.address.trim_start_matches("http://").trim_end_matches('/')));
        if let Some(server) = self.server.take() {
            drop(server.join());
        }
    }
}

/// The suite in a page with this policy.
async fn run_in(engine: &str, policy: &str) -> Outcome {
    let project = tempfile::tempdir().unwrap();
    fs_err::write(project.path().join("strict.ait.test.ts"), SUITE).unwrap();
    let mut running = tool(project.path())
        .args(["--show-url", "--reporter", "json", "--attach-timeout", "60s"])
        .env("AIT_DEBUG_TOTP_SECRET", "00112233445566778899aabbccddeeff")
        .start();
    let page = StrictPage::serve(&running.wait_for("the attach link", link), policy);
    let mut webkit = Webkit::new(WebkitOptions { search_path: std::env::var("PATH").ok(), ..Default::default() });
    let _phone = if engine == "Chrome" {
        Some(Phone::open(&page.address))
    } else {
        webkit.open(&Hidden::new(page.address.as_str())).await.unwrap();
        None
    };
    let outcome = tokio::task::block_in_place(|| running.wait());
    webkit.close().await;
    outcome
}

/// Every test ran, and what failed is told with its place in the source.
#[track_caller]
fn ran(engine: &str, policy: &str, outcome: &Outcome) {
    let about = format!("{engine}, {policy}\n{}", outcome.transcript());
    let events = outcome.events();
    let of = |kind: &'static str| events.iter().filter(move |event| event["type"] == kind);
    let tests: Vec<&str> = of("testFinished").map(|event| event["state"].as_str().unwrap()).collect();
    assert_eq!(tests, ["passed", "failed"], "{about}");
    let failure = of("testFinished").next_back().unwrap();
    let frame = &failure["errors"][0]["frames"][0];
    assert_eq!((&frame["file"], &frame["line"]), (&json!("strict.ait.test.ts"), &json!(9)), "{failure}\n{about}");
    assert!(of("console").any(|event| event["text"] == "seen"), "{about}");
    assert_eq!(outcome.code, Some(1), "{about}");
}

/// One after the other: a WebKit is a heavy thing.
async fn ran_in_both(policy: &str) {
    for engine in ["Chrome", "WebKit"] {
        ran(engine, policy, &run_in(engine, policy).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_allows_scripts_by_their_host_runs_tests() {
    ran_in_both("script-src {relay}").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_allows_scripts_by_their_nonce_runs_tests() {
    ran_in_both("script-src 'nonce-n0nce'; style-src 'none'; base-uri 'none'").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_requires_trusted_types_runs_tests() {
    ran_in_both("require-trusted-types-for 'script'").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_requires_trusted_types_and_forbids_eval_runs_tests() {
    ran_in_both("require-trusted-types-for 'script'; script-src {relay} 'strict-dynamic' 'nonce-n0nce'").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_where_no_script_can_run_is_told_by_name() {
    // The agent and nothing beside it; and no policy but the page's own.
    for policy in ["script-src {relay}/at/", "require-trusted-types-for 'script'; trusted-types app"] {
        for engine in ["Chrome", "WebKit"] {
            let outcome = run_in(engine, policy).await;
            assert!(
                outcome.transcript().contains("content security policy forbids eval"),
                "{engine}, {policy}\n{}",
                outcome.transcript()
            );
            assert_eq!(outcome.code, Some(2), "{engine}, {policy}\n{}", outcome.transcript());
        }
    }
}
