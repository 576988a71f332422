//! [`Owner`] and [`Shared`]: a value on the heap whose reference count no two cores write.
//!
//! Use it for an object that a server has once, and hands to every request, task and connection: its state, a tenant, a
//! connection pool, a configuration. `Arc<App>`, cloned and dropped for each of them, has one count that moves from core to core.
//! Here one *owner* keeps the value alive, usually in `main` or in a table, and the *shared* pointers that it gives out
//! are counted where they are cloned and dropped, on lines that no other core writes.
//!
//! ```
//! use tenure::owner::{Owner, Shared};
//!
//! struct App { name: &'static str }
//!
//! let app = Owner::new(App { name: "shop" });
//!
//! let workers = [(); 4].map(|()| {
//!     let app = app.share(); // one pointer, 'static, Send and Sync if App is
//!     std::thread::spawn(move || {
//!         for _ in 0..100 {
//!             let of_request = Shared::clone(&app); // no atomic read-modify-write
//!             assert_eq!(of_request.name, "shop");
//!         }
//!     })
//! });
//!
//! let closing = app.close(); // from now on the last `Shared` drops the value
//! workers.into_iter().for_each(|worker| worker.join().unwrap());
//! closing.wait(); // or `.await`
//! ```
//!
//! # What it costs
//!
//! On Linux with the feature `std`:
//!
//! | | atomic read-modify-writes | what else |
//! |---|---|---|
//! | [`Owner::share`], [`Owner::try_share`], clone and drop of a [`Shared`] | none | a load and a store of a word of the thread's own; two loads of words that are not written while the owner lives |
//! | the first of these by each thread | none | may allocate: 8 bytes for each thread and each value at a time |
//! | drop of the owner, [`Owner::close`] | about five | a check of each thread's word, and a barrier that interrupts the CPUs which run this process (11 to 15 microseconds on two CPUs); [`Owner::drop_all`]: one for many |
//! | clone and drop of a [`Shared`] without an owner | one | on a line that all share, as with an `Arc` |
//! | [`Owner::new`] | one or two | one allocation |
//!
//! Elsewhere, and where the system refuses `membarrier`, each clone and drop has a full fence, and still no line that
//! another core writes. Without `std`, and in destructors of thread-locals, it is one atomic add on a shared line.
//!
//! # When not to use it
//!
//! - **For values that come and go**, as messages do: making and dropping an owner costs more than an
//!   [`Arc`] saves before some thousands of clones.
//! - **Where no thread is the owner**, and the value ends when its last user goes: an `Arc`, or a
//!   [`Registry`](mod@crate::registry).
//! - **Where the value is replaced** while it is in use: [`RcuCell`](crate::rcu::RcuCell).
//! - **Where a [plugin](crate#plugins) with its own copy of this crate gets it**: pass an `Arc`. If such a plugin clones or
//!   drops a [`Shared`], the owner does not see that count, and may drop the value while the plugin uses it. The plugin
//!   panics where the mistake can be seen.
//!
//! # When the value is dropped
//!
//! After the owner was closed or dropped: by the thread that drops the last [`Shared`], at once, or by the owner if there
//! is none. So an owner does not show its value: only what it [shares](Owner::share) does. An owner that is closed keeps
//! the memory, and no value, until it is dropped.
//!
//! A forgotten `Shared` keeps the value for ever. The child of a fork keeps what its parent's other threads had.
//!
//! A signal handler must not clone or drop a `Shared` of a value whose count the interrupted thread may be changing. A [global
//! allocator](crate#in-a-global-allocator) may use everything but [`Closing::wait`].
//!
//! # In an async program
//!
//! A `Shared` is [`Send`], may be held across an await point, and dropped on any thread:
//!
//! ```
//! use tenure::owner::{Owner, Shared};
//!
//! struct App { greeting: String }
//!
//! /// What a web framework calls with its state: `State<Shared<App>>` in axum, which asks for `Clone + Send + Sync`.
//! async fn handler(app: Shared<App>) -> String {
//!     app.greeting.clone()
//! }
//!
//! fn spawn<F: Future<Output = String> + Send + 'static>(task: F) { // such as tokio::spawn
//! #   drop(task);
//! }
//!
//! let app = Owner::new(App { greeting: "hello".into() });
//! spawn(handler(app.share()));
//! ```
//!
//! In a static:
//!
//! ```
//! use std::sync::OnceLock;
//! use tenure::owner::{Owner, Shared};
//!
//! static APP: OnceLock<Owner<Vec<u32>>> = OnceLock::new();
//!
//! fn app() -> Shared<Vec<u32>> {
//!     APP.get_or_init(|| Owner::new(vec![1, 2])).share()
//! }
//! assert_eq!(app()[1], 2);
//! ```

#[cfg(feature = "std")]
mod closing;
#[cfg(not(feature = "std"))]
mod closing {
    /// Nothing: no thread waits.
    pub(super) struct Ending;

