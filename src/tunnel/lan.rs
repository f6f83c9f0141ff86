//! The address of this machine in the local network.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

/// An address of this machine, and the interface it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanAddress {
    /// For example `en0`.
    pub interface: String,
    /// The address.
    pub ip: IpAddr,
}

/// The address that was chosen, and what else there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanChoice {
    /// Where the relay is to listen.
    pub chosen: LanAddress,
    /// Interfaces that were not chosen.
    pub others: Vec<String>,
}

/// Why this machine has no address in a local network.
#[derive(Debug, thiserror::Error)]
pub enum LanError {
    /// The operating system does not tell.
    #[error("the addresses of this machine cannot be read ({0}). Name one with --host")]
    Unreadable(#[from] std::io::Error),
    /// It is in no network.
    #[error("this machine is in no local network. Connect it to the network of the phone, or choose another --tunnel")]
    None,
    /// What `--host` names is not there.
    #[error("--host names no address or interface of this machine. It has {there}")]
    Unknown {
        /// `en0 (192.168.0.5), ...`.
        there: String,
    },
}

/// Chooses the address that a phone in the same network reaches: what `asked` names (an address or an interface), else
/// that of the interface with the default route, else the first one.
///
/// # Errors
/// See [`LanError`].
pub fn lan(asked: Option<&str>) -> Result<LanChoice, LanError> {
    let there = if_addrs::get_if_addrs()?;
    let there = there.into_iter().filter(|i| i.is_oper_up()).map(|i| LanAddress { ip: i.ip(), interface: i.name });
    choose(there.collect(), asked, default_route())
}

/// An address behind the default route, as any of the internet is. Nothing is sent there.
const FAR_AWAY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);

/// The address of the interface that packets to the internet leave by.
fn default_route() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // Of a datagram socket this only sets the route.
    socket.connect(FAR_AWAY).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

fn choose(there: Vec<LanAddress>, asked: Option<&str>, route: Option<IpAddr>) -> Result<LanChoice, LanError> {
    // Phones get IPv4 addresses in every home and office; IPv6 ones come and go.
    let usable =
        |address: &LanAddress| matches!(address.ip, IpAddr::V4(ip) if !ip.is_loopback() && !ip.is_link_local());
    let chosen = match asked {
        Some(asked) => {
            let named = |address: &&LanAddress| address.ip.to_string() == asked || address.interface == asked;
            // An interface may have several; its IPv4 address goes first.
            let found = there.iter().filter(named).min_by_key(|address| address.ip.is_ipv6());
            found.ok_or_else(|| LanError::Unknown { there: listed(&there) })?
        }
        None => {
            let by_route = there.iter().find(|address| Some(address.ip) == route && usable(address));
            by_route.or_else(|| there.iter().find(|address| usable(address))).ok_or(LanError::None)?
        }
    };
    let mut others: Vec<String> = Vec::new();
    for address in there.iter().filter(|address| usable(address) && address.interface != chosen.interface) {
        if !others.contains(&address.interface) {
            others.push(address.interface.clone());
        }
    }
    Ok(LanChoice { chosen: chosen.clone(), others })
}

fn listed(there: &[LanAddress]) -> String {
    let all: Vec<String> = there.iter().map(|address| format!("{} ({})", address.interface, address.ip)).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn machine() -> Vec<LanAddress> {
        let all = [
            ("lo", "127.0.0.1"),
            ("lo", "::1"),
            ("docker0", "172.17.0.1"),
            ("eth0", "169.254.3.4"),
            ("wlan0", "fe80::1"),
            ("wlan0", "192.168.0.7"),
            ("vpn0", "10.8.0.2"),
        ];
        all.map(|(interface, ip)| LanAddress { interface: interface.into(), ip: ip.parse().unwrap() }).to_vec()
    }

    /// O-34
    #[test]
    fn the_default_route_goes_before_virtual_interfaces() {
        let found = choose(machine(), None, Some("192.168.0.7".parse().unwrap())).unwrap();
        assert_eq!(found.chosen.interface, "wlan0");
        assert_eq!(found.others, ["docker0", "vpn0"]);
        let without = choose(machine(), None, None).unwrap();
        assert_eq!(without.chosen.ip.to_string(), "172.17.0.1");
        let odd = choose(machine(), None, Some("127.0.0.1".parse().unwrap())).unwrap();
        assert_eq!(odd.chosen.interface, "docker0", "loopback is in no network");
    }

    #[test]
    fn a_person_may_choose_by_address_or_interface() {
        let by = |asked| choose(machine(), Some(asked), Some("192.168.0.7".parse().unwrap()));
        assert_eq!(by("10.8.0.2").unwrap().chosen.interface, "vpn0");
        assert_eq!(by("wlan0").unwrap().chosen.ip.to_string(), "192.168.0.7");
        assert_eq!(by("127.0.0.1").unwrap().chosen.interface, "lo");
        let error = by("wlan1").unwrap_err().to_string();
        assert!(error.contains("wlan0 (192.168.0.7)") && !error.contains("wlan1"), "{error}");
    }

    #[test]
    fn a_machine_alone_is_told_so() {
        assert!(matches!(choose(machine()[..2].to_vec(), None, None), Err(LanError::None)));
        assert!(lan(Some("127.0.0.1")).is_ok(), "this machine has a loopback interface");
    }
}
