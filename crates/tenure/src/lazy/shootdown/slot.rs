//! The two words of a slot, and what its owner does with them.

use super::{DONATED, FENCED, MARKED, Shootdown, TAGS, give_back};
use crate::lazy::protocol::Block;
use crate::memory::{Atomic, Ordering, Pointer, Threads};
use core::mem;
use core::ptr::{self, NonNull};

pub(in crate::lazy) type Object<T, M, const VERIFY: bool> = Block<T, Shootdown<VERIFY>, M>;

/// What a seat shows to those who end objects.
pub struct Words<T, M: Threads, const VERIFY: bool> {
    /// The block that the seat has, and its tags. Written by the owner: bare, or `FENCED` where light barriers are not
    /// free. And by those who end the block: from there to `MARKED`, and on to null or `DONATED`.
    pub(super) held: M::Pointer<Object<T, M, VERIFY>>,
    /// Whether the owner uses what it has, or is about to find out whether it may. Written by the owner.
    pub(super) active: M::AtomicU32,
    /// The block that the owner uses, once it may; with `VERIFY`. Written by the owner.
    pub(super) confirmed: M::Pointer<Object<T, M, VERIFY>>,
}

impl<T, M: Threads, const VERIFY: bool> Default for Words<T, M, VERIFY> {
    fn default() -> Self {
        Self {
            held: Pointer::new(ptr::null_mut()),
            active: Atomic::new(0),
            confirmed: Pointer::new(ptr::null_mut()),
        }
    }
}

/// The tags of a held word.
#[inline(always)]
pub(super) fn tags<B>(held: *mut B) -> usize {
    held.addr() & TAGS
}

/// A held word without its tags.
#[inline(always)]
pub(super) fn bare<B>(held: *mut B) -> *mut B {
    held.map_addr(|address| address & !TAGS)
}

/// A bare word with a tag.
#[inline(always)]
pub(super) fn tagged<B>(block: *mut B, tag: usize) -> *mut B {
    block.map_addr(|address| address | tag)
}

impl<T, M: Threads, const VERIFY: bool> Words<T, M, VERIFY> {
    /// Whether the slot has `block`, unmarked, and light barriers are free.
    #[inline(always)]
    pub(super) fn has(&self, block: NonNull<Object<T, M, VERIFY>>) -> bool {
        // Relaxed: what the owner finds in here it has put there, or it is tagged or null.
        self.held.load(Ordering::Relaxed) == block.as_ptr()
    }

    /// Whether the owner, who asks, uses what the slot has.
    #[inline(always)]
    pub(in crate::lazy) fn is_active(&self) -> bool {
        // Acquire: pairs with the Release in `leave_for_good`. Otherwise the owner's own.
        self.active.load(Ordering::Acquire) != 0
    }

    /// Rule 2: the owner is about to use what the slot has, or does.
    #[inline(always)]
    fn activate(&self) {
        // Release: pairs with the Acquire in `settle`: who sees this one sees what the slot has by now.
        self.active.store(1, Ordering::Release);
    }

    #[inline(always)]
    fn deactivate(&self) {
        self.retract();
        // Release: pairs with the Acquire in `settle`: the owner's use of the block happened before its end.
        self.active.store(0, Ordering::Release);
    }

    #[inline(always)]
    fn confirm(&self, block: NonNull<Object<T, M, VERIFY>>) {
        if VERIFY {
            // Release: pairs with the Acquire in `verify`.
            self.confirmed.store(block.as_ptr(), Ordering::Release);
        }
    }

    #[inline(always)]
    fn retract(&self) {
        if VERIFY {
            // Release: as in `confirm`.
            self.confirmed.store(ptr::null_mut(), Ordering::Release);
        }
    }

    /// Uses `block`, which the slot has and the caller a reference to.
    #[inline(always)]
    pub(super) fn resume(&self, block: NonNull<Object<T, M, VERIFY>>) {
        self.activate();
        self.confirm(block);
    }

    /// Has and uses `block`, which the caller has a reference to.
    ///
    /// # Safety
    ///
    /// By the owner.
    pub(super) unsafe fn switch(&self, block: NonNull<Object<T, M, VERIFY>>) {
        // SAFETY: the caller's.
        unsafe { self.forget_leftovers() };
        // SAFETY: the caller has a reference.
        unsafe { Object::header(block) }.object.enter();
        self.hold(block.as_ptr());
        self.resume(block);
    }

    /// Has `block` from now on.
    fn hold(&self, block: *mut Object<T, M, VERIFY>) {
        let held = if M::light_is_free() { block } else { tagged(block, FENCED) };
        // Release: pairs with the Acquire of those who end the block that was here: the owner has done with it.
        self.held.store(held, Ordering::Release);
    }

