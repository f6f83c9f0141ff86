//! A relay that listens, the way to it, and the invitations to come by that way.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::task::AbortOnDropHandle;

use super::link::{LinkKind, link};
use super::present::Invitation;
use super::{AttachError, Qr};
use crate::event::{EventKind, Events, NoticeLevel};
use crate::relay::{Relay, RelayOptions, RelayStatus};
use crate::secret::Hidden;
use crate::totp::{Totp, UnixSeconds};
use crate::tunnel::{Proof, PublicAddress, Tunnel, TunnelOptions, TunnelState};

/// How a page reaches the relay.
#[derive(Clone)]
pub struct Reach {
    /// Where the relay listens; [`RelayOptions::LOOPBACK`] unless pages reach it there themselves.
    pub listen: SocketAddr,
    /// What leads to it from outside; without it pages dial where it listens.
    pub tunnel: Option<TunnelOptions>,
    /// What a person should know about it, without hosts.
    pub about: Option<String>,
}

impl Reach {
    /// From this machine alone.
    pub const LOOPBACK: Self = Self { listen: RelayOptions::LOOPBACK, tunnel: None, about: None };
}

/// A relay that listens, and the way to it.
pub(super) struct Reception {
    relay: Arc<Relay>,
    tunnel: Option<Tunnel>,
    way: watch::Receiver<TunnelState>,
    link: LinkKind,
    _notices: AbortOnDropHandle<()>,
}

/// Makes invitations. Clones are for the same relay.
#[derive(Clone)]
pub(super) struct Inviter {
    relay: Arc<Relay>,
    link: LinkKind,
}

impl Reception {
    /// Starts the relay and the way to it. `options` gets the receiver of what the relay has to say.
    pub(super) async fn open(
        options: impl FnOnce(mpsc::UnboundedSender<String>) -> RelayOptions,
        reach: Reach,
        link: LinkKind,
        events: &Events,
    ) -> Result<Self, AttachError> {
        let (sender, notices) = mpsc::unbounded_channel();
        let relay = Relay::start(options(sender)).await?;
        if let Some(about) = reach.about {
            events.emit_global(EventKind::Notice { level: NoticeLevel::Info, message: about }).await;
        }
        let echo = relay.echo();
        let path = Hidden::new(format!("/echo/{}", echo.path.expose()));
        let proof = Proof { path, answer: echo.answer.clone() };
        let tunnel = reach.tunnel.map(|options| Tunnel::open(options, relay.address(), proof));
        let way = match &tunnel {
            Some(tunnel) => tunnel.state(),
            None => watch::channel(TunnelState::Up(PublicAddress::of(relay.address())?)).1,
        };
        let notices = hand_on(notices, events.clone());
        Ok(Self { relay: Arc::new(relay), tunnel, way, link, _notices: notices })
    }

    /// What the relay has seen.
    pub(super) fn status(&self) -> watch::Receiver<RelayStatus> {
        self.relay.status()
    }

    /// How the way to it is.
    pub(super) fn way(&self) -> watch::Receiver<TunnelState> {
        self.way.clone()
    }

    /// Makes invitations to it.
    pub(super) fn inviter(&self) -> Inviter {
        Inviter { relay: Arc::clone(&self.relay), link: self.link.clone() }
    }

    /// Tells everybody that it is over, and ends what was started.
    pub(super) async fn close(self) {
        // Pages are told through the tunnel, so it goes last.
        self.relay.shutdown().await;
        if let Some(tunnel) = self.tunnel {
            tunnel.shutdown().await;
        }
    }
}

impl Inviter {
    /// The relay is reached by this address from now on: what is hidden of pages' addresses, and whose cookies count,
    /// follows it.
    pub(super) fn moves_to(&self, address: &PublicAddress) {
        if address.is_tls() || !self.relay.address().ip().is_loopback() {
            self.relay.reached_by(&address.host(), address.is_tls());
        }
    }

    /// A new code in a new link to this address.
    pub(super) fn invitation(&self, address: &PublicAddress, renewed: bool) -> Result<Invitation, AttachError> {
        self.moves_to(address);
        let now = UnixSeconds::now();
        let link = link(&self.link, address, &self.relay.code(now))?;
        let qr = Qr::new(&link)?;
        let valid_for = Duration::from_secs(Totp::end_of(now).0.saturating_sub(now.0));
        Ok(Invitation { link, qr, valid_for, renewed })
    }
}

impl std::fmt::Debug for Reception {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reception").field("relay", &self.relay).finish_non_exhaustive()
    }
}

/// Tells the person what the relay has to say.
fn hand_on(mut notices: mpsc::UnboundedReceiver<String>, events: Events) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        while let Some(message) = notices.recv().await {
            events.emit_global(EventKind::Notice { level: NoticeLevel::Warning, message }).await;
        }
    }))
}
