//! [`Staged`]: the real machine, on which somebody else can be made to run between any two accesses of a thread.
//!
//! Two operations run on one thread: the first up to its n-th access to shared memory, then all of the second,
//! then the rest of the first. So each of these interleavings is seen, on every run, with real memory and under
//! every sanitizer. The models (`tests/models/`) have more: any number of switches, and weak memory.

use std::cell::{Cell, RefCell};
use tenure::memory::{Atomic, Memory, Native, Ordering, PlainCell, Pointer, Resident, Threads};

/// The second operation, and the accesses that are left before it.
struct Other {
    after: u32,
    action: Box<dyn FnOnce()>,
}

thread_local! {
    static OTHER: RefCell<Option<Other>> = const { RefCell::new(None) };
    /// Whose operation it is. The second one's thread is another.
    static THREAD: Cell<Option<usize>> = const { Cell::new(Some(0)) };
    /// Whether light barriers are free.
    static FREE: Cell<bool> = const { Cell::new(true) };
}

/// Runs `test` with light barriers that are free, and with such that are not.
pub(crate) fn either_way(test: impl Fn()) {
    for free in [true, false] {
        FREE.set(free);
        test();
    }
}

/// Does what a thread of that number would do, or one that has given its number up.
pub(crate) fn as_thread<R>(number: Option<usize>, act: impl FnOnce() -> R) -> R {
    let before = THREAD.replace(number);
    let result = act();
    THREAD.set(before);
    result
}

/// Before each access.
fn step() {
    let due = OTHER.with_borrow_mut(|other| {
        let waiting = other.as_mut()?;
        waiting.after -= 1;
        if waiting.after == 0 { other.take() } else { None }
    });
    if let Some(Other { action, .. }) = due {
        as_thread(Some(1), action);
    }
}

/// Runs `one` with `other` before its access of that number, from 1, and says whether there were so many: if not
/// `other` is dropped.
pub(crate) fn interrupted(at: u32, one: impl FnOnce(), other: impl FnOnce() + 'static) -> bool {
    OTHER.set(Some(Other { after: at, action: Box::new(other) }));
    one();
    OTHER.take().is_none()
}

pub(crate) enum Staged {}

pub(crate) struct Word<A>(A);

pub(crate) struct Place<T>(<Native as Memory>::Pointer<T>);

macro_rules! word {
    ($int:ty, $atomic:ty) => {
        impl Atomic<$int> for Word<$atomic> {
            fn new(value: $int) -> Self {
                Self(Atomic::new(value))
            }
            fn load(&self, order: Ordering) -> $int {
                step();
                Atomic::load(&self.0, order)
            }
            fn store(&self, value: $int, order: Ordering) {
                step();
                Atomic::store(&self.0, value, order);
            }
            fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                step();
                Atomic::fetch_add(&self.0, value, order)
            }
            fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                step();
                Atomic::fetch_sub(&self.0, value, order)
            }
            fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                step();
                Atomic::fetch_or(&self.0, value, order)
            }
            fn compare_exchange(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                step();
                Atomic::compare_exchange(&self.0, current, new, success, failure)
            }
            fn compare_exchange_weak(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                step();
                Atomic::compare_exchange_weak(&self.0, current, new, success, failure)
            }
        }
    };
}

word!(u32, <Native as Memory>::AtomicU32);
word!(u64, <Native as Memory>::AtomicU64);

impl<T> Pointer<T> for Place<T> {
    fn new(value: *mut T) -> Self {
        Self(Pointer::new(value))
    }
    fn load(&self, order: Ordering) -> *mut T {
        step();
        Pointer::load(&self.0, order)
    }
    fn store(&self, value: *mut T, order: Ordering) {
        step();
        Pointer::store(&self.0, value, order);
    }
    fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        step();
        Pointer::compare_exchange(&self.0, current, new, success, failure)
    }
}

// SAFETY: the real machine's words and barriers; between two accesses of a thread others may run anyway.
unsafe impl Memory for Staged {
    type AtomicU32 = Word<<Native as Memory>::AtomicU32>;
    type AtomicU64 = Word<<Native as Memory>::AtomicU64>;
    type Pointer<T> = Place<T>;
    type Plain<T> = PlainCell<T>;

    fn light_barrier() {
        step();
        Native::light_barrier();
    }
    fn light_is_free() -> bool {
        FREE.get()
    }
    fn free_light_barrier() {
        if FREE.get() {
            Self::light_barrier();
        }
    }
    fn heavy_barrier() {
        step();
        Native::heavy_barrier();
    }
    fn spin_hint() {}
}

// SAFETY: one thread has the number 0, and others while it does what those could have done.
unsafe impl Threads for Staged {
    fn thread() -> Option<usize> {
        THREAD.get()
    }
    fn is_lost(_thread: usize) -> bool {
        false
    }
    fn yield_now() {}
    fn at_exit(_resident: std::sync::Weak<dyn Resident>) {}
}
