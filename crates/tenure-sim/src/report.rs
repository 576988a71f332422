use crate::machine::Distance;
use std::ops::Add;

/// A simulation's result: figures of the measured time, except [`simulated`](Self::simulated).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SimulationReport {
    /// The machine's name.
    pub machine: String,
    /// Each on a CPU of its own.
    pub threads: usize,
    /// The seed.
    pub seed: u64,
    /// The measured time, in simulated nanoseconds.
    pub ns: f64,
    /// Operations of all threads, as counted by [`Cpu::done`](crate::Cpu::done).
    pub operations: u64,
    /// Accesses to simulated memory.
    pub accesses: u64,
    /// Failed compare-exchanges.
    pub failed: u64,
    /// Failed and repeated store-conditionals, on machines that have them.
    pub lost_reservations: u64,
    /// Read-modify-writes at a line's home, on machines that do so.
    pub far: u64,
    /// Lines delivered.
    pub transfers: Transfers,
    /// Sent by CPUs to each other.
    pub interrupts: u64,
    /// Operations of each thread.
    pub per_thread: Vec<u64>,
    /// How even the threads' operations are.
    pub fairness: Fairness,
    /// Every touched line, the hottest first.
    pub lines: Vec<LineHeat>,
    /// Accesses in all, also outside the measured time: for the simulator's own speed.
    pub simulated: u64,
}

/// Deliveries of lines, by origin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Lines that came from a core of the same cluster.
    pub cluster: u64,
    /// Lines that came from another cluster of the socket.
    pub socket: u64,
    /// Lines that came from another socket.
    pub remote: u64,
    /// Lines that came from memory.
    pub memory: u64,
}

/// Operations of single threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fairness {
    /// The fewest.
    pub least: u64,
    /// The most.
    pub most: u64,
    /// Jain's index: 1 where all got the same, 1/N where one of N got everything.
    pub jain: f64,
}

/// A line that was touched.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LineHeat {
    /// Deliveries.
    pub transfers: Transfers,
    /// Far read-modify-writes, on machines that have them.
    pub far: u64,
    /// Members that were accessed, ordered by offset.
    pub members: Vec<MemberHeat>,
}

/// An accessed part of a line.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MemberHeat {
    /// Its name, if the simulation was given one.
    pub name: Option<String>,
    /// Offset on the line, in bytes.
    pub offset: usize,
    /// Its size.
    pub bytes: usize,
    /// Reads.
    pub loads: u64,
    /// Plain and atomic writes.
    pub stores: u64,
    /// Atomic read-modify-writes, failed ones included.
    pub rmws: u64,
    /// Failed compare-exchanges.
    pub failed: u64,
    /// Accesses for which the line had to come.
    pub misses: u64,
    /// The sum of their waits, in nanoseconds.
    pub waited_ns: f64,
}

impl SimulationReport {
    /// Nanoseconds of one operation on one thread while all others do the same. Infinite without operations.
    #[must_use]
    pub fn ns_per_op(&self) -> f64 {
        if self.operations == 0 {
            return f64::INFINITY;
        }
        self.ns * count(self.threads as u64) / count(self.operations)
    }

    /// Millions of operations per second, of all threads; 0 without operations.
    #[must_use]
    pub fn mops(&self) -> f64 {
        if self.operations == 0 { 0.0 } else { count(self.operations) / self.ns * 1e3 }
    }

    /// Failed compare-exchanges per operation.
    #[must_use]
    pub fn retries_per_op(&self) -> f64 {
        self.per_op(self.failed)
    }

    /// Lines delivered per operation.
    #[must_use]
    pub fn transfers_per_op(&self) -> f64 {
        self.per_op(self.transfers.all())
    }

    /// A count per operation; 0 without operations.
    #[must_use]
    pub fn per_op(&self, counted: u64) -> f64 {
        if self.operations == 0 { 0.0 } else { count(counted) / count(self.operations) }
    }
}

impl Transfers {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> u64 {
        Distance::ALL.iter().map(|&distance| self.over(distance)).sum()
    }

    /// Those over a distance.
    #[must_use]
    pub fn over(&self, distance: Distance) -> u64 {
        match distance {
            Distance::Cluster => self.cluster,
            Distance::Socket => self.socket,
            Distance::Remote => self.remote,
            Distance::Memory => self.memory,
        }
    }
}

impl Add for Transfers {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            cluster: self.cluster + other.cluster,
            socket: self.socket + other.socket,
            remote: self.remote + other.remote,
            memory: self.memory + other.memory,
        }
    }
}

impl Fairness {
    pub(crate) fn of(operations: &[u64]) -> Self {
        let sum: f64 = operations.iter().map(|&n| count(n)).sum();
        let squares: f64 = operations.iter().map(|&n| count(n) * count(n)).sum();
        #[allow(clippy::cast_precision_loss, reason = "at most 1,024 of them")]
        let threads = operations.len() as f64;
        Self {
            least: operations.iter().copied().min().unwrap_or(0),
            most: operations.iter().copied().max().unwrap_or(0),
            jain: if squares > 0.0 { sum * sum / (threads * squares) } else { 1.0 },
        }
    }
}

impl MemberHeat {
    pub(crate) fn add(&mut self, other: &Self) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.rmws += other.rmws;
        self.failed += other.failed;
        self.misses += other.misses;
        self.waited_ns += other.waited_ns;
    }
}

#[allow(clippy::cast_precision_loss, reason = "no simulation counts to 2^53")]
fn count(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_1_for_equals_and_1_of_n_for_a_monopoly() {
        let jain = |operations: &[u64]| Fairness::of(operations).jain;
        assert_eq!(jain(&[5, 5, 5, 5]), 1.0);
        assert_eq!(jain(&[20, 0, 0, 0]), 0.25);
        assert_eq!(jain(&[0, 0]), 1.0);
    }
}