    impl Ending {
        pub(super) const fn new() -> Self {
            Self
        }
        pub(super) fn ended(&self) -> Self {
            Self
        }
        pub(super) fn tell(self) {}
    }
}
mod inner;
mod traits;

#[cfg(feature = "std")]
pub use closing::Closing;

use crate::arc::Arc;
use crate::cells::{CELLS, ThreadRef};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;
use inner::{Inner, destroy, from_value, head, leave, value};

/// Keeps a value alive until it is closed or dropped, and gives out pointers to it that are cheap to clone on any core.
/// See the [module](self).
pub struct Owner<T: ?Sized> {
    inner: NonNull<Inner<T>>,
    /// Dropping an owner may drop a `T`.
    owns: PhantomData<Inner<T>>,
}

/// A pointer to a value with an [`Owner`], or whose owner is gone: one word, cloned and dropped on any thread without an
/// atomic read-modify-write. See the [module](self).
///
/// It is `Send` and `Sync` if its value is both:
///
/// ```compile_fail,E0277
/// fn sent<T: Send>(_: T) {}
/// sent(tenure::owner::Owner::new(std::cell::Cell::new(1)).share());
/// ```
pub struct Shared<T: ?Sized> {
    inner: NonNull<Inner<T>>,
    /// Dropping a handle may drop a `T`.
    owns: PhantomData<Inner<T>>,
}

// SAFETY: a handle gives `&T` to any thread (`T: Sync`), and the last one drops the value on any thread (`T: Send`).
unsafe impl<T: ?Sized + Sync + Send> Send for Owner<T> {}
// SAFETY: as above: any thread can share a `&Owner<T>`.
unsafe impl<T: ?Sized + Sync + Send> Sync for Owner<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync + Send> Send for Shared<T> {}
// SAFETY: as above: any thread can clone a `&Shared<T>`.
unsafe impl<T: ?Sized + Sync + Send> Sync for Shared<T> {}

impl<T> Owner<T> {
    /// Moves `value` to the heap.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self { inner: Inner::new(value), owns: PhantomData }
    }
}

impl<T: ?Sized> Owner<T> {
    /// A pointer for another thread, task or request.
    ///
    /// # Panics
    ///
    /// If the owner was [closed](Self::close).
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn share(&self) -> Shared<T> {
        self.try_share().expect("the owner is closed; `try_share` says so without a panic")
    }

    /// A pointer for another thread, task or request, unless the owner was closed.
    ///
    /// For owners in a table or a static, which another thread may close: it stays `None`. While a close is under way, it
    /// may still succeed. Cost: as that of a clone.
    #[inline(always)]
    #[must_use]
    pub fn try_share(&self) -> Option<Shared<T>> {
        // SAFETY: the count is of `CELLS`, and the owner, which is borrowed, keeps it from being retired.
        let got = unsafe { self.count().try_get(&CELLS) };
        got.is_acquired().then(|| Shared { inner: self.inner, owns: PhantomData })
    }

    /// From now on nothing is shared any more, and the last [`Shared`] drops the value; if there is none, this does. A
    /// second call changes nothing.
    ///
    /// The result says when the value has been dropped, whether or not the owner has: a future, or
    /// [`wait`](Closing::wait). Closing waits for no thread.
    ///
    /// ```
    /// use std::sync::OnceLock;
    /// use tenure::owner::{Owner, Shared};
    ///
    /// static APP: OnceLock<Owner<String>> = OnceLock::new();
    ///
    /// fn app() -> Option<Shared<String>> {
    ///     APP.get_or_init(|| Owner::new("state".into())).try_share()
    /// }
    ///
    /// let of_request = app().unwrap();
    /// let request = std::thread::spawn(move || of_request.len());
    /// APP.get().unwrap().close().wait(); // until the request has dropped its pointer
    /// assert_eq!(request.join().unwrap(), 5);
    /// assert!(app().is_none());
    /// ```
    #[cfg(feature = "std")]
    pub fn close(&self) -> Closing {
        // SAFETY: live: `self` is there.
        let closing = unsafe { head(self.inner) }.ending.closing();
        self.kill();
        closing
    }

    fn kill(&self) {
        // SAFETY: the count is of `CELLS`, and the owner, which is borrowed, keeps it from being retired.
        if unsafe { self.count().kill(&CELLS) }.is_last() {
            // SAFETY: that was the last. What the owner still does needs the head alone.
            unsafe { destroy(self.inner) };
        }
    }

