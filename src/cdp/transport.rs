//! Ways to carry text frames: the pipe of a Chrome of ours, a WebSocket, or a pair in memory for our own relay.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};

use super::{CloseReason, Room, Taken};

/// Frames that may wait in each direction before the sender has to wait, as long as they are small: enough for a burst of
/// enables, few enough that a stalled other end is felt.
const QUEUE: usize = 256;
/// Largest frame taken from a browser: Chrome itself sends at most 100 MiB (a screenshot or a body).
const MAX_FRAME: usize = 128 << 20;
/// How long a WebSocket handshake may take: a phone behind a tunnel included.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Read buffer of a pipe: a page's bundle comes and goes in few reads.
const READ_BUFFER: usize = 64 << 10;

/// A duplex of text frames. Dropping it ends the tasks behind it.
#[derive(Debug)]
pub struct Transport {
    pub(super) outgoing: mpsc::Sender<String>,
    pub(super) incoming: Incoming,
    pub(super) tasks: JoinSet<()>,
}

/// What comes in, and the room it takes until then.
type Frame = (Result<String, CloseReason>, Option<Taken>);

/// Frames, and last the reason why there are no more.
#[derive(Debug)]
pub(super) struct Incoming(mpsc::Receiver<Frame>);

impl Incoming {
    pub(super) async fn recv(&mut self) -> Option<Result<String, CloseReason>> {
        Some(self.0.recv().await?.0)
    }
}

/// Where frames for an [`Incoming`] go in.
#[derive(Debug)]
struct Inlet {
    sender: mpsc::Sender<Frame>,
    room: Room,
}

impl Inlet {
    fn new() -> (Self, Incoming) {
        let (sender, receiver) = mpsc::channel(QUEUE + 1);
        (Self { sender, room: Room::default() }, Incoming(receiver))
    }

    /// Waits while too much waits.
    async fn send(&self, frame: String) -> Result<(), PeerGone> {
        let room = self.room.take(frame.len()).await;
        self.sender.send((Ok(frame), Some(room))).await.map_err(|_| PeerGone)
    }

    /// Says why there are no more.
    async fn end(self, reason: CloseReason) {
        drop(self.sender.send((Err(reason), None)).await);
    }
}

/// The other end of a [`memory`] transport.
#[derive(Debug)]
pub struct Peer {
    outgoing: Inlet,
    /// A place for the reason of the end, whatever waits before it.
    last: Option<mpsc::OwnedPermit<Frame>>,
    incoming: mpsc::Receiver<String>,
}

/// The client of a memory transport is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone")]
pub struct PeerGone;

/// Two ends in memory: what one sends the other receives.
pub fn memory() -> (Peer, Transport) {
    let (to_client, incoming) = Inlet::new();
    let (outgoing, from_client) = mpsc::channel(QUEUE);
    let last = to_client.sender.clone().try_reserve_owned().ok();
    let peer = Peer { outgoing: to_client, last, incoming: from_client };
    (peer, Transport { outgoing, incoming, tasks: JoinSet::new() })
}

impl Peer {
    /// Sends a frame to the client; waits while too many or too large ones wait for it.
    ///
    /// # Errors
    /// The client is gone.
    pub async fn send(&self, frame: String) -> Result<(), PeerGone> {
        self.outgoing.send(frame).await
    }

    /// The next frame of the client; `None` when it is gone.
    pub async fn recv(&mut self) -> Option<String> {
        self.incoming.recv().await
    }

    /// Ends the connection and tells the client why, after whatever it has not taken yet. Never waits.
    pub fn close(self, reason: impl Into<Arc<str>>) {
        self.close_with(CloseReason::Disconnected(reason.into()));
    }

    /// Ends the connection with a reason of any kind.
    pub fn close_with(self, reason: CloseReason) {
        if let Some(last) = self.last {
            last.send((Err(reason), None));
        }
    }
}

/// A Chrome started with `--remote-debugging-pipe`: JSON frames, each ended by a NUL. When the pipe has closed,
/// `last_words` is what else is known about its end; it may be empty.
pub fn pipe<R, W, L>(reader: R, writer: W, last_words: L) -> Transport
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
    L: Future<Output = String> + Send + 'static,
{
    let (outgoing, to_write) = mpsc::channel(QUEUE);
    let (read, incoming) = Inlet::new();
    let mut tasks = JoinSet::new();
    tasks.spawn(write_pipe(writer, to_write));
    tasks.spawn(read_pipe(reader, read, last_words));
    Transport { outgoing, incoming, tasks }
}

