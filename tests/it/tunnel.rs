//! Tunnels: a cloudflared that works, and all the ways in which one does not. Nothing leaves this machine.

pub(crate) mod dns;
mod tool;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use devtools_test::attach::Reach;
use devtools_test::cdp::page::PageSource;
use devtools_test::event::LossCause;
use devtools_test::relay::RelayOptions;
use devtools_test::secret::Hidden;
use devtools_test::tunnel::{
    Proof, PublicAddress, Resolve, Resolved, Tunnel, TunnelKind, TunnelLimits, TunnelOptions, TunnelState,
};
use rustix::process::Signal;
use serde_json::json;
use support::cloudflared::{StandIn, port_in};
use support::phone::Phone;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::relay::{Desk, value};

/// Longer than anything here takes on a busy machine.
const WITHIN: Duration = Duration::from_secs(30);

/// Knows where the names of stand-ins lead, after they were asked for so many times.
struct Names {
    unknown: usize,
    asked: AtomicUsize,
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, address: &'a PublicAddress) -> Pin<Box<dyn Future<Output = Resolved> + Send + 'a>> {
        let known = self.asked.fetch_add(1, Ordering::SeqCst) >= self.unknown;
        let place = port_in(address.name())
            .map_or_else(|| address.host().parse().unwrap(), |port| SocketAddr::from(([127, 0, 0, 1], port)));
        Box::pin(std::future::ready(if known { Ok(vec![place]) } else { Err("the zone does not know it".to_owned()) }))
    }
}

fn names(unknown: usize) -> Arc<Names> {
    Arc::new(Names { unknown, asked: AtomicUsize::new(0) })
}

/// The usual clocks, but for a tunnel that is looked after ten times as often.
const QUICK: TunnelLimits = TunnelLimits {
    address: Duration::from_secs(10),
    name: Duration::from_secs(10),
    proof: Duration::from_secs(10),
    check: Duration::from_millis(500),
    again: Duration::from_millis(100),
    misses: 2,
    unreachable: Duration::from_secs(10),
    steady: Duration::from_secs(60),
    starts: 3,
    trying: Duration::from_secs(60),
    pause: Duration::from_millis(50),
};

fn trust(certificate: &[u8]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(certificate.to_vec())).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    Arc::new(builder.with_no_client_auth())
}

fn options(stand_in: &StandIn, limits: TunnelLimits, resolver: Arc<Names>) -> TunnelOptions {
    let kind = TunnelKind::Cloudflared(stand_in.program());
    TunnelOptions { kind, limits, resolver, trust: trust(stand_in.certificate()) }
}

/// Something that answers as our relay does, and a tunnel to it.
struct Line {
    tunnel: Tunnel,
    state: watch::Receiver<TunnelState>,
    _relay: JoinSet<()>,
}

impl Line {
    async fn open(options: TunnelOptions) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut relay = JoinSet::new();
        relay.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 4096];
                let length = stream.read(&mut request).await.unwrap_or_default();
                let found = request[..length].starts_with(b"GET /echo/question ");
                let answer = if found { "HTTP/1.1 200 OK\r\n\r\nanswer" } else { "HTTP/1.1 404 No\r\n\r\n" };
                drop(stream.write_all(answer.as_bytes()).await);
            }
        });
        let proof = Proof { path: Hidden::new("/echo/question"), answer: Hidden::new("answer") };
        let tunnel = Tunnel::open(options, address, proof);
        Self { state: tunnel.state(), tunnel, _relay: relay }
    }

    /// Waits for a state, and gives it.
    async fn becomes(&mut self, wanted: impl Fn(&TunnelState) -> bool) -> TunnelState {
        let found = timeout(WITHIN, self.state.wait_for(|state| wanted(state))).await;
        found.unwrap_or_else(|_| panic!("it stays {:?}", self.tunnel.state().borrow().clone())).unwrap().clone()
    }

    async fn is_up(&mut self) -> PublicAddress {
        match self.becomes(|state| matches!(state, TunnelState::Up(_) | TunnelState::Failed(_))).await {
            TunnelState::Up(address) => address,
            other => panic!("{other:?}"),
        }
    }

    /// The words with which it is given up.
    async fn fails(&mut self) -> String {
        match self.becomes(|state| matches!(state, TunnelState::Up(_) | TunnelState::Failed(_))).await {
            TunnelState::Failed(words) => words,
            other => panic!("{other:?}"),
        }
    }
}

