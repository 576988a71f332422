//! The two words of a slot, and their transitions.

use super::{ObjectState, Revoking};
use crate::memory::{Atomic, Memory, Ordering, Pointer};
use crate::revocable::destroy::destroy;
use crate::revocable::protocol::{AtomicU32, Block, BlockPointer, SlotState};
use core::mem;
use core::ptr::{self, NonNull};

/// Tags of the held word, one at a time.
pub(super) const MARKED: usize = 1;
pub(super) const DONATED: usize = 2;
pub(super) const FENCED: usize = 4;
pub(super) const TAGS: usize = MARKED | DONATED | FENCED;

#[inline(always)]
pub(super) fn tags<B>(held: *mut B) -> usize {
    held.addr() & TAGS
}

#[inline(always)]
pub(super) fn bare<B>(held: *mut B) -> *mut B {
    held.map_addr(|address| address & !TAGS)
}

#[inline(always)]
pub(super) fn tagged<B>(block: *mut B, tag: usize) -> *mut B {
    block.map_addr(|address| address | tag)
}

pub struct State<T, S: Revoking> {
    /// The block that the slot has, with its tag.
    pub(super) held: BlockPointer<T, S>,
    /// Written by the owner: whether it uses what it has, or is finding out whether it may.
    active: AtomicU32<S>,
    /// What the owner uses, once it may. Written with `VERIFY` alone.
    pub(super) confirmed: BlockPointer<T, S>,
}

impl<T, S: Revoking> Default for State<T, S> {
    fn default() -> Self {
        let none = || Pointer::new(ptr::null_mut());
        Self { held: none(), active: Atomic::new(0), confirmed: none() }
    }
}

#[must_use]
pub(super) enum Settled {
    Revoked,
    Donated,
    MovedOn,
}

impl<T, S: Revoking> SlotState<T, S> for State<T, S> {
    /// True only if the word is bare (rule 7).
    #[inline(always)]
    fn has(&self, block: NonNull<Block<T, S>>) -> bool {
        // Relaxed: the owner stored what it finds here, or the word is tagged or null.
        self.held.load(Ordering::Relaxed) == block.as_ptr()
    }

    #[inline(always)]
    unsafe fn resume(&self, block: NonNull<Block<T, S>>) {
        self.transition_to_active();
        self.confirm(block.as_ptr());
    }

    unsafe fn switch(&self, _number: u32, block: NonNull<Block<T, S>>) {
        if self.is_active() {
            // A guard was forgotten.
            self.transition_to_idle();
            self.resolve();
        }
        // SAFETY: the caller has a reference.
        unsafe { Block::header(block) }.object.transition_to_entered();
        self.transition_to_holding(block.as_ptr());
        // SAFETY: the caller has a reference, and the slot has the block now.
        unsafe { self.resume(block) };
    }

    #[inline(always)]
    unsafe fn kept(&self) -> Option<NonNull<Block<T, S>>> {
        self.transition_to_active();
        // Rule 4. Pairs with the heavy barrier in `reclaim`, if the word is bare (rule 7).
        S::Memory::free_light_barrier();
        // Relaxed: as in `has`.
        let held = self.held.load(Ordering::Relaxed);
        let usable = if tags(held) == 0 { NonNull::new(held) } else { self.kept_slowly() };
        match usable {
            Some(block) => self.confirm(block.as_ptr()),
            None => self.transition_to_idle(),
        }
        usable
    }

    #[inline(always)]
    unsafe fn leave(&self, block: NonNull<Block<T, S>>) {
        self.transition_to_idle();
        // Rule 4. Pairs with the heavy barrier in `reclaim`, if the word is bare (rule 7).
        S::Memory::free_light_barrier();
        if !self.has(block) {
            self.resolve();
        }
    }

    unsafe fn clear(&self, _number: u32) {
        self.transition_to_idle();
        self.resolve();
        // Release: as in `transition_to_holding`. A reclaimer that has marked the word sees that nothing is in use.
        self.held.store(ptr::null_mut(), Ordering::Release);
    }
}

impl<T, S: Revoking> State<T, S> {
    /// Whether the owner, which calls this, uses what the slot has.
    #[inline(always)]
    pub(in crate::revocable) fn is_active(&self) -> bool {
        // Acquire: pairs with the Release in `transition_to_abandoned`. Otherwise the owner's own.
        self.active.load(Ordering::Acquire) != 0
    }

    /// Rule 2.
    #[inline(always)]
    fn transition_to_active(&self) {
        // Release: pairs with the Acquire in `settle`: a reclaimer that sees this sees what the slot has by now.
        self.active.store(1, Ordering::Release);
    }

