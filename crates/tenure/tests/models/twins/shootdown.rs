//! A slot of the shootdown in its smallest form: one slot, two blocks, and a pointer to one of them.

use super::super::clocks::judge;
use super::super::memory::PointersInOrder;
use super::super::stage::{Heap, Value, join_all, spawn};
use std::marker::PhantomData;
use std::ptr::without_provenance_mut;
use std::sync::Arc;
use tenure::count::TicketRef;
use tenure::memory::{Atomic, Memory, Ordering, Pointer};

pub(crate) trait Flaw: Send + Sync + 'static {
    /// When the reclaimer looks at `active`.
    const LOOKS: Look = Look::AfterTheBarrier;
    /// How the reclaimer gives a reference to an owner that uses the block.
    const DONATES: Donation = Donation::ByCompareExchange;
    /// Whether an owner that leaves looks at its word again.
    const LOOKS_BACK: bool = true;
    /// Whether a reader looks at the pointer again.
    const LOOKS_TWICE: bool = true;
    /// Whether the reclaimer of a published block passes a barrier although no slot has it.
    const ALWAYS_ONE: bool = true;
    /// What the reclaimer of a published block does with a slot that it finds without a mark after the barrier.
    const LATECOMER: Latecomer = Latecomer::OneMoreBarrier;
}

#[derive(PartialEq, Eq)]
pub(crate) enum Look {
    BeforeTheMark,
    BeforeTheBarrier,
    AfterTheBarrier,
}

#[derive(PartialEq, Eq)]
pub(crate) enum Donation {
    None,
    ByStore,
    ByCompareExchange,
}

#[derive(PartialEq, Eq)]
pub(crate) enum Latecomer {
    PassedOver,
    MarkedAndSettled,
    OneMoreBarrier,
}

flaws! {
    SoundSlot {}
    LooksBeforeTheMark { LOOKS: Look = Look::BeforeTheMark }
    LooksBeforeTheBarrier { LOOKS: Look = Look::BeforeTheBarrier }
    DonatesNothing { DONATES: Donation = Donation::None }
    DonatesByStore { DONATES: Donation = Donation::ByStore }
    LeavesForGood { LOOKS_BACK: bool = false }
    ReadsOnce { LOOKS_TWICE: bool = false }
    NoBarrierForNone { ALWAYS_ONE: bool = false }
    PassesOverLatecomers { LATECOMER: Latecomer = Latecomer::PassedOver }
    SettlesLatecomersAtOnce { LATECOMER: Latecomer = Latecomer::MarkedAndSettled }
}

const MARKED: usize = 1;
const DONATED: usize = 2;
const TAGS: usize = 3;

const fn word(id: usize) -> usize {
    (id + 1) << 2
}

struct Block<M: Memory> {
    value: Value,
    holders: TicketRef<M>,
    /// That a reference was donated. loom takes additions to a count in the order in which they run, so the count does
    /// not show whether the owner has seen the reclaimer's. A plain field does.
    donated: Value,
}

/// Its owner has left block 0 there. A thread ends that block after its last handle.
pub(crate) struct SlotTwin<F, M: Memory = PointersInOrder> {
    held: M::Pointer<()>,
    active: M::AtomicU32,
    /// Of a published block.
    current: M::Pointer<()>,
    blocks: [Heap<Block<M>>; 2],
    flaw: PhantomData<fn() -> F>,
}

impl<F: Flaw, M: Memory> SlotTwin<F, M> {
    fn new(held: usize, active: u32) -> Arc<Self> {
        Arc::new(Self {
            held: Pointer::new(without_provenance_mut(held)),
            active: Atomic::new(active),
            current: Pointer::new(without_provenance_mut(word(0))),
            blocks: [1, 2].map(|value| {
                let holders = TicketRef::new_in();
                Heap::new(Block { value: Value::new(value), holders, donated: Value::unborn() })
            }),
            flaw: PhantomData,
        })
    }

    fn load(&self, order: Ordering) -> usize {
        self.held.load(order).addr()
    }

    fn exchange(&self, from: usize, to: usize, success: Ordering, failure: Ordering) -> bool {
        let [from, to] = [from, to].map(without_provenance_mut);
        self.held.compare_exchange(from, to, success, failure).is_ok()
    }

    fn put(&self, id: usize) {
        let block = &self.blocks[id];
        if block.holders.put().is_last() {
            block.value.destroy();
            block.free();
        }
    }

    fn look(&self, id: usize) {
        assert_eq!(self.blocks[id].value.look(), id as u32 + 1);
    }

    /// Looks at block 0, if the slot still has it, without leaving.
    fn go_in(&self) -> bool {
        if self.load(Ordering::Relaxed) == word(0) {
            self.active.store(1, Ordering::Release);
            M::light_barrier();
            if self.load(Ordering::Relaxed) == word(0) {
                self.look(0);
                return true;
            }
        }
        self.let_go();
        false
    }

    fn lazy(&self) {
        if self.go_in() {
            self.leave(0);
        }
    }

    fn leave(&self, id: usize) {
        self.active.store(0, Ordering::Release);
        M::light_barrier();
        if F::LOOKS_BACK && self.load(Ordering::Relaxed) != word(id) {
            self.resolve();
        }
    }

    fn let_go(&self) {
        self.active.store(0, Ordering::Release);
        M::light_barrier();
        self.resolve();
    }

    fn resolve(&self) {
        let mut held = self.load(Ordering::Acquire);
        if held & TAGS == MARKED {
            if self.exchange(held, 0, Ordering::Release, Ordering::Acquire) {
                return;
            }
            held = self.load(Ordering::Acquire);
        }
        if held & TAGS == DONATED {
            self.accept(held);
        }
    }

