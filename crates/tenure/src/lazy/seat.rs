//! [`Seat`], and the guards of what a seat uses: [`Active`] and [`LazyGuard`].

use super::context::upgrade;
use super::guard::guard;
use super::protocol::{Block, Core, Slot};
use super::shootdown::Words;
use super::{Context, Scheme, Shootdown};
use crate::memory::{Memory, Native, Threads};
use crate::shared::Shared;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// A worker's place in a [`Domain`](super::Domain): uses one object at a time, and keeps the last one.
///
/// A seat is not tied to a thread. It may move to another one, also while it uses an object, but one thread uses it at a
/// time. Dropping it frees its place and lets go of what it keeps. A thread that ends without dropping its seat blocks
/// nobody: what the seat keeps is taken from it as from any other.
///
/// ```
/// use tenure::lazy::Domain;
///
/// let domain = Domain::new();
/// let context = domain.context(String::from("tenant 7"));
///
/// let mut seat = domain.seat();
/// for _request in 0..1000 {
///     let tenant = seat.enter(&context); // after the first time: no line of other threads is written
///     assert_eq!(*tenant, "tenant 7");
/// } // the guard's drop leaves; the seat keeps the tenant without counting it
///
/// assert!(seat.lazy().is_some());
/// drop(context); // the last context: the value is dropped here, though the seat kept it
/// assert!(seat.lazy().is_none());
/// ```
pub struct Seat<T, S: Scheme<M> = Shootdown, M: Memory = Native> {
    /// Of the domain, which does not move it.
    slot: NonNull<Slot<T, S, M>>,
    number: u32,
    core: Shared<Core<T, S, M>, M>,
}

// SAFETY: the slot is used by whoever has the seat; it may come to drop the value.
unsafe impl<T: Send + Sync, S: Scheme<M>, M: Memory> Send for Seat<T, S, M> {}
// SAFETY: nothing is done through a shared reference to a seat.
unsafe impl<T: Send + Sync, S: Scheme<M>, M: Memory> Sync for Seat<T, S, M> {}

impl<T, S: Scheme<M>, M: Memory> Seat<T, S, M> {
    pub(crate) fn take(core: Shared<Core<T, S, M>, M>) -> Self {
        let (number, slot) = core.take();
        Self { slot: NonNull::from(slot), number, core }
    }

    /// What the scheme has in the slot.
    #[inline(always)]
    pub(crate) fn slot(&self) -> &S::Slot<T> {
        // SAFETY: slots stay where they are as long as the domain, which `core` keeps.
        &unsafe { self.slot.as_ref() }.scheme
    }

