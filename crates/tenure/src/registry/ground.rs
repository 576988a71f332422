//! [`Ground`]: what a registry is built on, so that the tests run the shipping protocol on a model checker.
//!
//! | ground | where |
//! |---|---|
//! | [`Concurrent`](super::Concurrent) | here: a lock-free map ([`LockFree`](super::LockFree)), std's mutex, grace periods |
//! | `Checked` | this crate's tests: words of a model checker |

use crate::count::ReadSide;
use crate::memory::Memory;
use core::borrow::Borrow;
use core::hash::Hash;
use core::ptr::NonNull;

/// A machine, a map, a lock and a scheme of deferred freeing.
///
/// # Safety
///
/// The protocol relies on it that all of them do what is said of them here.
///
/// ```compile_fail,E0200
/// struct Mine;
/// impl tenure::registry::Ground for Mine {} // error: requires an `unsafe impl` declaration
/// ```
pub unsafe trait Ground: Sized + 'static {
    /// The machine.
    type Memory: Memory;
    /// What keeps two creations of one object apart.
    type Lock: Lock;
    /// A guard for puts: while it exists no element is freed that was [deferred](Self::defer_free) after it was made.
    ///
    /// It borrows from nothing: what the caller holds may be gone when the put is over.
    type Guard: ReadSide;
    /// What a map is made with.
    type Hasher;
    /// What the map keeps in each element.
    type Link: Send + Sync;
    /// A map that several threads use at a time, if its elements are `Send` and `Sync`.
    type Map<E: Element<Link = Self::Link>>: Map<E>;

    /// A [`Guard`](Self::Guard).
    ///
    /// # Panics
    ///
    /// May panic where the thread has thousands of them.
    ///
    /// # Safety
    ///
    /// The caller drops the guard, or forgets it, before it returns. A guard in a thread-local would outlive the thread's
    /// number, and with that what it guards.
    ///
    /// ```compile_fail,E0133
    /// use tenure::registry::{Concurrent, Ground};
    ///
    /// let guard = <Concurrent as Ground>::enter(); // error: call to unsafe function
    /// ```
    unsafe fn enter() -> Self::Guard;

    /// Calls [`Element::free`] when every [`Guard`](Self::Guard) that exists now is gone.
    ///
    /// # Safety
    ///
    /// The element is the caller's alone, but for puts with such a guard.
    unsafe fn defer_free<E: Element>(element: NonNull<E>);

    /// An empty map.
    fn map<E: Element<Link = Self::Link>>(hasher: Self::Hasher) -> Self::Map<E>;

    /// The link of an element that is in no map, and whose key has that [hash](Map::hash).
    fn link(hash: u64) -> Self::Link;
}

/// A lock of a [`Ground`].
///
/// # Safety
///
/// It has one holder at a time: two creations of one object would write one value.
///
/// ```compile_fail,E0200
/// struct Open;
/// impl tenure::registry::ground::Lock for Open { // error: requires an `unsafe impl` declaration
///     type Held<'l> = ();
///     fn new() -> Self { Self }
///     fn lock(&self) {}
///     fn is_lost(&self) -> bool { false }
/// }
/// ```
pub unsafe trait Lock: Send + Sync {
    /// Holds the lock until it is dropped, also where a panic drops it.
    type Held<'l>
    where
        Self: 'l;

    /// A lock that is free.
    fn new() -> Self;

    /// Waits for the lock. What its holders did before comes before what the caller does.
    ///
    /// # Panics
    ///
    /// May panic where the calling thread holds the lock already.
    fn lock(&self) -> Self::Held<'_>;

    /// Whether a fork has left the holder behind, or may have: then nobody gets the lock any more.
    fn is_lost(&self) -> bool;
}

/// Something that a [`Map`] holds by its key.
///
/// # Safety
///
/// The key is always the same, and the link lies where [`LINK`](Self::LINK) says.
///
/// ```compile_fail,E0200
/// struct Mine;
/// impl tenure::registry::ground::Element for Mine {} // error: requires an `unsafe impl` declaration
/// ```
pub unsafe trait Element: Sized {
    /// What the element is found by.
    type Key: Hash + Eq;
    /// What the map keeps in it.
    type Link;

    /// How many bytes the link is from the beginning.
    const LINK: usize;

    /// The key.
    fn key(&self) -> &Self::Key;

    /// The map lets go of the element: it is in the map no more, and no guard that saw it there exists.
    ///
    /// # Safety
    ///
    /// As it says, and once.
    unsafe fn release(this: NonNull<Self>);

    /// Frees the element.
    ///
    /// # Safety
    ///
    /// Nobody has it any more.
    unsafe fn free(this: NonNull<Self>);
}

/// A concurrent map of a [`Ground`]: elements by their keys, one for each.
///
/// # Safety
///
/// Who finds an element sees what was done before it was inserted. An element that was found stays what it is as long as
/// the guard exists: the map [releases](Element::release) it after that, or when the map itself is dropped.
///
/// ```compile_fail,E0200
/// use tenure::registry::ground::{Element, Map};
///
/// struct Mine;
/// impl<E: Element> Map<E> for Mine {} // error: requires an `unsafe impl` declaration
/// ```
pub unsafe trait Map<E: Element> {
    /// Keeps readable what is found with it.
    type Guard<'m>
    where
        Self: 'm;

    /// A guard of this map.
    ///
    /// # Panics
    ///
    /// As [`Ground::enter`].
    ///
    /// # Safety
    ///
    /// As [`Ground::enter`].
    unsafe fn enter(&self) -> Self::Guard<'_>;

    /// The hash of a key: the same for one that is borrowed.
    fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64;

    /// The element of that key, which has that hash, if there is one.
    fn find<Q>(&self, key: &Q, hash: u64, guard: &Self::Guard<'_>) -> Option<NonNull<E>>
    where
        E::Key: Borrow<Q>,
        Q: Hash + Eq + ?Sized;

    /// Inserts an element, unless there is one of that key: then nothing has happened, and it is found.
    ///
    /// # Errors
    ///
    /// The one that is there.
    ///
    /// # Safety
    ///
    /// The element is valid until the map releases it, and in no map.
    unsafe fn insert(&self, element: NonNull<E>, guard: &Self::Guard<'_>)
    -> Result<(), NonNull<E>>;

    /// Grows if there is not enough room for so many elements. Called after each insertion.
    fn fit(&self, elements: impl FnOnce() -> u32);

    /// Removes that very element, if it is still there. Another one of that key stays.
    ///
    /// # Safety
    ///
    /// The element was inserted into this map, and can be read.
    unsafe fn remove(&self, element: NonNull<E>, guard: &Self::Guard<'_>);

    /// Calls `visit` with every element that is there all the time, and perhaps with those that come or go meanwhile.
    fn for_each(&self, guard: &Self::Guard<'_>, visit: impl FnMut(NonNull<E>));
}
