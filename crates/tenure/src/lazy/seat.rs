//! [`Seat`], and the guards of what a seat uses: [`Active`] and [`LazyGuard`].

use super::block::Block;
use super::context::upgrade;
use super::domain::{Core, Slot};
use super::{Context, Scheme, Shootdown};
use crate::memory::{Memory, Native};
use crate::shared::Shared;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

/// A worker's place in a [`Domain`](super::Domain): uses one object at a time, and keeps the last one.
///
/// A seat belongs to nobody in particular. It may move to another thread, also while it uses an object, but one
/// thread uses it at a time. Dropping it gives the place, and what the seat keeps, back. A thread that ends without
/// dropping its seat blocks nobody: what the seat keeps is taken from it when its time comes.
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
/// } // each leaves; the seat keeps the tenant without counting it
///
/// assert!(seat.lazy().is_some());
/// drop(context); // the last handle: the value is dropped here, though the seat kept it
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

    /// Uses `context`, until the guard is dropped.
    ///
    /// The guard borrows the seat and not the context, which may be dropped meanwhile, even if it is the last one:
    /// the value stays until the guard is gone. What the seat kept before is forgotten, unless it is the same.
    ///
    /// Cost: see [the table](super#what-it-costs).
    ///
    /// # Panics
    ///
    /// If the context is of another domain.
    #[inline(always)]
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
    fn switch(&mut self, context: &Context<T, S, M>) {
        assert!(context.is_of(&self.core), "a context of another domain");
        // SAFETY: as in `enter`; it is of this domain.
        unsafe { S::switch(self.slot(), self.number, context.block()) };
    }

    /// Uses what the seat kept when it left it, if that is still there: no handle is needed.
    ///
    /// `None` if the seat never entered anything, was [cleared](Self::clear), or the last handle is gone. (With the schemes
    /// that count holders what a seat keeps is there as long as it keeps it.)
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

    /// Lets go of what the seat keeps.
    ///
    /// A worker that is about to drop the last handle of the object saves the barrier that would otherwise ask for
    /// it. With the schemes that count holders this is what a worker has to do before it sleeps.
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
                self.0.core.give(unsafe { self.0.slot.as_ref() });
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
    slot: NonNull<S::Slot<T>>,
    block: NonNull<Block<T, S, M>>,
    seat: PhantomData<&'s mut Seat<T, S, M>>,
}

impl<T, S: Scheme<M>, M: Memory> InUse<'_, T, S, M> {
    /// # Safety
    ///
    /// The block is in use by the slot, which its owner does not use otherwise for `'s`, and which lasts as long.
    #[inline(always)]
    pub(crate) unsafe fn new(slot: &S::Slot<T>, block: NonNull<Block<T, S, M>>) -> Self {
        Self { slot: NonNull::from(slot), block, seat: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn value(&self) -> &T {
        // SAFETY: rule 3: it is in use until the drop.
        unsafe { Block::value(self.block) }
    }

    pub(crate) fn block(&self) -> NonNull<Block<T, S, M>> {
        self.block
    }

    pub(crate) fn upgrade(&self) -> Option<Context<T, S, M>> {
        // SAFETY: rule 3.
        unsafe { upgrade(self.block) }
    }
}

impl<T, S: Scheme<M>, M: Memory> Drop for InUse<'_, T, S, M> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the domain of the seat that is borrowed keeps the slot.
        let slot = unsafe { self.slot.as_ref() };
        // SAFETY: it is this guard that uses the block.
        unsafe { S::leave(slot, self.block) };
    }
}

/// A seat's use of an object that it [entered](Seat::enter), up to the drop.
///
/// Not counted, unless the last handle goes meanwhile; then the guard owns a reference, and its drop may be the one that
/// drops the value. Forgetting a guard may leak the value.
pub struct Active<'s, T, S: Scheme<M> = Shootdown, M: Memory = Native>(InUse<'s, T, S, M>);

/// A seat's use of an object that it had [kept](Seat::lazy), up to the drop.
///
/// As good as an [`Active`] while it lasts, but had without a handle.
pub struct LazyGuard<'s, T, S: Scheme<M> = Shootdown, M: Memory = Native>(InUse<'s, T, S, M>);

/// What all guards are.
macro_rules! guard {
    ($guard:ident) => {
        // SAFETY: whoever has the guard is the only one to use the slot; the drop may come to drop the value.
        unsafe impl<T: Send + Sync, S: Scheme<M>, M: Memory> Send for $guard<'_, T, S, M> {}
        // SAFETY: through a shared reference the value is shared, and handles are taken.
        unsafe impl<T: Send + Sync, S: Scheme<M>, M: Memory> Sync for $guard<'_, T, S, M> {}

        impl<T, S: Scheme<M>, M: Memory> $guard<'_, T, S, M> {
            /// A strong handle, if the last one is not gone. One atomic add on the object's count.
            ///
            /// With the schemes that count holders this seat is one, so it always gets a handle.
            #[must_use]
            pub fn upgrade(this: &Self) -> Option<Context<T, S, M>> {
                this.0.upgrade()
            }
        }

        impl<T, S: Scheme<M>, M: Memory> Deref for $guard<'_, T, S, M> {
            type Target = T;
            #[inline(always)]
            fn deref(&self) -> &T {
                self.0.value()
            }
        }

        impl<T: fmt::Debug, S: Scheme<M>, M: Memory> fmt::Debug for $guard<'_, T, S, M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

guard!(Active);
guard!(LazyGuard);
