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
    /// A browser would not let the page connect.
    #[error(
        "a page loaded over https may not connect to the relay, which has no https address: browsers forbid it. Give it \
         one with --tunnel cloudflared or --tunnel https://my.host, or open the page over http"
    )]
    MixedContent,
    /// A phone that opens it looks for the app on itself.
    #[error(
        "the app's address is this machine's own and leads a phone to itself. Give the address by which the phone \
         reaches the app, or give --app-url alone: the relay serves the app then"
    )]
    AppOnThisMachine,
    /// A browser would not let the launcher show the app.
    #[error(
        "the launcher is a page with https and may not show the app, whose address has none: browsers forbid it. Give \
         --app-url with https, name a launcher without with --launcher-url, or leave out --attach-launcher: the relay \
         serves the app then"
    )]
    LauncherNeedsTls,
    /// Longer than a QR code can carry.
    #[error("the attach link is too long for a QR code. Shorten the scheme URL or the app's address")]
    TooLong,
}
