//! The ways between a client and a page. Each as it is used: the client of our relay lives in its process, chii's dials in.

use std::process::Stdio;
use std::time::Duration;

use devtools_test::assets;
use devtools_test::cdp::{Client, transport};
use devtools_test::relay::{Relay, RelayOptions, Target};
use devtools_test::secret::Secret;
use devtools_test::totp::UnixSeconds;
use futures_util::SinkExt;
use serde_json::value::RawValue;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::accept_async_with_config;

use super::{Expression, page};

/// Nothing of all this takes as long.
pub(crate) const WITHIN: Duration = Duration::from_secs(60);

/// What lies between client and page.
#[derive(Clone, Copy)]
pub(crate) enum Way<'a> {
    /// One WebSocket.
    Bare,
    /// Our relay.
    Ours,
    /// chii, by its start script.
    Chii(&'a str),
}

/// A client and a page that answers it.
pub(crate) struct Line {
    pub(crate) client: Client,
    page: JoinHandle<()>,
    _relay: Option<Relay>,
    _chii: Option<Child>,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.page.abort();
    }
}

impl Way<'_> {
    pub(crate) async fn open(self) -> Line {
        match self {
            Way::Bare => bare().await,
            Way::Ours => ours().await,
            Way::Chii(script) => chii(script).await,
        }
    }
}

async fn bare() -> Line {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("ws://{}/", listener.local_addr().unwrap());
    let page = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        page::answer(accept_async_with_config(stream, Some(page::any_size())).await.unwrap()).await;
    });
    Line { client: Client::new(dial(&url).await), page, _relay: None, _chii: None }
}

async fn ours() -> Line {
    let (relay, url) = relay().await;
    let page = tokio::spawn(async move {
        let mut socket = page::dial(&url).await;
        socket.send(page::hello()).await.unwrap();
        page::answer(socket).await;
    });
    let client = Client::new(attached(&relay).await.connect().await);
    Line { client, page, _relay: Some(relay), _chii: None }
}

/// A relay, and where a page dials in.
pub(crate) async fn relay() -> (Relay, String) {
    let relay = Relay::start(RelayOptions::local(Secret::random().unwrap(), assets::AGENT)).await.unwrap();
    let code = relay.totp().code(UnixSeconds::now());
    let url = format!("ws://{}/at/{}/target/bench", relay.address(), code.expose());
    (relay, url)
}

/// The page that dialled in.
pub(crate) async fn attached(relay: &Relay) -> Target {
    let mut status = relay.status();
    let attached = status.wait_for(|status| status.target.is_some());
    timeout(WITHIN, attached).await.expect("the page attaches").unwrap().target.clone().unwrap()
}

async fn chii(script: &str) -> Line {
    let (chii, address) = start_chii(script).await;
    let url = chii_target(&address, "bench");
    let page = tokio::spawn(async move { page::answer(page::dial(&url).await).await });
    // Its handshake always succeeds; who comes before the page is let go at once.
    let url = chii_client(&address, "bench");
    let client = loop {
        let client = Client::new(dial(&url).await);
        let one = Expression { expression: "1" };
        if client.root().call::<Box<RawValue>>("Runtime.evaluate", one, Duration::from_secs(1)).await.is_ok() {
            break client;
        }
    };
    Line { client, page, _relay: None, _chii: Some(chii) }
}

/// Starts it; gives its host and port.
pub(crate) async fn start_chii(script: &str) -> (Child, String) {
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let mut command = Command::new("node");
    command.args([script, "start", "--host", "127.0.0.1", "--port", &port.to_string()]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap();
    let listens = async {
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(WITHIN, listens).await.expect("chii listens");
    (child, format!("127.0.0.1:{port}"))
}

/// Where a page of chii dials in.
pub(crate) fn chii_target(address: &str, id: &str) -> String {
    format!("ws://{address}/target/{id}?url=about%3Ablank&title=bench&favicon=")
}

/// Where a client of that page dials in.
pub(crate) fn chii_client(address: &str, id: &str) -> String {
    format!("ws://{address}/client/bench?target={id}")
}

async fn dial(url: &str) -> transport::Transport {
    let stream = TcpStream::connect(url.split('/').nth(2).unwrap()).await.unwrap();
    stream.set_nodelay(true).unwrap();
    transport::websocket(url, stream).await.unwrap()
}
