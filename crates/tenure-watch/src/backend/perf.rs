//! Perf events: each thread's clock takes samples, and perf sets the breakpoints.

use std::io;
use std::time::Duration;

use nix::sys::wait::WaitStatus;
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Backend, Trouble};
use crate::arm::{self, Seen};
use crate::sys::Sample;
use crate::sys::guard::Guard;
use crate::sys::perf::{Event, Ring};
use crate::sys::process;

/// Pages of a ring: at 100 samples a second it fills in half a minute.
const PAGES: usize = 64;

/// How often rings are read.
const STEP: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(crate) struct Perf {
    cpus: Vec<u32>,
    rate: u64,
    /// One for each CPU. Its event is the first thread's sampler.
    rings: Vec<Ring>,
    /// By thread: the samplers that write to them.
    clocks: FxHashMap<u32, Vec<Event>>,
    guard: Option<Guard>,
    /// Threads that found no file descriptors for samplers at first.
    left_out: u64,
    /// Those that had samples since threads were listed, and nanoseconds that threads had run then.
    sampled: FxHashSet<u32>,
    ran: FxHashMap<u32, u64>,
}

impl Perf {
    /// `rate` samples a second of each thread that runs. `guard` has those that have breakpoints.
    pub(crate) fn new(rate: u64, guard: Option<Guard>) -> Self {
        Self {
            cpus: process::cpus(),
            rate,
            rings: Vec::new(),
            clocks: FxHashMap::default(),
            guard,
            left_out: 0,
            sampled: FxHashSet::default(),
            ran: FxHashMap::default(),
        }
    }

    fn attach_one(&mut self, tid: u32) -> io::Result<()> {
        let mut clocks = Vec::new();
        for (at, &cpu) in self.cpus.iter().enumerate() {
            let clock = Event::clock(tid, cpu, self.rate)?;
            match self.rings.get(at) {
                Some(ring) => {
                    clock.write_to(ring)?;
                    clocks.push(clock);
                }
                None => self.rings.push(Ring::new(clock, PAGES)?),
            }
        }
        self.clocks.insert(tid, clocks);
        Ok(())
    }

    /// Gives the samplers of threads that sleep to those that run without.
    fn exchange(&mut self, threads: &[(u32, u64)]) {
        let mut ran = FxHashMap::default();
        let (mut without, mut idle) = (Vec::new(), Vec::new());
        for &(tid, now) in threads {
            let delta = now.saturating_sub(self.ran.get(&tid).copied().unwrap_or(now));
            let is_sampled = self.sampled.contains(&tid);
            match self.clocks.get(&tid) {
                Some(clocks) if delta == 0 && !clocks.is_empty() => idle.push(tid),
                Some(_) => {}
                // One that has inherited samplers has samples.
                None if delta > 1_000_000_000 / self.rate && !is_sampled => {
                    without.push((delta, tid));
                }
                None => {}
            }
            ran.insert(tid, now);
        }
        // Those that have ended need theirs no more.
        self.clocks.retain(|tid, clocks| clocks.is_empty() || ran.contains_key(tid));
        without.sort_unstable();
        for (_, tid) in without.into_iter().rev() {
            let mut attached = self.attach_one(tid);
            if attached.as_ref().is_err_and(is_full)
                && let Some(other) = idle.pop()
            {
                self.clocks.remove(&other);
                attached = self.attach_one(tid);
            }
            if attached.is_err() {
                break;
            }
        }
        self.ran = ran;
        self.sampled.clear();
    }
}

/// There are no more file descriptors.
fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(nix::libc::EMFILE | nix::libc::ENFILE))
}

impl Backend for Perf {
    fn attach(&mut self, threads: &[u32]) -> io::Result<()> {
        // Breakpoints take descriptors too.
        let spare = arm::spare_descriptors();
        for &tid in threads {
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

    fn list(&mut self, threads: &[(u32, u64)]) {
        if self.left_out > 0 {
            let spare = arm::spare_descriptors();
            self.exchange(threads);
            drop(spare);
        }
    }

    fn collect(&mut self, samples: &mut Vec<Sample>) -> io::Result<()> {
        let timeout = Timespec::try_from(STEP).ok();
        // The rings are read in even steps; only a full one would wake this thread.
        let mut handles: Vec<_> =
            self.rings.iter().map(|ring| PollFd::new(&ring.event, PollFlags::empty())).collect();
        let _ = poll(&mut handles, timeout.as_ref());
        for ring in &mut self.rings {
            ring.drain(|sample| samples.push(sample));
        }
        if self.left_out > 0 {
            self.sampled.extend(samples.iter().map(|sample| sample.tid));
        }
        if let Some(guard) = &mut self.guard {
            guard.tend();
        }
        Ok(())
    }

    fn look(&mut self, words: &[u64], threads: &[u32]) -> io::Result<Seen> {
        arm::look(words, threads, self.guard.as_mut())
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
            kept: self.guard.as_ref().map_or(0, |guard| guard.kept),
        }
    }

    fn own(&self) -> Duration {
        Duration::ZERO
    }

    fn taken_status(&self, pid: u32) -> Option<WaitStatus> {
        self.guard.as_ref()?.ended.get(&pid).copied()
    }
}
