//! [`Staged`]: the real machine, on which another thread can be made to run between any two accesses of a thread.
//!
//! Two operations run on one thread: the first up to its n-th access to shared memory, then all of the second, then the
//! rest of the first. So every run sees each of these interleavings, with real memory and under every sanitizer. The
//! models (`tests/models/`) have more: any number of switches, and weaker memory.
//!
//! Only here light barriers do nothing, and heavy ones interrupt. A store stays in a buffer of its thread, as on x86, for
//! as long as it may: until that thread does an atomic read-modify-write or passes a fence, or another one passes a heavy
//! barrier that interrupts. Only with [`Barriers::Free`] it takes effect at once.
#![allow(dead_code, reason = "each test uses a part")]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use tenure::memory::{Atomic, Memory, Native, Ordering, PlainCell, Pointer, Resident, Threads};

/// With the number of accesses that are left before it.
struct Other {
    after: u32,
    action: Box<dyn FnOnce()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Barriers {
    /// Both kinds are fences: light ones are not free, and heavy ones interrupt no thread. Stores take effect late.
    Fences,
    /// Light ones are free; stores take effect at once.
    Free,
    /// Light ones are free; stores take effect late.
    Late,
    /// As `Late`, and heavy barriers interrupt no thread, which is wrong.
    Broken,
}

struct Store {
    thread: Option<usize>,
    address: usize,
    value: u64,
    perform: Box<dyn FnOnce()>,
}

thread_local! {
    static OTHER: RefCell<Option<Other>> = const { RefCell::new(None) };
    /// Whose operation it is. The second one has another thread.
    static THREAD: Cell<Option<usize>> = const { Cell::new(Some(0)) };
    static BARRIERS: Cell<Barriers> = const { Cell::new(Barriers::Free) };
    /// Within [`interrupted`].
    static RUNS: Cell<bool> = const { Cell::new(false) };
    static STORES: RefCell<VecDeque<Store>> = const { RefCell::new(VecDeque::new()) };
    /// Of the operations that are under way.
    static ACCESSES: Cell<u32> = const { Cell::new(0) };
}

/// What an operation throws that waits for the one which it interrupts.
struct Yields;

/// With each kind of barriers that is right, as a thread with a number and as one that has given it up.
pub(crate) fn every_way(test: impl Fn()) {
    for barriers in [Barriers::Free, Barriers::Fences, Barriers::Late] {
        for thread in [Some(0), None] {
            as_thread(thread, || with(barriers, &test));
        }
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

pub(crate) fn with(barriers: Barriers, test: impl Fn()) {
    BARRIERS.set(barriers);
    test();
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

/// Runs `one` with `other` before its access of that number, from 1, or right after its last one, when its stores may
/// still be late. Returns whether there were so many accesses; if not, `other` is dropped.
pub(crate) fn interrupted(at: u32, one: impl FnOnce(), other: impl FnOnce() + 'static) -> bool {
    interrupted_next(at, other);
    ACCESSES.set(0);
    RUNS.set(true);
    one();
    step();
    RUNS.set(false);
    drain(|_| true);
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

/// Has those stores take effect, in their order.
fn drain(which: impl Fn(Option<usize>) -> bool) {
    let due = STORES.with_borrow_mut(|stores| {
        let (due, rest) = stores.drain(..).partition::<VecDeque<_>, _>(|store| which(store.thread));
        *stores = rest;
        due
    });
    due.into_iter().for_each(|store| (store.perform)());
}

/// At a read-modify-write, or a fence, of this thread.
fn drain_own() {
    let thread = THREAD.get();
    drain(|of| of == thread);
}

/// A store of this thread, which takes effect later if it may.
fn store(address: usize, value: u64, perform: impl FnOnce() + 'static) {
    if RUNS.get() && BARRIERS.get() != Barriers::Free {
        let (thread, perform) = (THREAD.get(), Box::new(perform));
        STORES.with_borrow_mut(|stores| {
            stores.push_back(Store { thread, address, value, perform });
        });
    } else {
        perform();
    }
}

/// What this thread has stored there and no other thread sees yet.
fn stored(address: usize) -> Option<u64> {
    let thread = THREAD.get();
    STORES.with_borrow(|stores| {
        let own = stores.iter().rfind(|store| store.thread == thread && store.address == address);
        own.map(|store| store.value)
    })
}

/// A word goes, and its late stores with it.
fn forget(address: usize) {
    STORES.with_borrow_mut(|stores| stores.retain(|store| store.address != address));
}

pub(crate) enum Staged {}

pub(crate) struct Word<A>(A);

pub(crate) struct Place<T>(<Native as Memory>::Pointer<T>);

impl<A> Drop for Word<A> {
    fn drop(&mut self) {
        forget((&raw const self.0).addr());
    }
}

impl<T> Drop for Place<T> {
    fn drop(&mut self) {
        forget((&raw const self.0).addr());
    }
}

macro_rules! word {
    ($int:ty, $atomic:ty) => {
        impl Atomic<$int> for Word<$atomic> {
            fn new(value: $int) -> Self {
                Self(Atomic::new(value))
            }
            fn load(&self, order: Ordering) -> $int {
                step();
                let own = stored((&raw const self.0).addr());
                own.map_or_else(|| Atomic::load(&self.0, order), |own| own as $int)
            }
            fn store(&self, value: $int, order: Ordering) {
                step();
                let word = &raw const self.0;
                store(word.addr(), value.into(), move || {
                    // SAFETY: a word that goes has its stores forgotten.
                    Atomic::store(unsafe { &*word }, value, order);
                });
            }
            fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                step();
                drain_own();
                Atomic::fetch_add(&self.0, value, order)
            }
            fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                step();
                drain_own();
                Atomic::fetch_sub(&self.0, value, order)
            }
            fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                step();
                drain_own();
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
                drain_own();
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
        let own = stored((&raw const self.0).addr());
        own.map_or_else(
            || Pointer::load(&self.0, order),
            |own| std::ptr::with_exposed_provenance_mut(own as usize),
        )
    }
    fn store(&self, value: *mut T, order: Ordering) {
        step();
        // Pointers are alike, and what they point to need not outlast the buffer.
        let word = (&raw const self.0).cast::<<Native as Memory>::Pointer<()>>();
        let value = value.cast::<()>();
        store(word.addr(), value.expose_provenance() as u64, move || {
            // SAFETY: a word that goes has its stores forgotten.
            Pointer::store(unsafe { &*word }, value, order);
        });
    }
    fn compare_exchange(
        &self,
        old: *mut T,
        new: *mut T,
        ok: Ordering,
        fail: Ordering,
    ) -> Result<*mut T, *mut T> {
        step();
        drain_own();
        Pointer::compare_exchange(&self.0, old, new, ok, fail)
    }
}

// SAFETY: the real machine's words, on one thread, and barriers that make late stores take effect (but for `Broken`).
unsafe impl Memory for Staged {
    type AtomicU32 = Word<<Native as Memory>::AtomicU32>;
    type AtomicU64 = Word<<Native as Memory>::AtomicU64>;
    type Pointer<T> = Place<T>;
    type Plain<T> = PlainCell<T>;

    fn light_barrier() {
        step();
        if !Self::light_is_free() {
            drain_own();
        }
    }
    fn light_is_free() -> bool {
        BARRIERS.get() != Barriers::Fences
    }
    fn free_light_barrier() {
        if Self::light_is_free() {
            step();
        }
    }
    fn heavy_barrier() {
        step();
        drain_own();
        if matches!(BARRIERS.get(), Barriers::Free | Barriers::Late) {
            drain(|_| true);
        }
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
