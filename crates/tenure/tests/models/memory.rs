//! [`Loom`]: the shipping algorithms on a model checker.
//!
//! loom runs a model again and again, with other interleavings and other choices of which store a load sees. It keeps a
//! vector clock per thread, and panics if a model breaks a rule. This file adds plain reads and writes, and *how long a
//! word lives*.
//!
//! # The life of a word
//!
//! A count that is one operation too late touches freed memory. loom's atomics have no end, so they do not notice.
//! Therefore each atomic here has a companion, a `loom::cell::UnsafeCell<()>` named `memory`:
//!
//! - every operation **reads** `memory` for an instant, immediately before it runs;
//! - dropping the atomic **writes** `memory`. That is what "free" means in a model: the object is dropped in place,
//!   while its bytes stay until the execution ends (see `stage::Heap`), so that a late operation is a loom panic and
//!   never a wild pointer.
//!
//! loom demands that a write happens after every earlier read, and every later read after the write, by the vector
//! clocks and not merely in the order of this execution:
//!
//! | what goes wrong | what panics |
//! |---|---|
//! | an operation runs, the free follows, nothing orders them | the free: "Concurrent read and write" |
//! | the free runs, an operation follows, nothing orders them | the operation: "Concurrent read and write" |
//! | the free runs, an operation follows *and is ordered after it* | the operation: `freed` is set, "use after free" |
//!
//! So a Relaxed last touch is caught although it came first, because nothing makes the free wait for it; only one with
//! Release that the free acquires passes. loom cannot see the third line by itself (an ordered access is no race),
//! hence the flag.
//!
//! The read stands before the point at which loom may switch threads, the operation after it. A free that slips in
//! between finds a read that nothing ordered, and panics.
//!
//! # What loom does not see
//!
//! Loads that read from stores of their own future (load buffering); `SeqCst` beyond `AcqRel`; `compare_exchange_weak`
//! that fails for no reason; interleavings with more preemptions than the model's bound. A model that passes is
//! necessary, not a proof.
//!
//! Nor an ordering that is too weak near a fence: loom's SeqCst fences order all that is on both sides, which a light
//! barrier does not. So in some models light barriers do nothing ([`unfenced`]), and on [`InOrder`] [`clocks`] that
//! ignore barriers judge accesses once more.
//!
//! # What loom sees too much of
//!
//! A store that races with a read-modify-write is left unordered with it, and a later read-modify-write may build on
//! either: a thread can miss its own store in its own next addition. No machine does that. It matters where the owner
//! of a word stores and goes on from there: [`TicketRef::init`](tenure::count::TicketRef::init), and a revocable reference
//! that moves on to another object while the one it kept is taken from it. Their models run on [`InOrder`], where a
//! store is a swap, which takes its place in the word's order when it runs. The price: an acquire of such a store also
//! acquires the releases before it. [`PointersInOrder`] is between the two: what a thread has is a pointer, and whether
//! it uses that an integer, which no other thread writes; so the flags may be late as on [`Loom`].
//!
//! # What loom overlooks
//!
//! Even without a bound loom does not try every interleaving: to choose where to switch threads it looks back at one
//! access to the word only. A copy of `Arc`'s counts whose downgrade does not wait for the lock fails in its smallest form;
//! with one more look at the strong count on either thread, loom finds no failure. So twins leave out what their flaw does not
//! need. And a load before a change, as in every compare-exchange loop, hides that another thread loaded the word
//! before: what that thread would do with a later load is not tried. On [`InOrder`] a load is a read-modify-write, of
//! which none hides another, so the free lists' models run on both machines.
//!
//! And it gives up on two threads that wait for a third in loops ("maximum number of branches"). So two downgrades that
//! meet the lock at once are not modelled.

use super::clocks::Access::{Change, Load, Store};
use super::clocks::{self, Step};
use super::torn::is_torn;
use super::weakening::effective;
use loom::cell::UnsafeCell;
use std::cell::Cell;
use std::ops::BitOr;
use std::sync::Weak;
use tenure::memory::{Atomic, Memory, Native, Ordering, Plain, Pointer, Resident, Threads};

/// The machine that explores interleavings. With `IN_ORDER` every access is a read-modify-write; with `SWAPS` stores of
/// pointers and 64-bit words are, at least.
pub(crate) enum Loom<const IN_ORDER: bool = false, const SWAPS: bool = IN_ORDER> {}

