//! Perf events: the clocks of CPUs take samples, or where that is not allowed the clocks of threads; and perf sets the breakpoints.
//!
//! A thread's clock is started and stopped when threads take turns, which takes as long as the turn itself. A CPU's is not, but needs
//! rights.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};
use tenure_model::Ended;

use super::{Backend, Trouble};
use crate::breakpoints::{self, ProbeResult};
use crate::sys::Sample;
use crate::sys::guard::TrapGuard;
use crate::sys::lost;
use crate::sys::perf::{PerfEvent, PerfRing};
use crate::sys::process;

/// Pages of a ring: they have room for five hundred samples.
const RING_PAGES: usize = 64;

/// How often threads are checked that have not stopped yet.
const STOP_POLL: Duration = Duration::from_millis(1);

/// Threads are given samplers for so long at a time. Among hundreds that run, this process has hardly a turn: so those that
/// run come first, and others later.
const MAX_ATTACHING: Duration = Duration::from_millis(300);

/// CPUs above which `tenure` would spend too much time on samples of other programs.
const MAX_CPUS: usize = 64;

#[derive(Debug)]
pub(crate) struct PerfBackend {
    cpus: Vec<u32>,
    rate: u64,
    /// One for each CPU. Its event is the first thread's sampler.
    rings: Vec<PerfRing>,
    /// Each thread's samplers, which write to the rings.
    clocks: FxHashMap<u32, Vec<PerfEvent>>,
    /// Whether they are the clocks of CPUs. Then there are no others.
    is_wide: bool,
    guard: Option<TrapGuard>,
    /// Threads that got no samplers at first, for lack of file descriptors or of time.
    left_out: u64,
    /// Those that had samples since they were listed, and nanoseconds that threads had run then.
    sampled: FxHashSet<u32>,
    ran: FxHashMap<u32, u64>,
}

impl PerfBackend {
    /// `rate` samples a second of each thread that runs. `guard` has those that have breakpoints.
    pub(crate) fn new(rate: u64, guard: Option<TrapGuard>) -> Self {
        Self {
            cpus: process::cpus(),
            rate: rate.max(1),
            rings: Vec::new(),
            clocks: FxHashMap::default(),
            is_wide: false,
            guard,
            left_out: 0,
            sampled: FxHashSet::default(),
            ran: FxHashMap::default(),
        }
    }

    /// Samples what the CPUs run. Whether that is allowed.
    fn attach_all(&mut self) -> bool {
        if self.cpus.len() > MAX_CPUS {
            return false;
        }
        let ring = |&cpu: &u32| PerfRing::new(PerfEvent::clock_of_cpu(cpu, self.rate)?, RING_PAGES);
        match self.cpus.iter().map(ring).collect::<io::Result<Vec<PerfRing>>>() {
            Ok(rings) => self.rings = rings,
            Err(_) => return false,
        }
        self.is_wide = true;
        true
    }

    fn attach_one(&mut self, tid: u32) -> io::Result<()> {
        let mut clocks = Vec::new();
        for (at, &cpu) in self.cpus.iter().enumerate() {
            let clock = PerfEvent::clock(tid, cpu, self.rate)?;
            match self.rings.get(at) {
                Some(ring) => {
                    clock.write_to(ring)?;
                    clocks.push(clock);
                }
                None => self.rings.push(PerfRing::new(clock, RING_PAGES)?),
            }
        }
        self.clocks.insert(tid, clocks);
        Ok(())
    }

