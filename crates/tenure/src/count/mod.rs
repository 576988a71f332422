//! Reference counts: how many hold an object, and who is the last to let go.
//!
//! | count | bytes | get | put | put asks for |
//! |---|---|---|---|---|
//! | [`RcuRef`] | 4 | one unconditional add | one subtraction; the last two operations | memory that stays readable ([`Readable`]) |
//! | [`TicketRef`] | 8 | one unconditional add | one subtraction; the last two operations | nothing |
//!
//! *Get* takes a reference if the object still lives, *put* gives one back and says whether it was the last
//! ([`RefCount`]). Most programs use a compare-exchange loop today (`Weak::upgrade` of std, `refcount_inc_not_zero` of
//! Linux before 6.4), in which N cores that retry on one word cost O(N²). It is here as the hidden
//! `IncNotZero`: baseline of the benchmarks, oracle of the tests.
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | revive | a get that finds no reference left, and no verdict yet |
//! | verdict | the decision who destroys the object: the compare-exchange to `DEAD` |
//! | candidate | a put that took the last reference and has not learned the verdict |
//! | proof, [`Readable`] | what a put asks for, as an argument, if memory has to stay readable |
//! | grace period | the time until every guard that existed at a moment is gone |
//!
//! # Whose memory is it?
//!
//! A count lives in the object that it counts, so that memory must be readable during every operation. A reference
//! ensures that. Two moments have none:
//!
//! - **get** of an object that was just found, in a map or through a weak pointer. The map's lock, a guard of an epoch
//!   or hazard scheme, or a weak count has to keep the memory readable during the call.
//! - **the end of put**. `TicketRef` touches nothing after it has given up its claim. `RcuRef` subtracts, then settles
//!   the verdict in a second operation; in between, another thread may revive the object, put it, win the verdict and
//!   free the memory. Hence its put takes a [`Readable`].
//!
//! # Orderings
//!
//! A get is Relaxed: the way to the object orders it. `get_acquire` is for objects in type-stable memory, found before
//! they are initialised. A put is Release, and the verdict, which is Acquire, pairs with every earlier one: the
//! destroyer sees all that any holder did.
//!
//! # In a global allocator
//!
//! A global allocator may use everything here: counts allocate nothing. If an operation finds a fault, the
//! [hook](crate::fault) runs inside the allocator.
//!
//! # Misuse
//!
//! An unused outcome is a warning: a failed get gave no reference, and the last put is a duty.
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! # fn main() {
//! # let count = tenure::count::TicketRef::new();
//! count.get(); // error: unused `GetResult` that must be used
//! # }
//! ```
//! ```compile_fail
//! #![deny(unused_must_use)]
//! # fn main() {
//! # let count = tenure::count::TicketRef::new();
//! count.put(); // error: unused `PutResult` that must be used
//! # }
//! ```
//! ```
//! #![deny(unused_must_use)]
//! # fn main() {
//! # let count = tenure::count::TicketRef::new();
//! let _get = count.get();
//! let _put = count.put();
//! # }
//! ```
//!
//! A count that overflows saturates, and its object is never freed. A dead count stays dead, however often it is put or
//! taken. Both are reported to [`fault`](crate::fault), which says what no count can see.
//!
//! # Processors
//!
//! "One add" is one instruction on x86-64 (`lock xadd`), AArch64 with LSE (`ldadd`) and RISC-V (`amoadd`). Elsewhere
//! (AArch64 without LSE, 32-bit Arm, the 64-bit count on 32-bit x86) it is a short loop, and gains less.

#[macro_use]
mod delegate;
mod counts;
mod inc_not_zero;
mod isolated;
mod rcuref;
mod readable;
#[cfg(target_has_atomic = "64")]
mod ticket;
mod zone;

pub use counts::RcuRef;
#[cfg(target_has_atomic = "64")]
pub use counts::TicketRef;
pub use readable::{KeepsReadable, Readable};
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
pub(crate) use ticket::Unsettled;
#[doc(hidden)]
pub use zone::{DEAD, MAXREF, NOREF, ONEREF, RELEASED, SATURATED};

/// The same on any machine, and their baseline: for benchmarks, models and simulators.
#[doc(hidden)]
pub mod generic {
    pub use super::inc_not_zero::IncNotZero;
    pub use super::rcuref::RcuRef;
    #[cfg(target_has_atomic = "64")]
    pub use super::ticket::TicketRef;
}

use core::num::NonZeroU16;

mod sealed {
    /// A count with exactly one last put, after which every get fails.
    pub trait Sealed {}
}

/// The outcome of a get.
#[must_use = "a get that failed gave no reference"]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GetResult {
    /// The caller owns the references it asked for, and owes as many puts.
    Acquired,
    /// The object is dead. The caller owns nothing and must not touch the object.
    Dead,
}

