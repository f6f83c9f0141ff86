//! From what was asked for to a way by which a phone reaches the relay.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::SessionError;
use crate::attach::Reach;
use crate::process::Finder;
use crate::settings::{Settings, TunnelSettings, TunnelWish};
use crate::tunnel::{LanChoice, PublicAddress, Resolver, TunnelKind, TunnelLimits, TunnelOptions, lan, system_trust};

/// What programs of cloudflared are called.
const CLOUDFLARED: [&str; 1] = ["cloudflared"];

/// The way, and what a person should know before it is taken.
///
/// # Errors
/// What it needs is not there, or what was asked for cannot be.
pub fn reach(settings: &Settings) -> Result<(Reach, Option<String>), SessionError> {
    let tunnel = &settings.attach.tunnel;
    let finder = Finder::new(settings.target.search_path.as_deref());
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, tunnel.port));
    let way = match &tunnel.wish.value {
        TunnelWish::None => Reach { listen: loopback, ..Reach::LOOPBACK },
        TunnelWish::Lan => in_the_lan(lan(tunnel.host.as_deref())?, tunnel.port),
        TunnelWish::Address(address) => through(TunnelKind::Address(PublicAddress::new(address.expose())?), tunnel)?,
        TunnelWish::Cloudflared => {
            let program = cloudflared(tunnel, &finder)?.ok_or(SessionError::NoCloudflared { named: None })?;
            through(TunnelKind::Cloudflared(program), tunnel)?
        }
        TunnelWish::Auto => match cloudflared(tunnel, &finder)? {
            Some(program) => through(TunnelKind::Cloudflared(program), tunnel)?,
            None => {
                let words = "the attach link works on this machine only, because no cloudflared was found: install \
                             it, or take --tunnel lan for a phone in the same network";
                return Ok((Reach { listen: loopback, ..Reach::LOOPBACK }, Some(words.to_owned())));
            }
        },
    };
    Ok((way, None))
}

/// The program that was named, or the first one found.
fn cloudflared(tunnel: &TunnelSettings, finder: &Finder<'_>) -> Result<Option<PathBuf>, SessionError> {
    let Some(named) = &tunnel.program else { return Ok(finder.first(&CLOUDFLARED, [])) };
    let missing = || SessionError::NoCloudflared { named: Some(Path::to_owned(named)) };
    finder.asked(named).ok_or_else(missing).map(Some)
}

fn through(kind: TunnelKind, settings: &TunnelSettings) -> Result<Reach, SessionError> {
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, settings.port));
    let tunnel = TunnelOptions {
        kind,
        limits: TunnelLimits::default(),
        resolver: Arc::new(settings.dns.map_or_else(Resolver::default, Resolver::asking)),
        trust: system_trust().map_err(|_| SessionError::NoTrust)?,
    };
    Ok(Reach { listen, tunnel: Some(tunnel), about: None })
}

fn in_the_lan(LanChoice { chosen, others }: LanChoice, port: u16) -> Reach {
    let others =
        if others.is_empty() { String::new() } else { format!(" (--host chooses another: {})", others.join(", ")) };
    let about = format!(
        "The relay listens in the local network, on {}{others}. It has no TLS there: its own page and pages loaded over \
         http can connect, pages loaded over https cannot. Browsers keep camera, clipboard and service workers from \
         pages without TLS.",
        chosen.interface
    );
    Reach { listen: SocketAddr::new(chosen.ip, port), tunnel: None, about: Some(about) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::settings::{Given, Surroundings, load};

    fn settings(change: impl FnOnce(&mut Given), variables: &[(&str, &str)]) -> Settings {
        let mut given = Given::default();
        change(&mut given);
        let variables: Vec<(String, String)> = variables.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        let environment = move |name: &str| variables.iter().find(|(key, _)| key == name).map(|(_, v)| v.clone());
        let around = Surroundings { environment: &environment, cwd: "/".into(), stdout_is_terminal: false };
        load(given, &around).unwrap()
    }

    #[test]
    fn a_cloudflared_is_taken_where_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let nowhere = folder.path().to_str().unwrap();
        let (without, warning) = reach(&settings(|_| {}, &[("PATH", nowhere)])).unwrap();
        assert!(without.tunnel.is_none() && without.listen.ip().is_loopback());
        assert!(warning.unwrap().contains("--tunnel lan"));
        let asked = reach(&settings(|given| given.tunnel = Some("cloudflared".into()), &[("PATH", nowhere)]));
        assert!(asked.err().unwrap().to_string().contains("CLOUDFLARED_BIN"));
        let named = reach(&settings(|_| {}, &[("CLOUDFLARED_BIN", "/no/such/cloudflared")]));
        assert!(named.err().unwrap().to_string().contains("/no/such/cloudflared"));

        let program = folder.path().join("cloudflared");
        std::fs::write(&program, "").unwrap();
        let (with, warning) = reach(&settings(|_| {}, &[("PATH", nowhere)])).unwrap();
        assert_eq!((with.tunnel.unwrap().kind, warning), (TunnelKind::Cloudflared(program), None));
        let none = settings(|given| given.tunnel = Some("none".into()), &[("PATH", nowhere)]);
        assert!(reach(&none).unwrap().0.tunnel.is_none());
    }

    #[test]
    fn in_the_local_network_it_listens_where_it_was_told_to() {
        let lan = settings(
            |given| {
                given.tunnel = Some("lan".into());
                given.host = Some("127.0.0.1".into());
                given.relay_port = Some("4711".into());
            },
            &[],
        );
        let (way, _) = reach(&lan).unwrap();
        assert_eq!(way.listen, "127.0.0.1:4711".parse().unwrap());
        let about = way.about.unwrap();
        assert!(about.contains("over https cannot") && !about.contains("127.0.0.1"), "{about}");
    }
}
