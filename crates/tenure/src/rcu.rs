//! A value that all threads read with plain loads and stores, and that can be replaced.
//!
//! A reader of an [`RcuCell`] has a slot for [`revocable`](crate::revocable) references: it keeps no old value alive.

use crate::revocable::mapped::Mapped;
use crate::revocable::{Guard, Stats, Strong, generic};
use core::fmt;
use core::ops::Deref;

/// A value that all threads read with plain loads and stores, and that can be replaced.
///
/// Made for configurations, routing tables, schemas, keys, feature flags, which are replaced as a whole.
///
/// ```
/// use tenure::rcu::RcuCell;
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
/// A clone is another handle to the same value; readers keep it alive, too. Threads share an `RcuCell` if `T: Send + Sync`.
/// A value that may be missing is an `RcuCell<Option<T>>`: `if let Some(value) = &*cell.load()`.
///
/// In a static it takes a `LazyLock`: one load and a branch at each [`load`](RcuCell::load), none for an [`RcuReader`]. A
/// constructor for constants would cost the same, as the slots of its readers are on the heap:
///
/// ```
/// use std::sync::LazyLock;
/// use tenure::rcu::RcuCell;
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
/// | a task that lives long has an [`RcuReader`] | its [`Guard`] is `Send` | as above; a slot for each |
/// | a value that is an [`Owner`](crate::owner::Owner), and its [`Shared`](crate::owner::Shared) | `'static`, `Send`, one pointer | a read, and a load and a store of the thread's own; a store has one more barrier |
/// | [`RcuCell::load_full`] | `'static`, `Send`, one pointer | a read, and an atomic add on a line that all tasks share |
///
/// ```
/// use tenure::rcu::RcuCell;
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
/// always takes the slow way: use an [`RcuReader`].
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
/// A value is of one sized type: box a `dyn Trait`. A signal handler must not read an `RcuCell` that the interrupted
/// thread may be reading. An `RcuCell` is invariant in `T`, as a `Mutex` is:
///
/// ```compile_fail
/// # use tenure::rcu::RcuCell;
/// fn shorter<'c, 'a>(cell: &'c RcuCell<&'static str>) -> &'c RcuCell<&'a str> { cell } // error: may not live long enough
/// ```
pub struct RcuCell<T>(generic::RcuCell<T>);

impl<T> RcuCell<T> {
    /// Puts `value` on the heap.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(generic::RcuCell::new_in(value))
    }

    /// The guard stays on its thread: copy what you need before an `.await`, or use an [`RcuReader`], which is faster too.
    /// A second guard of this `RcuCell` on one thread costs about twenty times as much.
    #[inline(always)]
    pub fn load(&self) -> RcuGuard<'_, T> {
        RcuGuard(self.0.load())
    }

    /// A handle for one thread at a time, which reads fastest.
    #[must_use]
    pub fn reader(&self) -> RcuReader<T> {
        RcuReader(self.0.reader())
    }

    /// Replaces the value, and drops the old one: [when](#when-a-replaced-value-is-dropped).
    pub fn store(&self, value: T) {
        self.0.store(value);
    }

    /// Replaces the value, and returns a strong handle to the old one.
    ///
    /// ```
    /// use tenure::rcu::RcuCell;
    ///
    /// let cell = RcuCell::new(1);
    /// let old = cell.swap(2);
    /// assert_eq!((*old, *cell.load()), (1, 2));
    /// ```
    #[must_use = "`store` drops the old value"]
    pub fn swap(&self, value: T) -> Strong<T> {
        Strong(self.0.swap(value))
    }

    /// Replaces the value by what `update` makes of it. If another thread replaces it meanwhile, calls `update` again.
    ///
    /// ```
    /// use tenure::rcu::RcuCell;
    ///
    /// let cell = RcuCell::new(vec![1]);
    /// cell.rcu(|old| [&old[..], &[2]].concat());
    /// assert_eq!(*cell.load(), [1, 2]);
    /// ```
    pub fn rcu(&self, update: impl FnMut(&T) -> T) {
        self.0.rcu(update);
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
    /// use tenure::rcu::RcuCell;
    ///
    /// let cell = RcuCell::new(1);
    /// let seen = cell.load_full();
    /// assert_eq!(cell.compare_exchange(&seen, 2), Ok(()));
    /// assert_eq!(cell.compare_exchange(&seen, 3), Err(3));
    /// assert_eq!(*cell.load(), 2);
    /// ```
    pub fn compare_exchange(&self, current: &T, value: T) -> Result<(), T> {
        self.0.compare_exchange(current, value)
    }

    /// A strong handle to the value. One atomic add on its count.
    #[must_use]
    pub fn load_full(&self) -> Strong<T> {
        Strong(self.0.load_full())
    }

    /// Readers, and threads that have read without one, are the local handles.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }
}

impl<T> Clone for RcuCell<T> {
    /// Another handle to the same value.
    fn clone(&self) -> Self {
        Self(self.0.clone())
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

impl<T: fmt::Debug> fmt::Debug for RcuCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RcuCell").field(&*self.load()).finish()
    }
}

/// A handle to an [`RcuCell`] for one thread at a time.
///
/// ```
/// use tenure::rcu::RcuCell;
///
/// let cell = RcuCell::new(1);
/// let mut reader = cell.reader();
/// assert_eq!(*reader.load(), 1);
/// cell.store(2);
/// assert_eq!(*reader.load(), 2);
/// ```
///
/// Keeps no value alive between reads.
pub struct RcuReader<T>(generic::RcuReader<T>);

impl<T> RcuReader<T> {
    /// Reads the value: a load of the shared pointer, and loads and stores on the reader's own line. The first read of
    /// a new value takes an atomic read-modify-write there.
    #[inline(always)]
    pub fn load(&mut self) -> Guard<'_, T> {
        Guard(self.0.load())
    }
}

impl<T> Clone for RcuReader<T> {
    /// A reader for another thread.
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for RcuReader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The guard of [`RcuCell::load`]: a [`Guard`] that never leaves its thread, whose own slot it uses. Forgetting one
/// makes later reads of this thread slower.
#[must_use = "the value is in use until the guard is dropped"]
pub struct RcuGuard<'c, T>(generic::RcuGuard<'c, T>);

impl<T> RcuGuard<'_, T> {
    /// [`Guard::map`].
    #[inline]
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&T) -> &U) -> impl Deref<Target = U> {
        // SAFETY: the value is on the heap, and the guard keeps it.
        unsafe { Mapped::new(this, part) }
    }

    /// [`Guard::upgrade`]. To keep a value for long call [`RcuCell::load_full`] at the start.
    #[must_use]
    pub fn upgrade(this: &Self) -> Option<Strong<T>> {
        generic::RcuGuard::upgrade(&this.0).map(Strong)
    }
}

impl<T> Deref for RcuGuard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

smart_pointer! {
    T: [T] RcuGuard<'_, T>;
}