/// The words of a tunnel that never comes up.
async fn failure(plan: &str, limits: TunnelLimits) -> String {
    let stand_in = StandIn::new(plan);
    let mut line = Line::open(options(&stand_in, limits, names(0))).await;
    let words = line.fails().await;
    line.tunnel.shutdown().await;
    assert_eq!(stand_in.living(), []);
    assert!(words.contains("--tunnel lan"), "a next step is named: {words}");
    assert!(!words.contains("stand-in-") && !words.contains("tunnel-that-was"), "no host is shown: {words}");
    words
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phone_attaches_through_it() {
    let stand_in = StandIn::new("good");
    let tunnel = options(&stand_in, TunnelLimits::default(), names(0));
    let reach = Reach { listen: RelayOptions::LOOPBACK, tunnel: Some(tunnel), about: None };
    let mut desk = Desk::behind(reach, WITHIN);
    let Desk { pages, links, events, .. } = &mut desk;
    let (page, (phone, link)) = tokio::join!(pages.open(events), async {
        let link = links.recv().await.unwrap();
        (open(&link), link)
    });
    let page = page.unwrap();
    assert!(link.starts_with("https://stand-in-"), "{link}");
    assert_eq!(value(&page, "location.protocol + isSecureContext").await, json!("https:true"));
    assert_eq!(page.info.url, "https://relay/attach", "the host is not shown");
    let told = desk.told();
    let stages: Vec<&str> = told.iter().map(|(stage, _)| stage.as_str()).collect();
    let starting = stages.iter().filter(|stage| **stage == "Starting").count();
    assert!(starting >= 2, "{told:?}");
    assert_eq!(stages[starting..], ["Waiting", "Accepted", "AgentLoaded", "Attached"], "{told:?}");
    assert!(!format!("{told:?}").contains("stand-in"), "{told:?}");
    drop(phone);
    desk.pages.close().await;
    assert_eq!(stand_in.living(), []);
}

/// A browser that knows where the names of stand-ins lead, and trusts them.
fn open(link: &str) -> Phone {
    let port = port_in(link).unwrap();
    let rules = format!("--host-resolver-rules=MAP *.trycloudflare.com 127.0.0.1:{port}");
    Phone::open_with(link, &[rules, "--ignore-certificate-errors".to_owned()])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_comes_back_elsewhere_gets_a_new_link() {
    let stand_in = StandIn::new("dies good");
    let reach =
        Reach { listen: RelayOptions::LOOPBACK, tunnel: Some(options(&stand_in, QUICK, names(0))), about: None };
    let mut desk = Desk::behind(reach, WITHIN);
    let Desk { pages, links, events, .. } = &mut desk;
    let (page, phone) = tokio::join!(pages.open(events), async {
        let (first, second) = (links.recv().await.unwrap(), links.recv().await.unwrap());
        assert_ne!(port_in(&first), port_in(&second));
        open(&second)
    });
    page.unwrap();
    let told = desk.told();
    assert!(told.iter().any(|(_, words)| words.contains("ended with exit status 2")), "{told:?}");
    drop(phone);
    desk.pages.close().await;
    assert_eq!((stand_in.starts().len(), stand_in.living()), (2, vec![]));
}

/// Its only way to the relay is the address before; a new code leads to the new one, and the run goes on there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_moves_during_a_run_takes_everybody_along() {
    let stand_in = StandIn::new("good");
    let reach =
        Reach { listen: RelayOptions::LOOPBACK, tunnel: Some(options(&stand_in, QUICK, names(0))), about: None };
    let mut desk = Desk::behind(reach, WITHIN);
    let Desk { pages, links, events, .. } = &mut desk;
    let (page, (phone, first)) = tokio::join!(pages.open(events), async {
        let link = links.recv().await.unwrap();
        (open(&link), link)
    });
    let page = page.unwrap();
    let [tunnel] = &stand_in.living()[..] else { panic!("one tunnel runs") };
    rustix::process::kill_process(rustix::process::Pid::from_raw(tunnel.pid).unwrap(), Signal::KILL).unwrap();
    let down = desk.notice("tunnel is down").await;
    let moved = desk.notice("another address").await;
    // Long before the page is given up.
    let second = timeout(WITHIN, desk.links.recv()).await.unwrap().unwrap();
    assert!(port_in(&first).is_some() && port_in(&first) != port_in(&second));
    assert!(!format!("{down}{moved}").contains("stand-in"), "{down} {moved}");
    let other = open(&second);
    let reason = timeout(WITHIN, page.session.closed()).await.unwrap();
    assert!(reason.to_string().contains("replaced by another page"), "{reason}");
    let page = desk.pages.replace(LossCause::Replaced, &desk.events).await.unwrap();
    assert_eq!(value(&page, "1 + 1").await, json!(2));
    assert_eq!(page.info.url, "https://relay/attach", "the new host is not shown either");
    drop((phone, other));
    desk.pages.close().await;
    assert_eq!(stand_in.living(), []);
}

/// O-36
#[tokio::test]
async fn a_program_that_cannot_is_quoted() {
    let words = failure("exit-1", QUICK).await;
    assert!(words.contains("it ended with exit status 1"), "{words}");
    assert!(words.contains("\n  ") && words.contains("failed to unmarshal quick Tunnel"), "{words}");
    let words = failure("garbage", QUICK).await;
    assert!(words.contains("it ended with exit status 0") && words.contains("<html>"), "{words}");
}

#[tokio::test]
async fn a_program_that_tells_no_address_is_not_waited_for_without_end() {
    let limits = TunnelLimits { address: Duration::from_millis(500), starts: 2, ..QUICK };
    let words = failure("silent", limits).await;
    assert!(words.contains("it gave no address within 0.5 s"), "{words}");
}

#[tokio::test]
async fn an_edge_that_knows_no_tunnel_is_not_the_relay() {
    let limits = TunnelLimits { proof: Duration::from_millis(500), starts: 1, ..QUICK };
    let words = failure("530", limits).await;
    assert!(words.contains("HTTP 530"), "{words}");
    assert!(!words.contains("{"), "{words}");
}

/// O-36
#[tokio::test]
async fn it_counts_as_up_once_its_name_is_known() {
    let stand_in = StandIn::new("late");
    let resolver = names(3);
    let mut line = Line::open(options(&stand_in, QUICK, Arc::clone(&resolver))).await;
    let waiting = line.becomes(|state| matches!(state, TunnelState::Starting(words) if words.contains("name"))).await;
    assert!(!format!("{waiting:?}").contains("stand-in"), "{waiting:?}");
    line.is_up().await;
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 4, "not once too early, and not once more than needed");
    line.tunnel.shutdown().await;

    let limits = TunnelLimits { name: Duration::from_millis(500), starts: 1, ..QUICK };
    let mut line = Line::open(options(&stand_in, limits, names(usize::MAX))).await;
    let words = line.fails().await;
    assert!(words.contains("(the zone does not know it)"), "{words}");
}

