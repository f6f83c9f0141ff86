//! The ports that connections are played at. A recording holds connections of many servers, and a browser keeps six to
//! each of them: at one port the seventh that is held open would keep the page waiting for good.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

/// What Chrome opens to one port (`ClientSocketPoolManager`, for HTTP).
const PER_LANE: usize = 6;
/// With [`PER_LANE`] nearly as many as Chrome opens in all, 256.
const MAX_LANES: usize = 40;
/// Bodies that are held open with nothing in them: leaves room for all others.
const MAX_SILENT: usize = 120;

/// The ports, and what is held open at them.
#[derive(Debug)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    /// Connections that were sent to a lane and have not come there yet.
    expected: Mutex<HashMap<usize, Busy>>,
    silent: Mutex<VecDeque<oneshot::Sender<()>>>,
}

#[derive(Debug)]
struct Lane {
    address: SocketAddr,
    busy: Arc<AtomicUsize>,
}

/// A connection at a lane, for as long as this lives.
#[derive(Debug)]
pub(super) struct Busy(Arc<AtomicUsize>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Lanes {
    /// Takes ports enough for so many connections at once.
    pub(super) fn new(connections: usize) -> io::Result<(Self, Vec<TcpListener>)> {
        let count = connections.div_ceil(PER_LANE).clamp(1, MAX_LANES);
        let listeners = (0..count).map(|_| listen()).collect::<io::Result<Vec<_>>>()?;
        let addresses = listeners.iter().map(TcpListener::local_addr).collect::<io::Result<Vec<_>>>()?;
        let lanes = addresses.into_iter().map(|address| Lane { address, busy: Arc::default() }).collect();
        Ok((Self { lanes, expected: Mutex::default(), silent: Mutex::default() }, listeners))
    }

    /// Where a connection is to be played: where the fewest are.
    pub(super) fn send(&self, connection: usize) -> Option<SocketAddr> {
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = self.lanes.iter().min_by_key(|lane| lane.busy.load(Ordering::Relaxed))?;
        lane.busy.fetch_add(1, Ordering::Relaxed);
        expected.insert(connection, Busy(Arc::clone(&lane.busy)));
        Some(lane.address)
    }

    /// A connection has come. `None` for one that comes again.
    pub(super) fn arrived(&self, connection: usize) -> Option<Busy> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner).remove(&connection)
    }

    /// Resolves when a body that is held open with nothing in it has to give way to later ones. Most are bodies that
    /// nobody reads, which no server holds open.
    pub(super) fn give_way(&self) -> oneshot::Receiver<()> {
        let (sender, told) = oneshot::channel();
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        silent.push_back(sender);
        if silent.len() > MAX_SILENT {
            // Dropping it tells.
            drop(silent.pop_front());
        }
        told
    }
}

/// A free port of this machine.
pub(super) fn listen() -> io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn connections_go_where_the_fewest_are() {
        let (lanes, listeners) = Lanes::new(13).unwrap();
        assert_eq!(listeners.len(), 3);
        let places: Vec<_> = (0..18).map(|n| lanes.send(n).unwrap()).collect();
        let at = |place| places.iter().filter(|other| *other == place).count();
        assert!(places.iter().all(|place| at(place) == PER_LANE), "{places:?}");
        drop(lanes.arrived(4));
        assert_eq!(lanes.send(18).unwrap(), places[4]);
        assert!(lanes.arrived(4).is_none());
    }

    #[test]
    fn the_oldest_silent_body_gives_way() {
        let (lanes, _) = Lanes::new(1).unwrap();
        let mut told: Vec<_> = (0..=MAX_SILENT).map(|_| lanes.give_way()).collect();
        assert!(told[0].try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Closed));
        assert!(told[1].try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Empty));
    }
}
