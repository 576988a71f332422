use crate::scenario::{NamedMember, Variant};
use std::hint::black_box;
use std::sync::{Arc, Weak};
use tenure::cache_line::CachePadded;
use tenure::memory::{Atomic, Memory, Ordering, Resident};
use tenure::pool::list::List;

/// A pool of slots. It uses free slots again and makes one where none is free: no thread waits.
pub(super) trait Slots: Send + Sync + Sized + 'static {
    type Taken: Send;

    /// A pool with so many slots in use throughout, and so many free for all threads.
    fn prepared(in_use: u32, free: u32) -> Self;
    fn acquire(&self) -> Self::Taken;
    fn release(&self, taken: Self::Taken);
    #[cfg(test)]
    fn made(&self) -> Option<u32> {
        None
    }
    fn members(&self) -> Vec<NamedMember> {
        Vec::new()
    }
}

pub(super) struct ListedSlots<L: List> {
    owner: Arc<ListOwner<L>>,
    made: CachePadded<<L::Memory as Memory>::AtomicU32>,
}

/// Registers with ending threads.
struct ListOwner<L>(L);

impl<L: List> Resident for ListOwner<L> {
    unsafe fn leave(&self, thread: usize) {
        // SAFETY: passed on to the caller.
        unsafe { self.0.leave(thread) };
    }
}

/// The default of pools.
const MAGAZINE: usize = 64;

impl<L: List> ListedSlots<L> {
    #[cold]
    fn make(&self) -> Number {
        // Relaxed: only a number.
        let slot = self.made.fetch_add(1, Ordering::Relaxed);
        self.owner.0.admit(slot);
        Number(slot)
    }
}

pub(super) struct Number(u32);

/// Runs on a thread that ends, so that what it keeps is for all.
pub(super) fn elsewhere<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(work).join()).expect("preparing does not panic")
}

impl<L: List> Slots for ListedSlots<L> {
    type Taken = Number;

    fn prepared(in_use: u32, free: u32) -> Self {
        let owner = Arc::new_cyclic(|owner: &Weak<ListOwner<L>>| {
            ListOwner(L::new_in(MAGAZINE, owner.clone()))
        });
        let list = Self { owner, made: CachePadded::new(Atomic::new(0)) };
        elsewhere(|| {
            for _ in 0..in_use {
                list.make();
            }
            for _ in 0..free {
                list.release(list.make());
            }
        });
        list
    }

    #[inline(always)]
    fn acquire(&self) -> Number {
        self.owner.0.acquire().map_or_else(|| self.make(), Number)
    }

    #[inline(always)]
    fn release(&self, slot: Number) {
        // SAFETY: `slot` is from this object's only list, by `acquire` or `make`, and cannot be copied.
        unsafe { self.owner.0.release(slot.0) }.expect("the scenarios never close a list");
    }

    #[cfg(test)]
    fn made(&self) -> Option<u32> {
        // Relaxed: only a number.
        Some(self.made.load(Ordering::Relaxed))
    }

    fn members(&self) -> Vec<NamedMember> {
        vec![NamedMember::of("list", &self.owner.0)]
    }
}

/// For all threads together: hardly any slot is made in a measurement.
pub(super) const FREE: u32 = 64;

/// Beside `in_use` slots that stay in use.
pub(super) fn cycle<S: Slots>(name: &'static str, in_use: u32) -> Variant {
    let step = |slots: &S, (): &mut ()| slots.release(black_box(slots.acquire()));
    Variant::workers(name, move |_| S::prepared(in_use, FREE), |_, _| (), step, S::members)
}
