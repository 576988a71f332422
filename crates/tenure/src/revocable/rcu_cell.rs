//! [`RcuCell`]: a value that all threads read and that is sometimes replaced.
//!
//! Each reader has a local handle of a domain whose objects are the values. It finds the value by a pointer that
//! writers replace: rule 5 of the [shootdown](super::shootdown).

use super::destroy::destroy;
use super::mapped::Mapped;
use super::protocol::{Block, BlockPointer, Protocol};
use super::shootdown::{ObjectState, Revoking, Shootdown, State};
use super::{Domain, Guard, LocalHandle, Stats, Strong};
use crate::cache_line::CachePadded;
use crate::memory::{Memory, Ordering, Pointer, Threads};
use crate::segments::{CAPACITY, Segments};
use crate::shared::Shared;
use alloc::boxed::Box;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::{self, NonNull};

/// A value that all threads read with plain loads and stores, and that can be replaced.
///
/// For configurations, routing tables, schemas, keys, feature flags, which are replaced as a whole.
///
/// ```
/// use tenure::revocable::RcuCell;
///
/// let limits = RcuCell::new(vec![100, 200]);
///
/// let worker = {
///     let mut limits = limits.reader(); // one for each thread: the fastest way to read
///     std::thread::spawn(move || limits.load()[0])
/// };
/// assert_eq!(limits.load()[1], 200); // without a reader: looks up the thread's slot
///
/// limits.store(vec![300]); // the old value is dropped now, unless a thread is reading it
/// assert_eq!(*limits.load(), [300]);
/// # worker.join().unwrap();
/// ```
///
/// A clone is another handle to the same value; readers keep it alive, too. Threads share a `RcuCell` if `T: Send + Sync`.
/// A value that may be missing is a `RcuCell<Option<T>>`: `if let Some(value) = &*cell.load()`.
///
/// In a static it takes a `LazyLock`: one load and a branch at each [`read`](RcuCell::load), none for a [`RcuReader`]. A
/// constructor for constants would cost the same, as the slots of its readers are on the heap:
///
/// ```
/// use std::sync::LazyLock;
/// use tenure::revocable::RcuCell;
///
/// static LIMIT: LazyLock<RcuCell<Option<u32>>> = LazyLock::new(RcuCell::default);
///
/// assert!(LIMIT.load().is_none());
/// LIMIT.store(Some(7));
/// assert!(LIMIT.load().is_some_and(|limit| limit == 7));
/// ```
///
/// # In an async program
///
/// The guard of [`RcuCell::load`] stays on its thread, since it uses the slot of that. Across an `.await`, and in a task of
/// its own:
///
/// | | | cost |
/// |---|---|---|
/// | a task that lives long has a [`RcuReader`] | its [`Guard`] is `Send` | as above; a slot for each |
/// | a value that is an [`Owner`](crate::owner::Owner), and its [`Shared`](crate::owner::Shared) | `'static`, `Send`, one pointer | a read, and a load and a store of the thread's own; a store has one more barrier |
/// | [`RcuCell::strong handle`] | `'static`, `Send`, one pointer | a read, and an atomic add on a line that all tasks share |
///
/// ```
/// use tenure::revocable::RcuCell;
/// use tenure::owner::{Owner, Shared};
///
/// struct Config { greeting: &'static str }
///
/// async fn handle(config: Shared<Config>) -> usize {
///     std::future::ready(()).await;
///     config.greeting.len() // the same before and after each await
/// }
///
/// fn spawn<F: Future<Output = usize> + Send + 'static>(task: F) { // such as tokio::spawn
/// #   drop(task);
/// }
///
/// let config = RcuCell::new(Owner::new(Config { greeting: "hello" }));
/// spawn(handle(Owner::share(&config.load())));
/// config.store(Owner::new(Config { greeting: "good morning" })); // the old one goes with its last task
/// ```
///
/// # What it costs
///
/// On Linux with the feature `std`:
///
/// | | atomic read-modify-writes | what else |
/// |---|---|---|
/// | [`RcuReader::load`] and drop of its guard | none | four loads and two stores. Only the pointer's line is shared, and written only when the value is replaced |
/// | [`RcuCell::load`] and drop of its guard | none | the same, after a look-up of the thread's slot |
/// | the first read of a new value by each thread | one, on the thread's own line | |
/// | [`RcuCell::load`] while the thread has a guard of the same `RcuCell` | about six | memory for the guard |
/// | [`RcuCell::store`] | about twenty | two looks at every reader that is there, and a barrier that interrupts the CPUs which run this process |
///
/// Elsewhere, and where the system refuses `membarrier`, each read has two full fences. Without `std` [`RcuCell::load`]
/// always takes the slow way: use a [`RcuReader`].
///
/// Every reader, and every thread that has read without one, has a slot of a cache line or two, which later readers
/// reuse. A store passes over vacant slots by one load for 64 of them.
///
/// # What a read sees
///
/// A value that was current at some moment during the call. A later read never sees an older value. A guard keeps its
/// value.
///
/// # When a replaced value is dropped
///
/// - If no thread reads it and there is no [`Strong`] of it: by the [`store`](RcuCell::store) that replaced it, before
///   that returns; or by another thread that is in `store` at that moment.
/// - If threads are reading it: by the last guard.
/// - If the destructor of another value of it is running on that thread: when that has returned (with `std`).
///
/// A sleeping thread delays nothing, unless it has a guard. A forgotten guard of [`RcuCell::load`] keeps its value for
/// ever.
///
/// # Compared with others
///
/// `arc_swap::ArcSwap::load` needs no handle, as [`RcuCell::load`]; its writers do not wait for readers either.
/// `arc_swap::Cache` is a handle, as [`RcuReader`], but it *owns* what it read last: a sleeping thread keeps an old value
/// alive. Readers of an `RwLock` write a shared word, and wait for writers.
///
/// # Limits
///
/// A value is of one sized type: box a `dyn Trait`. A signal handler must not read a `RcuCell` that the interrupted
/// thread may be reading. A `RcuCell` is invariant in `T`, as a `Mutex` is:
///
/// ```compile_fail
/// # use tenure::revocable::RcuCell;
/// fn shorter<'c, 'a>(cell: &'c RcuCell<&'static str>) -> &'c RcuCell<&'a str> { cell } // error: may not live long enough
/// ```
pub struct RcuCell<T, S: Revoking = Shootdown> {
    shared: SharedValue<T, S>,
}