    /// Gives samplers to threads that run without: those of threads that sleep, if there are no more.
    fn exchange(&mut self, threads: &[u32], ran: &[(u32, u64)]) {
        let end = Instant::now() + MAX_ATTACHING;
        let (mut without, mut idle) = (Vec::new(), Vec::new());
        for &(tid, now) in ran {
            let delta = now.saturating_sub(self.ran.insert(tid, now).unwrap_or(now));
            let is_sampled = self.sampled.remove(&tid);
            match self.clocks.get(&tid) {
                Some(clocks) if delta == 0 && !clocks.is_empty() => idle.push(tid),
                Some(_) => {}
                // One that has inherited samplers has samples.
                None if delta > 1_000_000_000 / self.rate && !is_sampled => {
                    without.push((delta, tid));
                }
                None => {}
            }
        }
        // Those that have ended need theirs no more.
        let there: FxHashSet<u32> = threads.iter().copied().collect();
        self.clocks.retain(|tid, clocks| clocks.is_empty() || there.contains(tid));
        self.ran.retain(|tid, _| there.contains(tid));
        without.sort_unstable();
        for (_, tid) in without.into_iter().rev() {
            let mut attached = self.attach_one(tid);
            if attached.as_ref().is_err_and(is_full)
                && let Some(other) = idle.pop()
            {
                self.clocks.remove(&other);
                attached = self.attach_one(tid);
            }
            if attached.is_err() || Instant::now() >= end {
                break;
            }
        }
    }
}

/// There are no more file descriptors.
fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(nix::libc::EMFILE | nix::libc::ENFILE))
}

impl Backend for PerfBackend {
    fn attach(&mut self, threads: &[u32]) -> io::Result<()> {
        if self.is_wide || self.rings.is_empty() && self.attach_all() {
            return Ok(());
        }
        // Breakpoints take descriptors too.
        let spare = breakpoints::spare_descriptors();
        let end = Instant::now() + MAX_ATTACHING;
        let mut threads = threads.to_vec();
        threads.sort_by_cached_key(|tid| !process::is_running(*tid, *tid));
        for tid in threads {
            if Instant::now() >= end && !self.clocks.is_empty() {
                self.left_out += 1;
                continue;
            }
            match self.attach_one(tid) {
                // It has ended.
                Err(error) if error.raw_os_error() == Some(nix::libc::ESRCH) => {}
                Err(error) if is_full(&error) && spare.is_some() && !self.clocks.is_empty() => {
                    self.left_out += 1;
                }
                result => result?,
            }
        }
        Ok(())
    }

    fn list(&mut self, threads: &[u32], ran: &[(u32, u64)]) {
        if self.left_out > 0 {
            let spare = breakpoints::spare_descriptors();
            self.exchange(threads, ran);
            drop(spare);
        }
    }

    fn collect(&mut self, wait: Duration, samples: &mut Vec<Sample>) -> io::Result<()> {
        // In this time a ring gets a hundred samples, a fifth of its room.
        let room = Duration::from_secs(100) / u32::try_from(self.rate).unwrap_or(u32::MAX);
        let end = Instant::now() + wait.min(room);
        // A thread that stops late waits until it is released.
        if let Some(guard) = &mut self.guard {
            while !guard.is_idle() && Instant::now() < end {
                thread::sleep(STOP_POLL);
                guard.tend();
            }
        }
        thread::sleep(end.saturating_duration_since(Instant::now()));
        for ring in &mut self.rings {
            ring.drain(|sample| samples.push(sample));
        }
        if self.left_out > 0 {
            self.sampled.extend(samples.iter().map(|sample| sample.tid));
        }
        Ok(())
    }

    fn has_all_processes(&self) -> bool {
        self.is_wide
    }

    fn probe(&mut self, words: &[u64], threads: &[u32]) -> io::Result<ProbeResult> {
        breakpoints::probe(words, threads, self.guard.as_mut())
    }

    fn release(&mut self) {
        self.clocks.clear();
        if let Some(guard) = &mut self.guard {
            guard.finish();
        }
    }

    fn trouble(&self) -> Trouble {
        Trouble {
            lost: self.rings.iter().map(|ring| ring.lost).sum(),
            left_out: self.left_out,
            kept: self.guard.as_ref().map_or_else(lost::count, |guard| guard.kept),
        }
    }

    fn taken_status(&self, pid: u32) -> Option<Ended> {
        self.guard.as_ref()?.ended.get(&pid).copied()
    }
}
