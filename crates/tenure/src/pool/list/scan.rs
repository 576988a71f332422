//! [`Scan`]: walk all slots and try each. The baseline for the other lists.
//!
//! SMC sockets of Linux find a buffer this way (`smc_buf_get_slot`): under the list's semaphore, compare-exchange each
//! buffer's `used` from 0 to 1 until that succeeds. Each slot in use costs a failed compare-exchange on a line of its
//! own, and every walker writes the semaphore's line.

use super::{Closed, List};
use crate::cache_line::CachePadded;
use crate::memory::{Atomic, Memory, Native, Ordering, Resident, Threads};
use crate::segments::Segments;
use alloc::sync::Weak;
use core::ptr::NonNull;

const FREE: u32 = 0;
const USED: u32 = 1;
/// The list refuses the slot's release. Without `USED` only while that happens.
const CLOSED: u32 = 2;
/// Beside the number of slots: the list is closed.
const CLOSED_LIST: u32 = 1 << 31;

/// Walks all slots under a read lock and claims the first free one.
///
/// Acquire is O(slots in use); release is one subtraction on the slot's line. With `LOOK_FIRST`, this list's best form,
/// a slot is loaded before the compare-exchange; without, the published form, every slot in use costs a failed one.
///
/// Not for processes that fork while other threads use the list: the child deadlocks if it lacks the lock's owner.
pub struct Scan<M: Memory = Native, const LOOK_FIRST: bool = true> {
    lock: CachePadded<ReadWriteLock<M>>,
    /// Slots `0..admitted` may be free; and [`CLOSED_LIST`]. Written under the write lock.
    admitted: M::AtomicU32,
    slots: Segments<Slot<M>, M>,
}

/// A line per slot, as in the original, which walks the buffers' descriptors.
#[repr(align(64))]
struct Slot<M: Memory> {
    used: M::AtomicU32,
}

