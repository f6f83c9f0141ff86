//! A quick tunnel of cloudflared: how it is started, and what it says.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use super::address::PublicAddress;

/// The zone that quick tunnels get their names in.
pub(super) const ZONE: &str = "trycloudflare.com";
/// The name in that zone by which tunnels are asked for; it may be read in a message.
const SERVICE: &str = "api";

/// Name of the configuration, and all that it says: an update would replace the program and restart it under another
/// address.
const CONFIGURATION: (&str, &str) = ("config.yml", "no-autoupdate: true\n");

/// The command that opens a tunnel to `relay`. `folder` is its home, with a configuration of ours: one of the person or
/// of the machine may keep quick tunnels from being made, or answer in our place.
///
/// # Errors
/// The folder cannot be written to.
pub(super) fn command(program: &Path, relay: SocketAddr, folder: &Path) -> std::io::Result<Command> {
    let configuration = folder.join(CONFIGURATION.0);
    fs_err::write(&configuration, CONFIGURATION.1)?;
    let mut command = Command::new(program);
    command.args(["tunnel", "--config"]).arg(configuration).arg("--url").arg(format!("http://{relay}"));
    command.env("HOME", folder);
    // Variables that stand for arguments: they would make it open another tunnel than ours.
    for name in ["TUNNEL_TOKEN", "TUNNEL_HOSTNAME", "TUNNEL_NAME", "TUNNEL_URL", "TUNNEL_CONFIG"] {
        command.env_remove(name);
    }
    Ok(command)
}

/// The address a line of its output tells, if any.
pub(super) fn address_in(line: &str) -> Option<PublicAddress> {
    names_in(line).find_map(|name| {
        let behind_scheme = line.get(..name.start)?.ends_with("https://");
        let rest = line.get(name.end..)?;
        let mut behind = rest.chars();
        let of_another_zone = behind.next() == Some('.') && behind.next().is_some_and(|c| c.is_ascii_alphanumeric());
        let host = line.get(name)?;
        let tunnel = behind_scheme && !of_another_zone && host != format!("{SERVICE}.{ZONE}");
        let port =
            rest.strip_prefix(':').map(|port| port.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default());
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        tunnel.then(|| PublicAddress::new(&format!("https://{host}{port}")).ok()).flatten()
    })
}

/// A line without the names of tunnels.
pub(super) fn mask(line: &str) -> String {
    let mut masked = String::new();
    let mut from = 0;
    for name in names_in(line) {
        let host = line.get(name.clone()).unwrap_or_default();
        if host != format!("{SERVICE}.{ZONE}") {
            masked.push_str(line.get(from..name.start).unwrap_or_default());
            masked.push_str("***.");
            masked.push_str(ZONE);
            from = name.end;
        }
    }
    masked.push_str(line.get(from..).unwrap_or_default());
    masked
}

/// Where names in the zone stand in a line.
fn names_in(line: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    let of_a_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    line.match_indices(ZONE).filter_map(move |(at, _)| {
        let end = at + ZONE.len();
        let before = line.get(..at)?;
        let start = before.rfind(|c| !of_a_name(c)).map_or(0, |other| {
            other + before.get(other..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
        });
        let label = before.get(start..)?;
        let whole = label.len() > 1 && label.ends_with('.') && !label.starts_with('.');
        let continued = line.get(end..)?.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
        (whole && !continued).then_some(start..end)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_is_started_with_nothing_but_what_we_say() {
        let folder = tempfile::tempdir().unwrap();
        let relay = "127.0.0.1:4711".parse().unwrap();
        let command = command(Path::new("/bin/cloudflared"), relay, folder.path()).unwrap();
        let configuration = folder.path().join("config.yml");
        let args: Vec<_> = command.get_args().map(|arg| arg.to_str().unwrap().to_owned()).collect();
        assert_eq!(args, ["tunnel", "--config", configuration.to_str().unwrap(), "--url", "http://127.0.0.1:4711"]);
        assert!(std::fs::read_to_string(configuration).unwrap().contains("no-autoupdate"));
        assert!(command.get_envs().any(|(name, value)| name == "HOME" && value == Some(folder.path().as_os_str())));
    }

    #[test]
    fn the_address_is_found_in_its_frame() {
        let found = |line: &str| address_in(line).map(|address| address.host());
        let host = "of-four-words.trycloudflare.com";
        assert_eq!(found(&format!("2026-01-01T00:00:00Z INF |  https://{host}    |")).as_deref(), Some(host));
        assert_eq!(found(&format!("https://{host}/")).as_deref(), Some(host));
        assert_eq!(found(&format!("https://{host}:8443 |")), Some(format!("{host}:8443")));
        assert_eq!(found(&format!("https://{host}: ready")).as_deref(), Some(host));
        for line in [
            "INF Requesting new quick Tunnel on trycloudflare.com...",
            "Post \"https://api.trycloudflare.com/tunnel\": no such host",
            "https://trycloudflare.com",
            "https://a.trycloudflare.company",
            "https://a.trycloudflare.com.evil.test/",
            "http://a.trycloudflare.com",
            "see https://developers.cloudflare.com/",
            "\u{0}한글 garbage trycloudflare.com",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }

    #[test]
    fn names_of_tunnels_are_masked_and_causes_are_not() {
        assert_eq!(mask("|  https://a-b.trycloudflare.com  |"), "|  https://***.trycloudflare.com  |");
        assert_eq!(
            mask("한a-b.trycloudflare.com,c.trycloudflare.com"),
            "한***.trycloudflare.com,***.trycloudflare.com"
        );
        let cause = "failed to request quick Tunnel: Post \"https://api.trycloudflare.com/tunnel\": EOF";
        assert_eq!(mask(cause), cause);
    }

    proptest! {
        #[test]
        fn whatever_stands_around_it_a_name_is_masked(
            before in "(\\PC{0,10}[^a-zA-Z0-9.-])?",
            label in "[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?",
            after in "([^a-zA-Z0-9-]\\PC{0,10})?",
        ) {
            prop_assume!(label != "api" && label.len() > 3 && !before.contains(&label) && !after.contains(&label));
            let line = format!("{before}{label}.{ZONE}{after}");
            prop_assert!(!mask(&line).replace(ZONE, "").contains(&label), "{line}");
        }
    }
}