    /// Uses what the slot has, if it has not been marked.
    ///
    /// # Safety
    ///
    /// By the owner.
    #[inline(always)]
    pub(super) unsafe fn lazy(&self) -> Option<NonNull<Object<T, M, VERIFY>>> {
        self.activate();
        // Rule 4. Pairs with the heavy barrier in `end`; for a bare word, as rule 7 has it.
        M::free_light_barrier();
        // Relaxed: as in `has`.
        let held = self.held.load(Ordering::Relaxed);
        let usable = if tags(held) == 0 {
            NonNull::new(held)
        } else {
            // SAFETY: the caller's.
            unsafe { self.lazy_slowly() }
        };
        match usable {
            Some(block) => self.confirm(block),
            None => self.deactivate(),
        }
        usable
    }

    /// [`lazy`](Self::lazy), of an active slot that has no bare word.
    ///
    /// # Safety
    ///
    /// By the owner.
    #[cold]
    unsafe fn lazy_slowly(&self) -> Option<NonNull<Object<T, M, VERIFY>>> {
        // Rule 4. Pairs with the heavy barrier in `end`.
        M::light_barrier();
        // Relaxed: as in `has`.
        let held = self.held.load(Ordering::Relaxed);
        if tags(held) == FENCED {
            return NonNull::new(bare(held));
        }
        // SAFETY: the caller's; nothing is in use.
        unsafe { self.let_go() };
        None
    }

    /// Uses the block that `current` points to, and none that it pointed to before.
    ///
    /// # Safety
    ///
    /// By the owner. The pointer is never null. Each of its blocks is `published` and has a strong reference from
    /// before it is stored there until after it was replaced.
    #[inline(always)]
    pub(in crate::lazy) unsafe fn protect(
        &self,
        current: &M::Pointer<Object<T, M, VERIFY>>,
    ) -> NonNull<Object<T, M, VERIFY>> {
        self.activate();
        // Rule 4. Pairs with the heavy barrier in `end`; for a bare word, as rule 7 has it.
        M::free_light_barrier();
        // Relaxed: as in `has`.
        let held = self.held.load(Ordering::Relaxed);
        // Relaxed: if they are equal the slot has had the block since an earlier `protect` acquired it, and no other
        // one is at its address: who ends it has marked the word, which the barrier shows, or finds the slot active.
        let found = current.load(Ordering::Relaxed);
        if found == held {
            // SAFETY: never null.
            let block = unsafe { NonNull::new_unchecked(found) };
            self.confirm(block);
            return block;
        }
        // SAFETY: the caller's.
        unsafe { self.protect_slowly(current) }
    }

    /// [`protect`](Self::protect), of an active slot that has another block, or no bare word.
    ///
    /// # Safety
    ///
    /// As there.
    #[cold]
    unsafe fn protect_slowly(
        &self,
        current: &M::Pointer<Object<T, M, VERIFY>>,
    ) -> NonNull<Object<T, M, VERIFY>> {
        // Rule 4, and 7. Pairs with the heavy barrier in `end`.
        M::light_barrier();
        // Relaxed, both: as in `protect`.
        let held = self.held.load(Ordering::Relaxed);
        let found = current.load(Ordering::Relaxed);
        if held == tagged(found, FENCED) {
            // SAFETY: never null.
            let block = unsafe { NonNull::new_unchecked(found) };
            self.confirm(block);
            return block;
        }
        loop {
            // SAFETY: the caller's.
            unsafe { self.reject() };
            // Relaxed: compared only.
            let found = current.load(Ordering::Relaxed);
            self.hold(found);
            // Rules 4 and 5. Pairs with the heavy barrier in `end`.
            M::light_barrier();
            // Acquire: pairs with the Release of whoever stored the pointer: the block is initialised. It may be another
            // block at the same address.
            let again = current.load(Ordering::Acquire);
            // The word may be marked already, or taken away. But an ender that found the slot idle passed its barrier before
            // this one, and had replaced the pointer. So this one finds it active, and donates.
            if again == found {
                // SAFETY: never null.
                let block = unsafe { NonNull::new_unchecked(again) };
                self.confirm(block);
                return block;
            }
        }
    }

