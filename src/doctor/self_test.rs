//! A relay of our own, and pages with a right and a wrong code, all in this process.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use hyper::Method;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use super::Way;
use super::clock::seconds_ahead;
use super::verdicts::{Reached, RelaySeen};
use crate::http;
use crate::relay::{Relay, RelayOptions};
use crate::secret::{Hidden, Secret};
use crate::totp::UnixSeconds;
use crate::tunnel::{Proof, Tunnel, TunnelKind, TunnelOptions, TunnelState};

/// One step with a relay in the same process takes milliseconds.
const STEP_LIMIT: Duration = Duration::from_secs(5);
/// How long a tunnel may take to lead to the relay: usually ten seconds, and a person waits for the answer.
const REACH_LIMIT: Duration = Duration::from_secs(45);
/// What our agent says first.
const HELLO: &str = r#"{"method":"Agent.hello","params":{"doc":"doctor","url":"about:blank","visible":true}}"#;

/// What came of trying a relay.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) relay: Result<RelaySeen, String>,
    /// By how many seconds its clock is ahead of ours.
    pub(super) clock: Result<i64, String>,
    pub(super) reached: Reached,
}

impl Tried {
    pub(super) fn failed(why: &str) -> Self {
        Self { relay: Err(why.to_owned()), clock: Err(why.to_owned()), reached: Reached::NotTried }
    }
}

/// Tries a relay with this secret, and the way to it.
pub(super) async fn relay(secret: Secret, way: &Way) -> Tried {
    let listen = match way {
        Way::Tunnel { listen, .. } => *listen,
        Way::None | Way::Portless => RelayOptions::LOOPBACK,
    };
    let relay = match Relay::start(RelayOptions { listen, ..RelayOptions::local(secret, crate::assets::AGENT) }).await {
        Ok(relay) => relay,
        Err(error) => return Tried::failed(&error.to_string()),
    };
    let (right, wrong) = codes(&relay);
    let address = relay.address();
    let right_code = welcome(address, &right).await;
    let wrong_code = turned_away(address, &wrong).await;
    let agent = http_get(address, &format!("/at/{}/target.js", right.expose())).await;
    let clock = agent.as_ref().map_err(Clone::clone).and_then(seconds_ahead);
    let agent_bytes = agent.and_then(|answer| match answer.status {
        200 => Ok(answer.body.len()),
        other => Err(format!("HTTP {other}")),
    });
    let reached = match way {
        Way::None => Reached::NotTried,
        Way::Portless => Reached::Portless,
        Way::Tunnel { tunnel, asked, .. } => {
            let took = reach(&relay, TunnelOptions::clone(tunnel)).await;
            let by_program = matches!(tunnel.kind, TunnelKind::Cloudflared(_));
            Reached::Tried { took, asked: *asked, by_program }
        }
    };
    relay.shutdown().await;
    Tried { relay: Ok(RelaySeen { right_code, wrong_code, agent_bytes }), clock, reached }
}

/// How long it takes until the relay answers from outside.
async fn reach(relay: &Relay, options: TunnelOptions) -> Result<Duration, String> {
    let began = Instant::now();
    let echo = relay.echo();
    let path = Hidden::new(format!("/echo/{}", echo.path.expose()));
    let tunnel = Tunnel::open(options, relay.address(), Proof { path, answer: echo.answer.clone() });
    let mut states = tunnel.state();
    let decided = states.wait_for(|state| matches!(state, TunnelState::Up(_) | TunnelState::Failed(_)));
    let decided = timeout(REACH_LIMIT, decided).await.map(|state| state.map(|state| state.clone()));
    let took = match decided {
        Ok(Ok(TunnelState::Up(_))) => Ok(began.elapsed()),
        Ok(Ok(TunnelState::Failed(why))) => Err(why),
        _ => Err(match tunnel.state().borrow().clone() {
            TunnelState::Starting(words) | TunnelState::Down(words) => {
                format!("our relay did not answer through it within {} s. {words}", REACH_LIMIT.as_secs())
            }
            TunnelState::Up(_) | TunnelState::Failed(_) => slow(),
        }),
    };
    tunnel.shutdown().await;
    took
}

/// A code that counts now, and one that does not.
fn codes(relay: &Relay) -> (Hidden, Hidden) {
    let now = UnixSeconds::now();
    let wrong = (0..).map(|n| format!("{n:06}")).find(|code| !relay.totp().accepts(code, now));
    (relay.totp().code(now), Hidden::new(wrong.unwrap_or_default()))
}

/// How long a page takes to get in.
async fn welcome(address: SocketAddr, code: &Hidden) -> Result<Duration, String> {
    let began = Instant::now();
    let visit = async {
        let mut socket = dial(address, code).await?;
        socket.send(Message::text(HELLO)).await.map_err(|error| error.to_string())?;
        let first = socket.next().await.ok_or("it was closed without a word")?.map_err(|error| error.to_string())?;
        match first {
            Message::Text(text) if text.contains(r#""Relay.welcome""#) => Ok(began.elapsed()),
            Message::Close(Some(frame)) => Err(format!("it was closed with {}", frame.code)),
            _ => Err("it was told something else than welcome".to_owned()),
        }
    };
    timeout(STEP_LIMIT, visit).await.unwrap_or_else(|_| Err(slow()))
}

/// The code that a page is closed with.
async fn turned_away(address: SocketAddr, code: &Hidden) -> Result<u16, String> {
    let visit = async {
        let mut socket = dial(address, code).await?;
        match socket.next().await {
            Some(Ok(Message::Close(Some(frame)))) => Ok(frame.code.into()),
            Some(Err(error)) => Err(error.to_string()),
            _ => Err("it was not turned away".to_owned()),
        }
    };
    timeout(STEP_LIMIT, visit).await.unwrap_or_else(|_| Err(slow()))
}

type Socket = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<TcpStream>>;

async fn dial(address: SocketAddr, code: &Hidden) -> Result<Socket, String> {
    let url = format!("ws://{address}/at/{}/target/doctor", code.expose());
    connect_async(url).await.map(|(socket, _)| socket).map_err(|error| error.to_string())
}

async fn http_get(address: SocketAddr, path: &str) -> Result<http::Answer, String> {
    let stream = timeout(STEP_LIMIT, TcpStream::connect(address)).await.map_err(|_| slow())?;
    let stream = stream.map_err(|error| error.to_string())?;
    // The path carries a code, which errors of a request name.
    let answer = http::request(stream, &address.to_string(), Method::GET, path, None, STEP_LIMIT).await;
    answer.map_err(|_| "the request failed".to_owned())
}

fn slow() -> String {
    format!("nothing happened within {} s", STEP_LIMIT.as_secs())
}
