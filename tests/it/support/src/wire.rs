//! A way from the phone to the relay that fails as networks do: it can be cut, it forgets connections that are silent,
//! and it can keep the far end of a connection open whose near end is gone.

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

/// A running way; dropping it cuts it for good.
#[derive(Debug)]
pub struct Wire {
    address: SocketAddr,
    orders: watch::Sender<Orders>,
    carried: watch::Receiver<u32>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Wire {
    /// To the relay of this attach link. `idle_limit`: a connection that carries nothing for so long is dropped.
    pub fn to(link: &str, idle_limit: Option<Duration>) -> Self {
        let relay: SocketAddr = authority(link).parse().expect("the link names an address");
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port on 127.0.0.1");
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (orders, orders_in) = watch::channel(Orders::default());
        let (carried_in, carried) = watch::channel(0);
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                let mut open = JoinSet::new();
                let accept = async {
                    while let Ok((phone, _)) = listener.accept().await {
                        if orders_in.borrow().blocked {
                            continue;
                        }
                        carried_in.send_modify(|count| *count += 1);
                        open.spawn(carry(phone, relay, orders_in.clone(), idle_limit));
                    }
                };
                tokio::select! {
                    () = accept => {}
                    _ = stopped => {}
                }
            });
        });
        Self { address, orders, carried, stop: Some(stop), thread: Some(thread) }
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

async fn carry(mut phone: TcpStream, relay: SocketAddr, mut orders: watch::Receiver<Orders>, idle: Option<Duration>) {
    let Ok(mut upstream) = TcpStream::connect(relay).await else { return };
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
