//! What time it is elsewhere.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hyper::Method;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::verdicts::OutsideClock;
use crate::http::{self, Answer};
use crate::tunnel::{PublicAddress, system_trust};

/// A server that is up answers a request for nothing this soon; who is offline does not wait longer.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);

/// Asks servers for the time, one after the other until one answers. `None` where there is nobody to ask.
pub(super) async fn outside(servers: &[String]) -> Option<OutsideClock> {
    let mut seen = None;
    for server in servers {
        let ahead = match PublicAddress::new(server) {
            Ok(address) => timeout(ANSWER_LIMIT, ask(&address)).await.unwrap_or_else(|_| Err(no_answer())),
            Err(error) => Err(error.to_string()),
        };
        let answered = ahead.is_ok();
        let name = url::Url::parse(server).ok().and_then(|url| Some(url.host_str()?.to_owned()));
        seen = Some(OutsideClock { of: name.unwrap_or_else(|| server.clone()), ahead });
        if answered {
            break;
        }
    }
    seen
}

async fn ask(address: &PublicAddress) -> Result<i64, String> {
    let place = (address.name().trim_matches(['[', ']']), address.port());
    let stream = TcpStream::connect(place).await.map_err(|_| no_answer())?;
    if !address.is_tls() {
        return date(stream, address).await;
    }
    let trust = system_trust().map_err(|_| "the certificates this machine trusts cannot be read".to_owned())?;
    let name = ServerName::try_from(place.0.to_owned()).map_err(|error| error.to_string())?;
    let stream = TlsConnector::from(Arc::clone(&trust)).connect(name, stream).await;
    // A clock that is far off makes every certificate look too old or too new.
    date(stream.map_err(|error| format!("its certificate is not taken ({error})"))?, address).await
}

async fn date(stream: impl AsyncRead + AsyncWrite + Unpin, address: &PublicAddress) -> Result<i64, String> {
    let answer = http::request(stream, &address.host(), Method::HEAD, "/", None, ANSWER_LIMIT).await;
    seconds_ahead(&answer.map_err(|_| no_answer())?)
}

fn no_answer() -> String {
    "it does not answer".to_owned()
}

/// By how much the clock that dated an answer is ahead of ours.
pub(super) fn seconds_ahead(answer: &Answer) -> Result<i64, String> {
    let date = answer.date.as_deref().ok_or("its answer has no date")?;
    let theirs = httpdate::parse_http_date(date).map_err(|_| "the date of its answer cannot be read")?;
    let seconds = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Ok(seconds(theirs).cast_signed() - seconds(SystemTime::now()).cast_signed())
}
