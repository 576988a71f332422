//! The machine an algorithm runs on: a trait over atomics, for instruments.
//!
//! Every algorithm of this crate is written once, over the trait [`Memory`]:
//!
//! | machine | where | what for |
//! |---|---|---|
//! | [`Native`] | here | the atomics of `core`, at no cost: `tests/codegen` compares the machine code |
//! | `Loom` | this crate's tests | a model checker that explores interleavings |
//! | `Simulated` | the crate `tenure-sim` | times the shipping code on machines that are not at hand |
//!
//! Plain fields ([`Plain`]) are part of a machine because false sharing is made of plain reads, which a simulator has
//! to see. A machine that tells its threads apart is [`Threads`].
//!
//! Types that users write hide the parameter, as std's collections hide their allocator: `RcuRef::new()` exists for
//! [`Native`] alone, `RcuRef::<M>::new_in()` for every machine.

mod native;
#[cfg(feature = "alloc")]
mod numbers;
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
mod patience;
#[cfg(feature = "alloc")]
mod threads;

use core::cell::Cell;
pub use core::sync::atomic::Ordering;
pub(crate) use native::FnSlot;
#[cfg(feature = "alloc")]
pub(crate) use native::by_register;
#[cfg(feature = "registry")]
pub(crate) use native::forks;
pub use native::{Native, PlainCell, use_full_fences};
#[cfg(feature = "alloc")]
#[doc(hidden)]
pub use numbers::{Claim, Numbers};
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
pub(crate) use patience::Patience;
#[cfg(feature = "alloc")]
pub use threads::{Resident, Threads};

/// A machine with shared memory. Implementors are marker types.
///
/// # Safety
///
/// The types and functions do what their documentation, and that of [`Atomic`], [`Pointer`] and [`Plain`], says: a
/// loaded pointer was stored before, say. Those three traits are safe to implement, since algorithms rely on them only
/// through a `Memory`.
///
/// ```compile_fail,E0200
/// use tenure::memory::{Memory, Native};
///
/// enum Mine {}
/// impl Memory for Mine { // error: requires an `unsafe impl` declaration
///     type AtomicU32 = <Native as Memory>::AtomicU32;
///     type AtomicU64 = <Native as Memory>::AtomicU64;
///     type Pointer<T> = <Native as Memory>::Pointer<T>;
///     type Plain<T> = <Native as Memory>::Plain<T>;
///     fn light_barrier() {}
///     fn heavy_barrier() {}
///     fn spin_hint() {}
/// }
/// ```
///
/// # Example
///
/// An algorithm over any machine, run on the real one:
///
/// ```
/// use tenure::memory::{Atomic, Memory, Native, Ordering};
///
/// struct Hits<M: Memory>(M::AtomicU64);
///
/// impl<M: Memory> Hits<M> {
///     fn hit(&self) -> u64 {
///         // Relaxed: a statistic; nothing is published through it.
///         self.0.fetch_add(1, Ordering::Relaxed) + 1
///     }
/// }
///
/// let hits = Hits::<Native>(Atomic::new(0));
/// assert_eq!(hits.hit(), 1);
/// ```
pub unsafe trait Memory: Sized + 'static {
    /// A 32-bit atomic integer.
    type AtomicU32: Atomic<u32>;
    /// A 64-bit atomic integer.
    #[cfg(target_has_atomic = "64")]
    type AtomicU64: Atomic<u64>;
    /// An atomic pointer.
    type Pointer<T>: Pointer<T>;
    /// A field that threads share and access without atomics.
    type Plain<T>: Plain<T>;

    /// The cheap side of an asymmetric pair of barriers.
    ///
    /// This one and a [`heavy_barrier`](Self::heavy_barrier) promise what two SeqCst fences do: of two threads that
    /// each store a word, pass their barrier and load the other's word, at least one sees the other's store. Two light
    /// barriers promise nothing.
    ///
    /// Cost: a compiler fence if the system can interrupt the other threads, a full fence otherwise.
    fn light_barrier();
    /// Whether light barriers cost nothing here. The answer is always the same.
    ///
    /// For fast paths that use a [`free_light_barrier`](Self::free_light_barrier) without asking again, because some
    /// word never has the value they want where the answer is `false`.
    #[must_use]
    fn light_is_free() -> bool {
        false
    }
    /// A [`light_barrier`](Self::light_barrier) where those are [free](Self::light_is_free); elsewhere it promises
    /// nothing.
    fn free_light_barrier() {}
    /// The dear side. At least a SeqCst fence.
    fn heavy_barrier();

    /// Says that this thread waits for another.
    fn spin_hint();

    /// Calls `access` with a word of the calling thread's own: null, or what the thread put there last.
    ///
    /// `None`, without a call, on [`Native`] without the feature `std`.
    fn thread_word<R>(access: impl FnOnce(&Cell<*const ()>) -> R) -> Option<R> {
        let _ = access;
        None
    }
}

/// An atomic integer of a [`Memory`]. The methods mean what they mean in `core::sync::atomic`; arithmetic wraps around.
pub trait Atomic<T: Copy>: Send + Sync {
    /// An atomic that holds `value`.
    fn new(value: T) -> Self;
    /// Reads the value.
    fn load(&self, order: Ordering) -> T;
    /// Writes the value.
    fn store(&self, value: T, order: Ordering);
    /// Adds, and returns the value from before.
    fn fetch_add(&self, value: T, order: Ordering) -> T;
    /// Subtracts, and returns the value from before.
    fn fetch_sub(&self, value: T, order: Ordering) -> T;
    /// Sets the bits of `value`, and returns the value from before.
    fn fetch_or(&self, value: T, order: Ordering) -> T;
    /// Writes `new` if the value is `current`.
    ///
    /// # Errors
    ///
    /// The value that was found.
    fn compare_exchange(
        &self,
        current: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<T, T>;
    /// As [`compare_exchange`](Self::compare_exchange), but may fail although the value is `current`.
    ///
    /// # Errors
    ///
    /// The value that was found.
    fn compare_exchange_weak(
        &self,
        current: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<T, T>;
}

/// An atomic pointer of a [`Memory`]. The methods mean what they mean in `core::sync::atomic`.
pub trait Pointer<T>: Send + Sync {
    /// A pointer that holds `value`.
    fn new(value: *mut T) -> Self;
    /// Reads the pointer.
    fn load(&self, order: Ordering) -> *mut T;
    /// Writes the pointer.
    fn store(&self, value: *mut T, order: Ordering);
    /// Writes `new` if the pointer is `current`.
    ///
    /// # Errors
    ///
    /// The pointer that was found.
    fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T>;
}

/// A field that several threads access without atomics, under a rule that keeps them apart: through raw pointers, so
/// that a model checker or a simulator sees when an access begins and ends.
pub trait Plain<T> {
    /// A field that holds `value`.
    fn new(value: T) -> Self;
    /// Calls `read` with a pointer that it may read from. Sound while no other thread writes the field.
    fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R;
    /// Calls `write` with a pointer that it may write through. Sound while no other thread reads or writes the field.
    fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R;

    /// Copies the value out.
    ///
    /// # Safety
    ///
    /// No other thread may write the field during the call.
    #[inline]
    unsafe fn read(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: the caller keeps writers away, so the value is initialised and at rest.
        self.with(|value| unsafe { *value })
    }
}
