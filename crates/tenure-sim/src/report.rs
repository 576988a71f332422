//! What a simulation found.

use crate::machine::Distance;
use std::ops::Add;

/// What was simulated, and its figures: of the measured time alone, except [`simulated`](Self::simulated).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The machine's name.
    pub machine: String,
    /// Simulated threads, each on a CPU of its own.
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
    /// Store-conditionals that failed and were repeated, on machines that have them.
    pub lost_reservations: u64,
    /// Read-modify-writes that were done at a line's home, on machines that do so.
    pub far: u64,
    /// Lines that went from one holder to another.
    pub transfers: Transfers,
    /// Interrupts that CPUs sent to each other.
    pub interrupts: u64,
    /// Operations of each thread.
    pub per_thread: Vec<u64>,
    /// How evenly the threads got on.
    pub fairness: Fairness,
    /// Every line that was touched, the hottest first.
    pub lines: Vec<LineHeat>,
    /// Accesses simulated in all, also outside of the measured time: for the simulator's own speed.
    pub simulated: u64,
}

/// How often a line was delivered, by where it came from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transfers {
    /// From a core of the same cluster.
    pub cluster: u64,
    /// From another cluster of the socket.
    pub socket: u64,
    /// From another socket.
    pub remote: u64,
    /// From memory.
    pub memory: u64,
}

/// How evenly threads got on: operations of single threads.
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
    /// How often it was delivered.
    pub transfers: Transfers,
    /// Read-modify-writes that came to it, on machines that have far atomics.
    pub far: u64,
    /// What was accessed on it, by place.
    pub members: Vec<MemberHeat>,
}

/// A part of a line that was accessed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MemberHeat {
    /// The name that the simulation was given for it.
    pub name: Option<String>,
    /// Where it begins on the line.
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
    /// How long those waited, in nanoseconds: the sum.
    pub waited_ns: f64,
}

impl Report {
    /// Nanoseconds of one operation on one thread while all others do the same. Infinite if there were none.
    #[must_use]
    pub fn ns_per_op(&self) -> f64 {
        if self.operations == 0 {
            return f64::INFINITY;
        }
        self.ns * count(self.threads as u64) / count(self.operations)
    }

    /// Operations per second of all threads together, in millions; 0 if there were none.
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

    /// A count per operation; 0 where there were no operations.
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
