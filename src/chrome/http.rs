//! One small HTTP GET to a DevTools endpoint, for which a whole HTTP client would be much.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A DevTools endpoint answers at once; a phone behind `adb forward` takes a little longer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// `/json/list` of a browser with hundreds of tabs is some 100 KiB.
const MAX_ANSWER: u64 = 4 << 20;

/// Fetches `path`. Not with HTTP/1.0, which Chrome drops without an answer; DevTools endpoints announce a length and do
/// not send in chunks.
///
/// # Errors
/// In words: it failed, took too long, or the status is not 200.
pub(super) async fn get(mut stream: TcpStream, authority: &str, path: &str) -> Result<String, String> {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\nAccept: application/json\r\nConnection: close\r\n\r\n");
    let exchange = async {
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        read_answer(&mut stream, &mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer = tokio::time::timeout(ANSWER_WITHIN, exchange)
        .await
        .map_err(|_| format!("no answer to GET {path} within {}s", ANSWER_WITHIN.as_secs()))?
        .map_err(|error| format!("GET {path} failed: {error}"))?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| format!("GET {path}: this is no HTTP server"))?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status != "200" {
        return Err(format!("GET {path} was answered with status {status}"));
    }
    Ok(body.to_owned())
}

/// Until the end of the connection or of the announced length: some endpoints keep the connection open all the same.
async fn read_answer(stream: &mut TcpStream, answer: &mut Vec<u8>) -> std::io::Result<()> {
    let mut limited = stream.take(MAX_ANSWER);
    loop {
        if let Some(length) = full_length(answer)
            && answer.len() >= length
        {
            return Ok(());
        }
        if limited.read_buf(answer).await? == 0 {
            return Ok(());
        }
    }
}

fn full_length(answer: &[u8]) -> Option<usize> {
    let head_end = answer.windows(4).position(|w| w == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..head_end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"))?;
    Some(head_end + 4 + length.trim().parse::<usize>().ok()?)
}