    /// Uses the object of `context`. Dropping the guard leaves it; the seat keeps it then.
    ///
    /// The guard borrows the seat and not the context. So enter under the lock of your table, without a clone, and release
    /// the lock; the context may even be dropped meanwhile, and if it is the last one the value stays until the guard is
    /// gone. The seat no longer keeps the object that it had before, unless it is the same.
    ///
    /// Cost: see [the table](super#what-it-costs). A seat that is taken for this one use costs more than the reference
    /// count that it saves.
    ///
    /// # Panics
    ///
    /// If the context is of another domain. With [`Mask`](super::Mask) and [`Counted`](super::Counted) also if this was
    /// the last to keep the object before, and the destructor of that one panics.
    #[inline(always)]
    #[track_caller]
    pub fn enter<'s>(&'s mut self, context: &Context<T, S, M>) -> Active<'s, T, S, M> {
        let block = context.block();
        if S::has(self.slot(), block) {
            // SAFETY: `&mut self` is the owner, and `context` lasts for the call.
            unsafe { S::resume(self.slot(), block) };
        } else {
            self.switch(context);
        }
        // SAFETY: it is in use now, and the guard borrows the seat.
        Active(unsafe { InUse::new(self.slot(), block) })
    }

    #[inline(never)]
    #[track_caller]
    fn switch(&mut self, context: &Context<T, S, M>) {
        assert!(context.is_of(&self.core), "this Context is of another Domain than this Seat");
        // SAFETY: as in `enter`; it is of this domain.
        unsafe { S::switch(self.slot(), self.number, context.block()) };
    }

    /// Uses what the seat kept when it left it, if that is still there: no context is needed.
    ///
    /// `None` if the seat never entered anything, was [cleared](Self::clear), or the last context is gone. (With
    /// [`Mask`](super::Mask) and [`Counted`](super::Counted) what a seat keeps is there as long as it keeps it.)
    ///
    /// `Some` says that there is a context *somewhere*, and not that the object is still in your table: a job that is under
    /// way may have one. If it matters, have the object say that it was removed, and ask it.
    ///
    /// ```
    /// use tenure::lazy::Domain;
    ///
    /// let domain = Domain::new();
    /// let context = domain.context(1);
    /// let mut seat = domain.seat();
    /// assert!(seat.lazy().is_none());
    /// drop(seat.enter(&context));
    /// assert_eq!(*seat.lazy().unwrap(), 1);
    /// ```
    #[inline(always)]
    pub fn lazy(&mut self) -> Option<LazyGuard<'_, T, S, M>> {
        // SAFETY: `&mut self` is the owner.
        let block = unsafe { S::lazy(self.slot()) }?;
        // SAFETY: as in `enter`.
        Some(LazyGuard(unsafe { InUse::new(self.slot(), block) }))
    }

    /// Uses what the seat kept, if `is_it` says so; otherwise enters what `find` finds.
    ///
    /// For workers whose next request is mostly for the same object: the table is not asked, and no context is cloned,
    /// unless it is for another one. `None` if `find` finds nothing.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use std::sync::Mutex;
    /// use tenure::lazy::{Active, Context, Domain, Seat};
    ///
    /// struct Tenant { id: u64, name: String }
    ///
    /// struct Worker<'t> {
    ///     tenants: &'t Mutex<HashMap<u64, Context<Tenant>>>,
    ///     seat: Seat<Tenant>,
    /// }
    ///
    /// impl Worker<'_> {
    ///     fn tenant(&mut self, id: u64) -> Option<Active<'_, Tenant>> {
    ///         let find = || self.tenants.lock().unwrap().get(&id).cloned();
    ///         self.seat.lazy_or(|tenant| tenant.id == id, find)
    ///     }
    /// }
    ///
    /// let domain = Domain::new();
    /// let acme = domain.context(Tenant { id: 7, name: "acme".into() });
    /// let tenants = Mutex::new(HashMap::from([(7, acme)]));
    /// let mut worker = Worker { tenants: &tenants, seat: domain.seat() };
    /// assert_eq!(worker.tenant(7).unwrap().name, "acme"); // locks, clones, enters
    /// assert_eq!(worker.tenant(7).unwrap().name, "acme"); // plain loads and stores
    ///
    /// let gone = tenants.lock().unwrap().remove(&7);
    /// drop(gone); // after the lock: this may run the tenant's destructor
    /// assert!(worker.tenant(7).is_none());
    /// ```
    #[inline]
    pub fn lazy_or(
        &mut self,
        is_it: impl FnOnce(&T) -> bool,
        find: impl FnOnce() -> Option<Context<T, S, M>>,
    ) -> Option<Active<'_, T, S, M>> {
        // SAFETY: `&mut self` is the owner.
        if let Some(block) = unsafe { S::lazy(self.slot()) } {
            // SAFETY: as in `enter`. It is dropped before the seat is used again.
            let kept = Active(unsafe { InUse::new(self.slot(), block) });
            if is_it(&kept) {
                return Some(kept);
            }
        }
        Some(self.enter(&find()?))
    }

    /// Lets go of what the seat keeps.
    ///
    /// Call it before you drop the last context of the object yourself: the drop then needs no barrier. With
    /// [`Mask`](super::Mask) and [`Counted`](super::Counted) call it before the worker sleeps.
    pub fn clear(&mut self) {
        // SAFETY: `&mut self` is the owner, and no guard borrows it.
        unsafe { S::clear(self.slot(), self.number) };
    }
}

impl<T, S: Scheme<M>, M: Memory> Drop for Seat<T, S, M> {
    fn drop(&mut self) {
        /// Where the destructor of what the seat kept panics the slot is as vacant.
        struct Give<'s, T, S: Scheme<M>, M: Memory>(&'s Seat<T, S, M>);
        impl<T, S: Scheme<M>, M: Memory> Drop for Give<'_, T, S, M> {
            fn drop(&mut self) {
                // SAFETY: as in `slot`.
                self.0.core.give(self.0.number, unsafe { self.0.slot.as_ref() });
            }
        }
        let Give(seat) = &Give(self);
        // SAFETY: as in `clear`.
        unsafe { S::clear(seat.slot(), seat.number) };
    }
}

impl<T, S: Scheme<M>, M: Memory> fmt::Debug for Seat<T, S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("number", &self.number).finish_non_exhaustive()
    }
}

