//! [`Concurrent`]: the real ground. papaya's map, std's mutex, seize's guards.
//!
//! Each map has a collector of its own, for two reasons. When the map goes, so does all that waits in the collector. And
//! papaya (0.2.5) reclaims *everything* in the collector of a map that is dropped, also what guards of other maps protect
//! (its issue 102), so that no two maps may share one.
//!
//! Guards for puts cannot be of the map's collector: the put may be the end of the caller's claim to the map, which may be
//! gone before the put is over. They are of one that the process has for that, in which nothing waits unless the count
//! [asks for it](crate::count::RefCount::NEEDS_GRACE_PERIOD).

use super::ground::{Element, Ground, Lock, Map};
use crate::count::ReadSide;
use crate::memory::{Memory, Native, Ordering, Pointer};
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash, Hasher};
use core::marker::PhantomData;
use core::ptr::NonNull;
use seize::{Collector, Guard as _, LocalGuard, OwnedGuard};
use std::hash::RandomState;
use std::panic::catch_unwind;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread_local;

/// The ground of every registry that does not say otherwise: lock-free lookups on the real machine.
///
/// `S` makes the hashes of keys, as in [`std::collections::HashMap`].
#[derive(Debug)]
pub struct Concurrent<S = RandomState>(PhantomData<S>);

static COLLECTOR: LazyLock<Collector> = LazyLock::new(Collector::new);

// SAFETY: see each.
unsafe impl<S: BuildHasher + Send + Sync + 'static> Ground for Concurrent<S> {
    type Memory = Native;
    type Lock = CreateLock;
    type Guard = Guard<'static>;
    type Hasher = S;
    type Map<E: Element> = LockFree<E, S>;

    fn enter() -> Guard<'static> {
        Guard::enter(|| COLLECTOR.enter(), || COLLECTOR.enter_owned())
    }

    unsafe fn defer_free<E: Element>(element: NonNull<E>) {
        let free = |element: *mut E, _: &Collector| {
            // SAFETY: it was a `NonNull`.
            let element = unsafe { NonNull::new_unchecked(element) };
            // SAFETY: the caller's, now that all guards that existed are gone.
            unsafe { E::free(element) };
        };
        // SAFETY: nobody comes to the element any more who has not a guard already. It may be freed on any thread.
        unsafe { Self::enter().defer_retire(element.as_ptr(), free) };
    }

    fn map<E: Element>(hasher: S) -> LockFree<E, S> {
        LockFree { elements: papaya::HashMap::with_hasher(Stored(0)), hasher }
    }
}

/// A guard of seize's, also in a thread whose thread-locals are being destroyed.
pub struct Guard<'c>(Scheme<'c>);

enum Scheme<'c> {
    Local(LocalGuard<'c>),
    Late(OwnedGuard<'c>),
}

/// Is destroyed before seize's own thread-local, which panics when it is used after its end. Or says that it came too late
/// for that.
struct Sentinel {
    /// Seize's thread-local was there when this began.
    in_time: bool,
}

impl Drop for Sentinel {
    fn drop(&mut self) {}
}

thread_local! {
    // Thread-locals are destroyed in the opposite order of their initialisation, and this guard initialises seize's. If somebody
    // else did before, and the thread is ending now, seize's is gone: then the guard panics, which is how to find out.
    static SENTINEL: Sentinel =
        Sentinel { in_time: catch_unwind(|| drop(COLLECTOR.enter())).is_ok() };
}

impl<'c> Guard<'c> {
    #[inline(always)]
    fn enter(
        local: impl FnOnce() -> LocalGuard<'c>,
        late: impl FnOnce() -> OwnedGuard<'c>,
    ) -> Self {
        Self(match SENTINEL.try_with(|sentinel| sentinel.in_time) {
            Ok(true) => Scheme::Local(local()),
            Ok(false) | Err(_) => Scheme::Late(late()),
        })
    }
}

// SAFETY: both of seize's are.
unsafe impl ReadSide for Guard<'_> {}

impl seize::Guard for Guard<'_> {
    fn refresh(&mut self) {
        match &mut self.0 {
            Scheme::Local(guard) => guard.refresh(),
            Scheme::Late(guard) => guard.refresh(),
        }
    }
    fn flush(&self) {
        match &self.0 {
            Scheme::Local(guard) => guard.flush(),
            Scheme::Late(guard) => guard.flush(),
        }
    }
    #[inline(always)]
    fn collector(&self) -> &Collector {
        match &self.0 {
            Scheme::Local(guard) => guard.collector(),
            Scheme::Late(guard) => guard.collector(),
        }
    }
    fn thread_id(&self) -> usize {
        match &self.0 {
            Scheme::Local(guard) => guard.thread_id(),
            // Only spreads statistics. seize would look for its thread-local, which is gone.
            Scheme::Late(_) => 0,
        }
    }
    unsafe fn defer_retire<T>(&self, pointer: *mut T, reclaim: unsafe fn(*mut T, &Collector)) {
        match &self.0 {
            // SAFETY: the caller's.
            Scheme::Local(guard) => unsafe { guard.defer_retire(pointer, reclaim) },
            // SAFETY: the caller's.
            Scheme::Late(guard) => unsafe { guard.defer_retire(pointer, reclaim) },
        }
    }
}

