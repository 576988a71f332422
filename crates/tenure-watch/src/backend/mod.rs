//! How a program is watched: by perf events, or by ptrace alone where the kernel refuses those.

pub(crate) mod perf;
pub(crate) mod traced;

use std::io;
use std::time::Duration;

use tenure_model::Ended;

use crate::breakpoints::ProbeResult;
use crate::sys::Sample;

/// Samples threads and sets breakpoints in them.
pub(crate) trait Backend: std::fmt::Debug {
    /// Begins to sample threads. Those that they begin later are sampled too.
    ///
    /// # Errors
    ///
    /// The kernel refuses that.
    fn attach(&mut self, threads: &[u32]) -> io::Result<()>;

    /// Takes note of the threads that there are, and of nanoseconds that some of them have run, a few times a second.
    fn list(&mut self, threads: &[u32], ran: &[(u32, u64)]);

    /// Waits for some time, and takes the samples, also those of other processes.
    ///
    /// # Errors
    ///
    /// A thread that exists may not be traced, where that is needed.
    fn collect(&mut self, wait: Duration, samples: &mut Vec<Sample>) -> io::Result<()>;

    /// Whether there are samples of processes that have nothing to do with the one that is watched.
    fn has_all_processes(&self) -> bool {
        false
    }

    /// Sets breakpoints on these words in these threads for [`breakpoints::PROBE_TIME`](crate::breakpoints::PROBE_TIME). Threads that end meanwhile,
    /// and those whose debug registers are taken, are left out.
    ///
    /// # Errors
    ///
    /// A thread that exists may not be traced, where that is needed.
    fn probe(&mut self, words: &[u64], threads: &[u32]) -> io::Result<ProbeResult>;

    /// Lets all threads go.
    fn release(&mut self) {}

    /// What went wrong so far.
    fn trouble(&self) -> Trouble;

    /// Processor time that other processes of ours took for it.
    fn own(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether ptrace does all.
    fn is_traced(&self) -> bool {
        false
    }

    /// How a child of this process ended, if waiting for its first thread took the status.
    fn taken_status(&self, _pid: u32) -> Option<Ended> {
        None
    }
}

/// What went wrong, without an end to watching.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trouble {
    /// Samples that found no room.
    pub(crate) lost: u64,
    /// Threads without a sampler.
    pub(crate) left_out: u64,
    /// Signals that were kept from threads.
    pub(crate) kept: u64,
}
