//! [`Waiters`]: whom the end of a turn wakes.

use crate::memory::{Atomic, Memory, Ordering, Plain, Pointer};
use crate::shared::Shared;
use crate::wake::wake_all;
use alloc::boxed::Box;
use core::ptr;
use core::task::Waker;

/// The wakers of an entry: a list from which all are taken at once.
pub(super) struct Waiters<M: Memory>(M::Pointer<Listed<M>>);

struct Listed<M: Memory> {
    waiter: Shared<Waiter<M>, M>,
    next: *mut Self,
}

struct Waiter<M: Memory> {
    /// The waker: only the thread that takes the waiter touches it.
    waker: M::Plain<Option<Waker>>,
    is_taken: M::AtomicU32,
}

// SAFETY: one thread takes the waker, and any may drop it.
unsafe impl<M: Memory> Send for Waiter<M> {}
// SAFETY: as above.
unsafe impl<M: Memory> Sync for Waiter<M> {}

impl<M: Memory> Waiter<M> {
    fn take(&self) -> Option<Waker> {
        // Relaxed: the list passes the waker on, and the wait has it.
        if self.is_taken.fetch_or(1, Ordering::Relaxed) != 0 {
            return None;
        }
        // SAFETY: this thread alone has set the bit.
        self.waker.with_mut(|waker| unsafe { (*waker).take() })
    }
}

/// A waiter that was added to a list. Dropped, it leaves no waker there.
pub(super) struct Listing<M: Memory> {
    waiter: Shared<Waiter<M>, M>,
    /// A clone to compare with: another thread may be taking the waiter's own.
    waker: Waker,
}

impl<M: Memory> Drop for Listing<M> {
    fn drop(&mut self) {
        drop(self.waiter.take());
    }
}

impl<M: Memory> Waiters<M> {
    pub(super) fn new() -> Self {
        Self(Pointer::new(ptr::null_mut()))
    }

    /// Adds the waker, unless `listing` is of this waker and still in the list. The list's reference goes before it is
    /// woken: a task that is woken adds itself again, and one that is polled in vain does not.
    pub(super) fn add(&self, listing: &mut Option<Listing<M>>, waker: &Waker) {
        let waits = |listing: &Listing<M>| {
            listing.waiter.references() > 1 && listing.waker.will_wake(waker)
        };
        if listing.as_ref().is_some_and(waits) {
            return;
        }
        let is_taken = Atomic::new(0);
        let new = Shared::new(Waiter { waker: Plain::new(Some(waker.clone())), is_taken });
        *listing = Some(Listing { waiter: new.clone(), waker: waker.clone() });
        // Relaxed, here and on failure: compared only; `take` acquires the whole list.
        let mut first = self.0.load(Ordering::Relaxed);
        let listed = Box::into_raw(Box::new(Listed { waiter: new, next: first }));
        loop {
            // SAFETY: it is in no list yet.
            unsafe { (*listed).next = first };
            // Release: pairs with the Acquire in `take`: the waker and the link.
            match self.0.compare_exchange(first, listed, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => first = found,
            }
        }
    }

    /// Called by the one that ends a turn, and has seen that others wait.
    #[cold]
    pub(super) fn wake(&self) {
        // Drops the waiter's reference before the waker is called: see `add`.
        wake_all(self.take().filter_map(|waiter| waiter.take()));
    }

    fn take(&self) -> List<M> {
        // Relaxed, here and on failure: compared only.
        let mut first = self.0.load(Ordering::Relaxed);
        while !first.is_null() {
            let none = ptr::null_mut();
            // Acquire: pairs with the Release of every addition: all of them are in one release sequence.
            match self.0.compare_exchange(first, none, Ordering::Acquire, Ordering::Relaxed) {
                // Not `first`, which may be an earlier one at the same address.
                Ok(taken) => {
                    first = taken;
                    break;
                }
                Err(found) => first = found,
            }
        }
        List(first)
    }
}

impl<M: Memory> Drop for Waiters<M> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// What was taken: of this thread alone.
struct List<M: Memory>(*mut Listed<M>);

impl<M: Memory> Iterator for List<M> {
    type Item = Shared<Waiter<M>, M>;

    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: from a box in `add`, and in this list alone.
        let listed = (!self.0.is_null()).then(|| unsafe { Box::from_raw(self.0) })?;
        self.0 = listed.next;
        Some(listed.waiter)
    }
}

impl<M: Memory> Drop for List<M> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Native;

    #[test]
    fn a_list_that_goes_keeps_no_waiter() {
        let waiters = Waiters::<Native>::new();
        let mut listings = [None, None];
        for listing in &mut listings {
            waiters.add(listing, Waker::noop());
        }
        let references = || {
            let waiters = listings.iter().flatten().map(|listing| &listing.waiter);
            waiters.map(Shared::references).sum::<u32>()
        };
        assert_eq!(references(), 4);
        drop(waiters);
        assert_eq!(references(), 2);
    }
}
