//! [`Weak`]: a pointer that keeps the memory, not the value.

use super::Arc;
use super::counts::Counts;
use super::inner::{self, Inner};
use alloc::boxed::Box;
use core::fmt;
use core::mem::{self, ManuallyDrop, MaybeUninit};
use core::ptr::{self, NonNull};

/// A pointer to the value of an [`Arc`] that does not keep it alive, as `std::sync::Weak`: for caches, parents and
/// observers.
///
/// Cost: [`upgrade`](Self::upgrade) is one atomic add under any contention; clone and drop are one add or subtraction
/// each. A `Weak` keeps the value's memory, but not what the value owned.
///
/// ```
/// use tenure::sync::{Arc, Weak};
///
/// let strong = Arc::new(String::from("here"));
/// let weak = Arc::downgrade(&strong);
/// assert_eq!(weak.upgrade().as_deref().map(String::as_str), Some("here"));
///
/// drop(strong);
/// assert!(weak.upgrade().is_none());
/// assert!(weak.is_dead());
/// ```
pub struct Weak<T: ?Sized> {
    /// An allocation, or [`NOWHERE`].
    ptr: NonNull<Inner<T>>,
}

/// The address of a `Weak` that never had a value. No allocation has it: they are aligned to 8.
const NOWHERE: usize = usize::MAX;

fn is_nowhere<T: ?Sized>(ptr: *const T) -> bool {
    ptr.cast::<()>().addr() == NOWHERE
}

// SAFETY: as for the Arc that a Weak turns into. Its own operations are atomic.
unsafe impl<T: ?Sized + Sync + Send> Send for Weak<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync + Send> Sync for Weak<T> {}

impl<T> Weak<T> {
    /// A `Weak` to nothing: its upgrades fail. Allocates nothing.
    ///
    /// ```
    /// use tenure::sync::Weak;
    ///
    /// static NOTHING: Weak<String> = Weak::new();
    /// assert!(NOTHING.upgrade().is_none());
    /// ```
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        // SAFETY: not null.
        Self { ptr: unsafe { NonNull::new_unchecked(ptr::without_provenance_mut(NOWHERE)) } }
    }
}

impl<T: ?Sized> Weak<T> {
    /// # Safety
    ///
    /// `ptr` points to a live allocation, and the result takes over one of its weak references.
    #[inline(always)]
    pub(super) unsafe fn from_inner(ptr: NonNull<Inner<T>>) -> Self {
        Self { ptr }
    }

    /// The counts, unless this `Weak` points to nothing.
    #[inline(always)]
    pub(super) fn counts(&self) -> Option<&Counts> {
        if is_nowhere(self.ptr.as_ptr()) {
            return None;
        }
        // SAFETY: this Weak keeps the allocation alive.
        Some(unsafe { inner::counts(self.ptr) })
    }

    /// An [`Arc`], if the value lives. One add, whether it succeeds or fails.
    ///
    /// `None` is final, unless a [`new_cyclic`](Arc::new_cyclic) is still making the value. To sweep many dead `Weak`s
    /// or to wait for the end of a value, ask [`is_dead`](Self::is_dead), which writes nothing: an upgrade that
    /// overtakes the last drop keeps the value alive until the thread of that drop has run again.
    #[must_use = "the Arc is dropped at once"]
    #[inline]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let got = self.counts()?.upgrade();
        // SAFETY: the strong reference that was just taken.
        got.is_acquired().then(|| unsafe { Arc::from_inner(self.ptr) })
    }

    /// Whether every [`upgrade`](Self::upgrade) from now on fails. One load, no write; not in std.
    ///
    /// `false` promises nothing. `true` is not final inside [`new_cyclic`](Arc::new_cyclic) and while
    /// [`make_mut`](Arc::make_mut) moves the value away from its `Weak`s.
    ///
    /// ```
    /// use tenure::sync::{Arc, Weak};
    ///
    /// let alive = Arc::new(1);
    /// let mut table = vec![Arc::downgrade(&alive), Arc::downgrade(&Arc::new(2)), Weak::new()];
    /// table.retain(|entry| !entry.is_dead());
    /// assert_eq!(table.len(), 1);
    /// ```
    #[must_use]
    #[inline]
    pub fn is_dead(&self) -> bool {
        self.counts().is_none_or(Counts::is_dead)
    }

    /// The number of `Arc`s at some moment of the call. 0 does not mean dead: an upgrade may overtake the drop of the
    /// last `Arc`.
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.counts().map_or(0, Counts::strong_count)
    }

    /// The number of `Weak`s at some moment of the call, this one included; 0 once the value is dead.
    #[must_use]
    pub fn weak_count(&self) -> usize {
        let Some(counts) = self.counts() else { return 0 };
        // In this order: if the value is alive after the look at the weak count, that included the common reference.
        let weak = counts.weak_count();
        if counts.is_dead() { 0 } else { weak }
    }

    /// # Safety
    ///
    /// Called once, as the last use of this `Weak`.
    #[inline(always)]
    pub(super) unsafe fn give_up(&mut self) {
        if self.counts().is_some_and(Counts::drop_weak) {
            // SAFETY: no Weak is left, and the Arcs gave theirs up after the value. This one is not used after this
            // (caller).
            unsafe { inner::free(self.ptr) };
        }
    }

    /// Whether both point to one allocation, or both to nothing. Metadata is not compared.
    #[must_use]
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        ptr::addr_eq(self.ptr.as_ptr(), other.ptr.as_ptr())
    }

    /// Where the value is or was. Dangling, and perhaps unaligned, if there never was one.
    #[must_use]
    #[inline]
    pub fn as_ptr(&self) -> *const T {
        if is_nowhere(self.ptr.as_ptr()) {
            return self.ptr.as_ptr() as *const T;
        }
        // SAFETY: this Weak keeps the allocation alive.
        unsafe { inner::data(self.ptr) }
    }

    /// A raw pointer that stands for `self`, to be given back to [`from_raw`](Self::from_raw).
    #[must_use = "the reference leaks unless the pointer is given back to from_raw"]
    #[inline]
    pub fn into_raw(self) -> *const T {
        ManuallyDrop::new(self).as_ptr()
    }

    /// The `Weak` that [`into_raw`](Self::into_raw) turned into `ptr`.
    ///
    /// # Safety
    ///
    /// `ptr` came from `into_raw` of a `tenure::sync::Weak<U>` and stands for a weak reference that is given up nowhere
    /// else. `U` and `T` as in [`Arc::from_raw`].
    #[inline]
    pub unsafe fn from_raw(ptr: *const T) -> Self {
        let ptr = if is_nowhere(ptr) {
            // SAFETY: that address is not null.
            unsafe { NonNull::new_unchecked(ptr as *mut Inner<T>) }
        } else {
            // SAFETY: from `into_raw`, which is `inner::data` here, and a reference keeps it live (caller).
            unsafe { inner::from_data(ptr) }
        };
        Self { ptr }
    }
}

