//! [`Simulated`]: the simulated machine as a [`Memory`].
//!
//! Words have the size, alignment and values of real ones, so structs over `Simulated` have the layouts of those over
//! `Native`, and their addresses decide which members share a line. In a simulation an access takes its time and then
//! effect, in one order for all CPUs; outside (while objects are made, and after the end) it is an ordinary access.
//!
//! Simulated memory is sequentially consistent: orderings cost no simulated time, and wrong ones are for a model
//! checker. They are kept for words that the host's threads share outside a simulation.

use crate::engine::context::{self, FiberContext};
use crate::heat::HeatKind;
use std::rc::Rc;
use std::sync::Weak;
use tenure::memory::{
    Atomic, Memory, Native, Ordering, Plain, PlainCell, Pointer, Resident, Threads,
};

/// The memory of a [`Simulation`](crate::Simulation).
///
/// # Example
///
/// Code over any memory runs on it, in a simulation and outside:
///
/// ```
/// use tenure::memory::{Atomic, Memory, Ordering::Relaxed};
/// use tenure_sim::Simulated;
///
/// let word = <Simulated as Memory>::AtomicU64::new(1);
/// assert_eq!(word.fetch_add(1, Relaxed), 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Simulated {}

// SAFETY: one thread of the simulation runs at a time, and its accesses take effect in simulated order.
unsafe impl Memory for Simulated {
    type AtomicU32 = SimulatedWord<u32>;
    type AtomicU64 = SimulatedWord<u64>;
    type Pointer<T> = SimulatedLink<T>;
    type Plain<T> = SimulatedField<T>;

    /// Nothing: simulated memory is in order.
    fn light_barrier() {}
    fn light_is_free() -> bool {
        true
    }
    /// Costs as much as [`Cpu::membarrier`](crate::Cpu::membarrier); nothing outside a simulation.
    fn heavy_barrier() {
        if let Some(context) = context::current() {
            context.membarrier();
        }
    }

    fn spin_hint() {
        if let Some(context) = context::current() {
            let cpu = context.running();
            context.with(|engine| engine.pause(cpu));
        } else {
            Native::spin_hint();
        }
    }
}

/// A simulated thread's number is its CPU's.
// SAFETY: the simulation numbers its threads, and loses none. (Two simulations at once must share nothing.)
unsafe impl Threads for Simulated {
    fn thread() -> Option<usize> {
        context::current().map(|context| context.running())
    }
    fn is_lost(_thread: usize) -> bool {
        false
    }
    fn yield_now() {
        Self::spin_hint();
    }
    /// Nothing: simulated threads do not end before the simulation does.
    fn at_exit(_resident: Weak<dyn Resident>) {}
}

/// An integer that a word can hold.
pub trait Int: Copy + Eq + 'static + sealed::Sealed {
    /// The word of the real machine.
    type Native: Atomic<Self>;
}

impl Int for u32 {
    type Native = <Native as Memory>::AtomicU32;
}
impl Int for u64 {
    type Native = <Native as Memory>::AtomicU64;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

/// Spends the time of an access to all of `at`, in a simulation.
fn access<T>(at: &T, kind: HeatKind) -> Option<Rc<FiberContext>> {
    let context = context::current().filter(|_| size_of::<T>() > 0)?;
    context.access((&raw const *at).addr(), size_of::<T>(), kind);
    Some(context)
}

/// An atomic integer in simulated memory, with the real one's layout.
///
/// # Cost
///
/// In a simulation: the way of its line, if the core does not have it, and [`hit`](crate::machine::Latency::hit) for a
/// load or store, [`rmw`](crate::machine::AtomicCost::rmw) for everything else, a failed compare-exchange included.
/// Outside, and while the thread panics: none.
#[repr(transparent)]
pub struct SimulatedWord<T: Int>(T::Native);

impl<T: Int> SimulatedWord<T> {
    pub(crate) fn address(&self) -> usize {
        (&raw const *self).addr()
    }
}

impl<T: Int> Atomic<T> for SimulatedWord<T> {
    fn new(value: T) -> Self {
        Self(T::Native::new(value))
    }
    fn load(&self, order: Ordering) -> T {
        access(self, HeatKind::Load);
        self.0.load(order)
    }
    fn store(&self, value: T, order: Ordering) {
        access(self, HeatKind::Store);
        self.0.store(value, order);
    }
    fn fetch_add(&self, value: T, order: Ordering) -> T {
        access(self, HeatKind::Add);
        self.0.fetch_add(value, order)
    }
    fn fetch_sub(&self, value: T, order: Ordering) -> T {
        access(self, HeatKind::Add);
        self.0.fetch_sub(value, order)
    }
    fn fetch_or(&self, value: T, order: Ordering) -> T {
        access(self, HeatKind::Add);
        self.0.fetch_or(value, order)
    }
    fn compare_exchange(
        &self,
        current: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<T, T> {
        let context = access(self, HeatKind::Exchange);
        let result = self.0.compare_exchange(current, new, success, failure);
        if let (Err(_), Some(context)) = (&result, context) {
            let cpu = context.running();
            context.with(|engine| engine.count_failure(cpu, self.address(), size_of::<T>()));
        }
        result
    }
    /// Fails only if the value differs.
    fn compare_exchange_weak(
        &self,
        current: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<T, T> {
        self.compare_exchange(current, new, success, failure)
    }
}

impl<T: Int + std::fmt::Debug> std::fmt::Debug for SimulatedWord<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Word").field(&self.0.load(Ordering::Relaxed)).finish()
    }
}

/// An atomic pointer in simulated memory, at the cost of a [`SimulatedWord`].
#[derive(Debug)]
#[repr(transparent)]
pub struct SimulatedLink<T>(<Native as Memory>::Pointer<T>);

impl<T> Pointer<T> for SimulatedLink<T> {
    fn new(value: *mut T) -> Self {
        Self(Pointer::new(value))
    }
    fn load(&self, order: Ordering) -> *mut T {
        access(self, HeatKind::Load);
        self.0.load(order)
    }
    fn store(&self, value: *mut T, order: Ordering) {
        access(self, HeatKind::Store);
        self.0.store(value, order);
    }
    fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        access(self, HeatKind::Exchange);
        self.0.compare_exchange(current, new, success, failure)
    }
}

/// A field in simulated memory without atomics.
///
/// Reading or writing costs one load or store on each line that the field lies on.
#[derive(Debug)]
#[repr(transparent)]
pub struct SimulatedField<T>(PlainCell<T>);

impl<T> Plain<T> for SimulatedField<T> {
    fn new(value: T) -> Self {
        Self(PlainCell::new(value))
    }
    fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        access(self, HeatKind::Load);
        self.0.with(read)
    }
    fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        access(self, HeatKind::Store);
        self.0.with_mut(write)
    }
}
