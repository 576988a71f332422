//! A donation place beside the slot, as in the scheme proposed for Linux: the slot is what its owner uses, with a
//! reference of its own or with one that the reclaimer has put into the place.
//!
//! Where the place is taken by an older object the reclaimer may steal that one's reference: the owner has moved on
//! from it. But only if it looks at the slot *after* it has read the place. Our shootdown needs no place: what is
//! donated is a tag of the word that says what the slot has.

use super::super::memory::Loom;
use super::super::stage::{Heap, Value, join_all, spawn};
use std::marker::PhantomData;
use std::sync::Arc;
use tenure::count::TicketRef;
use tenure::memory::{Atomic, Memory, Ordering};

/// What is wrong with a twin. The defaults are right.
pub(crate) trait Flaw: 'static {
    /// Whether the reclaimer looks at the slot after it has read the donation place.
    const REREADS_AFTER: bool = true;
}

flaws! {
    SoundDonation {}
    RereadsFirst { REREADS_AFTER: bool = false }
}

type Word = <Loom as Memory>::AtomicU32;

const NOTHING: u32 = 0;

struct Block {
    value: Value,
    references: TicketRef<Loom>,
}

/// A slot whose owner uses block 1 without a reference.
struct Slot<F> {
    held: Word,
    donation: Word,
    blocks: [Heap<Block>; 2],
    flaw: PhantomData<fn() -> F>,
}

impl<F: Flaw> Slot<F> {
    fn block(&self, id: u32) -> &Heap<Block> {
        &self.blocks[id as usize - 1]
    }

    fn put(&self, id: u32) {
        if id != NOTHING && self.block(id).references.put().is_last() {
            self.block(id).value.destroy();
            self.block(id).free();
        }
    }

    /// Moves on, and gives back what was donated before.
    fn switch(&self, id: u32) {
        self.held.store(id, Ordering::Release);
        Loom::<false>::heavy_barrier();
        let mut donated = self.donation.load(Ordering::Acquire);
        while let Err(found) =
            self.donation.compare_exchange(donated, NOTHING, Ordering::AcqRel, Ordering::Acquire)
        {
            donated = found;
        }
        self.put(donated);
    }

    /// Ends a block, with the last reference to it.
    fn end(&self, id: u32) {
        Loom::<false>::heavy_barrier();
        let mut has = self.held.load(Ordering::Acquire) == id;
        while has {
            let place = self.donation.load(Ordering::Acquire);
            if F::REREADS_AFTER {
                has = self.held.load(Ordering::Acquire) == id;
            }
            if !has || place == id {
                break;
            }
            self.block(id).references.get_held();
            let donated =
                self.donation.compare_exchange(place, id, Ordering::AcqRel, Ordering::Acquire);
            if donated.is_ok() {
                // What was in the place is stolen.
                self.put(place);
                break;
            }
            self.put(id);
        }
        self.put(id);
    }
}

/// The owner uses block 1, moves on to block 2, drops that one's last handle itself, and uses it ‖ block 1 ends.
pub(crate) fn taken_by_an_older_object<F: Flaw>() {
    let slot = Arc::new(Slot::<F> {
        held: Atomic::new(1),
        donation: Atomic::new(NOTHING),
        blocks: [1, 2].map(|value| {
            Heap::new(Block { value: Value::new(value), references: TicketRef::new_in() })
        }),
        flaw: PhantomData,
    });
    let same = Arc::clone(&slot);
    let reclaimer = spawn(move || same.end(1));
    slot.block(1).value.look();
    slot.switch(2);
    slot.end(2);
    slot.block(2).value.look();
    slot.switch(NOTHING);
    join_all([reclaimer]);
    // What came to the place last.
    slot.switch(NOTHING);
    assert!(slot.blocks.iter().all(Heap::is_freed), "a reference is lost");
}
