//! [`Entry`]: an object, its key and its count, and the protocol of their lives.
//!
//! Two parties have an entry: its *life*, which is all references together and ends with the last of them, and the *map*.
//! What each may touch:
//!
//! 1. The count and the state: whoever has a reference, or found the entry in the map and has the guard of that lookup.
//!    A putter that [asks for a guard](RefCount::NEEDS_GRACE_PERIOD) may come back to the count as long as it has that.
//! 2. The value: whoever has a reference and saw the entry ready. Before that, the holder of the lock `creating`, who has
//!    a reference too. After the last put, the one who is told so.
//! 3. The reference to the core: the one who is told of the last put.
//! 4. The entry leaves the map when its count is dead, by whoever comes first: the one who was told of the last put, or an
//!    acquire that wants to put the next object in its place. Always that very entry: another one may have its key by then.
//! 5. The memory goes when both parties have said [`GONE`]: the life, when the value is dropped; the map, a grace period
//!    after the entry has left it. Neither is safe alone. Whoever was told of the last put has no guard: an acquire may
//!    remove the entry, and the grace period be over, before that one comes to drop the value. And lookups which found the
//!    entry before it was removed still try to get references when the value is long gone.
//!
//! ```text
//!             insert                  create, write            last put
//!   (nothing) ──────> counted, empty ─────────────> ready ──────────────> dead ──> left the map ─┐
//!                          │                                                │                    ├─> freed
//!                          └──── last put: every create has failed ─────────┴───> value dropped ─┘
//! ```

use super::Core;
use super::ground::{Element, Ground, Lock, Map};
use super::key::Key;
use crate::count::{Put, RefCount};
use crate::memory::{Atomic, Memory, Ordering, Plain};
use crate::shared::{RawShared, Shared};
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

/// The value is there.
const READY: u32 = 1;
/// One of the two who have the entry is done with it.
const GONE: u32 = 2;

/// What references point to.
#[repr(C)]
pub(super) struct Entry<K: Key, V, C: RefCount + 'static, G: Ground> {
    /// Written by everybody. What follows is read by everybody: `Isolated<C>` is for the distance.
    count: C,
    state: <G::Memory as Memory>::AtomicU32,
    core: RawShared<Core<K, V, C, G>, G::Memory>,
    /// Read by who looks for this entry or one behind it, written when those come and go.
    link: G::Link,
    value: <G::Memory as Memory>::Plain<MaybeUninit<V>>,
    key: K,
    creating: G::Lock,
}

