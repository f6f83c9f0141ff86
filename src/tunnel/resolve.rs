//! Looking names up, without a failed look-up being remembered.
//!
//! The name of a quick tunnel is known to its zone's own servers seconds after the program tells it. Whoever asks before
//! that is told that there is no such name, and every resolver on the way, the one of the phone's network included,
//! remembers this for half an hour (RFC 2308; the zone's SOA says 1800 s). So the zone's own servers are asked, which
//! remember nothing, and nobody else before they know it.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use tokio::net::{UdpSocket, lookup_host};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};

use super::address::PublicAddress;
use super::quick::ZONE;

/// What a look-up comes to: where to connect to, or why it is not known, in words without the name.
pub type Resolved = Result<Vec<SocketAddr>, String>;

/// Looks names up.
pub trait Resolve: Send + Sync {
    /// Looks up where an address leads.
    fn resolve<'a>(&'a self, address: &'a PublicAddress) -> Pin<Box<dyn Future<Output = Resolved> + Send + 'a>>;
}

/// Names of quick tunnels at their zone's own servers, all others as the system does.
#[derive(Debug, Default)]
pub struct Resolver {
    zone: Zone,
}

impl Resolver {
    /// Names of quick tunnels are asked of this server, in networks that let nobody ask the zone's own.
    pub fn asking(server: SocketAddr) -> Self {
        Self { zone: Zone { servers: OnceCell::new_with(Some(vec![server])), ..Zone::default() } }
    }
}

impl Resolve for Resolver {
    fn resolve<'a>(&'a self, address: &'a PublicAddress) -> Pin<Box<dyn Future<Output = Resolved> + Send + 'a>> {
        Box::pin(async move {
            if address.name().ends_with(&format!(".{ZONE}")) {
                self.zone.resolve(address).await
            } else {
                by_system(address).await
            }
        })
    }
}

/// How long the system's resolver may take: its own patience is some tens of seconds.
const SYSTEM_LIMIT: Duration = Duration::from_secs(10);

async fn by_system(address: &PublicAddress) -> Resolved {
    // Brackets belong to addresses in links.
    let name = address.name().trim_matches(['[', ']']);
    match timeout(SYSTEM_LIMIT, lookup_host((name, address.port()))).await {
        Ok(Ok(found)) => Ok(found.collect()),
        Ok(Err(_)) => Err("the system finds no such name".to_owned()),
        Err(_) => Err("the system's resolver does not answer".to_owned()),
    }
}

/// Resolvers that everybody may ask; only for the names of the zone's servers, which are always there.
const PUBLIC_RESOLVERS: [Ipv4Addr; 2] = [Ipv4Addr::new(1, 1, 1, 1), Ipv4Addr::new(8, 8, 8, 8)];
const DNS_PORT: u16 = 53;
/// Servers of the zone that are kept: one is enough, a second may answer where the first does not.
const SERVERS: usize = 2;
/// How long one server may take; a packet that was lost is asked for again with the next look-up.
const SERVER_LIMIT: Duration = Duration::from_secs(2);
/// Where the zone's servers cannot be asked, this long after the first attempt the system's resolver is. Most names are
/// there by then, and it will not remember that they were not.
const GRACE: Duration = Duration::from_secs(15);
/// Largest answer over UDP without extensions (RFC 1035, 4.2.1).
const MAX_PACKET: usize = 512;

/// The zone of quick tunnels.
#[derive(Debug, Default)]
struct Zone {
    servers: OnceCell<Vec<SocketAddr>>,
    first_asked: OnceCell<Instant>,
}

impl Zone {
    async fn resolve(&self, address: &PublicAddress) -> Resolved {
        let first_asked = *self.first_asked.get_or_init(|| async { Instant::now() }).await;
        let servers = self.servers.get_or_try_init(find_servers).await;
        for server in servers.into_iter().flatten() {
            match ask(*server, address.name(), RecordType::A).await {
                Ok(found) => {
                    let at = |data: &RData| match data {
                        RData::A(ip) => Some(SocketAddr::new(ip.0.into(), address.port())),
                        _ => None,
                    };
                    let found: Vec<SocketAddr> = found.iter().filter_map(at).collect();
                    return if found.is_empty() { Err("its zone does not know it yet".to_owned()) } else { Ok(found) };
                }
                Err(error) => tracing::debug!("a server of the tunnel's zone did not answer: {error}"),
            }
        }
        if first_asked.elapsed() < GRACE {
            return Err("its zone cannot be asked from here".to_owned());
        }
        by_system(address).await
    }
}

