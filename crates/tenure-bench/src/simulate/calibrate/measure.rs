//! Measurements on the real machine, in nanoseconds.
//!
//! What one CPU does alone runs as the benchmarks do, in slices of which those with an involuntary switch are dropped.
//! What several do to each other runs in rounds that begin when all are awake.

use crate::runner::{self, RunPlan};
use crate::scenario::{BenchScenario, Looped, ThreadPlace, Variant};
use std::time::{Duration, Instant};
use tenure::cache_line::CachePadded;
use tenure::memory::{Atomic, Memory, Native, Ordering};
use tenure_report::affinity;
use tenure_report::machine;
use tenure_report::stats::{MIN_VALUES, median};

type MeasuredWord = <Native as Memory>::AtomicU32;

const PLAN: RunPlan = RunPlan { seconds: 0.12, batches: 3 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::simulate) enum Ball {
    /// Both sides try to exchange it: the usual method of public matrices of latencies.
    Exchange,
    /// Both sides load it until it is theirs, and then store.
    Store,
}

impl Ball {
    /// Takes the ball when it comes to side `me`, and returns it. False if it did not come while `going`.
    #[inline(always)]
    pub(in crate::simulate) fn turn<W: Atomic<u32>>(
        self,
        word: &W,
        me: u32,
        going: impl Fn() -> bool,
    ) -> bool {
        // Relaxed: only the ball is published.
        match self {
            Self::Exchange => {
                while word
                    .compare_exchange(me, 1 - me, Ordering::Relaxed, Ordering::Relaxed)
                    .is_err()
                {
                    if !going() {
                        return false;
                    }
                }
            }
            Self::Store => {
                while word.load(Ordering::Relaxed) != me {
                    if !going() {
                        return false;
                    }
                }
                word.store(1 - me, Ordering::Relaxed);
            }
        }
        true
    }
}

/// Rounds, steps of each CPU in one, and the time from one to the next: the host of virtual CPUs moves them for moments.
const ROUNDS: u32 = 60;
const STEPS: u32 = 1_000;
const APART: Duration = Duration::from_millis(3);

/// One way of a ping-pong between two CPUs.
pub(super) fn ping_pong(ball: Ball, pair: [usize; 2]) -> f64 {
    let word = CachePadded::new(MeasuredWord::new(0));
    together(&pair, |me| _ = ball.turn(&*word, me, || true)) / 2.0
}

/// Times additions to one word on each of `cpus` at once, the result unused.
pub(super) fn fetch_add(cpus: &[usize]) -> f64 {
    let word = CachePadded::new(MeasuredWord::new(0));
    // Relaxed: nothing is published.
    together(cpus, |_| _ = word.fetch_add(1, Ordering::Relaxed))
}

/// A step that some CPUs do at once, each with its number: the median over rounds in which no thread was switched out. All
/// are awake when a round begins, also where the machine is busy: a step alone takes a fraction of what it takes together.
fn together(cpus: &[usize], step: impl Fn(u32) + Sync) -> f64 {
    let begun = CachePadded::new(MeasuredWord::new(0));
    let all = cpus.len() as u32;
    let run = |me: u32, cpu: usize| -> Vec<(f64, bool)> {
        affinity::pin(cpu);
        let round = |round: u32| {
            std::thread::sleep(APART);
            // Relaxed: only the number counts.
            begun.fetch_add(1, Ordering::Relaxed);
            let switches = affinity::involuntary_switches();
            while begun.load(Ordering::Relaxed) < (round + 1) * all {
                std::hint::spin_loop();
            }
            // A core that has slept is slow at first.
            (0..STEPS).for_each(|_| step(me));
            let start = Instant::now();
            (0..STEPS).for_each(|_| step(me));
            let ns = start.elapsed().as_nanos() as f64 / f64::from(STEPS);
            (ns, affinity::involuntary_switches() != switches)
        };
        (0..ROUNDS).map(round).collect()
    };
    let runs: Vec<_> = std::thread::scope(|scope| {
        let run = &run;
        let threads = (0..all).zip(cpus).map(|(me, &cpu)| scope.spawn(move || run(me, cpu)));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().expect("a step does not panic")).collect()
    });
    let rounds = || {
        (0..ROUNDS as usize).map(|round| {
            let mean = runs.iter().map(|run| run[round].0).sum::<f64>() / f64::from(all);
            (mean, runs.iter().any(|run| run[round].1))
        })
    };
    let calm: Vec<f64> = rounds().filter(|(_, switched)| !switched).map(|(ns, _)| ns).collect();
    let kept = if calm.len() < MIN_VALUES { rounds().map(|(ns, _)| ns).collect() } else { calm };
    median(&kept).expect("there are rounds")
}

