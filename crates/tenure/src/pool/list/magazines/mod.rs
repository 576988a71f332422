//! [`Magazines`]: each thread has a magazine of idle slots, and a depot evens them out.
//!
//! After Bonwick and Adams, "Magazines and Vmem" (USENIX 2001). A *magazine*, as of a rifle, is an array of slots that
//! one thread alone takes from:
//!
//! ```text
//!   thread 0        thread 1        thread 2
//!  ┌─────────┐     ┌─────────┐     ┌─────────┐
//!  │ 7 12 3  │     │ 4       │     │ 9 1 ... │     magazines: up to 64 slots each
//!  └────┬────┘     └────┬────┘     └────┬────┘
//!       │ empty: take   │               │ full: give half
//!  ┌────┴───────────────┴───────────────┴──────┐
//!  │ depot: a stack of batches, up to 32 slots │     lock-free, shared
//!  └───────────────────────────────────────────┘
//! ```
//!
//! An empty magazine takes a batch from the depot; a full one gives it a batch of its oldest slots. So slots that
//! another thread releases travel back in batches. A thread that has no magazine, or must not use it, takes and gives
//! *loose* slots, from the depot's second stack; with magazines of size 0 there is only that stack.
//!
//! # Magazines of other threads
//!
//! A trim, an acquire at the limit and the end of the pool want the slots of sleeping threads, too. Asymmetric barriers
//! let a *reclaimer* take them, at no atomic operation for the owner. A magazine has a word `inside`, which only its
//! owner writes, and a word `gate`, which others write:
//!
//! ```text
//!   owner                                   reclaimer
//!   inside = 1                              gate |= RECLAIM
//!   light barrier                           heavy barrier
//!   if gate == OPEN: use the magazine       wait until inside == 0: take everything
//!   inside = 0                              gate -= RECLAIM
//! ```
//!
//! 1. **The owner uses its magazine** only between `inside = 1`, if it then found `gate` open, and `inside = 0`, its
//!    last touch. In between it calls no code of users, allocates nothing and waits for no thread. On its way out a
//!    release has no reference to the list, which the reclaimer may have freed.
//! 2. **A reclaimer uses a magazine** only under the list's lock, while a bit of the gate is set, after it found
//!    `inside == 0` after a heavy barrier that followed the bit. Once the owner sees the gate shut, it stops there
//!    until the gate is opened.
//! 3. **Rules 1 and 2 exclude each other.** If the owner found the gate open and the reclaimer `inside == 0`, both
//!    missed the other's store, which the barriers rule out.
//! 4. **Batches change hands** only inside of a magazine, or under the lock.
//! 5. While the gate is shut, the owner uses loose slots.
//! 6. **An idle slot is loose, or on its way inside of a magazine, or in the hands of the lock's holder.** So a holder
//!    that has shut all gates and found all owners outside can make all idle slots loose. Until it opens a gate, a slot
//!    that is not loose has a user: one load shows that none is idle.
//!
//! A reclaimer waits for owners inside: for nanoseconds, or a time slice if the system preempted one.
//!
//! # Orderings
//!
//! The plain fields pass from the owner to a reclaimer through `inside`, back through `gate`, and between reclaimers
//! through the lock. The barriers decide who may, by rule 3, but carry no data: a race detector that knows no fences
//! sees every hand-over.
//!
//! # Threads that come and go
//!
//! Magazines lie in an array by thread number, in segments that live as long as the list: no cap on threads. One whose
//! gate says `UNOWNED` gets its first user as owner; [`leave`](List::leave) empties it into the depot for the next
//! thread of that number.
//!
//! The child of a fork waits for nothing that a lost thread left half done. It loses what lost threads had in hand and
//! the magazines that they were inside of, not their others. If one was gathering, the gates stay shut and all threads
//! use loose slots until the child gathers: by a trim, or at a limit.

mod depot;
mod magazine;