/// For models in which a store races with read-modify-writes, or in which loom has to try when a load comes. The one
/// whose [`clocks`] are kept.
pub(crate) type InOrder = Loom<true>;

/// For models in which only stores of pointers and 64-bit words race with read-modify-writes.
pub(crate) type PointersInOrder = Loom<false, true>;

// SAFETY: loom's atomics, and fences for barriers.
unsafe impl<const IN_ORDER: bool, const SWAPS: bool> Memory for Loom<IN_ORDER, SWAPS> {
    type AtomicU32 = Word<loom::sync::atomic::AtomicU32, IN_ORDER, IN_ORDER>;
    type AtomicU64 = Word<loom::sync::atomic::AtomicU64, IN_ORDER, SWAPS>;
    type Pointer<T> = Word<loom::sync::atomic::AtomicUsize, IN_ORDER, SWAPS>;
    type Plain<T> = Field<T>;

    // Two fences promise what the pair does: the first is before the other for all. Weakened, none.
    #[track_caller]
    fn light_barrier() {
        if effective("light_barrier", Ordering::SeqCst) == Ordering::SeqCst
            && !(SOME_PASS_BARRIERS_UNFENCED.get() && PASSES_BARRIERS_UNFENCED.with(Cell::get))
        {
            loom::sync::atomic::fence(Ordering::SeqCst);
        }
    }
    // Both answers, so that models on both machines go both ways.
    fn light_is_free() -> bool {
        !IN_ORDER && !IS_FENCED.get()
    }
    #[track_caller]
    fn free_light_barrier() {
        if Self::light_is_free() {
            Self::light_barrier();
        }
    }
    #[track_caller]
    fn heavy_barrier() {
        HEAVY_BARRIERS.with(|passed| passed.set(passed.get() + 1));
        if effective("heavy_barrier", Ordering::SeqCst) == Ordering::SeqCst {
            loom::sync::atomic::fence(Ordering::SeqCst);
        }
    }
    fn spin_hint() {
        // A yield tells loom that the loop waits: it runs other threads first, and the loop's load does not get the
        // same stale value forever.
        loom::thread::yield_now();
    }
    fn thread_word<R>(access: impl FnOnce(&Cell<*const ()>) -> R) -> Option<R> {
        Some(WORD.with(access))
    }
}

/// What loom is about to judge an access to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Memory,
    /// A plain field of a protocol: a list's link, a magazine's slots.
    Field,
    /// A counted value: see `stage::Value`.
    Value,
}

loom::thread_local! {
    static NUMBER: Cell<Option<usize>> = Cell::new(None);
    static WORD: Cell<*const ()> = Cell::new(core::ptr::null());
    static PASSES_BARRIERS_UNFENCED: Cell<bool> = Cell::new(false);
    static HEAVY_BARRIERS: Cell<u32> = Cell::new(0);
}

/// The calling thread's; a thread of a model has none before.
pub(crate) fn set_number(number: usize) {
    NUMBER.with(|own| own.set(Some(number)));
}

pub(crate) fn clear_number() {
    NUMBER.with(|own| own.set(None));
}

pub(crate) fn heavy_barriers() -> u32 {
    HEAVY_BARRIERS.with(Cell::get)
}

/// Runs a model on a machine on which light barriers are not free, though stores are late.
pub(crate) fn fenced(model: impl Fn()) {
    IS_FENCED.set(true);
    model();
    IS_FENCED.set(false);
}

/// Has the light barriers in `act` do nothing: such a barrier orders nothing for a thread that passes no heavy one, but
/// loom's fence does, and hides a store after it that asks for too little. For places where no heavy barrier needs the
/// light one.
pub(crate) fn unfenced<R>(act: impl FnOnce() -> R) -> R {
    SOME_PASS_BARRIERS_UNFENCED.set(true);
    PASSES_BARRIERS_UNFENCED.with(|unfenced| unfenced.set(true));
    let result = act();
    PASSES_BARRIERS_UNFENCED.with(|unfenced| unfenced.set(false));
    result
}

