//! Starting and ending a relay.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::choice::Choice;
use super::door;
use super::gate::Gate;
use super::hub::{Echo, Hub, Public, RelayStatus};
use super::proxy::AppAddress;
use crate::secret::{Hidden, Scrub, Secret, SecretError};
use crate::totp::{Totp, UnixSeconds};

/// A connection that carries nothing is asked after so long, and is over some minute later when no answer comes.
const KEEPALIVE: TcpKeepalive =
    TcpKeepalive::new().with_time(Duration::from_secs(30)).with_interval(Duration::from_secs(10));
/// Tunnels and NATs drop what is silent; the shortest cut seen in the field is 60 s.
pub const DEFAULT_KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long pages get to be told that the run is over.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(1);

/// What a relay needs.
#[derive(Debug)]
pub struct RelayOptions {
    /// What codes are made from.
    pub secret: Secret,
    /// The agent's script.
    pub agent: Arc<str>,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The server of the app that the attach link leads to; without it a page of ours.
    pub app: Option<AppAddress>,
    /// Which page is wanted.
    pub choice: Choice,
    /// How often connections of pages are kept awake.
    pub keep_alive: Duration,
    /// Takes what a person should know, in sentences.
    pub notices: mpsc::UnboundedSender<String>,
    /// Is told what must not be read anywhere: the secret, codes, tickets and the host by which pages come.
    pub scrub: Scrub,
}

impl RelayOptions {
    /// On a free port of this machine, reachable from it alone.
    pub const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

    /// There, for any page, and with nobody who wants to know what happens.
    pub fn local(secret: Secret, agent: &str) -> Self {
        let (notices, _) = mpsc::unbounded_channel();
        Self {
            secret,
            agent: agent.into(),
            listen: Self::LOOPBACK,
            app: None,
            choice: Choice::default(),
            keep_alive: DEFAULT_KEEP_ALIVE,
            notices,
            scrub: Scrub::default(),
        }
    }
}

/// Why a relay did not start.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The address is taken, or not of this machine.
    #[error("the relay cannot listen on {address}: {source}. Choose another address, or port 0 for a free one")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// No tickets can be made.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// A relay that listens. Dropping it ends it at once; [`Relay::shutdown`] tells the pages first.
#[derive(Debug)]
pub struct Relay {
    hub: Arc<Hub>,
    address: SocketAddr,
    totp: Totp,
    scrub: Scrub,
    server: AbortHandle,
}

impl Relay {
    /// Starts listening.
    pub async fn start(options: RelayOptions) -> Result<Self, RelayError> {
        let totp = Totp::new(&options.secret);
        let scrub = options.scrub.clone();
        scrub.hide_secret(&options.secret);
        let gate = Gate::new(totp.clone(), scrub.clone())?;
        let listen = options.listen;
        let failed = |source| RelayError::Listen { address: listen, source };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let hub = Arc::new(Hub::new(options, gate, CancellationToken::new())?);
        let listener = listener.tap_io(|stream| {
            // Small frames must not wait for each other; a socket that cannot be told so only is slower.
            drop(stream.set_nodelay(true));
            // A phone that left the network says no goodbye; what the app's server streams to it must end some time.
            drop(SockRef::from(&*stream).set_tcp_keepalive(&KEEPALIVE));
        });
        let server = hub.tasks.spawn(door::serve(listener, Arc::clone(&hub))).abort_handle();
        Ok(Self { hub, address, totp, scrub, server })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Pages reach it by this host from now on (with the port where it is not the usual one), over TLS or not. The host
    /// is not shown in the addresses of pages.
    pub fn reached_by(&self, host: &str, tls: bool) {
        let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        self.scrub.hide_host(name.map_or(host, |(name, _)| name));
        self.hub.set_public(Public { host: Some(host.into()), tls });
    }

    /// How to find out whether an address leads here.
    pub fn echo(&self) -> &Echo {
        &self.hub.echo
    }

    /// A code that is good from now on, and must not be read from now on.
    pub fn code(&self, now: UnixSeconds) -> Hidden {
        let code = self.totp.code(now);
        self.scrub.hide_code(&code);
        code
    }

    /// Makes and checks this relay's codes.
    pub fn totp(&self) -> &Totp {
        &self.totp
    }

    /// What has been seen, and the page in use.
    pub fn status(&self) -> watch::Receiver<RelayStatus> {
        self.hub.status.subscribe()
    }

    /// Tells every page that the run is over, closes every connection and stops listening; within a second.
    pub async fn shutdown(&self) {
        self.hub.shutdown.cancel();
        self.hub.tasks.close();
        if timeout(SHUTDOWN_LIMIT, self.hub.tasks.wait()).await.is_err() {
            tracing::debug!("a page did not confirm the end in time");
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.hub.shutdown.cancel();
        self.server.abort();
    }
}