use super::{Closed, List};
use crate::cache_line::CachePadded;
use crate::memory::{Atomic, Memory, Native, Ordering, Resident, Threads};
use crate::pool::lock::{Holder, Lock};
use crate::segments::{CAPACITY, Segments};
use alloc::sync::Weak;
use core::ptr::NonNull;
use depot::Depot;
use magazine::{Access, Magazine};

/// Slots of a batch, and half of a magazine's most.
const BATCH_SIZE: usize = 32;

/// A magazine for each thread, and a depot. A magazine has up to [`new_in`](List::new_in)'s `magazine` slots, at most
/// 64; with 0 this is a [`TaggedStack`](super::TaggedStack).
pub struct Magazines<M: Memory = Native, const BATCH: usize = BATCH_SIZE> {
    magazines: Segments<CachePadded<Magazine<M, BATCH>>, M>,
    depot: Depot<M, BATCH>,
    capacity: u32,
    /// How many threads own a magazine; with [`CLOSED`] or [`GATHERED`] set no thread becomes an owner.
    owners: M::AtomicU32,
    /// Held by the thread that takes slots from magazines.
    lock: Lock<M>,
    /// Learns that a thread with a magazine ends.
    owner: Weak<dyn Resident>,
}

/// Bit of `owners`: the list is closed.
const CLOSED: u32 = 1 << 31;
/// Bit of `owners`: idle slots are being gathered. Written under the lock.
const GATHERED: u32 = 1 << 30;