// SAFETY: models give each thread a number of its own.
unsafe impl<const IN_ORDER: bool, const SWAPS: bool> Threads for Loom<IN_ORDER, SWAPS> {
    fn thread() -> Option<usize> {
        NUMBER.with(Cell::get)
    }
    fn is_lost(_thread: usize) -> bool {
        false
    }
    fn yield_now() {
        loom::thread::yield_now();
    }
    // Models leave by themselves.
    fn at_exit(_resident: Weak<dyn Resident>) {}
}

thread_local! {
    // loom's threads are coroutines of one thread of the system, and switch only in atomic operations.
    /// In this test. loom is slow to say whether this thread does.
    static SOME_PASS_BARRIERS_UNFENCED: Cell<bool> = const { Cell::new(false) };
    static IS_FENCED: Cell<bool> = const { Cell::new(false) };
    static LAST_ACCESS: Cell<Access> = const { Cell::new(Access::Memory) };
    static ENDS_AT_FAILURE: Cell<bool> = const { Cell::new(false) };
}

/// From here on words of this test do nothing while a failed model unwinds through destructors.
pub(crate) fn end_at_failure() {
    ENDS_AT_FAILURE.set(true);
}

fn has_ended() -> bool {
    std::thread::panicking() && ENDS_AT_FAILURE.get()
}

/// Notes an access that loom is about to judge. What a failed model does while it unwinds is not judged.
fn note(access: Access) {
    if !std::thread::panicking() {
        LAST_ACCESS.set(access);
    }
}

/// What loom's panic was about.
pub(crate) fn last_access() -> Access {
    LAST_ACCESS.get()
}

/// An atomic whose memory can be freed.
pub(crate) struct Word<A, const IN_ORDER: bool, const SWAPS: bool> {
    atomic: A,
    memory: UnsafeCell<()>,
    made: Step,
    /// 1 from the drop on. Not loom's: the model's own knowledge, not the program's.
    freed: <Native as Memory>::AtomicU32,
}

// SAFETY: `A` is an atomic; `memory` is accessed through loom alone, for no longer than a call, and holds nothing.
unsafe impl<A: Sync, const I: bool, const S: bool> Sync for Word<A, I, S> {}

// `Word::drop` leaves bytes that still make sense: nothing in them has a destructor.
const _: () = assert!(!core::mem::needs_drop::<loom::sync::atomic::AtomicU64>());
const _: () = assert!(!core::mem::needs_drop::<UnsafeCell<()>>());

impl<A, const I: bool, const S: bool> Word<A, I, S> {
    fn holding(atomic: A) -> Self {
        let memory = UnsafeCell::new(());
        Self { atomic, memory, made: Step::next(), freed: Atomic::new(0) }
    }

    fn judge_exchange(
        &self,
        is_done: bool,
        change: clocks::Access,
        success: Ordering,
        failure: Ordering,
    ) {
        if is_done {
            self.judge(change, success);
        } else {
            self.judge(Load, failure);
        }
    }

    fn judge_put(&self, left: impl Into<u64>) {
        if I && !std::thread::panicking() {
            clocks::subtracted((&raw const self.atomic).addr(), left.into());
        }
    }

    fn judge(&self, access: clocks::Access, order: Ordering) {
        if I && !std::thread::panicking() {
            clocks::accessed((&raw const self.atomic).addr(), self.made, access, order);
        }
    }

    fn touch(&self) -> &A {
        note(Access::Memory);
        self.memory.with(|_| ());
        assert_eq!(self.freed.load(Ordering::Relaxed), 0, "use after free of a count");
        &self.atomic
    }
}

impl<A, const I: bool, const S: bool> Drop for Word<A, I, S> {
    fn drop(&mut self) {
        // A failed model unwinds through here, and loom is gone by then.
        if !std::thread::panicking() {
            note(Access::Memory);
            self.memory.with_mut(|_| ());
            assert_eq!(self.freed.fetch_add(1, Ordering::Relaxed), 0, "double free of a count");
            if I {
                clocks::freed((&raw const self.atomic).addr(), self.made);
            }
        }
    }
}

fn change(old: impl Into<u64>, new: impl Into<u64>) -> clocks::Access {
    Change { old: old.into(), new: new.into() }
}

