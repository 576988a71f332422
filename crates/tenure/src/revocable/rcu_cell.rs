//! [`RcuCell`]: a value that all threads read and that is sometimes replaced.
//!
//! Each reader has a local handle of a domain whose objects are the values. It finds the value by a pointer that
//! writers replace: rule 5 of the [shootdown](super::shootdown).
#![allow(missing_docs, reason = "methods have their documentation in `rcu`")]

use super::Stats;
use super::destroy::destroy;
use super::generic::{Domain, Guard, LocalHandle, Strong};
use super::protocol::{Block, BlockPointer, Protocol};
use super::shootdown::{ObjectState, Revoking, Shootdown, State};
use crate::cache_line::CachePadded;
use crate::memory::{Memory, Ordering, Pointer, Threads};
use crate::segments::{CAPACITY, Segments};
use crate::shared::Shared;
use alloc::boxed::Box;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::{self, NonNull};

/// An [`RcuCell`](crate::rcu::RcuCell) of the scheme `S`.
pub struct RcuCell<T, S: Revoking = Shootdown> {
    shared: SharedValue<T, S>,
}

type SharedValue<T, S> = Shared<Published<T, S>, <S as Protocol>::Memory>;

/// What handles and readers share.
struct Published<T, S: Revoking> {
    /// Never null; owns a strong reference.
    current: CachePadded<BlockPointer<T, S>>,
    domain: Domain<T, S>,
    /// The slots of threads that have read without a reader, by a thread's number, or null.
    threads: Segments<SlotPointer<T, S>, S::Memory>,
}

type SlotPointer<T, S> = <<S as Protocol>::Memory as Memory>::Pointer<State<T, S>>;

impl<T, S: Revoking> RcuCell<T, S> {
    #[must_use]
    pub fn new_in(value: T) -> Self {
        let domain = Domain::new_in();
        let first = published(&domain, value);
        let current = CachePadded::new(Pointer::new(first.as_ptr()));
        Self { shared: Shared::new(Published { current, domain, threads: Segments::new() }) }
    }

    #[inline(always)]
    pub fn load(&self) -> RcuGuard<'_, T, S> {
        let published = &*self.shared;
        match S::Memory::thread().and_then(|thread| published.slot_of(thread)) {
            // SAFETY: the calling thread owns the slot while it has the number, and no guard uses it, not even one of a
            // thread that had the number before: a guard stays on its thread, borrows what keeps the domain, and if it
            // outlives the thread's number, its drop handles that.
            Some(slot) => RcuGuard::new(unsafe { published.protect(slot) }, None),
            None => self.load_elsewhere(),
        }
    }

    #[cold]
    fn load_elsewhere(&self) -> RcuGuard<'_, T, S> {
        let published = &*self.shared;
        let thread = S::Memory::thread().and_then(|thread| u32::try_from(thread).ok());
        if let Some(slot) = thread.and_then(|thread| published.first_slot_of(thread)) {
            // SAFETY: as in `read`.
            return RcuGuard::new(unsafe { published.protect(slot) }, None);
        }
        let local = Box::new(published.domain.register());
        // SAFETY: the handle is new, and the guard drops it last.
        let guard = unsafe { published.protect(local.state()) };
        RcuGuard::new(guard, Some(local))
    }

    #[must_use]
    pub fn reader(&self) -> RcuReader<T, S> {
        RcuReader { local: self.shared.domain.register(), published: self.shared.clone() }
    }

    pub fn store(&self, value: T) {
        drop(self.swap(value));
    }

    #[must_use = "`store` drops the old value"]
    pub fn swap(&self, value: T) -> Strong<T, S> {
        let new = published(&self.shared.domain, value);
        // Relaxed: compared only.
        let mut old = self.shared.current.load(Ordering::Relaxed);
        loop {
            match self.exchange(old, new) {
                Ok(replaced) => return replaced,
                Err(found) => old = found,
            }
        }
    }

    pub fn rcu(&self, mut update: impl FnMut(&T) -> T) {
        let mut reader = self.reader();
        loop {
            let old = reader.load();
            let new = published(&self.shared.domain, update(&old));
            // The guard keeps the old block, so no other one has its address.
            match self.exchange(old.block().as_ptr(), new) {
                Ok(replaced) => {
                    // In this order, so that the value is not donated to this thread's own guard.
                    drop(old);
                    drop(replaced);
                    return;
                }
                Err(_) => {
                    self.shared.domain.inner().counters.retired.add(1);
                    // SAFETY: it was not stored, so its one reference is here.
                    unsafe { destroy(new) };
                }
            }
        }
    }

    pub fn compare_exchange(&self, current: &T, value: T) -> Result<(), T> {
        // A value comes first in its block. The reference keeps it, so no other block has its address.
        let current = ptr::from_ref(current).cast_mut().cast();
        // Relaxed: compared only.
        if self.shared.current.load(Ordering::Relaxed) != current {
            return Err(value);
        }
        let new = published(&self.shared.domain, value);
        match self.exchange(current, new) {
            Ok(replaced) => {
                drop(replaced);
                Ok(())
            }
            // SAFETY: it was not stored, so its one reference is here.
            Err(_) => Err(unsafe { Block::into_value(new) }),
        }
    }

    /// Stores `new` in the place of `old`. Returns what it replaced, or the block found there instead.
    fn exchange(
        &self,
        old: *mut Block<T, S>,
        new: NonNull<Block<T, S>>,
    ) -> Result<Strong<T, S>, *mut Block<T, S>> {
        // Release: pairs with the Acquire in `protect`: the new block is initialised. Acquire: so is the old one, to
        // which the caller gets a handle. Relaxed on failure: compared only.
        let replaced = self.shared.current.compare_exchange(
            old,
            new.as_ptr(),
            Ordering::AcqRel,
            Ordering::Relaxed,
        )?;
        // SAFETY: never null, and the thread that replaces the pointer owns its reference. Not `old`, which may point
        // to an earlier block at the same address.
        Ok(unsafe { strong_of(replaced) })
    }

    #[must_use]
    pub fn load_full(&self) -> Strong<T, S> {
        loop {
            // Replaced since it was read, and the last handle is gone.
            if let Some(strong) = RcuGuard::upgrade(&self.load()) {
                return strong;
            }
        }
    }

    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.domain.stats()
    }
}