impl<T> Arc<T> {
    /// An `Arc` whose value holds a [`Weak`] to itself.
    ///
    /// While `data_fn` runs there is no value, and upgrades of the `Weak` and its clones fail. They succeed when
    /// `new_cyclic` has returned, or on another thread a moment earlier.
    ///
    /// # Panics
    ///
    /// If `data_fn` does. The memory is freed with the last clone of the `Weak`.
    ///
    /// ```
    /// use tenure::sync::{Arc, Weak};
    ///
    /// struct Session { id: u32, me: Weak<Session> }
    ///
    /// impl Session {
    ///     fn handle(&self) -> Arc<Session> {
    ///         self.me.upgrade().expect("the caller holds an Arc")
    ///     }
    /// }
    ///
    /// let session = Arc::new_cyclic(|me| {
    ///     assert!(me.upgrade().is_none());
    ///     Session { id: 7, me: me.clone() }
    /// });
    /// assert_eq!(session.handle().id, 7);
    /// ```
    pub fn new_cyclic<F>(data_fn: F) -> Self
    where
        F: FnOnce(&Weak<T>) -> T,
    {
        let unborn = Inner { counts: Counts::unborn_in(), data: MaybeUninit::<T>::uninit() };
        // `MaybeUninit<T>` has the layout of `T`.
        let inner = NonNull::from(Box::leak(Box::new(unborn))).cast::<Inner<T>>();
        // The common reference, lent out as a Weak: dropped if `data_fn` panics.
        // SAFETY: the weak count is one, and this is its owner.
        let weak = unsafe { Weak::from_inner(inner) };

        let data = data_fn(&weak);

        // SAFETY: live, because the weak count is ours; room for a `T`, which no thread reads: upgrades fail until the
        // next statement.
        unsafe { inner::data(inner).write(data) };
        weak.counts().expect("not a dangling Weak").born();
        // From here on the common reference belongs to the Arcs.
        mem::forget(weak);
        // SAFETY: `born` made one Arc, this one.
        unsafe { Self::from_inner(inner) }
    }
}

impl<T: ?Sized> Arc<T> {
    /// A [`Weak`] to the same value. One add: no loop, unlike std's. Waits while a [`get_mut`](Self::get_mut) of
    /// another `Arc` looks at the counts.
    #[must_use = "a Weak that is dropped at once is of no use"]
    #[inline]
    pub fn downgrade(this: &Self) -> Weak<T> {
        this.counts().downgrade();
        // SAFETY: the weak reference that was just taken.
        unsafe { Weak::from_inner(this.ptr) }
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    /// Another `Weak` to the same value, dead or alive. One add.
    #[inline]
    fn clone(&self) -> Self {
        if let Some(counts) = self.counts() {
            counts.clone_weak();
        }
        Self { ptr: self.ptr }
    }
}

/// With `tenure_nightly` the implementation is in `traits.rs`.
#[cfg(not(tenure_nightly))]
impl<T: ?Sized> Drop for Weak<T> {
    /// Gives the reference up, and frees the memory with the last one of a dead value.
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the drop.
        unsafe { self.give_up() };
    }
}

impl<T> Default for Weak<T> {
    /// [`Weak::new`].
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}
