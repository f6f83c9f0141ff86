//! One HTTP/1.1 request over a connection that is there, for the small APIs of browsers and their drivers.

use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// Largest answer that is taken: `/json/list` of a browser with hundreds of tabs is some 100 KiB.
const MAX_ANSWER: usize = 4 << 20;

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// 200, 404 ...
    pub status: u16,
    /// The `Date` header as it was sent.
    pub date: Option<String>,
    /// What is no UTF-8 is replaced.
    pub body: String,
}

/// Sends one request and reads its answer within `limit`; `body` is JSON. The connection is closed afterwards.
///
/// # Errors
/// In words, which name method and path: it failed, or took too long.
pub async fn request(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    authority: &str,
    method: Method,
    path: &str,
    body: Option<String>,
    limit: Duration,
) -> Result<Answer, String> {
    let what = format!("{method} {path}");
    let exchange = async {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, authority)
            .header(header::ACCEPT, "application/json")
            .header(header::CONNECTION, "close")
            .header(header::CONTENT_TYPE, "application/json; charset=utf-8")
            .body(Full::new(Bytes::from(body.unwrap_or_default())))
            .map_err(|error| error.to_string())?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|e| words(&e))?;
        tokio::pin!(connection);
        let answer = async {
            let answer = sender.send_request(request).await.map_err(|e| words(&e))?;
            let status = answer.status().as_u16();
            let date = answer.headers().get(header::DATE).and_then(|date| date.to_str().ok()).map(str::to_owned);
            let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await.map_err(|e| e.to_string())?;
            Ok(Answer { status, date, body: String::from_utf8_lossy(&body.to_bytes()).into_owned() })
        };
        tokio::pin!(answer);
        // The connection does the work of the request and ends with it or before it.
        tokio::select! {
            answer = &mut answer => answer,
            ended = &mut connection => match ended {
                Ok(()) => answer.await,
                Err(error) => Err(words(&error)),
            },
        }
    };
    match tokio::time::timeout(limit, exchange).await {
        Ok(answer) => answer.map_err(|why| format!("{what} failed: {why}")),
        Err(_) => Err(format!("no answer to {what} within {}s", limit.as_secs_f32())),
    }
}

/// An error and what lies behind it.
fn words(error: &hyper::Error) -> String {
    if error.is_parse() {
        return "this is no HTTP server".into();
    }
    let behind = std::error::Error::source(error).map(|source| format!(" ({source})")).unwrap_or_default();
    format!("{error}{behind}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const WITHIN: Duration = Duration::from_secs(10);

    /// Sends a request to a server that says this, and then keeps the connection open.
    async fn told(said: &'static [u8], limit: Duration) -> (Result<Answer, String>, String) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let serve = async {
            let mut asked = vec![0; 4096];
            let read = server.read(&mut asked).await.unwrap();
            server.write_all(said).await.unwrap();
            String::from_utf8_lossy(&asked[..read]).into_owned()
        };
        let body = Some(r#"{"a":1}"#.to_owned());
        tokio::join!(request(stream, "h:1", Method::POST, "/p", body, limit), serve)
    }

    #[tokio::test]
    async fn lengths_and_chunks_are_understood_and_the_body_is_sent() {
        let (answer, asked) = told(b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno", WITHIN).await;
        assert_eq!(answer, Ok(Answer { status: 404, date: None, body: "no".into() }));
        assert!(asked.starts_with("POST /p HTTP/1.1\r\n") && asked.ends_with("\r\n\r\n{\"a\":1}"), "{asked}");
        assert!(asked.to_ascii_lowercase().contains("host: h:1\r\n"), "{asked}");
        let chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n";
        assert_eq!(told(chunks, WITHIN).await.0.unwrap().body, "abcd");
    }

    #[tokio::test]
    async fn what_is_no_answer_is_named() {
        let odd = told(b"SSH-2.0-OpenSSH_9.2\r\n", WITHIN).await.0;
        assert_eq!(odd, Err("POST /p failed: this is no HTTP server".into()));
        let short = told(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", Duration::from_millis(50)).await.0;
        assert_eq!(short, Err("no answer to POST /p within 0.05s".into()));
    }
}