macro_rules! word {
    ($atomic:ident, $int:ty) => {
        word! {
            $atomic, $int;
            fetch_add by wrapping_add, fetch_sub by wrapping_sub then judge_put, fetch_or by bitor;
            compare_exchange, compare_exchange_weak
        }
    };
    (
        $atomic:ident, $int:ty;
        $($fetch:ident by $change:ident $(then $judge:ident)?),*;
        $($exchange:ident),*
    ) => {
        impl<const IN_ORDER: bool, const SWAPS: bool> Atomic<$int>
            for Word<loom::sync::atomic::$atomic, IN_ORDER, SWAPS>
        {
            fn new(value: $int) -> Self {
                Self::holding(loom::sync::atomic::$atomic::new(value))
            }
            #[track_caller]
            fn load(&self, order: Ordering) -> $int {
                if has_ended() {
                    return 1;
                }
                let order = effective("load", order);
                let word = self.touch();
                let value = if IN_ORDER { word.fetch_add(0, order) } else { word.load(order) };
                self.judge(Load, order);
                value
            }
            #[track_caller]
            fn store(&self, value: $int, order: Ordering) {
                if has_ended() {
                    return;
                }
                let order = effective("store", order);
                if SWAPS {
                    self.touch().swap(value, order);
                } else {
                    self.touch().store(value, order);
                }
                self.judge(Store, order);
            }
            $(
                #[track_caller]
                fn $fetch(&self, value: $int, order: Ordering) -> $int {
                    if has_ended() {
                        return 1;
                    }
                    if is_torn(stringify!($fetch)) {
                        let old = Atomic::load(self, Ordering::Acquire);
                        self.store(old.$change(value), Ordering::Release);
                        return old;
                    }
                    let order = effective(stringify!($fetch), order);
                    let old = self.touch().$fetch(value, order);
                    let new = old.$change(value);
                    self.judge(change(old, new), order);
                    $(self.$judge(new);)?
                    old
                }
            )*
            $(
                #[track_caller]
                fn $exchange(
                    &self,
                    old: $int,
                    new: $int,
                    ok: Ordering,
                    fail: Ordering,
                ) -> Result<$int, $int> {
                    if has_ended() {
                        return Ok(old);
                    }
                    if is_torn(stringify!($exchange)) {
                        let found = Atomic::load(self, Ordering::Acquire);
                        if found != old {
                            return Err(found);
                        }
                        self.store(new, Ordering::Release);
                        return Ok(old);
                    }
                    let ok = effective(stringify!($exchange), ok);
                    let fail = effective(concat!(stringify!($exchange), " failing"), fail);
                    let result = self.touch().$exchange(old, new, ok, fail);
                    self.judge_exchange(result.is_ok(), change(old, new), ok, fail);
                    result
                }
            )*
        }
    };
}

word!(AtomicU32, u32);
word!(AtomicU64, u64);

/// Addresses, so that a load can be an addition of nothing: loom stumbles over a compare-exchange that fails in its
/// place ("assertion `left != right` failed" on the order of two stores).
impl<T, const IN_ORDER: bool, const SWAPS: bool> Pointer<T>
    for Word<loom::sync::atomic::AtomicUsize, IN_ORDER, SWAPS>
{
    fn new(value: *mut T) -> Self {
        Self::holding(loom::sync::atomic::AtomicUsize::new(value.expose_provenance()))
    }
    #[track_caller]
    fn load(&self, order: Ordering) -> *mut T {
        if has_ended() {
            return core::ptr::null_mut();
        }
        let order = effective("load", order);
        let word = self.touch();
        let address = if IN_ORDER { word.fetch_add(0, order) } else { word.load(order) };
        self.judge(Load, order);
        core::ptr::with_exposed_provenance_mut(address)
    }
    #[track_caller]
    fn store(&self, value: *mut T, order: Ordering) {
        if has_ended() {
            return;
        }
        let order = effective("store", order);
        let address = value.expose_provenance();
        // A Relaxed one stays what it is on `PointersInOrder`: a swap would pass on what was released before.
        if IN_ORDER || SWAPS && order != Ordering::Relaxed {
            self.touch().swap(address, order);
        } else {
            self.touch().store(address, order);
        }
        self.judge(Store, order);
    }
    #[track_caller]
    fn compare_exchange(
        &self,
        old: *mut T,
        new: *mut T,
        ok: Ordering,
        fail: Ordering,
    ) -> Result<*mut T, *mut T> {
        if has_ended() {
            return Ok(old);
        }
        if is_torn("compare_exchange") {
            let found = self.load(Ordering::Acquire);
            if found != old {
                return Err(found);
            }
            self.store(new, Ordering::Release);
            return Ok(old);
        }
        let ok = effective("compare_exchange", ok);
        let fail = effective("compare_exchange failing", fail);
        let (old, new) = (old.addr(), new.expose_provenance());
        let result = self.touch().compare_exchange(old, new, ok, fail);
        self.judge_exchange(result.is_ok(), change(0_u32, 0_u32), ok, fail);
        result
            .map(core::ptr::with_exposed_provenance_mut)
            .map_err(core::ptr::with_exposed_provenance_mut)
    }
}

