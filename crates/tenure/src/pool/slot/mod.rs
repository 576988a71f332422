//! [`SlotPool`]: objects of one type that are used again, and found by keys.
//!
//! # How a key finds an object
//!
//! A slot has a number `uses`, odd while it is in use, which its owner alone writes; and a count of references, a
//! [`TicketRef`](crate::count::TicketRef), which is DEAD unless the object is shared. A lookup
//!
//! 1. compares `uses` with the key, which stops most stale keys at the cost of loads;
//! 2. takes a reference, which fails on a DEAD count;
//! 3. compares `uses` again. While it holds a reference the use does not end. So if this comparison fails, the next
//!    user got the slot between 1 and 2: the reference is to *their* object, and is put. That may be the last put: the
//!    lookup then resets and releases an object that it never wanted.
//!
//! The store that shared the object comes after the store to `uses`, and taking the reference acquires it: 3 sees the
//! use that the reference belongs to. 1 may see any other.
//!
//! Late operations still touch the memory of a count that is used again, so it cannot be an
//! [`RcuRef`](crate::count::RcuRef): a failed lookup stores DEAD, which would end the next owner's references; and a
//! put has a second operation, which hits the next use or freed memory if a lookup revives the object before it. A
//! `TicketRef` says "last" to one thread when no other will touch the count. A failed lookup leaves one added to a DEAD
//! count, which the next sharing overwrites; an addition after that does not fail.
//!
//! [`into_mut`](SlotRef::into_mut) makes the count DEAD in the step that finds one reference and no ticket, so no
//! lookup is under way, and later ones fail.
//!
//! A slot that has been used 2^36 times (every 100 ns for two hours) is *retired*: its object is dropped and the slot
//! left empty, so no key names a second use. The pool makes another, of 2^28 - 8 in its life: sixty thousand years'
//! worth.
#![allow(missing_docs, reason = "methods have their documentation in `pool::objects`")]

mod builder;
mod guard;
mod key;
mod objects;

pub use builder::SlotPoolBuilder;
pub use guard::{SlotMut, SlotRef};
pub use key::SlotKey;

use super::error::AcquireError;
use super::lifecycle::{Handle, Part, Refused};
use super::list::{List, Magazines};
use super::statistics::Stats;
use super::table::Table;
#[cfg(feature = "std")]
use crate::wake::block_on;
use core::convert::Infallible;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use objects::Objects;

/// A [`SlotPool`](crate::pool::SlotPool) with a list of the kind `L`.
pub struct SlotPool<T, L: List = Magazines>(Handle<Objects<T>, L>);

impl<T: Send + 'static> SlotPool<T> {
    #[must_use]
    pub fn new() -> Self
    where
        T: Default,
    {
        Self::builder(T::default).build()
    }

    #[must_use]
    pub fn with(
        make: impl Fn() -> T + Send + Sync + 'static,
        reset: impl Fn(&mut T) + Send + Sync + 'static,
    ) -> Self {
        Self::builder(make).reset(reset).build()
    }

    pub fn builder(make: impl Fn() -> T + Send + Sync + 'static) -> SlotPoolBuilder<T> {
        SlotPoolBuilder::new(make)
    }
}

impl<T, L: List> SlotPool<T, L> {
    #[inline(always)]
    fn table(&self) -> &Table<Part<Objects<T>, L>, L> {
        &self.0.classes[0].table
    }

    #[inline(always)]
    pub fn acquire(&self) -> Result<SlotMut<T, L>, AcquireError> {
        // SAFETY: the slot was given to this call.
        let reused = self.table().reuse().map(|slot| unsafe { SlotMut::new(slot) });
        reused.map_or_else(|| self.acquire_slowly(), Ok)
    }

    #[cold]
    #[inline(never)]
    fn acquire_slowly(&self) -> Result<SlotMut<T, L>, AcquireError> {
        let slot = self.0.acquire_slowly(0, 0).map_err(|refused| self.error(&refused))?;
        // SAFETY: the slot was given to this call.
        Ok(unsafe { SlotMut::new(slot) })
    }

    fn error(&self, refused: &Refused<Infallible>) -> AcquireError {
        match refused {
            Refused::Closed => AcquireError::Closed,
            Refused::Limit | Refused::NoSlot => AcquireError::Exhausted { limit: self.limit() },
            Refused::Failed(never) => match *never {},
        }
    }

    pub async fn acquire_async(&self) -> Result<SlotMut<T, L>, AcquireError> {
        if self.limit() == 0 {
            return self.acquire();
        }
        let slot = self.0.acquire_in_turn(0).await.map_err(|refused| self.error(&refused))?;
        // SAFETY: as in `acquire`.
        Ok(unsafe { SlotMut::new(slot) })
    }

    #[cfg(feature = "std")]
    pub fn acquire_timeout(
        &self,
        timeout: core::time::Duration,
    ) -> Result<SlotMut<T, L>, AcquireError> {
        let acquired = block_on(self.acquire_async(), timeout);
        acquired.unwrap_or_else(|| Err(self.error(&Refused::Limit)))
    }

    #[inline]
    #[must_use]
    pub fn get(&self, key: SlotKey) -> Option<SlotRef<T, L>>
    where
        T: Sync,
    {
        let slot = self.table().find(key.index())?;
        // 1: see the module's text.
        if slot.uses() != key.uses() || self.is_closed() {
            return None;
        }
        // Acquire, in there: pairs with the Release of sharing. 3 must come after it and see the same use.
        if !slot.part.place.count.get_acquire().is_acquired() {
            return None;
        }
        // SAFETY: the reference was taken above.
        let found = unsafe { SlotRef::new(slot) };
        // 3: if this fails, what was found is dropped.
        (slot.uses() == key.uses()).then_some(found)
    }

    pub fn trim(&self) -> usize {
        self.0.trim() as usize
    }

    pub fn close(&self) {
        self.0.close();
    }

    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    #[must_use]
    pub fn limit(&self) -> usize {
        self.0.limit as usize
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.0.held() as usize
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats::new(&self.0.classes[0].usage(), self.0.held(), size_of::<T>() as u64)
    }
}

impl<T, L: List> Clone for SlotPool<T, L> {
    /// Another handle of the same pool.
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Default + Send + 'static> Default for SlotPool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, L: List> fmt::Debug for SlotPool<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotPool")
            .field("list", &L::NAME)
            .field("closed", &self.is_closed())
            .field("statistics", &self.stats())
            .finish()
    }
}

// A panic in users' code may leave an object half changed. It goes back, through `reset` if there is one, and a key
// finds it while it is shared: hence `RefUnwindSafe`.
impl<T: RefUnwindSafe, L: List> UnwindSafe for SlotPool<T, L> {}
impl<T: RefUnwindSafe, L: List> RefUnwindSafe for SlotPool<T, L> {}
