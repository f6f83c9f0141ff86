//! Why a page cannot be attached.

use crate::relay::RelayError;
use crate::tunnel::AddressError;

/// Why there is no attach. Messages carry no link, code or host.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The relay did not start.
    #[error(transparent)]
    Relay(#[from] RelayError),
    /// Nothing listens yet.
    #[error("the relay is not running. This is a fault of the tool: a page was asked for before it was started")]
    NotStarted,
    /// The public address cannot be used.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The scheme URL is none.
    #[error("the scheme URL is no address: it must look like scheme://app?parameters, as the deploy command prints it")]
    SchemeUrl,
    /// A phone could not open the link.
    #[error(
        "an app on a phone only connects to the relay over TLS, and the relay has no https address yet. Give one with \
         --tunnel cloudflared or --tunnel https://my.host, or leave out the scheme URL to use the relay's own page"
    )]
    NeedsTls,
    /// Longer than a QR code can carry.
    #[error("the attach link is too long for a QR code. Shorten the scheme URL")]
    TooLong,
}