async fn write_pipe(mut writer: impl AsyncWrite + Unpin, mut frames: mpsc::Receiver<String>) {
    while let Some(frame) = frames.recv().await {
        let mut bytes = frame.into_bytes();
        bytes.push(0);
        // A broken pipe is the end of the browser; the reader says so.
        if writer.write_all(&bytes).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
}

async fn read_pipe(mut reader: impl AsyncRead + Unpin, frames: Inlet, last_words: impl Future<Output = String>) {
    let mut pending = Vec::new();
    let mut chunk = vec![0; READ_BUFFER];
    let reason = loop {
        let read = match reader.read(&mut chunk).await {
            Ok(0) => break format!("its pipe closed{}", last_words.await),
            Ok(read) => read,
            Err(error) => break format!("its pipe failed: {error}"),
        };
        let mut rest = &chunk[..read];
        while let Some(end) = rest.iter().position(|&byte| byte == 0) {
            pending.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            let frame = String::from_utf8_lossy(&pending).into_owned();
            pending.clear();
            if frames.send(frame).await.is_err() {
                return;
            }
        }
        if pending.len() + rest.len() > MAX_FRAME {
            break format!("it sent a message of more than {} MiB", MAX_FRAME >> 20);
        }
        pending.extend_from_slice(rest);
    };
    frames.end(CloseReason::BrowserGone(reason.into())).await;
}

/// Connects to a DevTools WebSocket over a TCP connection that is open already.
///
/// # Errors
/// The handshake failed or took too long; the text says which.
pub async fn websocket(url: &str, stream: TcpStream) -> Result<Transport, String> {
    let config = WebSocketConfig::default().max_message_size(Some(MAX_FRAME)).max_frame_size(Some(MAX_FRAME));
    let handshake = tokio_tungstenite::client_async_with_config(url, stream, Some(config));
    let (socket, _) = tokio::time::timeout(CONNECT_WITHIN, handshake)
        .await
        .map_err(|_| format!("no answer to the WebSocket handshake within {}s", CONNECT_WITHIN.as_secs()))?
        .map_err(|error| format!("the WebSocket handshake failed: {error}"))?;
    let (mut sink, mut source) = socket.split();
    let (outgoing, mut to_write) = mpsc::channel::<String>(QUEUE);
    let (read, incoming) = Inlet::new();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Some(frame) = to_write.recv().await {
            let sent = sink.feed(Message::text(frame)).await;
            // Frames that wait already go out together.
            if sent.is_err() || (to_write.is_empty() && sink.flush().await.is_err()) {
                return;
            }
        }
        drop(sink.close().await);
    });
    tasks.spawn(async move {
        let reason = loop {
            match source.next().await {
                Some(Ok(Message::Text(text))) => {
                    if read.send(text.as_str().to_owned()).await.is_err() {
                        return;
                    }
                }
                Some(Ok(Message::Close(frame))) => {
                    break close_words(frame.map(|f| (u16::from(f.code), f.reason.to_string())));
                }
                Some(Ok(_)) => {}
                Some(Err(WsError::ConnectionClosed | WsError::AlreadyClosed)) | None => break "it closed".to_owned(),
                Some(Err(error)) => break error.to_string(),
            }
        };
        read.end(CloseReason::Disconnected(reason.into())).await;
    });
    Ok(Transport { outgoing, incoming, tasks })
}

fn close_words(frame: Option<(u16, String)>) -> String {
    match frame {
        Some((code, reason)) if reason.is_empty() => format!("it was closed with code {code}"),
        Some((code, reason)) => format!("it was closed with code {code} ({reason})"),
        None => "it was closed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn pipe_frames_may_come_in_any_pieces() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let (reader, writer) = tokio::io::split(ours);
        let mut transport = pipe(reader, writer, async { "; it was tired".to_owned() });
        theirs.write_all(b"{\"a\"").await.unwrap();
        theirs.write_all(b":1}\0{}\0{").await.unwrap();
        assert_eq!(transport.incoming.recv().await.unwrap().unwrap(), "{\"a\":1}");
        assert_eq!(transport.incoming.recv().await.unwrap().unwrap(), "{}");
        transport.outgoing.send("hi".into()).await.unwrap();
        let mut got = [0; 3];
        theirs.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"hi\0");
        drop(theirs);
        let gone = CloseReason::BrowserGone("its pipe closed; it was tired".into());
        assert_eq!(transport.incoming.recv().await.unwrap(), Err(gone));
    }

    #[tokio::test]
    async fn a_memory_pair_tells_why_it_ended() {
        let (mut peer, mut transport) = memory();
        transport.outgoing.send("up".into()).await.unwrap();
        assert_eq!(peer.recv().await.unwrap(), "up");
        peer.send("down".into()).await.unwrap();
        peer.close("the phone left");
        assert_eq!(transport.incoming.recv().await.unwrap().unwrap(), "down");
        let reason = transport.incoming.recv().await.unwrap().unwrap_err();
        assert_eq!(reason.to_string(), "the connection closed: the phone left");
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_for_a_client_is_bounded_in_size() {
        let (peer, mut transport) = memory();
        let large = || peer.send("x".repeat(10 << 20));
        large().await.unwrap();
        assert!(tokio::time::timeout(Duration::from_secs(1), large()).await.is_err());
        assert!(transport.incoming.recv().await.unwrap().is_ok());
        large().await.unwrap();
    }
}
