//! Peers: one object for each address, shared by its connections; and the connections.
//!
//! A peer is to this server what a route's `dst_entry` is to the kernel: each request takes a reference, reads the
//! limits, which hardly ever change, and puts the reference. What is written often lies on other lines.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tenure::line::Isolated;
use tenure::registry::{Ref, Registry, RegistryCount};
use tenure::sync::Arc;

use super::clock::Seconds;
use crate::lock::Lock;
use crate::relaxed::Relaxed;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) connections: u64,
    /// Bytes of an item, as memcached counts them.
    pub(super) item: usize,
    /// Bytes of a line, but for retrievals.
    pub(super) line: usize,
    pub(super) key: usize,
}

pub(super) struct Peer {
    pub(super) limits: Limits,
    /// Written when a connection begins or ends.
    counts: Isolated<Counts>,
}

#[derive(Default)]
struct Counts {
    connections: Relaxed<u64>,
    requests: Relaxed<u64>,
}

impl Peer {
    fn new(limits: Limits) -> Self {
        Self { limits, counts: Isolated::default() }
    }

    pub(super) fn connections(&self) -> u64 {
        self.counts.connections.get()
    }

    pub(super) fn requests(&self) -> u64 {
        self.counts.requests.get()
    }

    pub(super) fn add_requests(&self, count: u64) {
        self.counts.requests.fetch_add(count);
    }

    pub(super) fn leave(&self) {
        self.counts.connections.sub(1);
    }
}

pub(super) type PeerRef<P> = Ref<IpAddr, Peer, P>;

pub(super) struct Peers<P: RegistryCount> {
    peers: Registry<IpAddr, Peer, P>,
    limits: Limits,
}

impl<P: RegistryCount> Peers<P> {
    pub(super) fn new(limits: Limits) -> Self {
        Self { peers: Registry::default(), limits }
    }

    /// `None` if it has too many connections.
    pub(super) fn join(&self, address: IpAddr) -> Option<PeerRef<P>> {
        let peer = self.peers.acquire(&address, || Peer::new(self.limits));
        if peer.counts.connections.fetch_add(1) >= self.limits.connections {
            peer.leave();
            return None;
        }
        Some(peer)
    }

    pub(super) fn list(&self) -> Vec<PeerRef<P>> {
        self.peers.snapshot()
    }

    pub(super) fn len(&self) -> usize {
        self.peers.len()
    }
}

/// What `stats conns` and watchers show of a connection.
pub(super) struct Known {
    /// Unique, from 1 on.
    pub(super) number: u64,
    /// The unspecified address where the client has none.
    pub(super) from: IpAddr,
    /// When the client last sent.
    heard: Relaxed<u32>,
}

impl Known {
    pub(super) fn heard(&self) -> Seconds {
        self.heard.get()
    }

    #[inline]
    pub(super) fn hear(&self, now: Seconds) {
        self.heard.note(now);
    }
}

#[derive(Default)]
pub(super) struct Connections(Lock<All>);

#[derive(Default)]
struct All {
    last: u64,
    open: BTreeMap<u64, Arc<Known>>,
}

impl Connections {
    pub(super) fn join(&self, from: IpAddr, now: Seconds) -> Arc<Known> {
        let mut all = self.0.lock();
        all.last += 1;
        let known = Arc::new(Known { number: all.last, from, heard: Relaxed::new(now) });
        all.open.insert(known.number, known.clone());
        known
    }

    pub(super) fn leave(&self, known: &Known) {
        self.0.lock().open.remove(&known.number);
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().open.len()
    }

    /// The oldest first.
    pub(super) fn list(&self) -> Vec<Arc<Known>> {
        self.0.lock().open.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use tenure::count::TicketRef;

    #[test]
    fn connections_of_an_address_share_a_peer_that_goes_with_the_last() {
        let limits = Limits { connections: 2, item: 1, line: 1, key: 1 };
        let peers = Peers::<Isolated<TicketRef>>::new(limits);
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let first = peers.join(address).unwrap();
        let second = peers.join(address).unwrap();
        assert!(peers.join(address).is_none(), "two are allowed");
        assert_eq!((peers.len(), first.connections()), (1, 2));
        second.add_requests(3);
        assert_eq!(first.requests(), 3);
        first.leave();
        drop(first);
        assert!(peers.join(address).is_some());
        drop(second);
        assert_eq!(peers.len(), 0);
    }
}
