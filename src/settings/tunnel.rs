//! How a phone is to reach the relay.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use url::Url;

use crate::secret::Hidden;

use super::error::SettingsError;
use super::lookup::Sources;
use super::source::{Source, Sourced};

/// What `--tunnel` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TunnelWish {
    /// A tunnel where cloudflared is found, else none.
    Auto,
    /// A quick tunnel of cloudflared.
    Cloudflared,
    /// An `http:` or `https:` address that leads to the relay already; not to be shown.
    Address(Hidden),
    /// This machine's address in the local network.
    Lan,
    /// Only from this machine.
    None,
}

/// How a phone reaches the relay.
#[derive(Clone, Debug)]
pub struct TunnelSettings {
    /// `--tunnel`, `DEVTOOLS_TEST_TUNNEL`.
    pub wish: Sourced<TunnelWish>,
    /// `CLOUDFLARED_BIN`: path or name of the program.
    pub program: Option<Sourced<PathBuf>>,
    /// `DEVTOOLS_TEST_DNS`: the server that is asked for the name of a quick tunnel.
    pub dns: Option<SocketAddr>,
    /// `--host`: address or interface of this machine, only with [`TunnelWish::Lan`].
    pub host: Option<String>,
    /// `--relay-port`: where the relay listens; 0 for any free port.
    pub port: u16,
}

/// Resolves what is said about the tunnel.
pub(super) fn tunnel(from: &Sources<'_>) -> Result<TunnelSettings, SettingsError> {
    let asked = from.text_or_variable("--tunnel", "DEVTOOLS_TEST_TUNNEL", |given| &given.tunnel);
    let wish = match asked {
        None => Sourced::default_of(TunnelWish::Auto),
        Some(Sourced { value, source }) => match wish(&value) {
            Ok(value) => Sourced { value, source },
            // It may be the address of a host that is not to be shown.
            Err(why) => return Err(SettingsError::RefusedHidden { origin: source, why }),
        },
    };
    let host = from.flags.host.clone();
    if host.is_some() && wish.value != TunnelWish::Lan {
        return Err(SettingsError::Conflict("--host chooses an address for --tunnel lan; give both or neither".into()));
    }
    let program = from.around.variable("CLOUDFLARED_BIN");
    let program = program.map(|value| Sourced { value, source: Source::Environment("CLOUDFLARED_BIN") });
    let dns = from.around.variable("DEVTOOLS_TEST_DNS");
    let dns = dns.map(|value| Sourced { value, source: Source::Environment("DEVTOOLS_TEST_DNS") }.parse(name_server));
    let port = from.text("--relay-port", |given| &given.relay_port);
    Ok(TunnelSettings {
        wish,
        program: program.map(|text| from.program(text)).transpose()?,
        dns: dns.transpose()?.map(|server| server.value),
        host,
        port: port.map(|text| text.parse(port_number)).transpose()?.map_or(0, |port| port.value),
    })
}

/// An address, with a port where it is not the usual one.
fn name_server(text: &str) -> Result<SocketAddr, String> {
    const DNS_PORT: u16 = 53;
    let without_port = text.parse().map(|ip: IpAddr| SocketAddr::new(ip, DNS_PORT));
    text.parse().or(without_port).map_err(|_| "give the address of a name server, such as 192.168.0.1".into())
}

/// A port, or 0.
pub(super) fn port_number(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| "give a port from 1 to 65535, or 0 for any that is free".into())
}

fn wish(text: &str) -> Result<TunnelWish, String> {
    let words = "give cloudflared, lan, none, or the address that leads to the relay, such as https://my.host";
    match text {
        "cloudflared" => Ok(TunnelWish::Cloudflared),
        "lan" => Ok(TunnelWish::Lan),
        "none" => Ok(TunnelWish::None),
        _ => match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(TunnelWish::Address(Hidden::new(text))),
            _ => Err(words.to_owned()),
        },
    }
}