    /// Drops them all, with one barrier.
    ///
    /// ```
    /// use tenure::owner::Owner;
    ///
    /// let tenants = ["a", "b"].map(Owner::new);
    /// Owner::drop_all(tenants);
    /// ```
    pub fn drop_all(owners: impl IntoIterator<Item = Self>) {
        struct Dead<T: ?Sized>(NonNull<Inner<T>>);

        impl<T: ?Sized> Drop for Dead<T> {
            fn drop(&mut self) {
                // SAFETY: the kill was the last, and the owner is dropped later, which needs the head alone.
                unsafe { destroy(self.0) };
            }
        }

        // First all of the iterator, which may be a user's and panic.
        let owners = Vec::from_iter(owners);
        let inners = owners.iter().map(|owner| owner.inner).collect();
        // SAFETY: the counts are of `CELLS`, and live and not retired as long as their owners are there.
        let dead = unsafe { ThreadRef::kill_all(&CELLS, inners, |&inner| head(inner).count) };
        // A vector drops the rest if a destructor panics.
        drop(Vec::from_iter(dead.into_iter().map(Dead)));
    }

    #[inline(always)]
    fn count(&self) -> ThreadRef {
        // SAFETY: alive while the owner exists.
        unsafe { head(self.inner) }.count
    }

    fn into_raw(self) -> *const T {
        // SAFETY: alive: the reference stays.
        unsafe { value(ManuallyDrop::new(self).inner) }
    }

    /// # Safety
    ///
    /// The pointer is from [`into_raw`](Self::into_raw), perhaps unsized since, and taken back once.
    unsafe fn from_raw(value: *const T) -> Self {
        // SAFETY: from `value`, and alive (caller).
        Self { inner: unsafe { from_value(value) }, owns: PhantomData }
    }
}

impl<T: ?Sized> Drop for Owner<T> {
    fn drop(&mut self) {
        struct Leaves<T: ?Sized>(NonNull<Inner<T>>);

        impl<T: ?Sized> Drop for Leaves<T> {
            fn drop(&mut self) {
                // SAFETY: live: the owner leaves it here, once, and the count is killed.
                unsafe { leave(self.0) };
            }
        }

        // Also if the value's destructor panics.
        let _leaves = Leaves(self.inner);
        self.kill();
    }
}

impl<T: ?Sized> Shared<T> {
    /// Whether both point to one value.
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        core::ptr::addr_eq(this.inner.as_ptr(), other.inner.as_ptr())
    }

    #[inline(always)]
    fn count(&self) -> ThreadRef {
        // SAFETY: alive while the handle exists.
        unsafe { head(self.inner) }.count
    }

    fn into_raw(self) -> *const T {
        // SAFETY: alive: the reference stays.
        unsafe { value(ManuallyDrop::new(self).inner) }
    }

    /// # Safety
    ///
    /// The pointer is from [`into_raw`](Self::into_raw), perhaps unsized since, and taken back once.
    unsafe fn from_raw(value: *const T) -> Self {
        // SAFETY: from `value`, and alive (caller).
        Self { inner: unsafe { from_value(value) }, owns: PhantomData }
    }
}

impl<T: ?Sized> Clone for Shared<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        // SAFETY: the count is of `CELLS`, and this handle has a reference.
        unsafe { self.count().get(&CELLS) };
        Self { inner: self.inner, owns: PhantomData }
    }
}

impl<T: ?Sized> Drop for Shared<T> {
    #[inline(always)]
    fn drop(&mut self) {
        // A copy: the allocation may be gone before the put returns.
        let count = self.count();
        // SAFETY: the count is of `CELLS`, and the reference is this handle's.
        if unsafe { count.put(&CELLS) }.is_last() {
            // SAFETY: that was the last, and the handle is not used again.
            unsafe { destroy(self.inner) };
        }
    }
}

impl<T: ?Sized> Deref for Shared<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: alive while the handle exists, and never written.
        unsafe { &*value(self.inner) }
    }
}

impl<T> From<T> for Owner<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> From<Box<T>> for Owner<T> {
    /// Moves the value, of any size, into an allocation with a count.
    fn from(value: Box<T>) -> Self {
        Self { inner: Inner::from_box(value), owns: PhantomData }
    }
}

impl<T> TryFrom<Arc<T>> for Owner<T> {
    type Error = Arc<T>;

    /// Takes the value of the only `Arc`, as [`Arc::try_unwrap`] does.
    ///
    /// # Errors
    ///
    /// The `Arc`, if there are others.
    ///
    /// ```
    /// use tenure::{owner::Owner, sync::Arc};
    ///
    /// let shared = Arc::new(5);
    /// let other = Arc::clone(&shared);
    /// let shared = Owner::<i32>::try_from(shared).unwrap_err();
    /// drop(other);
    /// let owner: Owner<i32> = shared.try_into().unwrap();
    /// assert_eq!(*owner.share(), 5);
    /// ```
    fn try_from(only: Arc<T>) -> Result<Self, Arc<T>> {
        Arc::try_unwrap(only).map(Self::new)
    }
}

impl<T: Default> Default for Owner<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

mod unsize {
    use super::{Owner, Shared};

    crate::arc::__unsize::unsizable! {
        OfOwner: Owner<T>, Owner::into_raw, Owner::from_raw;
        OfShared: Shared<T>, Shared::into_raw, Shared::from_raw;
    }
}
