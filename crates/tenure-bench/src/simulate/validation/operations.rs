use crate::scenario::BenchOperation;
use std::hint::black_box;
use tenure::cache_line::CachePadded;
use tenure::memory::{Atomic, Memory, Ordering};
use tenure_sim::{Cpu, Simulated};

type ValidatedWord = <Simulated as Memory>::AtomicU64;

#[inline]
fn change(word: &ValidatedWord, by: u64, retries: &mut u64) {
    // Relaxed, here and below: simulated memory is in order, and nothing is published.
    let mut old = word.load(Ordering::Relaxed);
    loop {
        let new = old.wrapping_add(by);
        match word.compare_exchange_weak(old, new, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return,
            Err(found) => old = found,
        }
        *retries += 1;
    }
}

/// One compare-exchange loop; or one for a retain and one for a release.
pub(super) struct CasLoop<const PAIR: bool = false>(CachePadded<ValidatedWord>);

impl<const PAIR: bool> BenchOperation for CasLoop<PAIR> {
    fn prepare() -> Self {
        Self(CachePadded::new(Atomic::new(1)))
    }
    fn step(&self, retries: &mut u64) {
        change(&self.0, 1, retries);
        if PAIR {
            change(&self.0, u64::MAX, retries);
        }
    }
}

/// The core's own copy of the pointer, as in folly's `CoreCachedSharedPtr`: finds the core and counts there.
pub(super) struct PerCore(Vec<CachePadded<ValidatedWord>>);

/// Reading a thread-local that is looked up anew every few calls.
const WHICH_CORE_NS: f64 = 3.0;

impl BenchOperation for PerCore {
    fn prepare() -> Self {
        Self((0..tenure_sim::machine::MAX_CPUS).map(|_| CachePadded::new(Atomic::new(1))).collect())
    }
    fn step(&self, _retries: &mut u64) {
        let cpu = Cpu::current().expect("this is simulated");
        cpu.work(WHICH_CORE_NS);
        let word = &self.0[cpu.core()];
        black_box(word.fetch_add(1, Ordering::Relaxed));
        black_box(word.fetch_sub(1, Ordering::Release));
    }
}
