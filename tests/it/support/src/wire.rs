//! A way from the phone to the relay that fails as networks do: it can be cut, it forgets connections that are silent, it
//! lets no WebSocket through, and it can keep the far end of a connection open whose near end is gone.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Longer than anything takes on a busy machine.
const WITHIN: Duration = Duration::from_secs(30);
/// Bytes carried at once.
const CHUNK: usize = 64 * 1024;

/// What is to happen to the connections that are open now. Counts only grow.
#[derive(Clone, Copy, Debug, Default)]
struct Orders {
    /// Both ends close.
    cut: u32,
    /// The phone's end closes, the relay's stays open.
    strand: u32,
    /// What was stranded closes.
    release: u32,
    /// Nothing gets through, until this is false again.
    blocked: bool,
}

/// What a way does to every connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// A connection that carries nothing for so long is dropped.
    pub idle_limit: Option<Duration>,
    /// It is a proxy that knows no WebSockets.
    pub refuses_sockets: bool,
    /// The first bytes wait for so long.
    pub delay: Duration,
}

/// A running way; dropping it cuts it for good.
#[derive(Debug)]
pub struct Wire {
    address: SocketAddr,
    orders: watch::Sender<Orders>,
    carried: watch::Receiver<u32>,
    refused: watch::Receiver<u32>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Wire {
    /// To the relay of this attach link.
    pub fn to(link: &str, faults: Faults) -> Self {
        let relay: SocketAddr = authority(link).parse().expect("the link names an address");
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port on 127.0.0.1");
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (orders, orders_in) = watch::channel(Orders::default());
        let (carried_in, carried) = watch::channel(0);
        let (refused_in, refused) = watch::channel(0);
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                let mut open = JoinSet::new();
                let accept = async {
                    while let Ok((mut phone, _)) = listener.accept().await {
                        if orders_in.borrow().blocked {
                            continue;
                        }
                        carried_in.send_modify(|count| *count += 1);
                        let (orders, refused) = (orders_in.clone(), refused_in.clone());
                        open.spawn(async move {
                            tokio::time::sleep(faults.delay).await;
                            let first =
                                if faults.refuses_sockets { without_socket(&mut phone).await } else { Some(vec![]) };
                            match first {
                                Some(first) => carry(phone, relay, orders, faults.idle_limit, &first).await,
                                None => refused.send_modify(|count| *count += 1),
                            }
                        });
                    }
                };
                tokio::select! {
                    () = accept => {}
                    _ = stopped => {}
                }
            });
        });
        Self { address, orders, carried, refused, stop: Some(stop), thread: Some(thread) }
    }

    /// The same link, by this way.
    pub fn link(&self, link: &str) -> String {
        link.replacen(authority(link), &self.address.to_string(), 1)
    }

    /// Ends every connection, and waits until the phone has opened another one.
    pub fn cut(&self) {
        self.order(|orders| orders.cut += 1);
    }

    /// Ends every connection for the phone alone, and waits until it has opened another one: the relay learns of it
    /// when [`Self::release`] is called.
    pub fn strand(&self) {
        self.order(|orders| orders.strand += 1);
    }

    /// Closes what was stranded.
    pub fn release(&self) {
        self.orders.send_modify(|orders| orders.release += 1);
    }

    /// Ends every connection and lets none through until [`Self::unblock`].
    pub fn block(&self) {
        self.orders.send_modify(|orders| {
            orders.blocked = true;
            orders.cut += 1;
        });
    }

    /// Carries connections again.
    pub fn unblock(&self) {
        self.orders.send_modify(|orders| orders.blocked = false);
    }

    /// How many connections it has carried.
    pub fn carried(&self) -> u32 {
        *self.carried.borrow()
    }

    /// How many WebSockets it has refused.
    pub fn refused(&self) -> u32 {
        *self.refused.borrow()
    }

    fn order(&self, change: impl FnOnce(&mut Orders)) {
        let before = self.carried();
        self.orders.send_modify(change);
        let mut carried = self.carried.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let another =
            runtime.block_on(async { timeout(WITHIN, carried.wait_for(|count| *count > before)).await.is_ok() });
        assert!(another, "the phone dials again");
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn authority(link: &str) -> &str {
    link.split('/').nth(2).expect("a link has an authority")
}

/// Reads the beginning of a connection; none when it asked for a WebSocket, which it was told that it cannot have. A
/// browser opens a connection of its own for one.
async fn without_socket(phone: &mut TcpStream) -> Option<Vec<u8>> {
    let mut first = vec![0; CHUNK];
    let count = phone.read(&mut first).await.ok()?;
    first.truncate(count);
    if !String::from_utf8_lossy(&first).to_ascii_lowercase().contains("\nupgrade: websocket") {
        return Some(first);
    }
    let answer = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    drop(phone.write_all(answer.as_bytes()).await);
    None
}

async fn carry(
    mut phone: TcpStream,
    relay: SocketAddr,
    mut orders: watch::Receiver<Orders>,
    idle: Option<Duration>,
    first: &[u8],
) {
    let Ok(mut upstream) = TcpStream::connect(relay).await else { return };
    if upstream.write_all(first).await.is_err() {
        return;
    }
    let began = *orders.borrow_and_update();
    let (mut up, mut down) = (vec![0; CHUNK], vec![0; CHUNK]);
    loop {
        let silence = async {
            match idle {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let written = tokio::select! {
            read = phone.read(&mut up) => match read {
                Ok(count) if count > 0 => upstream.write_all(&up[..count]).await,
                _ => return,
            },
            read = upstream.read(&mut down) => match read {
                Ok(count) if count > 0 => phone.write_all(&down[..count]).await,
                _ => return,
            },
            () = silence => return,
            changed = orders.changed() => {
                let now = *orders.borrow();
                if changed.is_err() || now.cut > began.cut {
                    return;
                }
                if now.strand > began.strand {
                    drop(phone);
                    drop(orders.wait_for(|orders| orders.release > began.release).await);
                    return;
                }
                Ok(())
            }
        };
        if written.is_err() {
            return;
        }
    }
}
