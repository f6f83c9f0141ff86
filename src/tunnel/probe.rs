//! Whether an address leads to our relay: it alone knows the answer to its own question.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, Error};

use super::address::PublicAddress;
use super::machine::Answer;
use crate::http::{self, request};
use crate::secret::Hidden;

/// What only the relay answers: `GET <path>` gives 200 and this body.
#[derive(Clone, Debug)]
pub struct Proof {
    /// Path, with its slash.
    pub path: Hidden,
    /// Body.
    pub answer: Hidden,
}

/// A connection that does not come up is no better after this long; a phone would not wait either.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// An answer takes a round trip through the tunnel, which may be half a second on a bad network.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// Trusts the certificates that this machine trusts.
///
/// # Errors
/// When the system's certificates cannot be read.
pub fn system_trust() -> Result<Arc<ClientConfig>, Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?.with_platform_verifier()?;
    Ok(Arc::new(builder.with_no_client_auth()))
}

/// Asks for the relay at an address, which is reached at one of `places`.
pub(super) async fn probe(
    address: &PublicAddress,
    places: &[SocketAddr],
    proof: &Proof,
    trust: &Arc<ClientConfig>,
) -> Answer {
    let connect = timeout(CONNECT_LIMIT, TcpStream::connect(places));
    let Ok(Ok(stream)) = connect.await else { return unreachable("nothing takes the connection") };
    if !address.is_tls() {
        return ask(stream, address, proof).await;
    }
    let Ok(name) = ServerName::try_from(address.name().trim_matches(['[', ']']).to_owned()) else {
        return unreachable("its name is none that a certificate can be for");
    };
    match timeout(CONNECT_LIMIT, TlsConnector::from(Arc::clone(trust)).connect(name, stream)).await {
        Ok(Ok(stream)) => ask(stream, address, proof).await,
        Ok(Err(error)) => unreachable(tls_words(&error)),
        Err(_) => unreachable("its TLS handshake does not end"),
    }
}

async fn ask(stream: impl AsyncRead + AsyncWrite + Unpin, address: &PublicAddress, proof: &Proof) -> Answer {
    let answered = request(stream, &address.host(), Method::GET, proof.path.expose(), None, ANSWER_LIMIT).await;
    match answered {
        Ok(http::Answer { status: 200, body, .. }) if body == proof.answer.expose() => Answer::Ours,
        Ok(http::Answer { status, .. }) => Answer::Other(status),
        // Its words name the path.
        Err(_) => unreachable("no HTTP answer comes back"),
    }
}

fn unreachable(why: &str) -> Answer {
    Answer::Unreachable(why.to_owned())
}

/// The words of the error itself name the host.
fn tls_words(error: &std::io::Error) -> &'static str {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::InvalidCertificate(_)) => "this machine does not trust its certificate",
        _ => "its TLS handshake fails",
    }
}
