//! A slice: one variant, run by all threads at once for a moment, timed on each.
//!
//! Three phases keep every timed operation under the full load:
//!
//! 1. all threads run the operation until all of them have warmed up;
//! 2. each runs a fixed number of operations against the clock;
//! 3. each keeps running until all have finished, so that the slowest is not alone at the end.
//!
//! Where single operations are to be timed, that is a phase of its own between the second and the third.

use super::singles::Singles;
use crate::scenario::{Looped, Place};
use std::time::{Duration, Instant};
use tenure::line::Isolated;
use tenure::memory::{Memory, Native, Ordering};
use tenure_report::affinity::involuntary_switches;

type Counter = <Native as Memory>::AtomicU32;

/// Operations between two looks at the other threads, in the phases that are not timed.
const CHUNK: u64 = 64;
/// The same where each look lets another thread run: the load must outweigh the switches.
const OVERSUBSCRIBED_CHUNK: u64 = 4_096;

/// Operations of a slice that are timed one by one.
const MOST_SINGLES: u64 = 1_000;

const UNDECIDED: u32 = 0;
const RUN: u32 = 1;
const STOP: u32 = 2;

/// Where the threads of one slice meet. Used once.
#[derive(Debug)]
pub(super) struct Gate {
    /// Whether the slice runs: the first thread that comes decides, for all.
    runs: Isolated<Counter>,
    warmed: Isolated<Counter>,
    finished: Isolated<Counter>,
}

impl Gate {
    pub(super) fn new() -> Self {
        let counter = || Isolated::new(Counter::new(0));
        Self { runs: counter(), warmed: counter(), finished: counter() }
    }

    /// Whether the slice runs. All its threads get the same answer; `may_run` is the first one's.
    pub(super) fn runs(&self, may_run: impl Fn() -> bool) -> bool {
        // Relaxed, here and below: the word alone is passed on.
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

/// What the threads of a slice do.
#[derive(Clone, Copy)]
pub(super) struct Slice<'a> {
    pub(super) object: &'a dyn Looped,
    pub(super) gate: &'a Gate,
    pub(super) threads: u32,
    /// Timed operations on each thread.
    pub(super) steps: u64,
    /// More threads than CPUs: threads that wait for others let them run.
    pub(super) oversubscribed: bool,
    /// Where the first thread adds the times of single operations, if they are asked for.
    pub(super) singles: Option<&'a Singles>,
}

/// What one thread saw of a slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThreadSample {
    pub(super) start: Instant,
    pub(super) elapsed: Duration,
    pub(super) retries: u64,
    /// The thread was switched out involuntarily while its clock or another's ran.
    pub(super) switched: bool,
}

impl Slice<'_> {
    /// The part of one of the threads. Returns when all have done theirs.
    pub(super) fn run(&self, thread: usize) -> ThreadSample {
        let place = Place { thread, of: self.threads as usize };
        self.object.run(place, self.steps / 8);
        // From here on the others count on this thread's load.
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

    /// Times operations one by one, if that is asked for.
    fn run_singly(&self, place: Place) -> Vec<Duration> {
        let steps = if self.singles.is_some() { self.steps.min(MOST_SINGLES) } else { 0 };
        let mut times = Vec::with_capacity(steps as usize);
        for _ in 0..steps {
            let start = Instant::now();
            self.object.run(place, 1);
            times.push(start.elapsed());
        }
        times
    }

    /// Announces this thread, and keeps up the load until all are announced.
    fn run_until_all(&self, place: Place, announced: &Counter) -> u64 {
        // Relaxed: the counters order nothing; the samples come back through join.
        announced.fetch_add(1, Ordering::Relaxed);
        let chunk = if self.oversubscribed { OVERSUBSCRIBED_CHUNK } else { CHUNK };
        // An operation may take so long that a chunk of them would be a good part of the slice.
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