#[tokio::test]
async fn one_that_fades_is_replaced_and_everybody_is_told() {
    let stand_in = StandIn::new("fades good");
    let mut line = Line::open(options(&stand_in, QUICK, names(0))).await;
    let first = line.is_up().await;
    let down = line.becomes(|state| matches!(state, TunnelState::Down(_))).await;
    assert!(matches!(&down, TunnelState::Down(words) if words.contains("530")), "{down:?}");
    assert_ne!(line.is_up().await, first);
    line.tunnel.shutdown().await;
    assert_eq!((stand_in.starts().len(), stand_in.living()), (2, vec![]));
}

#[tokio::test]
async fn one_that_does_not_want_to_end_is_ended() {
    let stand_in = StandIn::new("stubborn");
    let mut line = Line::open(options(&stand_in, QUICK, names(0))).await;
    line.is_up().await;
    assert_eq!(stand_in.living().len(), 1);
    let asked = Instant::now();
    line.tunnel.shutdown().await;
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    assert_eq!(stand_in.living(), []);
}

#[tokio::test]
async fn an_address_that_leads_elsewhere_is_not_shown() {
    let elsewhere = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = PublicAddress::of(elsewhere.local_addr().unwrap()).unwrap();
    let mut other = JoinSet::new();
    other.spawn(async move {
        while let Ok((mut stream, _)) = elsewhere.accept().await {
            let mut request = [0; 4096];
            drop(stream.read(&mut request).await);
            // An answer that fits every question, but ours.
            drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await);
        }
    });
    let stand_in = StandIn::new("good");
    let limits = TunnelLimits { proof: Duration::from_millis(500), ..QUICK };
    let options = TunnelOptions { kind: TunnelKind::Address(address), ..options(&stand_in, limits, names(0)) };
    let mut line = Line::open(options).await;
    let words = line.fails().await;
    assert!(words.contains("somebody else answered, HTTP 200") && words.contains("--relay-port"), "{words}");
    assert_eq!(stand_in.starts(), [0_i32; 0], "nothing is started for an address that is there");
}
