//! Pages whose policy forbids what debugging needs.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// A page on a server of its own that loads the agent by its tag and allows no `eval`; its address.
async fn strict_page(link: &str, serving: &mut tokio::task::JoinSet<()>) -> String {
    let (relay, code) = link.split_once("/attach?at=").unwrap();
    let body = format!("<!doctype html><title>strict</title><script src=\"{relay}/at/{code}/target.js\"></script>");
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Security-Policy: script-src {relay}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    serving.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = [0; 4096];
            drop(stream.read(&mut asked).await);
            drop(stream.write_all(answer.as_bytes()).await);
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_forbids_eval_is_told_by_name_in_both_engines() {
    for engine in ["Chrome", "WebKit"] {
        let mut desk = Desk::new(WITHIN);
        let mut serving = tokio::task::JoinSet::new();
        let Desk { pages, links, events, .. } = &mut desk;
        let mut webkit = Webkit::new(WebkitOptions { search_path: std::env::var("PATH").ok(), ..Default::default() });
        let scan = async {
            let address = strict_page(&links.recv().await.unwrap(), &mut serving).await;
            if engine == "Chrome" {
                return Some(Phone::open(&address));
            }
            webkit.open(&Hidden::new(address)).await.unwrap();
            None
        };
        let (page, _phone) = tokio::join!(pages.open(events), scan);
        let why = page.expect_err("no script can run in it").to_string();
        assert!(why.contains("content security policy forbids eval"), "{engine}: {why}");
        desk.pages.close().await;
        webkit.close().await;
    }
}