impl<K: Key, V, C: RefCount + 'static, G: Ground> Entry<K, V, C, G> {
    /// An entry with one reference, the caller's, and without a value. It is in no map.
    pub(super) fn allocate(
        key: K,
        hash: u64,
        core: Shared<Core<K, V, C, G>, G::Memory>,
    ) -> NonNull<Self> {
        NonNull::from(Box::leak(Box::new(Self {
            count: C::new_in(),
            state: Atomic::new(0),
            core: core.into_raw(),
            link: G::link(hash),
            value: Plain::new(MaybeUninit::uninit()),
            key,
            creating: G::Lock::new(),
        })))
    }

    /// Undoes [`allocate`](Self::allocate).
    ///
    /// # Safety
    ///
    /// The entry was never in a map, and nobody comes to it any more.
    pub(super) unsafe fn discard(this: NonNull<Self>) {
        // SAFETY: made by `allocate`.
        let entry = unsafe { Box::from_raw(this.as_ptr()) };
        // SAFETY: the entry's reference, which nobody else takes over.
        drop(unsafe { Shared::from_raw(entry.core) });
    }

    /// The count. Not through a reference to the whole entry, whose memory may be gone before a put returns.
    ///
    /// # Safety
    ///
    /// The entry can be read now.
    #[inline(always)]
    pub(super) unsafe fn count<'e>(this: NonNull<Self>) -> &'e C {
        // SAFETY: the caller's.
        unsafe { &(*this.as_ptr()).count }
    }

    /// Gives a reference back.
    ///
    /// # Safety
    ///
    /// It is the caller's.
    #[inline(always)]
    pub(super) unsafe fn put(this: NonNull<Self>) -> Put {
        // SAFETY: the reference keeps the entry.
        let count = unsafe { &raw const (*this.as_ptr()).count };
        // SAFETY: the count drops the guard: it knows no more of that than that it is a `ReadSide`, and cannot keep it.
        let enter = || unsafe { G::enter() };
        // SAFETY: as above, up to the put.
        unsafe { C::put_raw_by(count, enter) }
    }

    pub(super) fn key(&self) -> &K {
        &self.key
    }

    /// Whether the value is there. Then it is so for the caller also.
    #[inline(always)]
    pub(super) fn is_ready(&self) -> bool {
        // Acquire: pairs with the Release in `create`.
        self.state.load(Ordering::Acquire) & READY != 0
    }

    /// The value.
    ///
    /// # Safety
    ///
    /// The entry is ready, and the caller has a reference for `'e`.
    #[inline(always)]
    pub(super) unsafe fn value<'e>(this: NonNull<Self>) -> &'e V {
        // SAFETY: the reference keeps the entry.
        let value = unsafe { &(*this.as_ptr()).value };
        // SAFETY: written before the entry became ready, and not written again while there are references.
        let value = value.with(|value| unsafe { &*value });
        // SAFETY: as above.
        unsafe { value.assume_init_ref() }
    }

    /// Sees to it that the value is there: waits for another that creates it, or runs `create`.
    ///
    /// The caller has a reference.
    pub(super) fn make_ready<E>(
        &self,
        core: &Core<K, V, C, G>,
        create: impl FnOnce() -> Result<V, E>,
    ) -> Result<(), E> {
        let _creating = self.creating.lock();
        if self.is_ready() {
            return Ok(());
        }
        let attempt = Attempt(core);
        let value = create()?;
        core::mem::forget(attempt);
        // SAFETY: the lock keeps other writers away; readers wait for the state. Nothing is there to be dropped.
        self.value.with_mut(|place| unsafe { (*place).write(value) });
        core.counters.created();
        // Release: pairs with the Acquire in `is_ready`. No store: where a fork left it open whether the lock is lost, an
        // acquire may have removed the entry, and the map's `GONE` be there.
        self.state.fetch_or(READY, Ordering::Release);
        Ok(())
    }

    /// Whether a fork has left behind the thread that was to make the value.
    pub(super) fn is_lost(&self) -> bool {
        !self.is_ready() && self.creating.is_lost()
    }

    /// What the last put is followed by.
    ///
    /// Values that hold references to others are dropped one inside of the other: what is on the stack here is there once
    /// for each, so it is one pointer.
    ///
    /// # Safety
    ///
    /// The caller was told that it was the last.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn end(this: NonNull<Self>) {
        // SAFETY: the caller's.
        if unsafe { Self::leave_map(this) } {
            // Lets go of the memory also where the value's destructor panics.
            let _end = AtEnd(this);
            // SAFETY: the life's part of the entry is there until `finish`.
            let value = unsafe { &(*this.as_ptr()).value };
            // SAFETY: the entry is ready. Nobody has a reference any more, and nobody gets one.
            value.with_mut(|value| unsafe { value.cast::<V>().drop_in_place() });
        } else {
            // SAFETY: the caller's.
            unsafe { Self::finish(this) };
        }
    }

    /// Leaves the map, and says whether there is a value to be dropped.
    ///
    /// Before the value's destructor runs, which may come here as well, and should not find it.
    ///
    /// # Safety
    ///
    /// The caller's [`end`](Self::end) begins.
    #[inline(never)]
    unsafe fn leave_map(this: NonNull<Self>) -> bool {
        // SAFETY: the life's part of the entry is there until `finish`.
        let entry = unsafe { this.as_ref() };
        // SAFETY: the entry's reference is there until `finish`.
        let core = unsafe { entry.core.core() };
        // SAFETY: dropped below.
        let guard = unsafe { core.map.enter() };
        // SAFETY: it was inserted there, and the life's part can be read.
        unsafe { core.map.remove(this, &guard) };
        drop(guard);
        // The Acquire of the verdict has seen it already, if it was set.
        let is_ready = entry.is_ready();
        if is_ready {
            core.counters.destroyed();
        }
        is_ready
    }

    /// The life of the entry is over: lets go of the memory, and of the core after that.
    ///
    /// # Safety
    ///
    /// The caller's [`end`](Self::end) is over but for this.
    #[inline(never)]
    unsafe fn finish(this: NonNull<Self>) {
        // SAFETY: the life's part of the entry is there.
        let core = unsafe { this.as_ref() }.core;
        // SAFETY: the life's part, of which this is the last touch.
        unsafe { Self::part(this) };
        // SAFETY: the entry's reference, which is taken over by whoever is told of the last put.
        drop(unsafe { Shared::from_raw(core) });
    }

    /// One of the two who have the entry is done with it. The second one frees it.
    ///
    /// # Safety
    ///
    /// The caller is one of them, says so once, and touches the entry no more.
    unsafe fn part(this: NonNull<Self>) {
        // SAFETY: the caller's part is there.
        let state = unsafe { &(*this.as_ptr()).state };
        // Release: what the first one did comes before the memory is freed. Acquire: for the second one.
        if state.fetch_or(GONE, Ordering::AcqRel) & GONE == 0 {
            return;
        }
        if C::NEEDS_GRACE_PERIOD {
            // SAFETY: nobody else has the entry, but for puts that are not over.
            unsafe { G::defer_free(this) };
        } else {
            // SAFETY: nobody else has the entry.
            unsafe { Self::free(this) };
        }
    }
}

/// A `create` that runs. It has failed if this is dropped.
struct Attempt<'c, K: Key, V, C: RefCount + 'static, G: Ground>(&'c Core<K, V, C, G>);

impl<K: Key, V, C: RefCount + 'static, G: Ground> Drop for Attempt<'_, K, V, C, G> {
    fn drop(&mut self) {
        self.0.counters.failed();
    }
}

/// The end of an entry whose value is being dropped.
struct AtEnd<K: Key, V, C: RefCount + 'static, G: Ground>(NonNull<Entry<K, V, C, G>>);

impl<K: Key, V, C: RefCount + 'static, G: Ground> Drop for AtEnd<K, V, C, G> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: made by `end`, which does no more.
        unsafe { Entry::finish(self.0) };
    }
}

// SAFETY: nobody writes the key; the offset is the link's.
unsafe impl<K: Key, V, C: RefCount + 'static, G: Ground> Element for Entry<K, V, C, G> {
    type Key = K;
    type Link = G::Link;

    const LINK: usize = core::mem::offset_of!(Self, link);

    #[inline(always)]
    fn key(&self) -> &K {
        &self.key
    }

    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: the map's.
        unsafe { Self::part(this) };
    }

    unsafe fn free(this: NonNull<Self>) {
        // SAFETY: made by `allocate`, and nobody has it any more. The value is not there.
        drop(unsafe { Box::from_raw(this.as_ptr()) });
    }
}
