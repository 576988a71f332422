//! What users see of [`generic`](super::generic): counts on the real machine.

#[cfg(target_has_atomic = "64")]
use super::ticket;
use super::{GetResult, KeepsReadable, PutResult, Readable, RefCount, rcuref, sealed};
use core::fmt;
use core::num::NonZeroU16;

/// A 32-bit count for objects whose memory outlives them for a while.
///
/// Use it if four bytes matter and the program defers freeing anyway (epochs, hazard pointers, RCU, arenas); otherwise
/// [`TicketRef`](super::TicketRef).
///
/// Cost: get one atomic add, put one atomic subtraction; the last put one compare-exchange more
/// ([`put_last`](Self::put_last): one in all). Each writes the count's line. Up to 2^31 references.
///
/// Do not reset a dead `RcuRef` for a new object while gets of the old one may still run: a failed get restores DEAD,
/// and would kill the new owner.
///
/// ```
/// use tenure::count::{GetResult, RcuRef, Readable};
///
/// let count = RcuRef::new();
/// assert_eq!(count.get(), GetResult::Acquired);
///
/// // SAFETY: `count` is a local of this function, which outlives its uses.
/// let readable = unsafe { Readable::assume() };
/// assert!(!count.put(readable).is_last());
/// assert!(count.put(readable).is_last());
/// assert_eq!(count.get(), GetResult::Dead);
/// ```
pub struct RcuRef(rcuref::RcuRef);

impl RcuRef {
    /// A count with one reference, which the caller owns.
    #[must_use]
    pub const fn new() -> Self {
        Self(rcuref::RcuRef::new())
    }

    /// Takes a reference, unless the object is dead. `&self` says that the memory is readable during the call.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self) -> GetResult {
        self.0.get()
    }

    /// [`get`](Self::get) with Acquire: pairs with the Release of every earlier put, if the way to the object orders
    /// nothing.
    #[inline(always)]
    #[track_caller]
    pub fn get_acquire(&self) -> GetResult {
        self.0.get_acquire()
    }

    /// Takes `n` references at once, unless the object is dead.
    #[inline(always)]
    #[track_caller]
    pub fn get_many(&self, n: NonZeroU16) -> GetResult {
        self.0.get_many(n)
    }

    /// Gives a reference back, which the caller must own. `readable` proves that the memory outlives the verdict.
    #[inline(always)]
    #[track_caller]
    pub fn put(&self, readable: Readable<'_>) -> PutResult {
        self.0.put(readable)
    }

    /// Gives `n` references back at once.
    #[inline(always)]
    #[track_caller]
    pub fn put_many(&self, n: NonZeroU16, readable: Readable<'_>) -> PutResult {
        self.0.put_many(n, readable)
    }

    /// Gives back a reference that is probably the last: one compare-exchange if so, where [`put`](Self::put) takes two
    /// operations. Otherwise the attempt is wasted.
    #[inline(always)]
    #[track_caller]
    pub fn put_last(&self, readable: Readable<'_>) -> PutResult {
        self.0.put_last(readable)
    }

    /// The number of references at some moment of the call. 0 does not mean dead: before the verdict a get may revive
    /// the object.
    #[must_use]
    pub fn read(&self) -> u32 {
        self.0.read()
    }

    /// Whether every get from now on fails. Writes nothing.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.0.is_dead()
    }
}