    #[inline(always)]
    fn transition_to_idle(&self) {
        self.confirm(ptr::null_mut());
        // Release: pairs with the Acquire in `settle`: the owner's use of the block happened before its end.
        self.active.store(0, Ordering::Release);
    }

    #[inline(always)]
    fn confirm(&self, block: *mut Block<T, S>) {
        if S::VERIFY {
            // Relaxed: the Release of `active` or `held` that ends the use passes it on.
            self.confirmed.store(block, Ordering::Relaxed);
        }
    }

    /// Replaces what the slot had.
    fn transition_to_holding(&self, block: *mut Block<T, S>) {
        let held = if S::Memory::light_is_free() { block } else { tagged(block, FENCED) };
        // Release: pairs with the Acquire in `mark` and `settle`: the owner is done with the block that was here.
        self.held.store(held, Ordering::Release);
    }

    /// Called by the owner, idle or done with its block. Returns the block if a reference to it was donated.
    fn transition_to_empty(&self) -> Option<NonNull<Block<T, S>>> {
        // Acquire, also on failure: pairs with the Release of a donation.
        let mut held = self.held.load(Ordering::Acquire);
        while tags(held) != DONATED {
            // Release: pairs with the Acquire in `mark` and `settle`: the owner is done with the block.
            match self.held.compare_exchange(
                held,
                ptr::null_mut(),
                Ordering::Release,
                Ordering::Acquire,
            ) {
                Ok(_) => return None,
                Err(found) => held = found,
            }
        }
        // Rule 6: the word is the owner's alone. Release: as in `transition_to_holding`: the reclaimer of an object
        // that was here before this one may find only the null.
        self.held.store(ptr::null_mut(), Ordering::Release);
        NonNull::new(bare(held))
    }

    /// Ends a guard that outlives its thread's number. The next owner waits until the slot is not active, so that comes
    /// last.
    ///
    /// # Safety
    ///
    /// The caller is the last owner, which has the guard. No other thread has used the slot since.
    #[cold]
    pub(in crate::revocable) unsafe fn transition_to_abandoned(&self) {
        let donated = self.transition_to_empty();
        // Release, in there: pairs with the Acquire in `is_active`.
        self.transition_to_idle();
        put_donated(donated);
    }

    /// The idle owner accepts what became of its block (rule 6). It keeps a block that is not tagged.
    #[cold]
    fn resolve(&self) {
        // Rule 4. Pairs with the heavy barrier in `reclaim`.
        S::Memory::light_barrier();
        // Relaxed: only decides whether to look again.
        let held = self.held.load(Ordering::Relaxed);
        if tags(held) & (MARKED | DONATED) != 0 {
            // Last of all: the destructor may use the slot.
            put_donated(self.transition_to_empty());
        }
    }

    /// [`kept`](SlotState::kept) of an active slot whose word is tagged.
    #[cold]
    fn kept_slowly(&self) -> Option<NonNull<Block<T, S>>> {
        // Rule 4. Pairs with the heavy barrier in `reclaim`.
        S::Memory::light_barrier();
        // Relaxed: as in `has`.
        let held = self.held.load(Ordering::Relaxed);
        if tags(held) == FENCED {
            return NonNull::new(bare(held));
        }
        self.transition_to_idle();
        self.resolve();
        None
    }

    /// Uses the block that `current` points to, never an earlier one.
    ///
    /// # Safety
    ///
    /// The caller is the owner. The pointer is never null. Each of its blocks is `published`, and has a strong reference from
    /// before it is stored there until after it was replaced.
    #[inline(always)]
    pub(in crate::revocable) unsafe fn protect(
        &self,
        current: &BlockPointer<T, S>,
    ) -> NonNull<Block<T, S>> {
        self.transition_to_active();
        // Rule 4. Pairs with the heavy barrier in `reclaim`, if the word is bare (rule 7).
        S::Memory::free_light_barrier();
        // Relaxed: as in `has`.
        let held = self.held.load(Ordering::Relaxed);
        // Relaxed: if they are equal the slot has had the block since an earlier `protect` acquired it. No other block
        // is at its address: its reclaimer has marked the word, which the barrier shows, or finds the slot active.
        let found = current.load(Ordering::Relaxed);
        let block = if found == held { found } else { self.protect_slowly(current) };
        self.confirm(block);
        // SAFETY: the pointer is never null.
        unsafe { NonNull::new_unchecked(block) }
    }

