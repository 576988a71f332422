//! The slot of a `SlotPool` in its smallest form, with a switch for each step of a lookup.

use super::super::memory::InOrder;
use super::super::stage::{Value, join_all, spawn};
use std::marker::PhantomData;
use std::sync::Arc;
use tenure::count::TicketRef;
use tenure::memory::{Atomic, Memory, Ordering};

pub(crate) trait Flaw: 'static {
    /// Whether a lookup compares the generation again when it has a reference.
    const LOOKS_AGAIN: bool = true;
    /// Whether a wrong lookup that holds the slot last releases it.
    const RELEASES: bool = true;
}

flaws! {
    Sound {}
    LooksOnce { LOOKS_AGAIN: bool = false }
    LeavesTheSlot { RELEASES: bool = false }
}

pub(crate) const ANOTHER_USE: &str = "a key finds another use";
pub(crate) const LOST: &str = "the slot is lost";

const IDLE: u32 = 0;
const TAKEN: u32 = 1;

/// A pool of one slot, whose free list is a flag.
struct Slot<F> {
    list: <InOrder as Memory>::AtomicU32,
    uses: <InOrder as Memory>::AtomicU64,
    count: TicketRef<InOrder>,
    value: Value,
    flaw: PhantomData<fn() -> F>,
}

impl<F: Flaw> Slot<F> {
    fn shared(value: u32) -> Arc<Self> {
        Arc::new(Self {
            list: Atomic::new(TAKEN),
            uses: Atomic::new(1),
            count: TicketRef::new_in(),
            value: Value::new(value),
            flaw: PhantomData,
        })
    }

    fn count_uses(&self) {
        self.uses.store(self.uses.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    fn acquire(&self) -> bool {
        let taken = self.list.compare_exchange(IDLE, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_ok() {
            self.count_uses();
        }
        taken.is_ok()
    }

    fn release(&self) {
        self.value.destroy();
        self.count_uses();
        self.list.store(IDLE, Ordering::Release);
    }

    fn put(&self) {
        if self.count.put().is_last() {
            self.release();
        }
    }

    /// Whether the first use is found, and the caller has a reference to it.
    fn get_first(&self) -> bool {
        if self.uses.load(Ordering::Relaxed) != 1 {
            return false;
        }
        if !self.count.get_acquire().is_acquired() {
            return false;
        }
        let found = !F::LOOKS_AGAIN || self.uses.load(Ordering::Relaxed) == 1;
        if !found && F::RELEASES {
            self.put();
        } else if !found {
            let _ = self.count.put();
        }
        found
    }
}

pub(crate) fn looked_up_across_uses<F: Flaw>() {
    let slot = Slot::<F>::shared(7);
    let same = Arc::clone(&slot);
    let visitor = spawn(move || {
        if same.get_first() {
            assert_eq!(same.value.look(), 7, "{ANOTHER_USE}");
            same.put();
        }
    });
    slot.put();
    if slot.acquire() {
        slot.value.write(8);
        slot.count.init();
        slot.put();
    }
    join_all([visitor]);
    assert!(slot.acquire(), "{LOST}");
}

/// A lookup ‖ the only holder, who makes the object exclusive, writes to it and shares it again.
pub(crate) fn unshared_under_a_lookup<F: Flaw>() {
    let slot = Slot::<F>::shared(7);
    let same = Arc::clone(&slot);
    let visitor = spawn(move || {
        if same.get_first() {
            same.value.look();
            same.put();
        }
    });
    // In one step from one reference to none that can be found: the verdict of a last put.
    if slot.count.put_last().is_last() {
        slot.value.write(8);
        slot.count.init();
        slot.put();
    }
    join_all([visitor]);
    assert!(slot.acquire(), "{LOST}");
}