/// papaya's map. A value is the element that the map holds, a key is the way to it.
pub struct LockFree<E: Element, S> {
    elements: papaya::HashMap<Handle<E>, Slot<E>, Stored>,
    /// Asked once for each acquire: elements remember their hashes.
    hasher: S,
}

/// Passes on a hash that was made before.
#[derive(Clone, Copy)]
struct Stored(u64);

impl Hasher for Stored {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("what is in the map writes its hash");
    }

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl BuildHasher for Stored {
    type Hasher = Self;
    #[inline]
    fn build_hasher(&self) -> Self {
        *self
    }
}

/// An element, by its key.
struct Handle<E>(NonNull<E>);

/// An element that the map lets go of when this is dropped.
struct Slot<E: Element>(NonNull<E>);

impl<E: Element> Handle<E> {
    #[inline]
    fn element(&self) -> &E {
        // SAFETY: handles are compared in the map and with what is about to be inserted: the element is not freed.
        unsafe { self.0.as_ref() }
    }
}

impl<E: Element> Hash for Handle<E> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.element().hash());
    }
}

impl<E: Element> PartialEq for Handle<E> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.element().key() == other.element().key()
    }
}

impl<E: Element> Eq for Handle<E> {}

impl<E: Element> Drop for Slot<E> {
    fn drop(&mut self) {
        // SAFETY: papaya drops what was removed when no guard that saw it exists, and everything when it is dropped.
        unsafe { E::release(self.0) };
    }
}

/// A borrowed key to look for.
struct Lookup<'q, Q: ?Sized> {
    key: &'q Q,
    hash: u64,
}

impl<Q: ?Sized> Hash for Lookup<'_, Q> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<E: Element<Key: Borrow<Q>>, Q: Eq + ?Sized> papaya::Equivalent<Handle<E>> for Lookup<'_, Q> {
    #[inline]
    fn equivalent(&self, handle: &Handle<E>) -> bool {
        self.key == handle.element().key().borrow()
    }
}

// SAFETY: papaya publishes with Release and finds with Acquire. Elements that are removed go to its collector, and nothing
// overwrites one.
unsafe impl<E: Element, S: BuildHasher> Map<E> for LockFree<E, S> {
    type Guard<'m>
        = Guard<'m>
    where
        Self: 'm;

    #[inline(always)]
    fn enter(&self) -> Guard<'_> {
        Guard::enter(|| self.elements.guard(), || self.elements.owned_guard())
    }

    #[inline]
    fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }

    #[inline]
    fn find<Q>(&self, key: &Q, hash: u64, guard: &Guard<'_>) -> Option<NonNull<E>>
    where
        E::Key: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.elements.get(&Lookup { key, hash }, guard).map(|slot| slot.0)
    }

    unsafe fn insert(&self, element: NonNull<E>, guard: &Guard<'_>) -> Result<(), NonNull<E>> {
        match self.elements.try_insert(Handle(element), Slot(element), guard) {
            Ok(_) => Ok(()),
            Err(occupied) => {
                // The caller has the element still.
                core::mem::forget(occupied.not_inserted);
                Err(occupied.current.0)
            }
        }
    }

    unsafe fn remove(&self, element: NonNull<E>, guard: &Guard<'_>) {
        // Whether somebody else has removed it makes no difference.
        let _ = self.elements.remove_if(&Handle(element), |found, _| found.0 == element, guard);
    }

    fn for_each(&self, guard: &Guard<'_>, mut visit: impl FnMut(NonNull<E>)) {
        for slot in self.elements.values(guard) {
            visit(slot.0);
        }
    }
}

type Owner = <Native as Memory>::Pointer<()>;

/// A mutex that knows when its holder comes again.
pub struct CreateLock {
    mutex: Mutex<()>,
    /// What [`this_thread`] says in the holder's thread; null where nobody has it.
    holder: Owner,
}

/// Has [`CreateLock`] until it is dropped.
pub struct Held<'l> {
    holder: &'l Owner,
    _mutex: MutexGuard<'l, ()>,
}

/// An address that no other thread has at this time.
fn this_thread() -> *mut () {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| (&raw const *here).cast_mut().cast())
}

// SAFETY: a mutex.
unsafe impl Lock for CreateLock {
    type Held<'l> = Held<'l>;

    fn new() -> Self {
        Self { mutex: Mutex::new(()), holder: Pointer::new(core::ptr::null_mut()) }
    }

    fn lock(&self) -> Held<'_> {
        // Relaxed: a thread finds its own name here if it has stored that itself and not taken it away since.
        if self.holder.load(Ordering::Relaxed) == this_thread() {
            panic!(
                "`create` acquires the key that it creates the object of, and would wait for itself: \
                 acquire another key, or hand over what it needs"
            );
        }
        // A `create` that panicked leaves nothing behind.
        let mutex = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: as above.
        self.holder.store(this_thread(), Ordering::Relaxed);
        Held { holder: &self.holder, _mutex: mutex }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Relaxed: as in `lock`.
        self.holder.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}