    /// Has nothing from now on, and stays active: a destructor that runs in here may read by the same thread, whose
    /// slot this is, and has to find it in use.
    ///
    /// # Safety
    ///
    /// By the owner, who has activated the slot and does not use what it has.
    unsafe fn reject(&self) {
        self.retract();
        if let Some(block) = self.empty() {
            /// Where the destructor panics there is no guard that would do it.
            struct Leave<'w, T, M: Threads, const VERIFY: bool>(&'w Words<T, M, VERIFY>);
            impl<T, M: Threads, const VERIFY: bool> Drop for Leave<'_, T, M, VERIFY> {
                fn drop(&mut self) {
                    self.0.deactivate();
                }
            }
            let unwinding = Leave(self);
            // SAFETY: rule 6: the reference is the owner's.
            unsafe { give_back(block) };
            mem::forget(unwinding);
        }
    }

    /// [`leave`](Self::leave) of a thread that has given the slot up meanwhile: who has it next waits until it is not
    /// active, and from then on it is theirs. So all that is to be done with the slot is done before.
    ///
    /// # Safety
    ///
    /// By the one who was its owner and uses a block of it, which nobody else has begun to use.
    #[cold]
    pub(in crate::lazy) unsafe fn leave_for_good(&self) {
        let donated = self.empty();
        // Release, in there: pairs with the Acquire in `is_active`.
        self.deactivate();
        if let Some(block) = donated {
            // SAFETY: rule 6: the reference is the owner's.
            unsafe { give_back(block) };
        }
    }

    /// Has nothing from now on. Returns the block whose reference was donated, if one was: it is the caller's.
    ///
    /// By the owner of an active slot, who does not use what it has any more.
    fn empty(&self) -> Option<NonNull<Object<T, M, VERIFY>>> {
        // Acquire, also on failure: pairs with the Release of a donation.
        let mut held = self.held.load(Ordering::Acquire);
        while tags(held) != DONATED {
            // Release: pairs with the Acquire of who ends the block: the owner has done with it.
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
        // SAFETY: the word is `DONATED`, and the owner's alone from then on.
        Some(unsafe { self.accept(held) })
    }

    /// Ends the use of `block`.
    ///
    /// # Safety
    ///
    /// By the owner, who uses it.
    #[inline(always)]
    pub(super) unsafe fn leave(&self, block: NonNull<Object<T, M, VERIFY>>) {
        self.deactivate();
        // Rule 4. Pairs with the heavy barrier in `end`; for a bare word, as rule 7 has it.
        M::free_light_barrier();
        if !self.has(block) {
            // SAFETY: the caller's.
            unsafe { self.resolve() };
        }
    }

    /// Rule 6: the word may be tagged.
    ///
    /// # Safety
    ///
    /// By the owner, who is not active any more.
    #[cold]
    unsafe fn resolve(&self) {
        // Rule 4. Pairs with the heavy barrier in `end`.
        M::light_barrier();
        // Acquire: pairs with the Release of the donation.
        let mut held = self.held.load(Ordering::Acquire);
        if tags(held) == MARKED {
            // Release: pairs with the Acquire of who ends the block: the owner has done with it. Acquire on failure:
            // as above.
            match self.held.compare_exchange(
                held,
                ptr::null_mut(),
                Ordering::Release,
                Ordering::Acquire,
            ) {
                Ok(_) => return,
                Err(found) => held = found,
            }
        }
        if tags(held) == DONATED {
            // SAFETY: that is what it is, and the owner's alone from then on.
            let block = unsafe { self.accept(held) };
            // Last of all: the destructor may come to use the slot.
            // SAFETY: rule 6: the reference is the owner's.
            unsafe { give_back(block) };
        }
    }

    /// Rule 6: takes the block whose reference was donated. The slot has nothing from now on.
    ///
    /// # Safety
    ///
    /// By the owner, who found the word to be `held`, which is `DONATED`.
    unsafe fn accept(&self, held: *mut Object<T, M, VERIFY>) -> NonNull<Object<T, M, VERIFY>> {
        // Release: as in `hold`. Who ends an object that was here before this one may find nothing but the null.
        self.held.store(ptr::null_mut(), Ordering::Release);
        // SAFETY: only blocks are tagged.
        unsafe { NonNull::new_unchecked(bare(held)) }
    }

    /// Ends what may be in use.
    ///
    /// # Safety
    ///
    /// By the owner, of whom no guard is left.
    #[cold]
    unsafe fn let_go(&self) {
        self.deactivate();
        // SAFETY: the caller's.
        unsafe { self.resolve() };
    }

    /// Where a guard was forgotten, its use ends now.
    ///
    /// # Safety
    ///
    /// By the owner, of whom no guard is left.
    #[inline(always)]
    unsafe fn forget_leftovers(&self) {
        if self.is_active() {
            // SAFETY: the caller's.
            unsafe { self.let_go() };
        }
    }

    /// Has nothing from now on.
    ///
    /// # Safety
    ///
    /// By the owner, of whom no guard is left.
    pub(super) unsafe fn clear(&self) {
        // SAFETY: the caller's.
        unsafe { self.let_go() };
        // Release: as in `switch`. Whoever has marked the word meanwhile sees that nothing is in use.
        self.held.store(ptr::null_mut(), Ordering::Release);
    }
}
