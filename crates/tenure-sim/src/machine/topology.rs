//! The places of CPUs, and the distances between cores.

use serde::{Deserialize, Serialize};

/// The arrangement of CPUs. Each figure counts within the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Sockets.
    pub sockets: usize,
    /// Groups of cores in a socket that share a cache (AMD's CCX); 1 where all cores of the socket do.
    pub clusters: usize,
    /// Cores in a cluster.
    pub cores: usize,
    /// Hardware threads on a core.
    pub smt: usize,
}

/// Neighbours in a cluster, and in a socket, have consecutive numbers.
pub(crate) type CoreIndex = u32;

/// How far a line goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distance {
    /// Another core of the same cluster.
    Cluster,
    /// Another cluster of the same socket.
    Socket,
    /// Another socket.
    Remote,
    /// Memory.
    Memory,
}

impl Distance {
    /// The nearest first.
    pub const ALL: [Self; 4] = [Self::Cluster, Self::Socket, Self::Remote, Self::Memory];
}

impl Topology {
    /// Hardware threads in all.
    #[must_use]
    pub fn cpus(&self) -> usize {
        self.cores_in_all() * self.smt
    }

    /// All cores.
    #[must_use]
    pub fn cores_in_all(&self) -> usize {
        self.sockets * self.clusters * self.cores
    }

    /// Threads fill the cores of one socket after the other, and then their second hardware threads in the same order.
    #[allow(clippy::cast_possible_truncation, reason = "a machine has at most 1,024 CPUs")]
    pub(crate) fn core_of(&self, thread: usize) -> CoreIndex {
        (thread % self.cores_in_all()) as CoreIndex
    }

    pub(crate) fn cluster(&self, core: CoreIndex) -> std::ops::Range<usize> {
        let first = core as usize / self.cores * self.cores;
        first..first + self.cores
    }

    pub(crate) fn socket(&self, core: CoreIndex) -> std::ops::Range<usize> {
        let cores = self.cores * self.clusters;
        let first = core as usize / cores * cores;
        first..first + cores
    }

    /// Between different cores.
    pub(crate) fn distance(&self, one: CoreIndex, other: CoreIndex) -> Distance {
        if self.cluster(one).contains(&(other as usize)) {
            Distance::Cluster
        } else if self.socket(one).contains(&(other as usize)) {
            Distance::Socket
        } else {
            Distance::Remote
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_fill_cores_socket_by_socket_and_then_their_siblings() {
        let topology = Topology { sockets: 2, clusters: 2, cores: 2, smt: 2 };
        assert_eq!((topology.cpus(), topology.cores_in_all()), (16, 8));
        assert_eq!((topology.core_of(3), topology.core_of(7), topology.core_of(8)), (3, 7, 0));
        assert_eq!((topology.cluster(3), topology.socket(5)), (2..4, 4..8));
        assert_eq!(topology.distance(2, 3), Distance::Cluster);
        assert_eq!(topology.distance(1, 2), Distance::Socket);
        assert_eq!(topology.distance(3, 4), Distance::Remote);
    }
}