    fn accept(&self, held: usize) {
        self.held.store(without_provenance_mut(0), Ordering::Release);
        let id = (held >> 2) - 1;
        self.blocks[id].donated.destroy();
        self.put(id);
    }

    /// Uses block 1, to which the owner has a handle.
    fn switch(&self) {
        self.held.store(without_provenance_mut(word(1)), Ordering::Release);
        self.active.store(1, Ordering::Release);
        self.look(1);
        self.leave(1);
    }

    fn read(&self) {
        self.active.store(1, Ordering::Release);
        M::light_barrier();
        let held = self.load(Ordering::Relaxed);
        if held == self.current.load(Ordering::Relaxed).addr() {
            return self.read_and_leave(held);
        }
        loop {
            self.empty();
            let found = self.current.load(Ordering::Acquire);
            self.held.store(found, Ordering::Release);
            M::light_barrier();
            let again = if F::LOOKS_TWICE { self.current.load(Ordering::Acquire) } else { found };
            if again == found {
                return self.read_and_leave(found.addr());
            }
        }
    }

    fn read_and_leave(&self, held: usize) {
        let id = (held >> 2) - 1;
        self.look(id);
        self.leave(id);
    }

    fn empty(&self) {
        let mut held = self.load(Ordering::Acquire);
        while held & TAGS != DONATED {
            if self.exchange(held, 0, Ordering::Release, Ordering::Acquire) {
                return;
            }
            held = self.load(Ordering::Acquire);
        }
        self.accept(held);
    }

    fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire) != 0
    }

    fn mark(&self) -> bool {
        self.load(Ordering::Acquire) == word(0)
            && self.exchange(word(0), word(0) | MARKED, Ordering::Relaxed, Ordering::Acquire)
    }

    fn end(&self, published: bool) {
        let before = F::LOOKS == Look::BeforeTheMark && self.is_active();
        let mut unsettled = self.mark() | (published && F::ALWAYS_ONE);
        let before = before || F::LOOKS == Look::BeforeTheBarrier && self.is_active();
        while unsettled {
            M::heavy_barrier();
            unsettled = self.settle(before);
        }
        self.put(0);
    }

    /// Returns whether one more barrier is needed.
    fn settle(&self, was_active: bool) -> bool {
        let held = self.load(Ordering::Acquire);
        if held == word(0) {
            if F::LATECOMER == Latecomer::PassedOver || !self.mark() {
                return false;
            }
            if F::LATECOMER == Latecomer::OneMoreBarrier {
                return true;
            }
        } else if held != word(0) | MARKED {
            return false;
        }
        let active = if F::LOOKS == Look::AfterTheBarrier { self.is_active() } else { was_active };
        let marked = word(0) | MARKED;
        let donated = word(0) | DONATED;
        if !active {
            self.exchange(marked, 0, Ordering::Relaxed, Ordering::Relaxed);
        } else if F::DONATES != Donation::None {
            let block = &self.blocks[0];
            block.holders.get_held();
            block.donated.write(1);
            if F::DONATES == Donation::ByStore {
                self.held.store(without_provenance_mut(donated), Ordering::Release);
            } else if !self.exchange(marked, donated, Ordering::Release, Ordering::Acquire) {
                self.put(0);
            }
        }
        false
    }

    fn assert_ended(&self) {
        assert!(self.blocks[0].is_freed(), "{LEAKS}");
    }
}

pub(crate) const LEAKS: &str = "the value leaks";

/// `owner` ‖ the end of block 0.
fn ended_under<F: Flaw, M: Memory, R>(
    slot: &Arc<SlotTwin<F, M>>,
    published: bool,
    owner: impl FnOnce(&SlotTwin<F, M>) -> R,
) -> R {
    let same = Arc::clone(slot);
    let reclaimer = spawn(move || {
        if published {
            let next = without_provenance_mut(word(1));
            let first = without_provenance_mut(word(0));
            let _ = same.current.compare_exchange(first, next, Ordering::AcqRel, Ordering::Relaxed);
        }
        same.end(published);
    });
    let result = owner(slot);
    join_all([reclaimer]);
    result
}

/// A slot that keeps the block uses it, until all is over.
pub(crate) fn gone_in<F: Flaw>() {
    let slot = SlotTwin::<F>::new(word(0), 0);
    if ended_under(&slot, false, SlotTwin::go_in) {
        slot.leave(0);
    }
    slot.assert_ended();
}

pub(crate) fn used_lazily<F: Flaw>() {
    let slot = SlotTwin::<F>::new(word(0), 0);
    ended_under(&slot, false, SlotTwin::lazy);
    slot.assert_ended();
}

pub(crate) fn left<F: Flaw, M: Memory>() {
    judge::<M>();
    let slot = SlotTwin::<F, M>::new(word(0), 1);
    ended_under(&slot, false, |slot| {
        slot.look(0);
        slot.leave(0);
    });
    slot.assert_ended();
}

pub(crate) fn moved_on<F: Flaw, M: Memory>() {
    let slot = SlotTwin::<F, M>::new(word(0), 0);
    ended_under(&slot, false, SlotTwin::switch);
    slot.assert_ended();
}

pub(crate) fn read_under_a_store<F: Flaw>(times: usize) {
    let slot = SlotTwin::<F>::new(0, 0);
    ended_under(&slot, true, |slot| (0..times).for_each(|_| slot.read()));
    slot.assert_ended();
}
