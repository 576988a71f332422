//! [`Entry`]: an object with its key and count, and the protocol of its life.
//!
//! An entry has two owners: its *references*, all together, and the *map*.
//!
//! 1. The count and the state: touched with a reference, or with the guard of the lookup that found the entry. A put
//!    that [needs a grace period](crate::count::RefCount::NEEDS_GRACE_PERIOD) may touch the count as long as it has its
//!    own guard.
//! 2. The value: read with a reference, once the entry is ready. Before that it is written by the one that has the
//!    [turn](super::turn) to create, and a reference. After the last put, that put's thread drops it.
//! 3. The reference to the core belongs to the thread of the last put.
//! 4. An entry leaves the map when its count is dead, or its creator was lost in a fork. The thread of the last put
//!    removes it, or an acquire that inserts the key's next entry. Both remove this very entry.
//! 5. The memory is freed when both owners have released it: the references after the value is dropped, the map a grace
//!    period after the entry left it. Neither is enough alone: the thread of the last put has no guard while it drops
//!    the value, and a lookup that found the entry earlier may still try to get a reference.
//!
//! ```text
//!             insert                  create, write            last put
//!   (nothing) ──────> counted, empty ─────────────> ready ──────────────> dead ──> removed ────────┐
//!                          │                                                │                      ├─> freed
//!                          └──── last put: every `create` has failed ───────┴───> value dropped ───┘
//! ```

use super::Core;
use super::machine::{Creator, Machine, RegistryCount};
use super::map::{Element, Link};
use super::waiters::Waiters;
use crate::count::PutResult;
use crate::memory::{Atomic, Memory, Ordering, Plain};
use crate::shared::{RawShared, Shared};
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

/// The value is there.
const READY: u32 = 1;
/// One of the two owners has released the memory.
const RELEASED: u32 = 2;
/// The object is to linger, and the ring has no reference.
const STRAY: u32 = 4;
/// The ring has a reference, and came by since the last use.
const COLD: u32 = 8;
/// A thread or task creates the value. Means nothing in a state that is ready.
const CREATING: u32 = 16;
/// The end of the turn to create is to wake others.
const AWAITED: u32 = 32;

/// Who creates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Thread,
    /// Which any thread may run.
    Task,
}

/// What came of an attempt to take the turn.
#[must_use]
pub(super) enum Taken {
    Turn,
    /// It is not needed any more.
    Ready,
    /// Another has it.
    No,
}

#[repr(C)]
pub(super) struct Entry<K, V, C: RegistryCount> {
    /// Written by every user of the object, which read all else: `CachePadded<C>` keeps the two apart.
    pub(super) count: C,
    state: <C::Machine as Memory>::AtomicU32,
    pub(super) core: RawShared<Core<K, V, C>, C::Machine>,
    /// Read by lookups that pass by, written when a neighbour comes or goes.
    link: Link<C::Machine>,
    value: <C::Machine as Memory>::Plain<MaybeUninit<V>>,
    pub(super) key: K,
    /// The thread or task that has the turn to create.
    pub(super) creator: <C::Machine as Machine>::Creator,
    pub(super) waiters: Waiters<C::Machine>,
}

impl<K, V, C: RegistryCount> Entry<K, V, C> {
    /// Gives a reference back.
    ///
    /// # Safety
    ///
    /// The caller owns it.
    #[inline(always)]
    pub(super) unsafe fn put(this: NonNull<Self>) -> PutResult {
        // SAFETY: the reference keeps the entry. Not a reference to all of it: its memory may be freed before the put
        // returns.
        let count = unsafe { &raw const (*this.as_ptr()).count };
        // SAFETY: the count knows the guard only as a `KeepsReadable`, so it drops it before it returns.
        let enter = || unsafe { C::Machine::puts().enter() };
        // SAFETY: the reference keeps the entry up to the put.
        unsafe { C::put_raw_by(count, enter) }
    }

    /// Gives a reference back, and ends the object if it was the last.
    ///
    /// # Safety
    ///
    /// As [`put`](Self::put).
    #[inline(always)]
    pub(super) unsafe fn put_and_end(this: NonNull<Self>) {
        // SAFETY: the caller's reference.
        if unsafe { Self::put(this) }.is_last() {
            // SAFETY: that was the last one.
            unsafe { Self::end(this) };
        }
    }

    /// Whether the drop of a reference is to be noted: never, if objects do not linger.
    #[inline(always)]
    pub(super) fn notes_drops(&self) -> bool {
        // Relaxed: a drop that comes too early to see it is as good as one that came earlier.
        self.state.load(Ordering::Relaxed) & (STRAY | COLD) != 0
    }