impl<M: Threads, const BATCH: usize> Magazines<M, BATCH> {
    /// `None` if the thread has to go to the depot.
    #[inline(always)]
    fn enter(&self) -> Option<Access<'_, M, BATCH>> {
        let thread = M::thread()?;
        let entered = self.magazines.get(thread as u32).and_then(|magazine| magazine.enter());
        if entered.is_some() { entered } else { self.enter_slowly(thread) }
    }

    #[cold]
    fn enter_slowly(&self, thread: usize) -> Option<Access<'_, M, BATCH>> {
        let number = u32::try_from(thread).ok().filter(|&number| number < CAPACITY)?;
        if self.capacity == 0 {
            return None;
        }
        let magazine = self.magazines.get_or_grow(number, |_| CachePadded::new(Magazine::new()));
        if magazine.is_shut(magazine::UNOWNED) && !self.adopt(magazine) {
            return None;
        }
        magazine.enter()
    }

    /// Makes the calling thread the owner of `magazine`, unless the list is closed or gathered.
    fn adopt(&self, magazine: &Magazine<M, BATCH>) -> bool {
        // Relaxed: a hint.
        if self.owners.load(Ordering::Relaxed) & (CLOSED | GATHERED) != 0 {
            return false;
        }
        M::at_exit(self.owner.clone());
        if !magazine.is_shut(magazine::UNOWNED) {
            // The allocator has used the list, and this thread is the owner by now.
            return true;
        }
        // Release: pairs with the Acquire in `shut_all`. If that is later, it finds the segment of this magazine;
        // otherwise this finds the bit.
        if self.owners.fetch_add(1, Ordering::Release) & (CLOSED | GATHERED) != 0 {
            // Relaxed: only a number.
            self.owners.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        magazine.reopen(magazine::UNOWNED);
        true
    }

    /// Takes a slot from an empty magazine, filled with a batch; or a loose slot.
    #[cold]
    fn refill(&self, mut access: Access<'_, M, BATCH>) -> Option<u32> {
        self.depot.take(|slot| {
            let fits = access.push_below(self.capacity, slot);
            debug_assert!(fits, "a batch has at most half of what a magazine may have");
        });
        let slot = access.pop();
        Magazine::exit(access);
        slot.or_else(|| self.depot.take_one())
    }

    /// # Safety
    ///
    /// As [`release_raw`](List::release_raw); `access` is to one of the list's magazines.
    #[cold]
    unsafe fn release_into_full(
        this: NonNull<Self>,
        access: Access<'_, M, BATCH>,
        slot: u32,
    ) -> Result<(), Closed> {
        Magazine::exit(access);
        // SAFETY: the caller's slot keeps the list until it is in the magazine, and from then until this thread is
        // outside: no reclaimer can take it before.
        let list = unsafe { this.as_ref() };
        // Outside, because it may allocate.
        let mut batch = list.depot.take_empty();
        let Some(mut access) = list.enter() else {
            list.depot.put(batch);
            // SAFETY: as above.
            return unsafe { Depot::give_one(NonNull::from(&list.depot), slot) };
        };
        if !access.push_below(list.capacity, slot) {
            access.take_oldest(list.capacity.div_ceil(2), |slot| batch.push(slot));
            let fits = access.push_below(list.capacity, slot);
            debug_assert!(fits, "half of the magazine is free");
        }
        // Inside: a thread that gathers waits until it can find the batch.
        list.depot.put(batch);
        Magazine::exit(access);
        Ok(())
    }

    /// Shuts the gates of all magazines that have, or could get, an owner. If `true`, a heavy barrier has to follow.
    fn shut_all(&self, bit: u32, gate: u32) -> bool {
        // Acquire: see `adopt`.
        self.owners.fetch_or(bit, Ordering::Acquire);
        self.magazines.snapshot().fold(false, |_, (_, magazine)| {
            magazine.shut(gate);
            true
        })
    }

    /// Makes all idle slots loose.
    ///
    /// # Safety
    ///
    /// Rule 2, but for the look at the owner: the caller holds the lock, has [shut](Self::shut_all) that bit of the
    /// gates, and has passed a heavy barrier if need be.
    unsafe fn loosen_all(&self, gate: u32) {
        // Other magazines never had an owner, and are empty.
        let shut = self.magazines.snapshot().filter(|(_, magazine)| magazine.is_shut(gate));
        'magazines: for (thread, magazine) in shut {
            while magazine.is_inside() {
                // What a lost thread was doing is lost to the child of the fork.
                if M::is_lost(thread as usize) {
                    continue 'magazines;
                }
                M::yield_now();
            }
            // SAFETY: the caller did the rest, and the owner was found outside.
            unsafe { self.empty(magazine) };
        }
        // With no thread inside, none has a batch in hand.
        self.depot.unpack();
    }

    /// # Safety
    ///
    /// Rule 2.
    unsafe fn empty(&self, magazine: &Magazine<M, BATCH>) {
        // SAFETY: passed on to the caller.
        let mut access = unsafe { magazine.reclaim() };
        core::iter::from_fn(|| access.pop()).for_each(|slot| self.depot.loosen(slot));
    }

    /// Undoes [`gather`](List::gather) for one list.
    fn reopen(&self) {
        // Only those that were shut, not later ones. The bit is written under the lock alone.
        let shut = self.magazines.snapshot().map(|(_, magazine)| magazine);
        let shut = shut.filter(|magazine| magazine.is_shut(magazine::RECLAIM));
        shut.for_each(|magazine| magazine.reopen(magazine::RECLAIM));
        // Relaxed: a new owner's magazine is untouched, or its gate passes on what was done.
        self.owners.fetch_sub(GATHERED, Ordering::Relaxed);
        self.lock.unlock();
    }
}

/// Reopens gathered lists when dropped.
struct Reopen<'a, M: Threads, const BATCH: usize, I>(I)
where
    I: Iterator<Item = &'a Magazines<M, BATCH>> + Clone;

impl<'a, M: Threads, const BATCH: usize, I> Drop for Reopen<'a, M, BATCH, I>
where
    I: Iterator<Item = &'a Magazines<M, BATCH>> + Clone,
{
    fn drop(&mut self) {
        self.0.clone().for_each(Magazines::reopen);
    }
}

// SAFETY: a slot in a magazine has one owner by rules 1 to 4; a batch and a loose slot by their stacks' tags. A release
// ends with the push of a loose slot, or with the owner's last touch of its magazine.
unsafe impl<M: Threads, const BATCH: usize> List for Magazines<M, BATCH> {
    type Memory = M;
    const NAME: &'static str = "magazines";

    fn new_in(magazine: usize, owner: Weak<dyn Resident>) -> Self {
        Self {
            magazines: Segments::new(),
            depot: Depot::new(owner.clone()),
            capacity: magazine.min(2 * BATCH) as u32,
            owners: Atomic::new(0),
            lock: Lock::new(),
            owner,
        }
    }

