//! A lock-free stack of free slots in its smallest form, with a switch for each thing that it gets right.
//!
//! Without the tag it is the list published for the SMC buffers of Linux (`llist_del_first` with many consumers): load
//! the first, read its link, compare-exchange.

use super::super::memory::Loom;
use core::marker::PhantomData;
use core::ptr::NonNull;
use std::sync::Weak;
use tenure::memory::{Atomic, Memory, Ordering, Resident};
use tenure::pool::list::{Closed, List};

pub(crate) trait Flaw: Send + Sync + 'static {
    /// What a removal adds to the tag.
    const TAG: u64 = 1 << 33;
    /// Whether pushes are refused before what is there is taken.
    const REFUSES_FIRST: bool = true;
    /// Whether a slot is taken out of a batch of all slots, which no other thread sees meanwhile.
    const IN_A_BATCH: bool = false;
    /// Whether the length is counted, after the push.
    const COUNTS: bool = false;
    /// Whether the caller first asks if there is a slot, and relies on it.
    const ASKS_FIRST: bool = false;
}

flaws! {
    SoundStack {}
    /// The published algorithm.
    NoTag { TAG: u64 = 0 }
    /// The published algorithm, with its caller's test for emptiness.
    AsksFirst { ASKS_FIRST: bool = true }
    RefusesLast { REFUSES_FIRST: bool = false }
    /// A depot that moves whole batches, for one slot as well.
    InABatch { IN_A_BATCH: bool = true }
    /// The slot is free, and may have been the last that kept the list alive.
    CountsAfterThePush { COUNTS: bool = true }
}

pub(crate) const WAS_EMPTY: &str = "there was a slot a moment ago";

const NOTHING: u64 = u32::MAX as u64;
const INDEX: u64 = NOTHING;
const CLOSED: u64 = 1 << 32;

pub(crate) struct StackTwin<F> {
    head: <Loom as Memory>::AtomicU64,
    links: [<Loom as Memory>::AtomicU32; 4],
    length: <Loom as Memory>::AtomicU32,
    flaw: PhantomData<F>,
}

impl<F: Flaw> StackTwin<F> {
    fn pop(&self) -> Option<u32> {
        let mut head = self.head.load(Ordering::Acquire);
        while head & INDEX != NOTHING {
            let index = (head & INDEX) as u32;
            let next = self.links[index as usize].load(Ordering::Relaxed);
            let new = (head & !INDEX | u64::from(next)).wrapping_add(F::TAG);
            match self.head.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(index),
                Err(found) => head = found,
            }
            Loom::<false>::spin_hint();
        }
        None
    }

    fn push(&self, slot: u32) -> bool {
        let mut head = self.head.load(Ordering::Relaxed);
        while head & CLOSED == 0 {
            self.links[slot as usize].store((head & INDEX) as u32, Ordering::Relaxed);
            let new = head & !INDEX | u64::from(slot);
            match self.head.compare_exchange(head, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(found) => head = found,
            }
            Loom::<false>::spin_hint();
        }
        false
    }

    fn take_all(&self, mut each: impl FnMut(u32)) {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let new = (head | INDEX).wrapping_add(F::TAG);
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            match self.head.compare_exchange(head, new, success, failure) {
                Ok(_) => break,
                Err(found) => head = found,
            }
            Loom::<false>::spin_hint();
        }
        let mut index = (head & INDEX) as u32;
        while u64::from(index) != NOTHING {
            let next = self.links[index as usize].load(Ordering::Relaxed);
            each(index);
            index = next;
        }
    }
}

// SAFETY: none: models find out whether it keeps the promise.
unsafe impl<F: Flaw> List for StackTwin<F> {
    type Memory = Loom;
    const NAME: &'static str = "twin of a stack";

    fn new_in(_magazine: usize, _owner: Weak<dyn Resident>) -> Self {
        Self {
            head: Atomic::new(NOTHING),
            links: core::array::from_fn(|_| Atomic::new(NOTHING as u32)),
            length: Atomic::new(0),
            flaw: PhantomData,
        }
    }

    fn admit(&self, _slot: u32) {}

    fn acquire(&self) -> Option<u32> {
        if F::ASKS_FIRST {
            let is_empty = self.head.load(Ordering::Acquire) & INDEX == NOTHING;
            return (!is_empty).then(|| self.pop().expect(WAS_EMPTY));
        }
        if F::IN_A_BATCH {
            let mut in_hand = Vec::new();
            self.take_all(|slot| in_hand.push(slot));
            let slot = in_hand.pop();
            assert!(in_hand.into_iter().all(|slot| self.push(slot)), "the list is open");
            return slot;
        }
        self.pop()
    }

    unsafe fn release_raw(this: NonNull<Self>, slot: u32) -> Result<(), Closed> {
        // SAFETY: the bytes of a model's list stay until its execution ends.
        let this = unsafe { this.as_ref() };
        if !this.push(slot) {
            return Err(Closed);
        }
        if F::COUNTS {
            this.length.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn emptiness(&self) -> Option<u64> {
        let head = self.head.load(Ordering::Acquire);
        (head & INDEX == NOTHING).then_some(head)
    }

    fn reopen(&self) {
        unreachable!("no model of it waits");
    }

    fn close(&self, home: impl FnMut(u32)) {
        let refuse = || self.head.fetch_or(CLOSED, Ordering::Relaxed);
        if F::REFUSES_FIRST {
            refuse();
        }
        core::iter::from_fn(|| self.pop()).for_each(home);
        if !F::REFUSES_FIRST {
            refuse();
        }
    }
}