    /// Returns whether the entry was stray, so that the caller has to give the ring a reference.
    pub(super) fn transition_to_used(&self) -> bool {
        // Relaxed, here and below: the bits pass on nothing. The reference is passed on by a place of the ring.
        let relaxed = Ordering::Relaxed;
        let mut state = self.state.load(relaxed);
        while state & (STRAY | COLD) != 0 {
            match self.state.compare_exchange(state, state & !(STRAY | COLD), relaxed, relaxed) {
                Ok(_) => break,
                Err(found) => state = found,
            }
        }
        state & STRAY != 0
    }

    /// Marks the entry: called by the thread that has the ring's reference, before it puts it.
    pub(super) fn transition_to_stray(&self) {
        // Relaxed: as above.
        self.state.fetch_or(STRAY, Ordering::Relaxed);
    }

    /// Called by the thread that has the ring's reference. The entry is cold now.
    pub(super) fn was_cold(&self) -> bool {
        // Relaxed: as above.
        self.state.fetch_or(COLD, Ordering::Relaxed) & COLD != 0
    }

    /// Whether the value is there, and visible to the caller.
    #[inline(always)]
    pub(super) fn is_ready(&self) -> bool {
        // Acquire: pairs with the Release in `finish_turn`.
        self.state.load(Ordering::Acquire) & READY != 0
    }

    /// # Safety
    ///
    /// The entry is ready, and the caller has a reference.
    #[inline(always)]
    pub(super) unsafe fn value(&self) -> &V {
        // SAFETY: rule 2: written before the entry was ready, and not again while there are references.
        self.value.with(|value| unsafe { (*value).assume_init_ref() })
    }

    /// Takes the turn to create, if there is one to be had. The caller has a reference.
    pub(super) fn take_turn(&self, by: By) -> Taken {
        loop {
            // Acquire: pairs with the Release in `finish_turn`: the value.
            let state = self.state.load(Ordering::Acquire);
            if state & READY != 0 {
                return Taken::Ready;
            }
            if state & CREATING != 0 {
                return Taken::No;
            }
            self.creator.forget_lost();
            let taken = state | CREATING;
            // Acquire: pairs with the Release in `fail_turn`: what the last `create` did. Release: pairs with the
            // Acquire in `is_lost`: the call above. Relaxed: looks again.
            let relaxed = Ordering::Relaxed;
            if self.state.compare_exchange(state, taken, Ordering::AcqRel, relaxed).is_ok() {
                self.creator.begin(by == By::Thread);
                return Taken::Turn;
            }
        }
    }

    /// Called by a waiter in the list. Returns whether the turn's owner will wake it.
    pub(super) fn transition_to_awaited(&self) -> bool {
        // Release: pairs with the Acquire of the end of the turn: the waker is in the list.
        self.state.fetch_or(AWAITED, Ordering::Release) & (READY | CREATING) == CREATING
    }

    /// Makes the entry ready.
    ///
    /// # Safety
    ///
    /// The caller has the turn, which ends, and a reference.
    pub(super) unsafe fn finish_turn(&self, value: V) {
        // SAFETY: the caller's reference keeps the core.
        let core = unsafe { self.core.core() };
        // SAFETY: rule 2: the turn keeps other writers out, and readers wait for the state.
        self.value.with_mut(|place| unsafe { (*place).write(value) });
        // Relaxed: the put of a reference orders it before the object's end.
        core.counters.created.fetch_add(1, Ordering::Relaxed);
        self.creator.end();
        let lingers = if core.ring.has_places() { STRAY } else { 0 };
        // Release: pairs with the Acquire in `is_ready` and `take_turn`. Acquire: pairs with the Release in
        // `transition_to_awaited`. A bit is added, since the map may have released the entry already: after a fork an
        // acquire removes an entry whose creator may be lost.
        if self.state.fetch_or(READY | lingers, Ordering::AcqRel) & AWAITED != 0 {
            self.waiters.wake();
        }
    }

    /// Leaves the turn to another.
    ///
    /// # Safety
    ///
    /// As [`finish_turn`](Self::finish_turn).
    #[cold]
    pub(super) unsafe fn fail_turn(&self) {
        // SAFETY: the caller's reference keeps the core. Relaxed: a statistic.
        unsafe { self.core.core() }.counters.failed.fetch_add(1, Ordering::Relaxed);
        self.creator.end();
        // The bit is set, and only this thread clears it. Release: pairs with the Acquire in `take_turn`. Acquire: as
        // in `finish_turn`.
        if self.state.fetch_sub(CREATING, Ordering::AcqRel) & AWAITED != 0 {
            self.waiters.wake();
        }
    }

    /// Whether the thread that was to make the value was lost in a fork.
    pub(super) fn is_lost(&self) -> bool {
        // Acquire: pairs with the Release in `take_turn`.
        let state = self.state.load(Ordering::Acquire);
        state & (READY | CREATING) == CREATING && self.creator.is_lost()
    }