    fn admit(&self, slot: u32) {
        self.depot.loose.admit(slot);
    }

    #[inline(always)]
    fn acquire(&self) -> Option<u32> {
        let Some(mut access) = self.enter() else { return self.depot.take_one() };
        let Some(slot) = access.pop() else { return self.refill(access) };
        Magazine::exit(access);
        Some(slot)
    }

    #[inline(always)]
    unsafe fn release_raw(this: NonNull<Self>, slot: u32) -> Result<(), Closed> {
        // SAFETY: the caller's slot keeps the list until it is in a magazine or in the depot.
        let list = unsafe { this.as_ref() };
        let Some(mut access) = list.enter() else {
            // SAFETY: as above.
            return unsafe { Depot::give_one(NonNull::from(&list.depot), slot) };
        };
        if access.push_below(list.capacity, slot) {
            Magazine::exit(access);
            return Ok(());
        }
        // SAFETY: passed on to the caller.
        unsafe { Self::release_into_full(this, access, slot) }
    }

    fn gather<'a, R>(lists: impl Iterator<Item = &'a Self> + Clone, look: impl FnOnce() -> R) -> R {
        let holder = Holder::new();
        let mut barrier = false;
        for list in lists.clone() {
            list.lock.lock_as(&holder);
            barrier |= list.shut_all(GATHERED, magazine::RECLAIM);
        }
        let _reopen = Reopen(lists.clone());
        if barrier {
            // Pairs with the light barrier of each owner.
            M::heavy_barrier();
        }
        // SAFETY: locked, shut and past the barrier, as above.
        lists.for_each(|list| unsafe { list.loosen_all(magazine::RECLAIM) });
        look()
    }

    fn emptiness(&self) -> Option<u64> {
        self.depot.loose.emptiness()
    }

    fn close(&self, home: impl FnMut(u32)) {
        // Loose slots are closed last: if they are closed, no others are left.
        if !self.depot.loose.is_closed() {
            if self.shut_all(CLOSED, magazine::CLOSED) {
                // Pairs with the light barrier of each owner.
                M::heavy_barrier();
            }
            let _held = self.lock.lock();
            // SAFETY: locked, shut and past the barrier, as above.
            unsafe { self.loosen_all(magazine::CLOSED) };
        }
        self.depot.loose.close(home);
    }

    fn reopen(&self) {
        self.depot.loose.reopen();
        let shut = self.magazines.snapshot().map(|(_, magazine)| magazine);
        let shut = shut.filter(|magazine| magazine.is_shut(magazine::CLOSED));
        shut.for_each(|magazine| magazine.reopen(magazine::CLOSED));
        // Relaxed: a new owner's magazine is untouched, or its gate passes on what was done.
        if self.owners.load(Ordering::Relaxed) & CLOSED != 0 {
            self.owners.fetch_sub(CLOSED, Ordering::Relaxed);
        }
    }

    unsafe fn leave(&self, thread: usize) {
        let Some(magazine) = self.magazines.get(thread as u32) else { return };
        if magazine.is_shut(magazine::UNOWNED) {
            return;
        }
        magazine.shut(magazine::UNOWNED);
        // Otherwise a closing thread empties it, perhaps one that a fork left behind.
        if !magazine.is_shut(magazine::CLOSED) {
            self.lock.lock_as(&Holder::known(thread));
            // SAFETY: the gate is shut, the lock held, and the owner is this thread, which is outside.
            unsafe { self.empty(magazine) };
            self.lock.unlock();
        }
        // Relaxed: only a number.
        self.owners.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<M: Threads, const BATCH: usize> core::fmt::Debug for Magazines<M, BATCH> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Relaxed: for a reader.
        let owners = self.owners.load(Ordering::Relaxed);
        f.debug_struct("Magazines")
            .field("threads", &(owners & (GATHERED - 1)))
            .field("closed", &(owners & CLOSED != 0))
            .finish_non_exhaustive()
    }
}