/// A plain field, whose readers and writers loom keeps apart.
pub(crate) struct Field<T> {
    value: UnsafeCell<T>,
    made: Step,
    access: Access,
}

impl<T> Field<T> {
    pub(crate) fn holding(value: T, access: Access) -> Self {
        Self { value: UnsafeCell::new(value), made: Step::next(), access }
    }

    fn judge(&self, writes: bool) {
        note(self.access);
        if !std::thread::panicking() {
            clocks::field((&raw const self.value).addr(), self.made, writes);
        }
    }
}

impl<T> Plain<T> for Field<T> {
    fn new(value: T) -> Self {
        Self::holding(value, Access::Field)
    }
    fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        self.judge(false);
        self.value.with(read)
    }
    fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        self.judge(true);
        self.value.with_mut(write)
    }
}

mod calibration {
    use super::*;
    use crate::stage::Failure::{FieldRace, MemoryRace, UseAfterFree, ValueRace};
    use crate::stage::{ALL, Heap, Value, fails, passes, spawn};

    type Flag = <Loom as Memory>::AtomicU32;

    /// A thread leaves with `leave`; this one frees when `look` finds that.
    fn free_when_left(leave: Ordering, look: Ordering) {
        let flag = Heap::new(Flag::new(0));
        let thread = {
            let flag = flag.clone();
            spawn(move || flag.store(1, leave))
        };
        if flag.load(look) == 1 {
            flag.free();
        }
        thread.join().unwrap();
    }

    #[test]
    fn a_free_that_acquires_a_released_last_touch_passes() {
        passes(ALL, || free_when_left(Ordering::Release, Ordering::Acquire));
    }

    #[test]
    fn a_free_after_a_relaxed_last_touch_is_a_race() {
        fails(ALL, MemoryRace, || free_when_left(Ordering::Relaxed, Ordering::Acquire));
    }

    #[test]
    fn a_free_that_does_not_acquire_the_last_touch_is_a_race() {
        fails(ALL, MemoryRace, || free_when_left(Ordering::Release, Ordering::Relaxed));
    }

    #[test]
    fn a_use_that_is_ordered_after_the_free_is_caught() {
        fails(ALL, UseAfterFree, || {
            let flag = Heap::new(Flag::new(0));
            let freer = flag.clone();
            spawn(move || freer.free()).join().unwrap();
            flag.load(Ordering::Relaxed);
        });
    }

    #[test]
    fn a_second_free_is_caught() {
        fails(ALL, UseAfterFree, || {
            let flag = Heap::new(Flag::new(0));
            flag.free();
            flag.free();
        });
    }

    #[test]
    fn a_look_that_nothing_orders_before_the_destruction_is_a_race() {
        fails(ALL, ValueRace, || {
            let value = Heap::new(Value::new(1));
            let holder = value.clone();
            let thread = spawn(move || holder.look());
            value.write(2);
            thread.join().unwrap();
        });
    }

    #[test]
    fn a_race_on_a_field_of_a_protocol_is_not_taken_for_one_on_a_value() {
        fails(ALL, FieldRace, || {
            let field = Heap::new(Field::new(1));
            let other = field.clone();
            // SAFETY: loom panics where the other thread uses the field meanwhile.
            let thread = spawn(move || other.with_mut(|field| unsafe { *field = 2 }));
            // SAFETY: as above.
            field.with_mut(|field| unsafe { *field = 3 });
            thread.join().unwrap();
        });
    }
}
