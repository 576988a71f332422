//! Peers: one object for each address that clients connect from, shared by all connections of that address.
//!
//! It is to this server what the route's `dst_entry` is to the kernel: each request takes a reference, reads
//! the limits, which hardly ever change, and gives the reference back. What is written often lies on other lines.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use tenure::count::RefCount;
use tenure::line::Isolated;
use tenure::memory::{Atomic, Ordering};
use tenure::sync::{Arc, Weak};

use super::item::AtomicU64;

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
pub(super) struct PeerRef<P: RefCount> {
    peer: Arc<Peer>,
    count: PhantomData<P>,
}

impl<P: RefCount> Clone for PeerRef<P> {
    #[inline]
    fn clone(&self) -> Self {
        Self { peer: self.peer.clone(), count: PhantomData }
    }
}

impl<P: RefCount> std::ops::Deref for PeerRef<P> {
    type Target = Peer;
    #[inline]
    fn deref(&self) -> &Peer {
        &self.peer
    }
}

/// All peers that have connections.
pub(super) struct Peers<P: RefCount> {
    peers: Mutex<HashMap<IpAddr, Weak<Peer>>>,
    limits: Limits,
    count: PhantomData<P>,
}

impl<P: RefCount> Peers<P> {
    pub(super) fn new(limits: Limits) -> Self {
        Self { peers: Mutex::new(HashMap::new()), limits, count: PhantomData }
    }

    /// The peer of a connection that begins. `None` if it has too many.
    pub(super) fn join(&self, address: IpAddr) -> Option<PeerRef<P>> {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.retain(|_, peer| peer.strong_count() > 0);
        let known = peers.get(&address).and_then(Weak::upgrade);
        let peer = known.unwrap_or_else(|| {
            let peer = Arc::new(Peer::new(self.limits));
            peers.insert(address, Arc::downgrade(&peer));
            peer
        });
        // Relaxed: a number that is compared with a limit.
        if peer.counts.connections.fetch_add(1, Ordering::Relaxed) >= self.limits.connections {
            peer.leave();
            return None;
        }
        Some(PeerRef { peer, count: PhantomData })
    }

    /// Peers, with what they do.
    pub(super) fn list(&self) -> Vec<(IpAddr, PeerRef<P>)> {
        let peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let alive = peers.iter().filter_map(|(address, peer)| Some((*address, peer.upgrade()?)));
        alive.map(|(address, peer)| (address, PeerRef { peer, count: PhantomData })).collect()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.list().len()
    }
}