/// A block that is to be stored: its reference is the caller's.
fn published<T, S: Revoking>(domain: &Domain<T, S>, value: T) -> NonNull<Block<T, S>> {
    domain.strong_with(ObjectState::published(), value).into_raw()
}

/// # Safety
///
/// The pointer is not null. The caller gives a strong reference away.
unsafe fn strong_of<T, S: Revoking>(block: *mut Block<T, S>) -> Strong<T, S> {
    // SAFETY: the pointer is not null.
    let block = unsafe { NonNull::new_unchecked(block) };
    // SAFETY: the caller gives the reference away.
    unsafe { Strong::from_raw(block) }
}

impl<T, S: Revoking> Published<T, S> {
    /// The calling thread's slot, unless it is in use or the thread has none yet.
    #[inline(always)]
    fn slot_of(&self, thread: usize) -> Option<&State<T, S>> {
        // Relaxed: stored by this thread, or by one that had its number before.
        let slot = self.threads.get(thread as u32)?.load(Ordering::Relaxed);
        // SAFETY: null, or a slot of the domain, which keeps it.
        let slot = unsafe { slot.as_ref() }?;
        (!slot.is_active()).then_some(slot)
    }

    /// A slot for the calling thread, unless it has one.
    fn first_slot_of(&self, thread: u32) -> Option<&State<T, S>> {
        if thread >= CAPACITY {
            return None;
        }
        let place = self.threads.get_or_grow(thread, |_| Pointer::new(ptr::null_mut()));
        // Relaxed, here and below: as in `slot_of`.
        if !place.load(Ordering::Relaxed).is_null() {
            return None;
        }
        let (number, slot) = self.domain.inner().acquire_slot();
        if !place.load(Ordering::Relaxed).is_null() {
            // The allocator has read on this thread.
            self.domain.inner().release_slot(number);
            return None;
        }
        place.store((&raw const *slot).cast_mut(), Ordering::Relaxed);
        Some(slot)
    }