    /// Values that hold references to others nest their destructors here: so this frame is kept to one pointer.
    ///
    /// # Safety
    ///
    /// The caller made the last put.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn end(this: NonNull<Self>) {
        /// Also if the value's destructor panics.
        struct Finish<K, V, C: RegistryCount>(NonNull<Entry<K, V, C>>);
        impl<K, V, C: RegistryCount> Drop for Finish<K, V, C> {
            #[inline(always)]
            fn drop(&mut self) {
                // SAFETY: the last step of `end`.
                unsafe { Entry::finish(self.0) };
            }
        }

        let _finish = Finish(this);
        // SAFETY: the caller made the last put.
        if unsafe { Self::leave_map(this) } {
            // SAFETY: the references' share of the memory is there until `finish`.
            let value = unsafe { &(*this.as_ptr()).value };
            // SAFETY: the entry is ready. There is no reference any more, and the dead count gives none.
            value.with_mut(|value| unsafe { value.cast::<V>().drop_in_place() });
        }
    }

    /// Returns whether the entry has a value, whose destructor may use the registry and must not find the entry.
    ///
    /// # Safety
    ///
    /// The caller made the last put, and has not called [`finish`](Self::finish).
    #[inline(never)]
    unsafe fn leave_map(this: NonNull<Self>) -> bool {
        // SAFETY: the references' share of the memory is there until `finish`.
        let entry = unsafe { this.as_ref() };
        // SAFETY: rule 3: so is the reference to the core.
        let core = unsafe { entry.core.core() };
        // SAFETY: dropped as this returns.
        let guard = unsafe { core.map.enter() };
        // SAFETY: it was inserted there, and can be read.
        unsafe { core.map.remove(this, &guard) };
        let is_ready = entry.is_ready();
        if is_ready {
            // Release: pairs with the Acquire in `live`: a thread that counts this end counts the creation too.
            core.counters.destroyed.fetch_add(1, Ordering::Release);
        }
        is_ready
    }

    /// Releases the references' share of the memory, and then the core.
    ///
    /// # Safety
    ///
    /// The caller made the last put, and touches the entry no more.
    #[inline(never)]
    unsafe fn finish(this: NonNull<Self>) {
        // SAFETY: the references' share is there.
        let core = unsafe { this.as_ref() }.core;
        // SAFETY: the references' share, once, as their last touch.
        unsafe { Self::release(this) };
        // SAFETY: rule 3.
        drop(unsafe { Shared::from_raw(core) });
    }
}

// SAFETY: the key is never written, and the offset is the link's.
unsafe impl<K, V, C: RegistryCount> Element for Entry<K, V, C> {
    type Key = K;
    type Memory = C::Machine;

    const LINK: usize = core::mem::offset_of!(Self, link);

    #[inline(always)]
    fn key(&self) -> &K {
        &self.key
    }

    /// Releases one of the two shares. The second one frees the memory.
    unsafe fn release(this: NonNull<Self>) {
        unsafe fn free<K, V, C: RegistryCount>(entry: *mut ()) {
            // SAFETY: from `Spare::new`, and both owners have released it. The value is not there.
            drop(unsafe { Box::from_raw(entry.cast::<Entry<K, V, C>>()) });
        }
        // SAFETY: the caller's share is there.
        let state = unsafe { &(*this.as_ptr()).state };
        // Release: what the first owner did comes before the memory is freed. Acquire: for the second.
        if state.fetch_or(RELEASED, Ordering::AcqRel) & RELEASED == 0 {
            return;
        }
        if C::NEEDS_GRACE_PERIOD {
            // SAFETY: dropped as this returns.
            let guard = unsafe { C::Machine::puts().enter() };
            // SAFETY: only puts that already have a guard may touch the entry. Any thread may free it: keys are `Send`.
            unsafe { guard.retire(this.as_ptr().cast(), free::<K, V, C>) };
        } else {
            // SAFETY: the caller is the second owner.
            unsafe { free::<K, V, C>(this.as_ptr().cast()) };
        }
    }
}

/// An entry that is in no map yet, with its first reference.
pub(super) struct Spare<K, V, C: RegistryCount>(pub(super) NonNull<Entry<K, V, C>>);

impl<K, V, C: RegistryCount> Spare<K, V, C> {
    /// The thread that inserts it has the turn.
    pub(super) fn new(key: K, order: u64, core: Shared<Core<K, V, C>, C::Machine>, by: By) -> Self {
        let creator = <C::Machine as Machine>::Creator::new();
        creator.begin(by == By::Thread);
        Self(NonNull::from(Box::leak(Box::new(Entry {
            count: C::new_in(),
            state: Atomic::new(CREATING),
            core: core.into_raw(),
            link: Link::new(order),
            value: Plain::new(MaybeUninit::uninit()),
            key,
            creator,
            waiters: Waiters::new(),
        }))))
    }
}

impl<K, V, C: RegistryCount> Drop for Spare<K, V, C> {
    fn drop(&mut self) {
        // SAFETY: both from `new`. The entry was not inserted, so no other thread knows it.
        unsafe { drop(Shared::from_raw(Box::from_raw(self.0.as_ptr()).core)) };
    }
}