    /// [`protect`](Self::protect) of an active slot that has another block, or a tagged word.
    #[cold]
    fn protect_slowly(&self, current: &BlockPointer<T, S>) -> *mut Block<T, S> {
        // Rules 4 and 7. Pairs with the heavy barrier in `reclaim`.
        S::Memory::light_barrier();
        // Relaxed, both: as in `protect`.
        let held = self.held.load(Ordering::Relaxed);
        let found = current.load(Ordering::Relaxed);
        if held == tagged(found, FENCED) {
            return found;
        }
        loop {
            self.transition_to_reading();
            // Relaxed: compared only.
            let found = current.load(Ordering::Relaxed);
            self.transition_to_holding(found);
            // Rules 4 and 5. Pairs with the heavy barrier in `reclaim`.
            S::Memory::light_barrier();
            // Acquire: pairs with the Release of the store of the pointer: the block, perhaps another one at the same
            // address, is initialised.
            let again = current.load(Ordering::Acquire);
            // The word may be marked already, or revoked. But a reclaimer that found the slot idle passed its barrier
            // before this one, and after the pointer was replaced. So this block's reclaimer finds the slot active, and
            // donates.
            if again == found {
                return again;
            }
        }
    }

    /// Empties the slot, which stays active: a destructor that runs in here may read on this thread, and must find it
    /// in use.
    fn transition_to_reading(&self) {
        /// If the destructor panics no guard leaves.
        struct Leave<'s, T, S: Revoking>(&'s State<T, S>);
        impl<T, S: Revoking> Drop for Leave<'_, T, S> {
            fn drop(&mut self) {
                self.0.transition_to_idle();
            }
        }
        self.confirm(ptr::null_mut());
        let unwinding = Leave(self);
        put_donated(self.transition_to_empty());
        mem::forget(unwinding);
    }
}

/// Gives a donated reference back (rule 6).
fn put_donated<T, S: Revoking>(block: Option<NonNull<Block<T, S>>>) {
    let Some(block) = block else { return };
    // SAFETY: `transition_to_empty` returns a block with a reference, which keeps it until the put has decided.
    let object = &unsafe { Block::header(block) }.object;
    if object.holders.put().is_last() {
        // SAFETY: rule 3: the reclaimer has settled all slots, and all donations are back.
        unsafe { destroy(block) };
    }
}

impl<T, S: Revoking> State<T, S> {
    /// Returns whether the slot still had `block` as `held`.
    pub(super) fn transition_to_marked(
        &self,
        block: NonNull<Block<T, S>>,
        held: *mut Block<T, S>,
    ) -> bool {
        let marked = tagged(block.as_ptr(), MARKED);
        // Relaxed: passes nothing on to the owner. Acquire on failure: the owner has moved on, as in `mark`.
        self.held.compare_exchange(held, marked, Ordering::Relaxed, Ordering::Acquire).is_ok()
    }

    /// Called after the barrier: takes `block` from the marked slot if its owner is idle, otherwise donates a reference.
    pub(super) fn settle(&self, block: NonNull<Block<T, S>>) -> Settled {
        // SAFETY: the reclaimer has a reference until all slots are settled.
        let object: &ObjectState<T, S> = &unsafe { Block::header(block) }.object;
        let block = block.as_ptr();
        let marked = tagged(block, MARKED);
        // Rule 4. Acquire: pairs with the Release in `transition_to_idle`: the owner is done with the block; and with
        // the one in `transition_to_active`: an owner that is active for another block has overwritten the mark.
        if self.active.load(Ordering::Acquire) == 0 {
            // Relaxed: the owner has lost the block, or removed the mark itself, and needs to see nothing.
            return match self.held.compare_exchange(
                marked,
                ptr::null_mut(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => Settled::Revoked,
                Err(_) => Settled::MovedOn,
            };
        }
        object.holders.get_held();
        // Release: pairs with the Acquire in `transition_to_empty`: the reference was taken. Acquire on failure: the
        // owner is done with the block.
        if self
            .held
            .compare_exchange(marked, tagged(block, DONATED), Ordering::Release, Ordering::Acquire)
            .is_ok()
        {
            return Settled::Donated;
        }
        let still = object.holders.put();
        debug_assert!(!still.is_last(), "the reclaimer has a reference");
        Settled::MovedOn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revocable::generic::Shootdown;

    #[test]
    fn tags_fit_below_the_alignment_of_blocks() {
        const { assert!(TAGS < align_of::<Block<u8, Shootdown>>()) };
    }
}
