//! Readers of the stream who do not read: they cost little, hold nobody up, and do not outlive the run.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::screen::Stage;

const WITHIN: Duration = Duration::from_secs(20);
/// How long readers get to hear the end.
const FAREWELL: Duration = Duration::from_secs(1);
/// More than the buffers of a connection take.
const MUCH: usize = 40 << 20;
/// Streams that are served at a time.
const STREAMS: usize = 16;

async fn listen(stage: &Stage) -> TcpStream {
    let address = stage.dashboard.address();
    let (host, path) = address.expose().strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let request = format!("GET /{path}events HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Reads until a text has come.
async fn hear(stream: &mut TcpStream, text: &str) {
    let mut all = Vec::new();
    let heard = timeout(WITHIN, async {
        // The text is short, so it stands in what came since the last look, or a little before.
        let mut looked = 0;
        while !all[looked..].windows(text.len()).any(|part| part == text.as_bytes()) {
            looked = all.len().saturating_sub(text.len());
            assert!(stream.read_buf(&mut all).await.unwrap() > 0, "the stream ended before {text:?}");
        }
    });
    heard.await.unwrap_or_else(|_| panic!("{text:?} did not come"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_reader_holds_nobody_up() {
    let mut stage = Stage::start().await;
    stage.begin();
    let error = json!({ "name": "Error", "message": "no", "kind": "error", "diff": "x".repeat(MUCH) });
    stage.tell(json!({ "type": "testFinished", "file": "a", "test": "a > b", "path": ["b"], "state": "failed",
        "durationMs": 1.0, "errors": [error] }));
    let mut stalled = listen(&stage).await;
    hear(&mut stalled, "200 OK").await;
    let mut reading = listen(&stage).await;
    hear(&mut reading, "\"notices\":[").await;
    stage.tell(json!({ "type": "notice", "level": "info", "message": "still heard" }));
    hear(&mut reading, "still heard").await;
    stage.end();
    let since = Instant::now();
    stage.dashboard.shutdown(FAREWELL).await;
    assert!(since.elapsed() < 2 * FAREWELL, "{:?}", since.elapsed());
    hear(&mut reading, "event: end").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_are_only_so_many() {
    let stage = Stage::start().await;
    let mut open = Vec::new();
    for _ in 0..STREAMS {
        let mut stream = listen(&stage).await;
        hear(&mut stream, "200 OK").await;
        open.push(stream);
    }
    hear(&mut listen(&stage).await, "503 Service Unavailable").await;
    stage.dashboard.shutdown(FAREWELL).await;
    for mut stream in open {
        hear(&mut stream, "event: end").await;
    }
}
