//! Peers: one object for each address that clients connect from, shared by all connections of that address.
//!
//! It is to this server what the route's `dst_entry` is to the kernel: each request takes a reference, reads
//! the limits, which hardly ever change, and gives the reference back. What is written often lies on other lines.

use std::net::IpAddr;

use tenure::line::Isolated;
use tenure::memory::{Atomic, Ordering};
use tenure::registry::{Ref, Registry, RegistryCount};

use super::AtomicU64;

/// What an address may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Connections at once.
    pub(super) connections: u64,
    /// Bytes of an item, as memcached counts them.
    pub(super) item: usize,
    /// Bytes of a request's line, but for that of a retrieval.
    pub(super) line: usize,
    /// Bytes of a key.
    pub(super) key: usize,
}

/// An address.
pub(super) struct Peer {
    /// Read by each request.
    limits: Limits,
    /// Written when a connection begins or ends.
    counts: Isolated<Counts>,
}

struct Counts {
    connections: AtomicU64,
    requests: AtomicU64,
}

impl Peer {
    fn new(limits: Limits) -> Self {
        let counts = Counts { connections: Atomic::new(0), requests: Atomic::new(0) };
        Self { limits, counts: Isolated::new(counts) }
    }

    #[inline]
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    pub(super) fn connections(&self) -> u64 {
        // Relaxed: a statistic.
        self.counts.connections.load(Ordering::Relaxed)
    }

    pub(super) fn requests(&self) -> u64 {
        // Relaxed: a statistic.
        self.counts.requests.load(Ordering::Relaxed)
    }

    /// Requests that were made since the last call.
    pub(super) fn add_requests(&self, count: u64) {
        // Relaxed: a statistic.
        self.counts.requests.fetch_add(count, Ordering::Relaxed);
    }

    /// A connection ends.
    pub(super) fn leave(&self) {
        // Relaxed: a number that is compared with a limit.
        self.counts.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A reference to a peer.
pub(super) type PeerRef<P> = Ref<IpAddr, Peer, P>;

/// All peers that have connections.
pub(super) struct Peers<P: RegistryCount> {
    peers: Registry<IpAddr, Peer, P>,
    limits: Limits,
}

impl<P: RegistryCount> Peers<P> {
    pub(super) fn new(limits: Limits) -> Self {
        Self { peers: Registry::default(), limits }
    }

    /// The peer of a connection that begins. `None` if it has too many.
    pub(super) fn join(&self, address: IpAddr) -> Option<PeerRef<P>> {
        let peer = self.peers.acquire(&address, || Peer::new(self.limits));
        // Relaxed: a number that is compared with a limit.
        if peer.counts.connections.fetch_add(1, Ordering::Relaxed) >= self.limits.connections {
            peer.leave();
            return None;
        }
        Some(peer)
    }

    /// All of them.
    pub(super) fn list(&self) -> Vec<PeerRef<P>> {
        self.peers.snapshot()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.peers.len()
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