impl GetResult {
    /// Whether the references were acquired.
    #[must_use]
    #[inline(always)]
    pub fn is_acquired(self) -> bool {
        self == GetResult::Acquired
    }
}

/// The outcome of a put.
#[must_use = "the caller that is told that it was the last must destroy the object"]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PutResult {
    /// Others hold the object, or another caller destroys it. The caller must not touch it again.
    StillHeld,
    /// That was the last reference: the caller destroys the object, now. Exactly one caller gets this.
    Last,
}

impl PutResult {
    /// Whether the caller has to destroy the object.
    #[must_use]
    #[inline(always)]
    pub fn is_last(self) -> bool {
        self == PutResult::Last
    }
}

/// What the reference counts have in common, for generic code. Each has these as inherent methods too, with their
/// costs.
///
/// ```
/// use tenure::count::{GetResult, PutResult, RefCount, TicketRef};
///
/// /// Takes a reference and gives it back.
/// fn visit<'w, C: RefCount>(count: &C, readable: C::Readable<'w>) -> bool {
///     match count.get() {
///         GetResult::Acquired => {
///             // ... read the object ...
///             assert_eq!(count.put(readable), PutResult::StillHeld);
///             true
///         }
///         GetResult::Dead => false,
///     }
/// }
///
/// assert!(visit(&TicketRef::new(), ()));
/// ```
///
/// Sealed: memory is freed on a count's word, so no other type implements it.
///
/// ```compile_fail,E0277
/// use std::num::NonZeroU16;
/// use tenure::count::{GetResult, PutResult, RefCount};
///
/// struct Liar;
/// impl RefCount for Liar { // error: `Liar` is no count of this crate
///     type Readable<'w> = ();
///     const NAME: &'static str = "Liar";
///     const NEEDS_GRACE_PERIOD: bool = false;
///     fn new_in() -> Self { Self }
///     fn get(&self) -> GetResult { GetResult::Acquired }
///     fn get_acquire(&self) -> GetResult { GetResult::Acquired }
///     fn get_many(&self, _: NonZeroU16) -> GetResult { GetResult::Acquired }
///     fn put(&self, _: ()) -> PutResult { PutResult::Last }
///     fn put_many(&self, _: NonZeroU16, _: ()) -> PutResult { PutResult::Last }
///     fn put_last(&self, _: ()) -> PutResult { PutResult::Last }
///     fn read(&self) -> u32 { 1 }
///     fn is_dead(&self) -> bool { false }
/// }
/// ```
pub trait RefCount: sealed::Sealed + Send + Sync + Sized {
    /// What a put asks of its caller: `()`, or the proof that memory stays [`Readable`].
    type Readable<'w>: Copy;

    /// The name of the type, for tables and reports.
    const NAME: &'static str;

    /// Whether a put may touch the count after another thread's put was the last. The count's memory must then outlive
    /// every proof of that moment.
    const NEEDS_GRACE_PERIOD: bool;

    /// A count with one reference, which the caller owns.
    fn new_in() -> Self;
    /// Takes a reference, unless the object is dead.
    fn get(&self) -> GetResult;
    /// [`get`](Self::get) with Acquire, for objects in type-stable memory.
    fn get_acquire(&self) -> GetResult;
    /// Takes `n` references at once, unless the object is dead.
    fn get_many(&self, n: NonZeroU16) -> GetResult;
    /// Gives a reference back.
    fn put(&self, readable: Self::Readable<'_>) -> PutResult;
    #[doc(hidden)]
    /// [`put`](Self::put) with a guard that `enter` makes, if the count asks for one.
    fn put_by<R: KeepsReadable>(&self, enter: impl FnOnce() -> R) -> PutResult;
    /// [`put_by`](Self::put_by) where the memory may be freed before the call returns: makes no reference to the
    /// padding of a [`CachePadded`](crate::cache_line::CachePadded) count.
    ///
    /// # Safety
    ///
    /// The count can be read up to the put that the call makes.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn put_raw_by<R: KeepsReadable>(
        this: *const Self,
        enter: impl FnOnce() -> R,
    ) -> PutResult {
        // SAFETY: readable up to the put (caller). It is one atomic word, so the reference may dangle after that.
        unsafe { &*this }.put_by(enter)
    }
    /// Gives `n` references back at once.
    fn put_many(&self, n: NonZeroU16, readable: Self::Readable<'_>) -> PutResult;
    /// Gives back a reference that is probably the last: one atomic operation if so.
    fn put_last(&self, readable: Self::Readable<'_>) -> PutResult;
    /// The number of references at some moment of the call; 0 where the last one is gone.
    fn read(&self) -> u32;
    /// Whether every get from now on fails. Writes nothing.
    fn is_dead(&self) -> bool;
}