type SharedValue<T, S> = Shared<Published<T, S>, <S as Protocol>::Memory>;

/// What handles and readers share.
struct Published<T, S: Revoking> {
    /// Never null; owns a strong reference.
    current: CachePadded<BlockPointer<T, S>>,
    domain: Domain<T, S>,
    /// By a thread's number: the slot of threads that have read without a reader, or null.
    threads: Segments<SlotPointer<T, S>, S::Memory>,
}

type SlotPointer<T, S> = <<S as Protocol>::Memory as Memory>::Pointer<State<T, S>>;

impl<T> RcuCell<T> {
    /// Puts `value` on the heap.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self::new_in(value)
    }
}

impl<T, S: Revoking> RcuCell<T, S> {
    /// [`new`](RcuCell::new) on any machine.
    #[doc(hidden)]
    #[must_use]
    pub fn new_in(value: T) -> Self {
        let domain = Domain::new_in();
        let first = published(&domain, value);
        let current = CachePadded::new(Pointer::new(first.as_ptr()));
        Self { shared: Shared::new(Published { current, domain, threads: Segments::new() }) }
    }

    /// The guard stays on its thread: copy what you need before an `.await`, or use a [`RcuReader`], which is faster too.
    /// A second guard of this `RcuCell` on one thread costs about twenty times as much.
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

    /// A handle for one thread at a time, which reads fastest.
    #[must_use]
    pub fn reader(&self) -> RcuReader<T, S> {
        RcuReader { local: self.shared.domain.register(), published: self.shared.clone() }
    }

    /// Replaces the value, and drops the old one: [when](#when-a-replaced-value-is-dropped).
    pub fn store(&self, value: T) {
        drop(self.swap(value));
    }

