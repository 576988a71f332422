//! [`Ring`]: references that keep objects for a while which no thread uses.
//!
//! ```text
//!              the first drop of a reference gives it to the ring          a later drop
//!   stray ────────────────────────────────────────────────────────> kept <───────────── cold
//!     ▲                                                               │    sweep, or     ▲ │
//!     │                                                               └──────────────────┘ │
//!     └─────────────── another object takes the place, or sweep: the ring puts ────────────┘
//! ```
//!
//! 1. **A place** of the ring is empty, has one reference to an entry, or is closed. The thread that exchanges it owns
//!    what was there.
//! 2. **A stray entry** is in no place. The thread that clears the bit, by an exchange and with a reference, gives this
//!    reference to the ring instead of putting it. So an entry has at most one place.
//! 3. **Out of the ring**: the thread that took the reference from its place marks the entry stray, and then puts it
//!    as every other reference: that may be the last put. A thread that has the entry in use gives its own reference
//!    to the ring later.
//! 4. **An entry is cold** if no reference was dropped since the ring last came by. A cold one goes when its place is
//!    wanted; any other one is cold from then on, and takes the next place.
//! 5. **A closed place** stays closed, so a thread that comes later keeps its reference. The last handle closes all:
//!    entries keep the core, which has the ring, and would never go.
//! 6. **Making room does not nest**: while a thread ends an object that made room, the references that it drops do not
//!    go to the ring, and stray entries stay so. Otherwise each object that takes a place could end another one in
//!    the middle of the last one's destructor, and the stack would be as deep as the ring is long.
//!
//! The drop of a reference loads the state, on the line of the entry that the count or the value is on. All else is for
//! the first drop after a sweep or a lap of the ring.

use super::Core;
use super::entry::Entry;
use super::machine::{Machine, RegistryCount};
use crate::cache_line::CachePadded;
use crate::memory::{Atomic, Memory, Ordering, Pointer};
use crate::shared::Shared;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop};
use core::ptr::{self, NonNull};

type Place<K, V, C> = <<C as RegistryCount>::Machine as Memory>::Pointer<Entry<K, V, C>>;

pub(super) struct Ring<K, V, C: RegistryCount> {
    places: Box<[Place<K, V, C>]>,
    /// How many places were taken so far.
    taken: CachePadded<<C::Machine as Memory>::AtomicU64>,
}

/// 128 MiB of places, so that a caller who wants no limit asks for memory that can be allocated.
const MAX_PLACES: usize = 1 << 24;

/// How many objects that are not cold a new one passes before it takes a place in any case.
const CHANCES: usize = 8;

/// A reference that the ring gets, or had. Its drop puts it.
pub(super) struct Kept<K, V, C: RegistryCount>(NonNull<Entry<K, V, C>>);

/// The pointer in a place of a closed ring. No entry has this address.
fn closed<T>() -> *mut T {
    ptr::without_provenance_mut(1)
}

/// The place is closed.
struct Closed;

/// Puts `new` there, and returns what was there.
fn swap<T, P: Pointer<T>>(place: &P, new: *mut T) -> Result<*mut T, Closed> {
    // Relaxed, here and on failure: compared only.
    let mut found = place.load(Ordering::Relaxed);
    loop {
        if found == closed() {
            return Err(Closed);
        }
        if found == new {
            return Ok(found);
        }
        // Release: what this thread did with the entry comes before the end that the next owner makes. Acquire: so
        // does what the last owner did.
        match place.compare_exchange(found, new, Ordering::AcqRel, Ordering::Relaxed) {
            // Not `found`, which may be an earlier one at the same address.
            Ok(taken) => return Ok(taken),
            Err(other) => found = other,
        }
    }
}

impl<K, V, C: RegistryCount> Ring<K, V, C> {
    /// A ring of so many places. Without any no object lingers. There are [`MAX_PLACES`] at most.
    pub(super) fn new(places: usize) -> Self {
        let places = (0..places.min(MAX_PLACES)).map(|_| Pointer::new(ptr::null_mut())).collect();
        Self { places, taken: CachePadded::new(Atomic::new(0)) }
    }

    pub(super) fn has_places(&self) -> bool {
        !self.places.is_empty()
    }

    /// Gives a reference to an entry that is in no place to the ring. Ends the object that makes room.
    fn keep(&self, mut kept: Kept<K, V, C>) {
        for chance in 0.. {
            // Relaxed: any place will do.
            let number = self.taken.fetch_add(1, Ordering::Relaxed);
            let place = &self.places[(number % self.places.len() as u64) as usize];
            let Ok(before) = swap(place, kept.0.as_ptr()) else { return kept.put() };
            mem::forget(kept);
            let Some(before) = NonNull::new(before) else { return };
            kept = Kept(before);
            if kept.entry().was_cold() || chance == CHANCES {
                let _making = MakingRoom::<C::Machine>::new();
                return drop(kept);
            }
        }
    }

