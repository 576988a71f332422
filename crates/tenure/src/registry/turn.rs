//! [`Turn`]: one thread or task at a time creates an entry's value, while the others [`Wait`].
//!
//! 1. **The turn** is a bit of the state. A new entry comes with it; later the one that sets the bit has it. It ends when
//!    the value is there, or when `create` has failed, panicked or was dropped.
//! 2. **A waiter** hangs its waker on the entry, sets `AWAITED`, and looks at the state which that finds. If the turn is
//!    over by then, it looks again. Otherwise the turn's owner finds the bit when it ends the turn.
//! 3. **The end of a turn wakes all**, so none depends on another that was woken: that one may be dropped before it runs.
//! 4. **A waker stays** until a turn ends, or its wait: also one that is given up, or whose two steps of rule 2 the end of
//!    the turn came between. Its place in the list stays until a turn ends, or the entry goes.

use super::entry::{By, Entry, Taken};
use super::machine::{Creator, Machine, RegistryCount};
use super::registered::Registered;
use super::waiters::Listing;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::ptr::{self, NonNull};
use core::task::{Context, Poll};

/// The turn to create, and a reference to the entry. Dropped, it leaves the turn to another.
pub(super) struct Turn<K, V, C: RegistryCount>(Registered<K, V, C>);

impl<K, V, C: RegistryCount> Turn<K, V, C> {
    /// # Safety
    ///
    /// The caller owns a reference and has the turn.
    pub(super) unsafe fn from_raw(entry: NonNull<Entry<K, V, C>>) -> Self {
        // SAFETY: no other code gets the `Registered` before `finish`.
        Self(unsafe { Registered::from_raw(entry) })
    }

    /// Makes the entry ready.
    pub(super) fn finish(self, value: V) -> Registered<K, V, C> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again.
        let object = unsafe { ptr::read(&raw const this.0) };
        // SAFETY: this has the turn, and ends it.
        unsafe { object.entry().finish_turn(value) };
        object
    }
}

impl<K, V, C: RegistryCount> Drop for Turn<K, V, C> {
    fn drop(&mut self) {
        // SAFETY: this has the turn.
        unsafe { self.0.entry().fail_turn() };
    }
}

/// Until the object is there, or the caller has the turn to create it.
pub(super) struct Wait<K, V, C: RegistryCount> {
    /// Taken when the wait is over.
    object: Option<Registered<K, V, C>>,
    by: By,
    listing: Option<Listing<C::Machine>>,
}

impl<K, V, C: RegistryCount> Wait<K, V, C> {
    /// A turn at an entry that may not be ready.
    pub(super) fn new(object: Registered<K, V, C>, by: By) -> Self {
        Self { object: Some(object), by, listing: None }
    }

    /// Blocks the calling thread.
    ///
    /// # Panics
    ///
    /// If the calling thread has the turn.
    pub(super) fn block(self) -> Result<Registered<K, V, C>, Turn<K, V, C>> {
        if self.object.as_ref().is_some_and(|object| object.entry().creator.is_this_thread()) {
            panic!(
                "`create` acquires the key that it creates the object of, and would wait for itself: \
                 acquire another key, or pass in what it needs"
            );
        }
        C::Machine::block_on(self)
    }
}

impl<K, V, C: RegistryCount> Future for Wait<K, V, C> {
    type Output = Result<Registered<K, V, C>, Turn<K, V, C>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let object = self.object.take().expect("it is not polled again after its end");
        loop {
            match object.entry().take_turn(self.by) {
                Taken::Ready => return Poll::Ready(Ok(object)),
                // SAFETY: taken now.
                Taken::Turn => return Poll::Ready(Err(Turn(object))),
                Taken::No => {}
            }
            // Rule 2.
            object.entry().waiters.add(&mut self.listing, context.waker());
            if object.entry().transition_to_awaited() {
                self.object = Some(object);
                return Poll::Pending;
            }
        }
    }
}
