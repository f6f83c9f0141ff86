//! A page that is as quick as a program can be, so that what lies before it is measured.

use futures_util::{Sink, SinkExt, Stream, StreamExt};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

/// Messages that are answered in one go where so many are there.
const AT_ONCE: usize = 64;

/// A page's end of a connection.
pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

#[derive(Deserialize)]
struct Command<'a> {
    id: u64,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    expression: &'a RawValue,
}

/// Messages of any size, as browsers take them.
pub(crate) fn any_size() -> WebSocketConfig {
    WebSocketConfig::default().max_message_size(None).max_frame_size(None)
}

/// Dials.
pub(crate) async fn dial(url: &str) -> Socket {
    connect_async_with_config(url, Some(any_size()), true).await.expect("the page is let in").0
}

/// What our agent says first.
pub(crate) fn hello() -> Message {
    let params = json!({ "doc": "d", "url": "about:blank", "visible": true });
    Message::text(json!({ "method": "Agent.hello", "params": params }).to_string())
}

/// Answers every command with its own expression, until the connection ends.
pub(crate) async fn answer(socket: impl Stream<Item = Result<Message, Error>> + Sink<Message, Error = Error>) {
    let (mut sink, stream) = socket.split();
    let mut messages = stream.ready_chunks(AT_ONCE);
    let mut received = 0_u64;
    while let Some(some) = messages.next().await {
        for message in some {
            let Ok(Message::Text(text)) = message else { continue };
            let reply = match serde_json::from_str::<Command<'_>>(&text) {
                Ok(Command { id, params: Params { expression } }) => {
                    received += 1;
                    format!(r#"{{"id":{id},"result":{{"value":{expression}}}}}"#)
                }
                Err(_) if text.contains("Relay.echo") => {
                    let echo = json!({ "received": received, "visible": true });
                    json!({ "method": "Agent.echo", "params": echo }).to_string()
                }
                Err(_) => continue,
            };
            if sink.feed(Message::text(reply)).await.is_err() {
                return;
            }
        }
        if sink.flush().await.is_err() {
            return;
        }
    }
}

/// Sends so many events of so many bytes as fast as they are taken.
pub(crate) async fn flood(socket: &mut Socket, events: usize, bytes: usize) {
    let params = json!({ "type": "log", "text": "x".repeat(bytes) });
    let event = json!({ "method": "Runtime.consoleAPICalled", "params": params }).to_string();
    for _ in 0..events {
        // Whoever is cut off has seen enough.
        if socket.send(Message::text(event.as_str())).await.is_err() {
            return;
        }
    }
}
