//! `Arc` and `Weak` under threads: the counts have models (`models/arc.rs`); this frees real memory.

use std::cell::UnsafeCell;
use std::thread;
use tenure::memory::{Memory, Native, Ordering};
use tenure::sync::Arc;

type Counter = <Native as Memory>::AtomicU32;

const THREADS: u32 = 4;
const ROUNDS: u32 = if cfg!(miri) { 50 } else { 2_000 };

/// Starts rounds together, and orders nothing, so that the Arcs have to.
struct Gate(Counter);

impl Gate {
    fn pass(&self, round: u32, threads: u32) {
        // Relaxed, here and below: see the type.
        self.0.fetch_add(1, Ordering::Relaxed);
        let mut spins = 0_u32;
        while self.0.load(Ordering::Relaxed) < (round + 1) * threads {
            spins += 1;
            if spins % 64 == 0 {
                thread::yield_now();
            }
            Native::spin_hint();
        }
    }
}

/// Each thread writes its own cell; the destructor must see all.
struct Ledger {
    cells: [UnsafeCell<u32>; THREADS as usize],
    expected: u32,
    drops: Arc<Counter>,
}

// SAFETY: a cell is written by one thread, while that holds a reference, and read by the destructor.
unsafe impl Sync for Ledger {}

impl Ledger {
    fn new(expected: u32, drops: &Arc<Counter>) -> Self {
        Self { cells: Default::default(), expected, drops: drops.clone() }
    }

    fn write(&self, thread: u32) {
        let cell = &self.cells[thread as usize];
        // SAFETY: this thread's own cell.
        unsafe { *cell.get() += 1 };
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        let sum: u32 = self.cells.iter_mut().map(|cell| *cell.get_mut()).sum();
        assert_eq!(sum, self.expected, "a write came after the end, or was not seen");
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

fn dealt<T: Clone>(mut make: impl FnMut(u32) -> T) -> Vec<Vec<T>> {
    let values: Vec<T> = (0..ROUNDS).map(&mut make).collect();
    (0..THREADS).map(|_| values.clone()).collect()
}

fn on_dealt<T: Send + 'static, R: Send + 'static>(
    dealt: Vec<Vec<T>>,
    body: impl Fn(u32, T) -> R + Clone + Send + 'static,
) -> Vec<Vec<R>> {
    let gate = Arc::new(Gate(Counter::new(0)));
    let threads: Vec<_> = dealt
        .into_iter()
        .zip(0..)
        .map(|(values, thread)| {
            let (body, gate) = (body.clone(), gate.clone());
            thread::spawn(move || {
                let mut results = Vec::new();
                for (value, round) in values.into_iter().zip(0..) {
                    gate.pass(round, THREADS);
                    results.push(body(thread, value));
                }
                results
            })
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

#[test]
fn the_last_of_many_threads_drops_the_value_after_all_their_writes() {
    let drops = Arc::new(Counter::new(0));
    let arcs = dealt(|_| Arc::new(Ledger::new(THREADS, &drops)));
    on_dealt(arcs, |thread, arc| {
        let clone = arc.clone();
        clone.write(thread);
        drop(arc);
        drop(clone);
    });
    assert_eq!(drops.load(Ordering::Relaxed), ROUNDS);
}

#[test]
fn exactly_one_of_many_into_inner_gets_the_value() {
    let drops = Arc::new(Counter::new(0));
    let arcs = dealt(|_| Arc::new(Ledger::new(THREADS, &drops)));
    let won = on_dealt(arcs, |thread, arc| {
        arc.write(thread);
        Arc::into_inner(arc).is_some()
    });
    assert_eq!(drops.load(Ordering::Relaxed), ROUNDS);
    let winners = |round: usize| won.iter().filter(|thread| thread[round]).count();
    assert!((0..ROUNDS as usize).map(winners).all(|winners| winners == 1));
}

#[test]
fn upgrades_that_race_with_the_last_drop_get_the_living_value_or_nothing() {
    let drops = Arc::new(Counter::new(0));
    let mut arcs = Vec::new();
    let weaks = dealt(|_| {
        let arc = Arc::new(Ledger::new(0, &drops));
        let weak = Arc::downgrade(&arc);
        arcs.push(arc);
        weak
    });
    let mut arcs = arcs.into_iter();
    let dealt: Vec<Vec<_>> = weaks
        .into_iter()
        .map(|weaks| weaks.into_iter().map(|weak| (arcs.next(), weak)).collect())
        .collect();
    on_dealt(dealt, |_, (arc, weak)| {
        drop(arc);
        for _ in 0..3 {
            let Some(arc) = weak.upgrade() else { break };
            assert_eq!(arc.expected, 0);
            let again = Arc::downgrade(&arc).upgrade().expect("one is held");
            drop(arc);
            drop(again);
        }
        assert!(weak.is_dead() || weak.upgrade().is_some() || weak.is_dead());
    });
    assert_eq!(drops.load(Ordering::Relaxed), ROUNDS);
}