    /// Uses the current value.
    ///
    /// # Safety
    ///
    /// The slot is of the domain, which stays for `'s`. The caller owns it and does not use it otherwise for `'s`.
    #[inline(always)]
    unsafe fn protect<'s>(&self, slot: &State<T, S>) -> Guard<'s, T, S> {
        // SAFETY: the caller owns the slot; `current` is never null, and its blocks come from `published`.
        let block = unsafe { slot.protect(&self.current) };
        // SAFETY: the slot uses the block; the caller answers for `'s`.
        unsafe { Guard::new(slot, block) }
    }
}

impl<T, S: Revoking> Drop for Published<T, S> {
    fn drop(&mut self) {
        // Relaxed: every thread that stored it gave its handle back before this, the last one.
        let last = self.current.load(Ordering::Relaxed);
        // SAFETY: never null; the reference is the pointer's, which no thread uses any more.
        drop(unsafe { strong_of(last) });
    }
}

impl<T, S: Revoking> Clone for RcuCell<T, S> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

/// An [`RcuReader`](crate::rcu::RcuReader) of the scheme `S`.
pub struct RcuReader<T, S: Revoking = Shootdown> {
    /// Dropped before `published`, which keeps the domain anyway.
    local: LocalHandle<T, S>,
    published: SharedValue<T, S>,
}

impl<T, S: Revoking> RcuReader<T, S> {
    #[inline(always)]
    pub fn load(&mut self) -> Guard<'_, T, S> {
        // SAFETY: `&mut self` owns the handle, and the guard borrows it.
        unsafe { self.published.protect(self.local.state()) }
    }
}

impl<T, S: Revoking> Clone for RcuReader<T, S> {
    /// A reader for another thread.
    fn clone(&self) -> Self {
        Self { local: self.published.domain.register(), published: self.published.clone() }
    }
}

impl<T, S: Revoking> fmt::Debug for RcuReader<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RcuReader").field("local", &self.local).finish()
    }
}

/// An [`RcuGuard`](crate::rcu::RcuGuard) of the scheme `S`.
#[must_use = "the value is in use until the guard is dropped"]
pub struct RcuGuard<'c, T, S: Revoking = Shootdown> {
    guard: ManuallyDrop<Guard<'c, T, S>>,
    local: GuardStaysOnItsThread,
}

/// A box of a `LocalHandle` if the thread's own slot was in use, otherwise null. Without its type: guards are covariant
/// in `T`, local handles are not.
///
/// Not `Send`: another thread would leave a slot that its owner may be using. The name is for the compiler's message.
struct GuardStaysOnItsThread(*mut ());

// SAFETY: a shared reference to a guard shares the value, and gives strong handles. The guard stays where it is.
unsafe impl<T: Send + Sync, S: Revoking> Sync for RcuGuard<'_, T, S> {}

impl<'c, T, S: Revoking> RcuGuard<'c, T, S> {
    #[inline(always)]
    fn new(guard: Guard<'c, T, S>, local: Option<Box<LocalHandle<T, S>>>) -> Self {
        let local = local.map_or(ptr::null_mut(), |local| Box::into_raw(local).cast());
        Self { guard: ManuallyDrop::new(guard), local: GuardStaysOnItsThread(local) }
    }

    #[must_use]
    pub fn upgrade(this: &Self) -> Option<Strong<T, S>> {
        Guard::upgrade(&this.guard)
    }
}

impl<T, S: Revoking> Deref for RcuGuard<'_, T, S> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T, S: Revoking> Drop for RcuGuard<'_, T, S> {
    #[inline(always)]
    fn drop(&mut self) {
        let local = self.local.0.cast::<LocalHandle<T, S>>();
        // SAFETY: from a box, and the guard goes. The handle is dropped after its guard, also if that panics.
        let _local = (!local.is_null()).then(|| unsafe { Box::from_raw(local) });
        // SAFETY: it is not used again.
        let guard = unsafe { ManuallyDrop::take(&mut self.guard) };
        // Without a number: the thread is destroying its thread-locals, and has given its slot up.
        if local.is_null() && S::Memory::thread().is_none() {
            // SAFETY: the slot was this thread's. While it is active, the number's next owner leaves it alone.
            unsafe { guard.into_state().transition_to_abandoned() };
        }
    }
}