    /// Replaces the value, and returns a strong handle to the old one.
    ///
    /// ```
    /// use tenure::revocable::RcuCell;
    ///
    /// let cell = RcuCell::new(1);
    /// let old = cell.swap(2);
    /// assert_eq!((*old, *cell.load()), (1, 2));
    /// ```
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

    /// Replaces the value by what `update` makes of it. If another thread replaces it meanwhile, calls `update` again.
    ///
    /// ```
    /// use tenure::revocable::RcuCell;
    ///
    /// let cell = RcuCell::new(vec![1]);
    /// cell.rcu(|old| [&old[..], &[2]].concat());
    /// assert_eq!(*cell.load(), [1, 2]);
    /// ```
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

    /// Replaces the value if it is still the `current` one, which a guard or [`Strong`] of this `RcuCell` shows.
    ///
    /// For what [`rcu`](Self::rcu) does not do: to give up, or to await something between the look and the store.
    ///
    /// # Errors
    ///
    /// `value`, if another thread has replaced the current one.
    ///
    /// ```
    /// use tenure::revocable::RcuCell;
    ///
    /// let cell = RcuCell::new(1);
    /// let seen = cell.load_full();
    /// assert_eq!(cell.compare_exchange(&seen, 2), Ok(()));
    /// assert_eq!(cell.compare_exchange(&seen, 3), Err(3));
    /// assert_eq!(*cell.load(), 2);
    /// ```
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
        Ok(unsafe { context_of(replaced) })
    }

    /// A strong handle to the value. One atomic add on its count.
    #[must_use]
    pub fn load_full(&self) -> Strong<T, S> {
        loop {
            // Replaced since it was read, and the last handle is gone.
            if let Some(strong) = RcuGuard::upgrade(&self.load()) {
                return strong;
            }
        }
    }

    /// Readers, and threads that have read without one, are the local handles.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.domain.stats()
    }
}

/// To be stored: its reference is the caller's.
fn published<T, S: Revoking>(domain: &Domain<T, S>, value: T) -> NonNull<Block<T, S>> {
    domain.context_with(ObjectState::published(), value).into_raw()
}

/// # Safety
///
/// The pointer is not null. The caller gives a strong reference away.
unsafe fn context_of<T, S: Revoking>(block: *mut Block<T, S>) -> Strong<T, S> {
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
        drop(unsafe { context_of(last) });
    }
}

impl<T, S: Revoking> Clone for RcuCell<T, S> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<T: Default> Default for RcuCell<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for RcuCell<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: fmt::Debug, S: Revoking> fmt::Debug for RcuCell<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RcuCell").field(&*self.load()).finish()
    }
}

/// A handle to a [`RcuCell`] for one thread at a time.
///
/// ```
/// use tenure::revocable::RcuCell;
///
/// let cell = RcuCell::new(1);
/// let mut reader = cell.reader();
/// assert_eq!(*reader.load(), 1);
/// cell.store(2);
/// assert_eq!(*reader.load(), 2);
/// ```
///
/// Keeps no value alive between reads.
pub struct RcuReader<T, S: Revoking = Shootdown> {
    /// Dropped before `published`, which keeps the domain anyway.
    local: LocalHandle<T, S>,
    published: SharedValue<T, S>,
}

impl<T, S: Revoking> RcuReader<T, S> {
    /// Reads the value: a load of the shared pointer, and loads and stores on the reader's own line. The first read of
    /// a new value takes an atomic read-modify-write there.
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

/// The guard of [`RcuCell::load`]: a [`Guard`] that never leaves its thread, whose own slot it uses. Forgetting one
/// makes later reads of this thread slower.
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

    /// [`Guard::map`].
    #[inline]
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&T) -> &U) -> impl Deref<Target = U> {
        // SAFETY: the value is on the heap, and the guard keeps it.
        unsafe { Mapped::new(this, part) }
    }

    /// [`Guard::upgrade`]. To keep a value for long call [`RcuCell::strong handle`] at the start.
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
