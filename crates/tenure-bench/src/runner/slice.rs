//! A slice: all threads run one variant at once, each against its clock.
//!
//! Three phases keep every timed operation under the full load:
//!
//! 1. all threads run the operation until all have warmed up;
//! 2. each runs a fixed number of operations against the clock;
//! 3. each keeps running until all have finished.
//!
//! Single operations are timed in a phase of its own between the second and the third.

use super::singles::Singles;
use crate::scenario::{Looped, ThreadPlace};
use std::time::{Duration, Instant};
use tenure::cache_line::CachePadded;
use tenure::memory::{Memory, Native, Ordering};
use tenure_report::affinity::involuntary_switches;

type SliceCounter = <Native as Memory>::AtomicU32;

/// Operations between two looks at the other threads, outside the timed phase.
const CHUNK: u64 = 64;
/// With more threads than CPUs each look yields: the load must outweigh the switches.
const OVERSUBSCRIBED_CHUNK: u64 = 4_096;

const MAX_SINGLES: u64 = 1_000;

const UNDECIDED: u32 = 0;
const RUN: u32 = 1;
const STOP: u32 = 2;

/// Where the threads of one slice meet; for one use.
#[derive(Debug)]
pub(super) struct Gate {
    /// The first thread that comes decides for all.
    runs: CachePadded<SliceCounter>,
    warmed: CachePadded<SliceCounter>,
    finished: CachePadded<SliceCounter>,
}

impl Gate {
    pub(super) fn new() -> Self {
        let counter = || CachePadded::new(SliceCounter::new(0));
        Self { runs: counter(), warmed: counter(), finished: counter() }
    }

    /// All threads get the same answer: `may_run` of the first.
    pub(super) fn runs(&self, may_run: impl Fn() -> bool) -> bool {
        // Relaxed, here and below: nothing else is published.
        match self.runs.load(Ordering::Relaxed) {
            UNDECIDED => {
                let mine = if may_run() { RUN } else { STOP };
                let (relaxed, current) = (Ordering::Relaxed, UNDECIDED);
                let found = self.runs.compare_exchange(current, mine, relaxed, relaxed);
                found.err().unwrap_or(mine) == RUN
            }
            decided => decided == RUN,
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct TimedSlice<'a> {
    pub(super) object: &'a dyn Looped,
    pub(super) gate: &'a Gate,
    pub(super) threads: u32,
    pub(super) steps: u64,
    /// More threads than CPUs: waiting threads yield.
    pub(super) oversubscribed: bool,
    /// The first thread times single operations into this.
    pub(super) singles: Option<&'a Singles>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ThreadSample {
    pub(super) start: Instant,
    pub(super) elapsed: Duration,
    pub(super) retries: u64,
    /// Switched out involuntarily while this clock or another ran.
    pub(super) switched: bool,
}

impl TimedSlice<'_> {
    pub(super) fn run(&self, thread: usize) -> ThreadSample {
        let place = ThreadPlace { thread, of: self.threads as usize };
        self.object.run(place, self.steps / 8);
        // From here on other threads count on this thread's load.
        let switches = involuntary_switches();
        let warm_up = self.run_until_all(place, &self.gate.warmed);

        let start = Instant::now();
        let retries = self.object.run(place, self.steps);
        let elapsed = start.elapsed();

        let singles = self.run_singly(place);
        let cool_down = self.run_until_all(place, &self.gate.finished);
        let switched = involuntary_switches() != switches;
        if let Some(all) = self.singles.filter(|_| thread == 0) {
            all.add(&singles, self.oversubscribed || !switched);
        }
        let steps = self.steps + singles.len() as u64;
        self.object.settle(self.steps / 8 + warm_up + steps + cool_down);
        ThreadSample { start, elapsed, retries, switched }
    }

    fn run_singly(&self, place: ThreadPlace) -> Vec<Duration> {
        let steps = if self.singles.is_some() { self.steps.min(MAX_SINGLES) } else { 0 };
        let mut times = Vec::with_capacity(steps as usize);
        for _ in 0..steps {
            let start = Instant::now();
            self.object.run(place, 1);
            times.push(start.elapsed());
        }
        times
    }

    /// Announces this thread, and keeps up the load until all are announced.
    fn run_until_all(&self, place: ThreadPlace, announced: &SliceCounter) -> u64 {
        // Relaxed: the counters order nothing; join passes the samples on.
        announced.fetch_add(1, Ordering::Relaxed);
        let chunk = if self.oversubscribed { OVERSUBSCRIBED_CHUNK } else { CHUNK };
        // A chunk of long operations would be a good part of the slice.
        let chunk = chunk.min((self.steps / 8).max(1));
        let mut steps = 0;
        while announced.load(Ordering::Relaxed) < self.threads {
            self.object.run(place, chunk);
            steps += chunk;
            if self.oversubscribed {
                std::thread::yield_now();
            }
        }
        steps
    }
}
