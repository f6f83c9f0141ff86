//! Resident memory, of the built tool and of chii: idle, with many pages, and while a client takes nothing.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use futures_util::SinkExt;
use futures_util::future::join_all;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use super::page;
use super::way::{WITHIN, attached, chii_client, chii_target, relay, start_chii};

const TOOL: &str = env!("CARGO_BIN_EXE_devtools-test");
/// The argument that makes this program the process that is measured.
pub(crate) const STALL: &str = "--stall";
/// Pages that dial in.
pub(crate) const PAGES: usize = 200;
/// Events of a mebibyte that a page sends to a client that takes nothing.
pub(crate) const EVENTS: usize = 300;
/// What is allocated late is there by then.
const SETTLED: Duration = Duration::from_secs(1);

/// In KiB.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) idle: u64,
    /// With [`PAGES`] connections open.
    pub(crate) pages: u64,
    /// The peak while a client takes nothing.
    pub(crate) stalled: u64,
}

/// The tool as it waits for a page; a client that takes nothing is not in it, so that one is in a process of this program.
pub(crate) async fn ours() -> Memory {
    let folder = tempfile::tempdir().unwrap();
    let (tool, _lines, link) = waiting_tool(folder.path()).await;
    let pid = tool.id().unwrap();
    let idle = settled(pid).await;
    let (origin, code) = link.split_once("/attach?at=").expect("the link of a page of ours");
    let origin = origin.replacen("http", "ws", 1);
    let code = &code[..6];
    let pages = with_pages(pid, |n| format!("{origin}/at/{code}/target/page{n}")).await;
    Memory { idle, pages, stalled: stalled_ours().await }
}

/// chii, each time started anew.
pub(crate) async fn chii(script: &str) -> Memory {
    let (chii, address) = start_chii(script).await;
    let pid = chii.id().unwrap();
    let idle = settled(pid).await;
    let pages = with_pages(pid, |n| chii_target(&address, &format!("page{n}"))).await;
    Memory { idle, pages, stalled: stalled_chii(script).await }
}

/// Lets so many pages dial in, as many at a time as a server is sure to take.
async fn with_pages(pid: u32, url: impl Fn(usize) -> String) -> u64 {
    let mut open = Vec::new();
    for some in (0..PAGES).collect::<Vec<_>>().chunks(20) {
        let urls: Vec<String> = some.iter().map(|&n| url(n)).collect();
        open.extend(join_all(urls.iter().map(|url| page::dial(url))).await);
    }
    assert_eq!(open.len(), PAGES);
    settled(pid).await
}

async fn stalled_chii(script: &str) -> u64 {
    let (chii, address) = start_chii(script).await;
    let mut page = page::dial(&chii_target(&address, "bench")).await;
    let _client = page::dial(&chii_client(&address, "bench")).await;
    timeout(WITHIN, page::flood(&mut page, EVENTS, 1 << 20)).await.expect("chii takes it");
    sleep(SETTLED).await;
    kib(chii.id().unwrap(), "VmHWM:")
}

async fn stalled_ours() -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(STALL).stdout(Stdio::piped()).stdin(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let url = lines.next_line().await.unwrap().expect("where it listens");
    let mut page = page::dial(&url).await;
    page.send(page::hello()).await.unwrap();
    lines.next_line().await.unwrap().expect("the client is there");
    // The client is given up when it took nothing for a while; the page is held back until then.
    timeout(WITHIN, page::flood(&mut page, EVENTS, 1 << 20)).await.expect("the relay takes it");
    kib(child.id().unwrap(), "VmHWM:")
}

/// A relay and a client that takes nothing, until standard input ends.
pub(crate) async fn stall() {
    let (relay, url) = relay().await;
    println!("{url}");
    let _client = attached(&relay).await.connect().await;
    println!("stalled");
    tokio::task::spawn_blocking(|| std::io::stdin().lines().count()).await.unwrap();
}

async fn waiting_tool(folder: &Path) -> (Child, Lines<BufReader<ChildStdout>>, String) {
    tokio::fs::write(folder.join("package.json"), "{}").await.unwrap();
    let test = "import { it } from 'vitest';\nit('holds', () => {});\n";
    tokio::fs::write(folder.join("a.ait.test.ts"), test).await.unwrap();
    let mut command = Command::new(TOOL);
    command.args(["a.ait.test.ts", "--show-url", "--tunnel", "none", "--color", "never"]).current_dir(folder);
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let link = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if let Some(at) = line.find("http://").filter(|_| line.contains("/attach?at=")) {
                return line[at..].trim().to_owned();
            }
        }
        panic!("the tool ended before it showed its link");
    };
    let link = timeout(WITHIN, link).await.expect("a link");
    (child, lines, link)
}

async fn settled(pid: u32) -> u64 {
    sleep(SETTLED).await;
    kib(pid, "VmRSS:")
}

/// A line of proc(5)'s `status`.
fn kib(pid: u32, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap()
}