/// A block that a slot uses, up to the drop.
pub(crate) struct InUse<'s, T, S: Scheme<M>, M: Memory> {
    /// An `S::Slot<T>`. Guards are covariant in `T`, as [`Context`]s are.
    slot: NonNull<()>,
    /// The value, which is first in its block.
    value: NonNull<T>,
    seat: PhantomData<&'s mut ()>,
    of: PhantomData<fn() -> (S, M)>,
}

impl<T, S: Scheme<M>, M: Memory> InUse<'_, T, S, M> {
    /// # Safety
    ///
    /// The block is in use by the slot, which its owner does not use otherwise for `'s`, and which lasts as long.
    #[inline(always)]
    pub(crate) unsafe fn new(slot: &S::Slot<T>, block: NonNull<Block<T, S, M>>) -> Self {
        let (slot, value) = (NonNull::from(slot).cast(), block.cast());
        Self { slot, value, seat: PhantomData, of: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn value(&self) -> &T {
        // SAFETY: rule 3: it is in use until the drop.
        unsafe { self.value.as_ref() }
    }

    #[inline(always)]
    pub(crate) fn block(&self) -> NonNull<Block<T, S, M>> {
        self.value.cast()
    }

    pub(crate) fn upgrade(&self) -> Option<Context<T, S, M>> {
        // SAFETY: rule 3.
        unsafe { upgrade(self.block()) }
    }
}

impl<T, M: Threads, const VERIFY: bool> InUse<'_, T, Shootdown<VERIFY>, M> {
    /// The drop, where the slot may be another thread's as soon as it is not in use.
    ///
    /// # Safety
    ///
    /// Nobody uses the slot while it says that it is in use.
    pub(crate) unsafe fn leave_for_good(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: the domain of the seat that is borrowed keeps the slot.
        let slot = unsafe { this.slot.cast::<Words<T, M, VERIFY>>().as_ref() };
        // SAFETY: the caller's; it is this guard that uses the block.
        unsafe { slot.leave_for_good() };
    }
}

impl<T, S: Scheme<M>, M: Memory> Drop for InUse<'_, T, S, M> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the domain of the seat that is borrowed keeps the slot.
        let slot = unsafe { self.slot.cast::<S::Slot<T>>().as_ref() };
        // SAFETY: it is this guard that uses the block.
        unsafe { S::leave(slot, self.block()) };
    }
}

/// A seat's use of an object, until the guard is dropped: from [`Seat::enter`].
///
/// Not counted, unless the last context goes meanwhile; then the guard owns a reference, and its drop may be the one that
/// drops the value. A [forgotten](super#threads-forks-panics-exits) guard may leak the value. May be held across an
/// `.await`; it borrows its seat, so the task has to own that.
#[must_use = "the object is in use until the guard is dropped"]
pub struct Active<'s, T, S: Scheme<M> = Shootdown, M: Memory = Native>(InUse<'s, T, S, M>);

/// A seat's use of the object that it had kept, until the guard is dropped: from [`Seat::lazy`].
///
/// It was had without a context, and is as good as an [`Active`] from there on, which it can be made into.
#[must_use = "the object is in use until the guard is dropped"]
pub struct LazyGuard<'s, T, S: Scheme<M> = Shootdown, M: Memory = Native>(InUse<'s, T, S, M>);

impl<'s, T, S: Scheme<M>, M: Memory> From<LazyGuard<'s, T, S, M>> for Active<'s, T, S, M> {
    fn from(guard: LazyGuard<'s, T, S, M>) -> Self {
        Self(guard.0)
    }
}

// SAFETY: whoever has the guard is the only one to use the slot, as the seat is borrowed (guards of threads' own slots are
// not `Send`); the drop may come to drop the value.
unsafe impl<T: Send + Sync, S: Scheme<M>, M: Memory> Send for InUse<'_, T, S, M> {}
// SAFETY: through a shared reference the value is shared, and handles are taken.
unsafe impl<T: Send + Sync, S: Scheme<M>, M: Memory> Sync for InUse<'_, T, S, M> {}

guard!([T, S: Scheme<M>, M: Memory] Active<'_, T, S, M>, 0, S, "A [`Context`] of the object, unless the last one is gone. One atomic add on its count.\n\nWith [`Mask`](super::Mask) and [`Counted`](super::Counted) never `None`: the seat itself keeps the object.");
guard!([T, S: Scheme<M>, M: Memory] LazyGuard<'_, T, S, M>, 0, S, "A [`Context`] of the object, unless the last one is gone. One atomic add on its count.\n\nWith [`Mask`](super::Mask) and [`Counted`](super::Counted) never `None`: the seat itself keeps the object.");
