//! `RcuRef` as Linux shipped it from March 2023 to January 2025.
//!
//! The slow path of put read the counter again instead of using what its own subtraction had returned. In between
//! another thread can revive the object, put it and win the verdict: an owed put then finds DEAD and is reported as
//! imbalanced.

use super::super::counts::get_put_put;
use super::super::memory::Loom;
use super::super::stage::Failure::{Claim, MemoryRace};
use super::super::stage::{Count, fails};
use super::super::ticket::freed_at_once_under_lookups;
use tenure::count::generic::RcuRef;
use tenure::count::{DEAD, GetResult, MAXREF, NOREF, ONEREF, PutResult, RELEASED};
use tenure::memory::{Atomic, Memory, Ordering};

const REPORT: &str = "a put that was owed is reported as imbalanced";

struct Rereads {
    word: <Loom as Memory>::AtomicU32,
}

impl Count for Rereads {
    fn one() -> Self {
        Self { word: Atomic::new(ONEREF) }
    }

    fn take(&self) -> GetResult {
        if self.word.fetch_add(1, Ordering::Relaxed).wrapping_add(1) <= MAXREF {
            return GetResult::Acquired;
        }
        self.word.store(DEAD, Ordering::Relaxed);
        GetResult::Dead
    }

    fn give(&self) -> PutResult {
        if self.word.fetch_sub(1, Ordering::Release).wrapping_sub(1) <= MAXREF {
            return PutResult::StillHeld;
        }
        // The flaw: the word may have lived on since.
        match self.word.load(Ordering::Relaxed) {
            NOREF => {
                match self.word.compare_exchange(NOREF, DEAD, Ordering::Acquire, Ordering::Relaxed)
                {
                    Ok(_) => PutResult::Last,
                    Err(_) => PutResult::StillHeld,
                }
            }
            RELEASED.. => panic!("{REPORT}"),
            _ => PutResult::StillHeld,
        }
    }
}

tests! {
    a_put_that_reads_the_counter_again_reports_what_is_owed =>
        fails(Some(2), Claim(REPORT), get_put_put::<Rereads>);
    rcuref_without_a_witness_touches_freed_memory =>
        fails(Some(1), MemoryRace, || freed_at_once_under_lookups::<RcuRef<Loom>>(2));
}