    /// Leaves that in the place of an entry.
    fn take(place: &Place<K, V, C>, leave: *mut Entry<K, V, C>) -> Option<Kept<K, V, C>> {
        swap(place, leave).ok().and_then(NonNull::new).map(Kept)
    }

    /// Takes the cold entries out, and makes the others cold.
    pub(super) fn sweep(&self) {
        let mut cold = Vec::new();
        for place in &self.places {
            let Some(kept) = Self::take(place, ptr::null_mut()) else { continue };
            if kept.entry().was_cold() {
                cold.push(kept);
            // Release, and Relaxed on failure: as in `swap`.
            } else if place
                .compare_exchange(
                    ptr::null_mut(),
                    kept.0.as_ptr(),
                    Ordering::Release,
                    Ordering::Relaxed,
                )
                .is_ok()
            {
                mem::forget(kept);
            } else {
                // Another entry took the place, or it is closed.
                self.keep(kept);
            }
        }
        // The vector drops all of them, whichever destructor panics.
        drop(cold);
    }

    /// Takes all entries out.
    pub(super) fn trim(&self) {
        // As in `sweep`.
        drop(Vec::from_iter(
            self.places.iter().filter_map(|place| Self::take(place, ptr::null_mut())),
        ));
    }

    /// Takes all entries out, and closes the places.
    pub(super) fn close(&self) {
        // As in `sweep`.
        drop(Vec::from_iter(self.places.iter().filter_map(|place| Self::take(place, closed()))));
    }
}

impl<K, V, C: RegistryCount> Kept<K, V, C> {
    fn entry(&self) -> &Entry<K, V, C> {
        // SAFETY: the reference keeps the entry.
        unsafe { self.0.as_ref() }
    }

    /// Puts the reference of a closed ring: the entry is not marked, since it can linger no more.
    fn put(self) {
        // SAFETY: the reference is this one's, which is not dropped.
        unsafe { Entry::put_and_end(ManuallyDrop::new(self).0) };
    }
}

impl<K, V, C: RegistryCount> Drop for Kept<K, V, C> {
    /// Rule 3.
    fn drop(&mut self) {
        self.entry().transition_to_stray();
        // SAFETY: the reference is this one's.
        unsafe { Entry::put_and_end(self.0) };
    }
}

/// Rule 6: the calling thread ends an object that made room.
///
/// Counted, since with stackful coroutines a call may end before one that began later. A coroutine that moves to another
/// thread meanwhile leaves its count on the first thread, and takes none from the second.
struct MakingRoom<M: Machine>(PhantomData<M>);

impl<M: Machine> MakingRoom<M> {
    fn new() -> Self {
        M::makes_room(|calls| calls.set(calls.get() + 1));
        Self(PhantomData)
    }
}

impl<M: Machine> Drop for MakingRoom<M> {
    fn drop(&mut self) {
        M::makes_room(|calls| calls.set(calls.get().saturating_sub(1)));
    }
}

/// A reference is dropped: notes the use, and gives it to the ring if the entry is stray. Returns whether it did.
///
/// # Safety
///
/// The caller has a reference, and gives it up if this returns true.
#[cold]
#[inline(never)]
pub(super) unsafe fn give<K, V, C: RegistryCount>(entry: NonNull<Entry<K, V, C>>) -> bool {
    if C::Machine::makes_room(Cell::get) > 0 {
        // Rule 6.
        return false;
    }
    // SAFETY: the caller's reference keeps it, up to `keep`.
    let was_stray = unsafe { entry.as_ref() }.transition_to_used();
    if was_stray {
        // SAFETY: as above. A clone, since the ring may put the reference before `keep` returns.
        let core = unsafe { entry.as_ref().core.to_shared() };
        // Rule 2.
        core.ring.keep(Kept(entry));
    }
    was_stray
}

/// The last handle to a registry closes its ring.
pub(super) struct ClosesRing<K, V, C: RegistryCount>(pub(super) Shared<Core<K, V, C>, C::Machine>);

impl<K, V, C: RegistryCount> Drop for ClosesRing<K, V, C> {
    fn drop(&mut self) {
        self.0.ring.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Native;

    #[test]
    fn calls_that_make_room_end_in_any_order() {
        let calls = || Native::makes_room(Cell::get);
        let (first, second) = (MakingRoom::<Native>::new(), MakingRoom::<Native>::new());
        drop(first);
        assert_eq!(calls(), 1);
        drop(second);
        assert_eq!(calls(), 0);
    }
}