pub(super) fn pause(cpu: &[usize]) -> f64 {
    time(Variant::step("hint", || (), |()| Native::spin_hint()), cpu)
}

/// Times loads from the core's own cache, each address from the load before.
pub(super) fn load(cpu: &[usize]) -> f64 {
    time(Variant::new("chase", |_| Box::new(Chase::around(1))), cpu)
}

pub(super) fn memory(cpu: &[usize]) -> f64 {
    time(Variant::new("chase", |_| Box::new(Chase::around(larger_than_caches()))), cpu)
}

fn time(variant: Variant, cpus: &[usize]) -> f64 {
    let scenario = BenchScenario::new("this", "", "", variant.name, [variant]);
    let mut random = fastrand::Rng::with_seed(1);
    let point = runner::measure(&scenario, cpus.len(), cpus, PLAN, &mut random, &|| false, || {});
    point.expect("nothing cancels the run").rows[0].ns_per_op.median
}

/// A cycle through lines, each of which names the next.
///
/// The order is random within windows: a walk must miss the caches and not the TLB, whose page walks would count as the
/// memory's latency.
struct Chase {
    lines: Vec<PaddedLine>,
    /// Slices continue here, so that none finds the lines of the one before in a cache.
    at: MeasuredWord,
}

#[repr(align(64))]
struct PaddedLine(u32);

impl Chase {
    /// 16 pages: too many lines for a prefetcher to see a pattern, too few pages for any TLB.
    const WINDOW: usize = 1_024;

    fn around(lines: u32) -> Self {
        let mut random = fastrand::Rng::with_seed(1);
        let all: Vec<u32> = (0..lines).collect();
        let mut windows: Vec<Vec<u32>> = all.chunks(Self::WINDOW).map(<[u32]>::to_vec).collect();
        windows.iter_mut().for_each(|window| random.shuffle(window));
        random.shuffle(&mut windows);
        let order = windows.concat();
        let mut next: Vec<PaddedLine> = all.into_iter().map(PaddedLine).collect();
        for (at, line) in order.iter().enumerate() {
            next[*line as usize].0 = order[(at + 1) % order.len()];
        }
        Self { lines: next, at: MeasuredWord::new(0) }
    }
}

impl Looped for Chase {
    #[inline(never)]
    fn run(&self, _place: ThreadPlace, steps: u64) -> u64 {
        // Relaxed: one thread.
        let mut at = self.at.load(Ordering::Relaxed);
        for _ in 0..steps {
            at = self.lines[at as usize].0;
        }
        self.at.store(at, Ordering::Relaxed);
        0
    }
}

/// Four times the largest cache, within bounds of time and memory.
fn larger_than_caches() -> u32 {
    const MIN_BYTES: u64 = 32 << 20;
    const MAX_BYTES: u64 = if cfg!(test) { MIN_BYTES } else { 256 << 20 };
    let machine = machine::describe();
    let cache = machine.caches.iter().map(|cache| cache.bytes).max().unwrap_or(0);
    let most = if machine.memory_bytes == 0 { MIN_BYTES } else { machine.memory_bytes / 8 };
    let bytes = (4 * cache).clamp(MIN_BYTES, MAX_BYTES).min(most.max(1 << 20));
    u32::try_from(bytes / size_of::<PaddedLine>() as u64).expect("at most 256 MiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_visits_every_line_before_it_comes_back() {
        let lines = 3 * Chase::WINDOW + 5;
        let chase = Chase::around(lines as u32);
        let mut seen = vec![false; lines];
        for _ in 0..lines {
            chase.run(ThreadPlace { thread: 0, of: 1 }, 1);
            let at = chase.at.load(Ordering::Relaxed) as usize;
            assert!(!std::mem::replace(&mut seen[at], true), "line {at} came twice");
        }
        assert_eq!(chase.at.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_ball_that_does_not_come_is_given_up_when_nobody_waits_any_more() {
        for ball in [Ball::Exchange, Ball::Store] {
            let word = MeasuredWord::new(0);
            assert!(ball.turn(&word, 0, || true), "it is there: {ball:?}");
            assert!(!ball.turn(&word, 0, || false), "it is at the other side: {ball:?}");
            assert_eq!(word.load(Ordering::Relaxed), 1);
        }
    }
}
