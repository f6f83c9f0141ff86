//! A connection to the one upstream.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

use super::address::AppAddress;

/// A server in the same network answers within milliseconds; one that drops packets is not waited for.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// What bytes pass through.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// Connects within [`CONNECT_LIMIT`].
pub(super) async fn connect(app: &AppAddress) -> io::Result<Box<dyn Wire>> {
    timeout(CONNECT_LIMIT, open(app)).await?
}

async fn open(app: &AppAddress) -> io::Result<Box<dyn Wire>> {
    let stream = TcpStream::connect((app.host(), app.port())).await?;
    stream.set_nodelay(true)?;
    if !app.is_tls() {
        return Ok(Box::new(stream));
    }
    let name = ServerName::try_from(app.host()).map_err(io::Error::other)?;
    let trust = trust(app.is_local()).map_err(io::Error::other)?;
    Ok(Box::new(TlsConnector::from(Arc::new(trust)).connect(name, stream).await?))
}

/// Certificates of dev servers are their own work; what stays on this machine has nobody in between. Others must show one
/// that this machine trusts.
fn trust(local: bool) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let builder = if local {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
    } else {
        builder.with_platform_verifier()?
    };
    Ok(builder.with_no_client_auth())
}

/// Takes any certificate whose key the other end holds.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
