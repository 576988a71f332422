//! What the owner of the only `Arc` may do: write the value, or take it.

use super::inner::{Common, Uninit};
use super::{Arc, CloneToUninit};
use core::mem;

impl<T: ?Sized> Arc<T> {
    /// The value, for writing, if this is the only `Arc` and there is no `Weak`.
    ///
    /// One load if there never was a `Weak`, two if another `Arc` is seen, three if a `Weak` is. Otherwise a
    /// compare-exchange, a load and a subtraction more; a downgrade of another `Arc` waits meanwhile.
    ///
    /// ```
    /// use tenure::sync::Arc;
    ///
    /// let mut counter = Arc::new(1);
    /// *Arc::get_mut(&mut counter).unwrap() += 1;
    ///
    /// let shared = Arc::clone(&counter);
    /// assert!(Arc::get_mut(&mut counter).is_none());
    /// assert_eq!(*shared, 2);
    /// ```
    #[inline]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        let unique = this.counts().is_unique();
        // SAFETY: the only pointer to the value, and borrowed exclusively for as long as the result.
        unique.then(|| unsafe { this.data_mut() })
    }

    /// # Safety
    ///
    /// There is no other `Arc` and no `Weak`.
    #[inline]
    unsafe fn data_mut(&mut self) -> &mut T {
        // SAFETY: alive, as this Arc is; nothing else reaches it (caller), or comes to while `self` is borrowed.
        unsafe { &mut *self.data() }
    }
}

impl<T> Arc<T> {
    /// The value, if this is the only `Arc`. `Weak`s to it die.
    ///
    /// If an upgrade overtook the drop of another `Arc`, this waits for that drop's last step. If several threads call
    /// this on the last `Arc`s at once, none may get the value: see [`into_inner`](Self::into_inner).
    ///
    /// # Errors
    ///
    /// `this`, if there are others.
    ///
    /// ```
    /// use tenure::sync::Arc;
    ///
    /// let only = Arc::new(3);
    /// assert_eq!(Arc::try_unwrap(only), Ok(3));
    ///
    /// let shared = Arc::new(4);
    /// let _other = Arc::clone(&shared);
    /// assert_eq!(*Arc::try_unwrap(shared).unwrap_err(), 4);
    /// ```
    #[inline]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        if !this.counts().try_take() {
            return Err(this);
        }
        // SAFETY: taken.
        Ok(unsafe { Self::take_data(this) })
    }

    /// Gives `this` up, and returns the value if it was the last.
    ///
    /// If every `Arc` of a value ends here, exactly one call returns it. If some are dropped instead and an upgrade
    /// overtook such a drop, that drop may end the value, and this returns `None` for the only `Arc`.
    ///
    /// ```
    /// use std::thread;
    /// use tenure::sync::Arc;
    ///
    /// let one = Arc::new(String::from("payload"));
    /// let other = Arc::clone(&one);
    /// let there = thread::spawn(move || Arc::into_inner(other));
    /// let here = Arc::into_inner(one);
    /// let there = there.join().unwrap();
    /// assert!(here.is_some() != there.is_some());
    /// ```
    #[inline]
    pub fn into_inner(this: Self) -> Option<T> {
        // Its drop would give the reference up a second time.
        let this = mem::ManuallyDrop::new(this);
        if !this.counts().drop_strong().is_last() {
            return None;
        }
        // SAFETY: that was the last.
        Some(unsafe { Self::take_data(mem::ManuallyDrop::into_inner(this)) })
    }

    /// The value if this is the only `Arc`, else a clone of it.
    #[inline]
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Self::try_unwrap(this).unwrap_or_else(|shared| T::clone(&shared))
    }
}

impl<T: ?Sized + CloneToUninit> Arc<T> {
    /// The value, for writing, as this `Arc`'s alone.
    ///
    /// | others | what happens | allocations |
    /// |---|---|---|
    /// | none | the value is written where it is | 0 |
    /// | only `Weak`s | the value moves to a new allocation, the `Weak`s die | 1 |
    /// | other `Arc`s | the value is cloned, the others keep the old one | 1 |
    ///
    /// For any `T: Clone`, and for `[T]`, `str`, `CStr`, and with `std` `OsStr` and `Path`.
    ///
    /// ```
    /// use tenure::sync::Arc;
    ///
    /// let mut mine: Arc<[u8]> = Arc::from([1, 2, 3]);
    /// let theirs = Arc::clone(&mine);
    /// Arc::make_mut(&mut mine)[0] = 9;
    /// assert_eq!((&*mine, &*theirs), (&[9, 2, 3][..], &[1, 2, 3][..]));
    /// ```
    #[inline]
    pub fn make_mut(this: &mut Self) -> &mut T {
        if this.counts().is_unshared() {
            // It stays where it is.
        } else if this.counts().try_take() {
            Suspended(this).leave_weaks();
        } else {
            *this = Self::copy_of(this);
        }
        // SAFETY: an allocation with one Arc and no Weak: the old one if there was no other, else a new one.
        unsafe { this.data_mut() }
    }

    pub(super) fn copy_of(value: &T) -> Self {
        let mut copy = Uninit::like(value);
        // SAFETY: memory for a `T` of the size and alignment of `value`, freed if the clone panics.
        unsafe { value.clone_to_uninit(copy.data().cast()) };
        // SAFETY: written.
        unsafe { copy.assume_init() }
    }
}

/// The only `Arc` of its value, after [`Counts::try_take`](super::counts::Counts::try_take): dead for `Weak`s until
/// this is dropped. So the value gains no owner while its place is decided, and a panic (an allocator's) leaves the
/// `Arc` in order.
struct Suspended<'a, T: ?Sized>(&'a mut Arc<T>);

impl<T: ?Sized> Suspended<'_, T> {
    /// Moves the value to a new allocation if there are `Weak`s to this one.
    fn leave_weaks(self) {
        // No Weak, and no Arc but ours: none can come.
        if self.0.counts().only_common() {
            return;
        }
        let value: &T = self.0;
        let size = size_of_val(value);
        let mut fresh = Uninit::like(value);
        let (from, to) = (self.0.data().cast::<u8>(), fresh.data().cast::<u8>());
        // SAFETY: two allocations with room for this value. The old bytes are not used as a value again: the next
        // statements, which cannot panic, leave them to the Weaks.
        unsafe { from.copy_to_nonoverlapping(to, size) };
        let old = mem::replace(&mut self.0.ptr, fresh.into_inner());
        mem::forget(self);
        // SAFETY: `try_take` made the value ours, and it has moved out.
        drop(unsafe { Common::new(old) });
    }
}

impl<T: ?Sized> Drop for Suspended<'_, T> {
    fn drop(&mut self) {
        self.0.counts().born();
    }
}
