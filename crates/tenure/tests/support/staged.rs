//! [`Staged`]: the real machine, on which another thread can be made to run between any two accesses of a thread.
//!
//! Two operations run on one thread: the first up to its n-th access to shared memory, then all of the second, then the
//! rest of the first. So every run sees each of these interleavings, with real memory and under every sanitizer. The
//! models (`tests/models/`) have more: any number of switches, and weaker memory.
//!
//! Every access takes effect at once, and barriers do nothing: light ones are free or not, as the test says.
#![allow(dead_code, reason = "each test uses a part")]

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use tenure::memory::{Atomic, Memory, Native, Ordering, PlainCell, Pointer, Resident, Threads};

/// With the number of accesses that are left before it.
struct Other {
    after: u32,
    action: Box<dyn FnOnce()>,
}

thread_local! {
    static OTHER: RefCell<Option<Other>> = const { RefCell::new(None) };
    /// Whose operation it is. The second one has another thread.
    static THREAD: Cell<Option<usize>> = const { Cell::new(Some(0)) };
    static LIGHT_IS_FREE: Cell<bool> = const { Cell::new(true) };
    /// Of the operations that are under way.
    static ACCESSES: Cell<u32> = const { Cell::new(0) };
}

/// What an operation throws that waits for the one which it interrupts.
struct Yields;

/// With light barriers that are free and with others, as a thread with a number and as one that has given it up.
pub(crate) fn every_way(test: impl Fn()) {
    for (is_free, thread) in [(true, Some(0)), (true, None), (false, Some(0)), (false, None)] {
        LIGHT_IS_FREE.set(is_free);
        as_thread(thread, &test);
    }
}

/// In [every way](every_way), at the steps from 1 on, up to the first for which `test` returns false.
pub(crate) fn every_step(test: impl Fn(u32) -> bool) {
    every_way(|| {
        let mut at = 1;
        while test(at) {
            at += 1;
        }
    });
}

/// Acts as a thread of that number, or as one that has given its number up.
pub(crate) fn as_thread<R>(number: Option<usize>, act: impl FnOnce() -> R) -> R {
    let before = THREAD.replace(number);
    let result = act();
    THREAD.set(before);
    result
}

/// Before each access.
fn step() {
    ACCESSES.set(ACCESSES.get() + 1);
    assert!(ACCESSES.get() < 100_000, "it waits and never yields");
    let due = OTHER.with_borrow_mut(|other| {
        let waiting = other.as_mut()?;
        waiting.after -= 1;
        if waiting.after == 0 { other.take() } else { None }
    });
    if let Some(Other { action, .. }) = due {
        as_thread(Some(1), action);
    }
}

/// Runs `one` with `other` before its access of that number, from 1, or right after its last one. Returns whether there
/// were so many accesses; if not, `other` is dropped.
pub(crate) fn interrupted(at: u32, one: impl FnOnce(), other: impl FnOnce() + 'static) -> bool {
    interrupted_next(at, other);
    ACCESSES.set(0);
    one();
    step();
    OTHER.take().is_none()
}

/// The operation that is under way goes on to its access of that number from here, before which `other` runs.
pub(crate) fn interrupted_next(at: u32, other: impl FnOnce() + 'static) {
    OTHER.set(Some(Other { after: at, action: Box::new(other) }));
}

/// Whether `act` waits for the operation that it interrupts. It then ends at its first yield.
pub(crate) fn yields(act: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(()) => false,
        Err(panic) if panic.is::<Yields>() => true,
        Err(panic) => resume_unwind(panic),
    }
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
                old: $int,
                new: $int,
                ok: Ordering,
                fail: Ordering,
            ) -> Result<$int, $int> {
                step();
                Atomic::compare_exchange(&self.0, old, new, ok, fail)
            }
            fn compare_exchange_weak(
                &self,
                old: $int,
                new: $int,
                ok: Ordering,
                fail: Ordering,
            ) -> Result<$int, $int> {
                self.compare_exchange(old, new, ok, fail)
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
        old: *mut T,
        new: *mut T,
        ok: Ordering,
        fail: Ordering,
    ) -> Result<*mut T, *mut T> {
        step();
        Pointer::compare_exchange(&self.0, old, new, ok, fail)
    }
}

// SAFETY: the real machine's words, on one thread.
unsafe impl Memory for Staged {
    type AtomicU32 = Word<<Native as Memory>::AtomicU32>;
    type AtomicU64 = Word<<Native as Memory>::AtomicU64>;
    type Pointer<T> = Place<T>;
    type Plain<T> = PlainCell<T>;

    fn light_barrier() {
        step();
    }
    fn light_is_free() -> bool {
        LIGHT_IS_FREE.get()
    }
    fn free_light_barrier() {
        if Self::light_is_free() {
            step();
        }
    }
    fn heavy_barrier() {
        step();
    }
    fn spin_hint() {}
}

// SAFETY: one thread has the number 0, and others while it acts as them.
unsafe impl Threads for Staged {
    fn thread() -> Option<usize> {
        THREAD.get()
    }
    fn is_lost(_thread: usize) -> bool {
        false
    }
    fn yield_now() {
        resume_unwind(Box::new(Yields));
    }
    fn at_exit(_resident: std::sync::Weak<dyn Resident>) {}
}