/// Finds the zone's own servers.
async fn find_servers() -> Result<Vec<SocketAddr>, io::Error> {
    let mut names = Vec::new();
    for resolver in PUBLIC_RESOLVERS {
        match ask((resolver, DNS_PORT).into(), ZONE, RecordType::NS).await {
            Ok(found) => {
                names = found
                    .into_iter()
                    .filter_map(|data| if let RData::NS(name) = data { Some(name.0) } else { None })
                    .collect()
            }
            Err(error) => tracing::debug!("a public resolver did not answer: {error}"),
        }
        if !names.is_empty() {
            break;
        }
    }
    let mut servers = Vec::new();
    for name in names.iter().take(SERVERS) {
        let name = name.to_ascii();
        if let Ok(Ok(found)) = timeout(SYSTEM_LIMIT, lookup_host((name.trim_end_matches('.'), DNS_PORT))).await {
            servers.extend(found.filter(SocketAddr::is_ipv4).take(1));
        }
    }
    if servers.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(servers) }
}

/// Asks one server one question (RFC 1035 over UDP). An empty answer means that there is nothing by this name.
async fn ask(server: SocketAddr, name: &str, kind: RecordType) -> io::Result<Vec<RData>> {
    let name = Name::from_ascii(format!("{name}.")).map_err(io::Error::other)?;
    let mut question = Message::query();
    question.metadata.recursion_desired = true;
    question.add_query(Query::query(name, kind));
    let local: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((local, 0)).await?;
    socket.connect(server).await?;
    socket.send(&question.to_vec().map_err(io::Error::other)?).await?;
    let answer = async {
        let mut packet = [0; MAX_PACKET];
        loop {
            let length = socket.recv(&mut packet).await?;
            let Ok(answer) = Message::from_vec(&packet[..length]) else { continue };
            // What does not belong to the question is noise, or somebody's attempt to answer it for the server.
            if answer.metadata.id == question.metadata.id && answer.queries == question.queries {
                return Ok::<_, io::Error>(answer);
            }
        }
    };
    let answer = timeout(SERVER_LIMIT, answer).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    match answer.metadata.response_code {
        ResponseCode::NoError | ResponseCode::NXDomain => {
            Ok(answer.answers.into_iter().map(|record| record.data).collect())
        }
        other => Err(io::Error::other(other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use hickory_proto::op::{MessageType, OpCode};
    use hickory_proto::rr::Record;
    use hickory_proto::rr::rdata::A;

    use super::*;

    /// A server of the zone that does not know the name the first times it is asked.
    async fn late_server(unknown: usize) -> SocketAddr {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).await.unwrap();
        let address = socket.local_addr().unwrap();
        tokio::spawn(async move {
            let mut packet = [0; MAX_PACKET];
            for round in 0.. {
                let (length, from) = socket.recv_from(&mut packet).await.unwrap();
                let question = Message::from_vec(&packet[..length]).unwrap();
                let mut answer = Message::new(question.metadata.id, MessageType::Response, OpCode::Query);
                answer.add_queries(question.queries.clone());
                if round < unknown {
                    answer.metadata.response_code = ResponseCode::NXDomain;
                } else {
                    let name = question.queries[0].name().clone();
                    answer.add_answer(Record::from_rdata(name, 300, RData::A(A::new(192, 0, 2, 7))));
                }
                // Noise goes first: it is not taken for the answer.
                socket.send_to(b"noise", from).await.unwrap();
                socket.send_to(&answer.to_vec().unwrap(), from).await.unwrap();
            }
        });
        address
    }

    #[tokio::test]
    async fn a_name_that_comes_late_is_found_as_soon_as_it_is_there() {
        let server = late_server(2).await;
        let Resolver { zone } = Resolver::asking(server);
        let address = PublicAddress::new(&format!("https://four-words.{ZONE}")).unwrap();
        for _ in 0..2 {
            assert_eq!(zone.resolve(&address).await, Err("its zone does not know it yet".to_owned()));
        }
        assert_eq!(zone.resolve(&address).await, Ok(vec!["192.0.2.7:443".parse().unwrap()]));
    }

    #[tokio::test]
    async fn other_names_are_looked_up_as_usual() {
        let resolver = Resolver::default();
        for (address, at) in [("http://127.0.0.1:4711", "127.0.0.1:4711"), ("http://[::1]:4711", "[::1]:4711")] {
            let found = resolver.resolve(&PublicAddress::new(address).unwrap()).await;
            assert_eq!(found, Ok(vec![at.parse().unwrap()]));
        }
    }
}