/// A 64-bit count that asks nothing of the memory it lives in.
///
/// The last put may free the object at once: no epoch, hazard pointer or grace period. A get needs readable memory
/// during the call, as with [any count](super#whose-memory-is-it).
///
/// Cost: get one atomic add, put one atomic subtraction; the last put one compare-exchange more
/// ([`put_last`](Self::put_last): one in all). Each writes the count's line. Up to 2^31 references.
///
/// In type-stable memory [`init`](Self::init) gives a dead count a new life. Never zero its memory: zero is one reference
/// to an object that is never found without one.
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Mutex;
/// use tenure::count::{GetResult, TicketRef};
///
/// struct Route { refs: TicketRef, gateway: u32 }
///
/// // A lookup under a lock: the lock keeps the memory readable during `get`.
/// fn look_up(table: &Mutex<HashMap<u32, *const Route>>, key: u32) -> Option<*const Route> {
///     let table = table.lock().unwrap();
///     let route = *table.get(&key)?;
///     // SAFETY: a route leaves the table, under its lock, before it is freed.
///     match unsafe { (*route).refs.get() } {
///         GetResult::Acquired => Some(route),
///         GetResult::Dead => None,
///     }
/// }
///
/// /// # Safety
/// /// The caller owns a reference, and gives it away.
/// unsafe fn release(table: &Mutex<HashMap<u32, *const Route>>, key: u32, route: *const Route) {
///     // SAFETY: the caller's reference keeps the route alive up to the verdict.
///     if unsafe { (*route).refs.put().is_last() } {
///         table.lock().unwrap().remove(&key);
///         // SAFETY: exactly one caller learns that its put was the last, and no lookup finds the route any more.
///         drop(unsafe { Box::from_raw(route.cast_mut()) }); // at once: no grace period
///     }
/// }
///
/// let route = Box::into_raw(Box::new(Route { refs: TicketRef::new(), gateway: 1 }));
/// let table = Mutex::new(HashMap::from([(7, route.cast_const())]));
/// let found = look_up(&table, 7).unwrap();
/// // SAFETY: two references are owned here: the first one, and the one of the lookup.
/// unsafe {
///     assert_eq!((*found).gateway, 1);
///     release(&table, 7, found);
///     release(&table, 7, route);
/// }
/// assert!(look_up(&table, 7).is_none());
/// ```
#[cfg(target_has_atomic = "64")]
pub struct TicketRef(ticket::TicketRef);

#[cfg(target_has_atomic = "64")]
impl TicketRef {
    /// A count with one reference, which the caller owns.
    #[must_use]
    pub const fn new() -> Self {
        Self(ticket::TicketRef::new())
    }

    /// A dead count: every get fails until [`init`](Self::init).
    #[must_use]
    pub const fn dead() -> Self {
        Self(ticket::TicketRef::dead())
    }

    /// Gives a dead count its first reference, which the caller owns: the last step of making the object. Release:
    /// pairs with [`get_acquire`](Self::get_acquire), which then sees the object initialised. Only the thread that
    /// destroyed the object, or made the count, may call it, once.
    pub fn init(&self) {
        self.0.init();
    }

    /// Takes another reference for a caller that owns one, which cannot fail: one add and a test of the sign. A caller
    /// that owns none breaks the count: reported if the count is dead, unseen while a verdict is pending.
    #[inline(always)]
    #[track_caller]
    pub fn get_held(&self) {
        self.0.get_held();
    }

    /// Takes a reference, unless the object is dead. `&self` says that the memory is readable during the call.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self) -> GetResult {
        self.0.get()
    }

    /// [`get`](Self::get) with Acquire, for type-stable memory: pairs with the Release in [`init`](Self::init).
    #[inline(always)]
    #[track_caller]
    pub fn get_acquire(&self) -> GetResult {
        self.0.get_acquire()
    }

    /// Takes `n` references at once, unless the object is dead.
    #[inline(always)]
    #[track_caller]
    pub fn get_many(&self, n: NonZeroU16) -> GetResult {
        self.0.get_many(n)
    }

    /// Gives a reference back, which the caller must own. After [`PutResult::StillHeld`] this thread does not touch the
    /// memory; after [`PutResult::Last`] no other thread does, and it may be freed.
    #[inline(always)]
    #[track_caller]
    pub fn put(&self) -> PutResult {
        self.0.put()
    }

    /// Gives `n` references back at once.
    #[inline(always)]
    #[track_caller]
    pub fn put_many(&self, n: NonZeroU16) -> PutResult {
        self.0.put_many(n)
    }

    /// Gives back a reference that is probably the last: one compare-exchange if so, where [`put`](Self::put) takes two
    /// operations. Otherwise the attempt is wasted.
    #[inline(always)]
    #[track_caller]
    pub fn put_last(&self) -> PutResult {
        self.0.put_last()
    }

    /// The number of references at some moment of the call. 0 does not mean dead: before the verdict a get may revive
    /// the object.
    #[must_use]
    pub fn read(&self) -> u32 {
        self.0.read()
    }

    /// Whether every get from now on fails (until an [`init`](Self::init)). Writes nothing.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.0.is_dead()
    }
}

macro_rules! thin {
    ($count:ident: $inner:ty) => {
        impl sealed::Sealed for $count {}

        impl RefCount for $count {
            as_inner_count! { self: self.0, $inner }

            fn new_in() -> Self {
                Self::new()
            }
        }

        impl Default for $count {
            /// One reference, which the caller owns.
            fn default() -> Self {
                Self::new()
            }
        }

        impl fmt::Debug for $count {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

thin! { RcuRef: rcuref::RcuRef }
#[cfg(target_has_atomic = "64")]
thin! { TicketRef: ticket::TicketRef }