impl<M: Memory> Slot<M> {
    fn claim(&self) -> bool {
        // Acquire: pairs with the Release of `release`.
        self.used.compare_exchange(FREE, USED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn looks_free(&self) -> bool {
        // Relaxed: the claim decides.
        self.used.load(Ordering::Relaxed) == FREE
    }
}

impl<M: Threads, const LOOK_FIRST: bool> Scan<M, LOOK_FIRST> {
    /// The caller holds the lock, or the list is closed.
    fn admitted(&self) -> impl Iterator<Item = (u32, &Slot<M>)> {
        // Relaxed: ordered by the lock.
        (0..self.admitted.load(Ordering::Relaxed) & !CLOSED_LIST)
            .filter_map(|slot| self.slots.get(slot).map(|found| (slot, found)))
    }
}

// SAFETY: a compare-exchange from `FREE` hands a slot out; its owner alone makes it `FREE` again, as the last touch.
unsafe impl<M: Threads, const LOOK_FIRST: bool> List for Scan<M, LOOK_FIRST> {
    type Memory = M;
    const NAME: &'static str = if LOOK_FIRST { "scan" } else { "scan (published)" };

    fn new_in(_magazine: usize, _owner: Weak<dyn Resident>) -> Self {
        Self {
            lock: CachePadded::new(ReadWriteLock::new()),
            admitted: Atomic::new(0),
            slots: Segments::new(),
        }
    }

    fn admit(&self, slot: u32) {
        let found = self.slots.get_or_grow(slot, |_| Slot { used: Atomic::new(USED) });
        self.lock.write(|| {
            // Relaxed: ordered by the lock.
            let admitted = self.admitted.load(Ordering::Relaxed);
            let closed = admitted & CLOSED_LIST;
            if closed != 0 {
                // Relaxed: the caller owns the slot and will release it.
                found.used.fetch_or(CLOSED, Ordering::Relaxed);
            }
            if admitted & !CLOSED_LIST <= slot {
                // Relaxed: as above.
                self.admitted.store((slot + 1) | closed, Ordering::Relaxed);
            }
        });
    }

    fn acquire(&self) -> Option<u32> {
        self.lock.read(|| {
            self.admitted()
                .find(|(_, found)| (!LOOK_FIRST || found.looks_free()) && found.claim())
                .map(|(slot, _)| slot)
        })
    }

    unsafe fn release_raw(this: NonNull<Self>, slot: u32) -> Result<(), Closed> {
        // SAFETY: the caller owns a slot of the list, which therefore exists until the subtraction.
        let Self { slots, .. } = unsafe { this.as_ref() };
        let found = slots.get(slot).expect("the slot was admitted");
        // Release: pairs with the Acquire of the next claim, or of `close`. The last touch, unless the list is closed.
        // Linux stores here; a subtraction learns of that in the same step.
        if found.used.fetch_sub(USED, Ordering::Release) & CLOSED == 0 {
            return Ok(());
        }
        // Relaxed: the slot is the caller's again, and may be released once more.
        found.used.fetch_or(USED, Ordering::Relaxed);
        Err(Closed)
    }

    /// A walk shows no single moment, and acquires are not counted.
    fn emptiness(&self) -> Option<u64> {
        let none_free = self.lock.read(|| !self.admitted().any(|(_, slot)| slot.looks_free()));
        none_free.then_some(0)
    }

    fn close(&self, mut home: impl FnMut(u32)) {
        // Relaxed: ordered by the lock.
        self.lock.write(|| self.admitted.fetch_or(CLOSED_LIST, Ordering::Relaxed));
        // `admit` closes later slots. Not under the lock: `home` may admit slots, or panic.
        for (slot, found) in self.admitted() {
            // Acquire: pairs with the Release of `release`. A slot that was free has an owner from here on.
            if found.used.fetch_or(CLOSED | USED, Ordering::Acquire) == FREE {
                home(slot);
            }
        }
    }

    fn reopen(&self) {
        self.lock.write(|| {
            // Relaxed: ordered by the lock.
            if self.admitted.load(Ordering::Relaxed) & CLOSED_LIST != 0 {
                self.admitted.fetch_sub(CLOSED_LIST, Ordering::Relaxed);
            }
            for (_, found) in self.admitted() {
                // Relaxed: the slot stays its owner's. `CLOSED` alone: it is being refused.
                let open = || {
                    let (relaxed, closed) = (Ordering::Relaxed, CLOSED | USED);
                    found.used.compare_exchange(closed, USED, relaxed, relaxed)
                };
                while open() == Err(CLOSED) {
                    M::yield_now();
                }
            }
        });
    }
}

impl<M: Memory, const LOOK_FIRST: bool> core::fmt::Debug for Scan<M, LOOK_FIRST> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Scan").finish_non_exhaustive()
    }
}

/// A lock whose readers add and subtract one, as the kernel's semaphore does.
struct ReadWriteLock<M: Memory>(M::AtomicU32);

const WRITER: u32 = 1 << 31;

impl<M: Threads> ReadWriteLock<M> {
    fn new() -> Self {
        Self(Atomic::new(0))
    }

    fn read<R>(&self, read: impl FnOnce() -> R) -> R {
        // Relaxed, here and below: readers see atomics alone; words of their own publish and claim slots.
        while self.0.fetch_add(1, Ordering::Relaxed) & WRITER != 0 {
            self.0.fetch_sub(1, Ordering::Relaxed);
            while self.0.load(Ordering::Relaxed) & WRITER != 0 {
                M::yield_now();
            }
        }
        let result = read();
        self.0.fetch_sub(1, Ordering::Relaxed);
        result
    }

    fn write<R>(&self, write: impl FnOnce() -> R) -> R {
        // Acquire: pairs with the Release of the last writer.
        while self.0.compare_exchange_weak(0, WRITER, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            M::yield_now();
        }
        let result = write();
        // Release: pairs with the Acquire of the next writer. Not a store, which would lose what waiting readers added.
        self.0.fetch_sub(WRITER, Ordering::Release);
        result
    }
}
