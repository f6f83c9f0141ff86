//! A proxy before a Chrome's debugging socket that speaks like a Chrome of the future: it adds events nobody knows,
//! fields nobody expects, values outside every enumeration, and replies to calls nobody made.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::JoinHandle;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{accept_async, connect_async};

/// A running proxy; dropping it ends it.
#[derive(Debug)]
pub struct Meddler {
    address: SocketAddr,
    path: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Meddler {
    /// Starts one before `endpoint`, a `ws://` address.
    pub fn start(endpoint: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port on 127.0.0.1");
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let path = endpoint.splitn(4, '/').nth(3).expect("an endpoint has a path").to_owned();
        let (stop, stopped) = oneshot::channel();
        let endpoint = endpoint.to_owned();
        let thread = std::thread::spawn(move || serve(listener, &endpoint, stopped));
        Self { address, path, stop: Some(stop), thread: Some(thread) }
    }

    /// Its own `ws://` address.
    pub fn endpoint(&self) -> String {
        format!("ws://{}/{}", self.address, self.path)
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn serve(listener: TcpListener, endpoint: &str, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let accept = async {
            // One debugger at a time is enough.
            while let Ok((stream, _)) = listener.accept().await {
                between(stream, endpoint).await;
            }
        };
        tokio::select! {
            () = accept => {}
            _ = stopped => {}
        }
    });
}

/// Hands messages on in both directions until either side closes.
async fn between(stream: TcpStream, endpoint: &str) {
    let Ok(client) = accept_async(stream).await else { return };
    let Ok((chrome, _)) = connect_async(endpoint).await else { return };
    let (mut to_client, mut from_client) = client.split();
    let (mut to_chrome, mut from_chrome) = chrome.split();
    loop {
        tokio::select! {
            message = from_client.next() => {
                let Some(Ok(message)) = message else { return };
                if to_chrome.send(message).await.is_err() {
                    return;
                }
            }
            message = from_chrome.next() => {
                let Some(Ok(Message::Text(text))) = message else { return };
                for text in embellish(&text) {
                    if to_client.send(Message::text(text)).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

/// The message with a field nobody expects, among messages nobody asked for.
fn embellish(text: &str) -> Vec<String> {
    let mut message: Value = serde_json::from_str(text).expect("Chrome speaks JSON");
    message["fieldOfTheFuture"] = json!([{"nested": null}]);
    let mut all = vec![
        json!({"method": "New.thing", "params": {}}),
        json!({"method": "New.withoutParams"}),
        json!({"id": 4_000_000_000_u64, "error": {"message": "a reply to nobody, without a code"}}),
        json!({"method": "Target.targetInfoChanged", "params": {"targetInfo": {"targetId": "x", "type": "hologram"}}}),
    ];
    if let Some(session) = message.get("sessionId") {
        all.push(json!({
            "sessionId": session, "method": "Runtime.consoleAPICalled",
            "params": {"type": "hologram", "args": [{"type": "quantum", "value": "x"}], "executionContextId": 1, "timestamp": 0},
        }));
        all.push(json!({"sessionId": session, "method": "Page.frameTeleported", "params": {"frameId": 7}}));
    }
    all.push(message);
    all.iter().map(Value::to_string).collect()
}
