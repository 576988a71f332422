//! [`Magazines`]: every thread has free slots of its own, and a depot evens them out.
//!
//! After Bonwick and Adams, "Magazines and Vmem" (USENIX 2001):
//!
//! ```text
//!   thread 0        thread 1        thread 2
//!  ┌─────────┐     ┌─────────┐     ┌─────────┐     a hoard: up to 64 slots,
//!  │ 7 12 3  │     │ 4       │     │ 9 1 ... │     the thread's alone
//!  └────┬────┘     └────┬────┘     └────┬────┘
//!       │ empty: take   │               │ full: give half
//!  ┌────┴───────────────┴───────────────┴────┐
//!  │ depot: stack of crates of up to 32 slots │     lock-free, shared
//!  └──────────────────────────────────────────┘
//! ```
//!
//! Acquire and release take from and put into the hoard of the calling thread: loads and stores on its own
//! lines. An empty hoard takes a crate from the depot; a full one gives away a crate of the slots that it
//! has had for longest. So slots that one thread acquires and another releases travel by the crate, and the
//! pool holds at most what is in use, what the hoards may have, and what the depot got from those.
//!
//! # Other people's hoards
//!
//! Slots in the hoard of a thread that sleeps are idle too: a trim wants them, and so does a pool that ends.
//! Taking them must not cost their owner an atomic operation whenever it uses its hoard. A pair of
//! asymmetric barriers makes that possible. A hoard has a word `inside`, which its owner alone writes, and a
//! word `gate`, which others write:
//!
//! ```text
//!   owner                               reclaimer
//!   inside = 1                          gate |= RECLAIM
//!   light barrier                       heavy barrier
//!   if gate == OPEN: use the hoard      if inside == 0: take everything
//!   inside = 0                          gate -= RECLAIM
//! ```
//!
//! 1. **The owner uses its hoard** only between `inside = 1`, having then found `gate` open, and `inside = 0`,
//!    which is its last touch. It calls nobody's code in there. Where it releases a slot, nothing in the way out
//!    of the call has a reference to the list: the reclaimer may have freed it by then.
//! 2. **A reclaimer uses a hoard** only while it has `reclaiming` and a bit of the gate is set, having
//!    found `inside == 0` after a heavy barrier that followed the bit.
//! 3. **Rules 1 and 2 exclude each other.** Had the owner found the gate open although the bit was set,
//!    and the reclaimer `inside == 0` although the owner had gone in, both would have missed the other's store,
//!    which the barriers rule out.
//! 4. **One reclaimer at a time** has `reclaiming`. It moves slots from hoards to the depot, and calls
//!    nobody's code either.
//! 5. While the gate is not open, the owner goes to the depot for each slot.
//! 6. A trim passes over hoards whose owner is inside: they are in use. Closing waits for them to come out:
//!    for nanoseconds, or for a time slice if the system took the owner off its CPU in there.
//!
//! # Orderings
//!
//! Ownership of a hoard's plain fields passes from the owner to a reclaimer through `inside` (Release in the
//! owner's last store, Acquire in the reclaimer's load), back through `gate` (Release when the bit goes,
//! Acquire in the owner's load), and between reclaimers through `reclaiming`. An owner that finds the gate
//! open has either seen the reclaimer's last store to it, or was seen by the reclaimer: a stale "open" from
//! before the bit is ruled out by 3. The barriers decide who may; they carry no data, so a race detector that
//! knows no fences sees every hand-over.
//!
//! # Threads that come and go
//!
//! Hoards lie in an array by thread number, in segments that are never freed before the list: no cap on
//! threads. A hoard whose gate says `UNSEATED` has no owner; the first use by a thread seats it, and
//! [`leave`](FreeList::leave) empties the hoard into the depot. The next thread of that number finds it
//! empty.
//!
//! A process that forked goes on using the list: nothing that a lost thread left half done is waited for. What
//! those threads had in hand, and the hoards that they were inside of, are lost to the child; of their
//! other hoards nothing is.

mod depot;
mod hoard;

use super::FreeList;
use crate::line::Isolated;
use crate::memory::{Atomic, Memory, Native, Ordering, Resident, Threads};
use crate::segments::{CAPACITY, Segments};
use alloc::sync::Weak;
use core::cell::Cell;
use core::ops::ControlFlow;
use core::ptr::NonNull;
use depot::Depot;
use hoard::{Hoard, Stock};

/// Slots of a crate, and half of what a hoard can have.
const CRATE: usize = 32;

/// Free slots for each thread (its *hoard*), and for all (the *depot*), which evens them out: the default.
///
/// Acquire and release cost a few loads and stores on lines of the calling thread, and no atomic
/// read-modify-write. Where slots are acquired on one thread and released on another, two of them for every
/// 32 slots are added.
///
/// A thread keeps up to [`new_in`](FreeList::new_in)'s `hoard` free slots, but no more than 64. They go to the
/// depot when the thread ends, and to whoever trims or closes the pool. There may be any number of threads; a
/// process that forked may go on using the list.
pub struct Magazines<M: Memory = Native, const BATCH: usize = CRATE> {
    hoards: Segments<Isolated<Hoard<M, BATCH>>, M>,
    depot: Depot<M, BATCH>,
    /// Slots that a hoard may have.
    capacity: u32,
    /// [`CLOSED`], or else threads may be seated.
    seating: M::AtomicU32,
    /// Who reclaims from hoards: [`NOBODY`], or a thread's number and one.
    reclaiming: M::AtomicU32,
    /// Told when a seated thread ends.
    owner: Weak<dyn Resident>,
}

/// The bit of `seating` that says that the list is closed. Below it: how many threads are seated.
const CLOSED: u32 = 1 << 31;
/// Nobody is reclaiming.
const NOBODY: u32 = 0;
/// A thread without a number is reclaiming.
const UNNUMBERED: u32 = u32::MAX;

impl<M: Threads, const BATCH: usize> Magazines<M, BATCH> {
    /// The calling thread's hoard, gone in; `None` if the thread has to go to the depot.
    #[inline(always)]
    fn enter(&self) -> Option<Stock<'_, M, BATCH>> {
        let thread = M::thread()?;
        let entered = self.hoards.get(thread as u32).and_then(|hoard| hoard.enter());
        if entered.is_some() { entered } else { self.enter_slowly(thread) }
    }

    #[cold]
    fn enter_slowly(&self, thread: usize) -> Option<Stock<'_, M, BATCH>> {
        let number = u32::try_from(thread).ok().filter(|&number| number < CAPACITY)?;
        if self.capacity == 0 {
            return None;
        }
        let hoard = self.hoards.get_or_grow(number, |_| Isolated::new(Hoard::new()));
        if hoard.is_shut(hoard::UNSEATED) && !self.seat(hoard) {
            return None;
        }
        hoard.enter()
    }

    /// Makes the calling thread the owner of `hoard`, unless the list is closed.
    fn seat(&self, hoard: &Hoard<M, BATCH>) -> bool {
        // AcqRel, paired with the one in `close`: whichever is later sees the other. If that is `close`, it
        // finds the segment of this hoard.
        if self.seating.fetch_add(1, Ordering::AcqRel) & CLOSED != 0 {
            // Relaxed: only a number.
            self.seating.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        M::at_exit(self.owner.clone());
        hoard.reopen(hoard::UNSEATED);
        true
    }

    /// Fills an empty hoard with a crate, and takes a slot from it.
    #[cold]
    fn refill(&self, mut stock: Stock<'_, M, BATCH>) -> Option<u32> {
        self.depot.take(|slot| {
            let fits = stock.push_below(self.capacity, slot);
            debug_assert!(fits, "a crate has at most half of what a hoard may have");
        });
        let slot = stock.pop();
        Hoard::exit(stock);
        slot
    }

    /// Puts `slot` into a full hoard, and gives away those that have been in there for longest.
    ///
    /// # Safety
    ///
    /// As [`release_raw`](FreeList::release_raw); `stock` is of one of the list's hoards.
    #[cold]
    unsafe fn release_into_full(
        this: NonNull<Self>,
        mut stock: Stock<'_, M, BATCH>,
        slot: u32,
        home: impl FnMut(u32),
    ) {
        // SAFETY: the caller's slot keeps the list until it is in the hoard, and the oldest ones from then on.
        let Self { depot, capacity, .. } = unsafe { this.as_ref() };
        let mut oldest = [0; BATCH];
        let mut count = 0;
        stock.take_oldest(capacity.div_ceil(2), |slot| {
            oldest[count] = slot;
            count += 1;
        });
        let fits = stock.push_below(*capacity, slot);
        debug_assert!(fits, "room was made");
        Hoard::exit(stock);
        // Outside, for this may come to somebody's code.
        let mut oldest = oldest[..count].iter().copied();
        // SAFETY: as above.
        unsafe { Depot::give(NonNull::from(depot), || oldest.next(), home) };
    }

    /// The calling thread, `thread` if it has a number, becomes the one who reclaims from hoards, unless
    /// somebody else is.
    fn begin_reclaiming(&self, thread: Option<usize>) -> bool {
        let this = thread.map_or(UNNUMBERED, |thread| thread as u32 + 1);
        // Acquire: pairs with the Release in `end_reclaiming`.
        let claim = |from| {
            self.reclaiming.compare_exchange(from, this, Ordering::Acquire, Ordering::Relaxed)
        };
        claim(NOBODY)
            .or_else(|by| {
                let lost = by != NOBODY && by != UNNUMBERED && M::is_lost(by as usize - 1);
                if lost { claim(by) } else { Err(by) }
            })
            .is_ok()
    }

    fn wait_to_reclaim(&self, thread: Option<usize>) {
        while !self.begin_reclaiming(thread) {
            M::yield_now();
        }
    }

    fn end_reclaiming(&self) {
        // Release: pairs with the Acquire in `begin_reclaiming`.
        self.reclaiming.store(NOBODY, Ordering::Release);
    }

    /// Moves what is in `hoard` to the depot.
    ///
    /// # Safety
    ///
    /// Rule 2.
    unsafe fn empty(&self, hoard: &Hoard<M, BATCH>) {
        // SAFETY: the caller's.
        let mut stock = unsafe { hoard.stock() };
        // The depot is open: it is closed when all hoards have been emptied for good.
        // SAFETY: `self` exists.
        unsafe { Depot::give(NonNull::from(&self.depot), || stock.pop(), |_| ()) };
    }

    /// Moves what threads hoard to the depot. Returns whether there may have been something.
    fn empty_idle_hoards(&self) -> bool {
        let hoards = self.hoards.snapshot();
        let worthwhile =
            hoards.clone().any(|(_, hoard)| hoard.has_some() || hoard.is_shut(hoard::RECLAIM));
        // A thread without a number could not be told from a lost one.
        let thread = M::thread();
        if !worthwhile || thread.is_none() || !self.begin_reclaiming(thread) {
            return false;
        }
        hoards.clone().for_each(|(_, hoard)| hoard.shut(hoard::RECLAIM));
        // Pairs with the light barrier of each owner.
        M::heavy_barrier();
        for (_, hoard) in hoards.clone() {
            if !hoard.is_inside() {
                // SAFETY: the gate was shut before the barrier, and stays so for this loop.
                unsafe { self.empty(hoard) };
            }
        }
        hoards.for_each(|(_, hoard)| hoard.reopen(hoard::RECLAIM));
        self.end_reclaiming();
        true
    }
}

// SAFETY: rules 1 to 4: slots in a hoard have one user; crates have one as well, by the tags of their stacks.
unsafe impl<M: Threads, const BATCH: usize> FreeList for Magazines<M, BATCH> {
    type Memory = M;
    const NAME: &'static str = "magazines";

    fn new_in(hoard: usize, owner: Weak<dyn Resident>) -> Self {
        let capacity = hoard.min(2 * BATCH) as u32;
        // Where nothing is hoarded all is left to the depot, which may use its crates to the full.
        let batch = if capacity == 0 { BATCH as u32 } else { capacity.div_ceil(2) };
        Self {
            hoards: Segments::new(),
            depot: Depot::new(batch),
            capacity,
            seating: Atomic::new(0),
            reclaiming: Atomic::new(NOBODY),
            owner,
        }
    }

    fn admit(&self, _slot: u32) {}

    #[inline(always)]
    fn acquire(&self, home: impl FnMut(u32)) -> Option<u32> {
        let Some(mut stock) = self.enter() else { return self.depot.take_one(home) };
        let Some(slot) = stock.pop() else { return self.refill(stock) };
        Hoard::exit(stock);
        Some(slot)
    }

    #[inline(always)]
    unsafe fn release_raw(this: NonNull<Self>, slot: u32, home: impl FnMut(u32)) {
        // SAFETY: the caller's slot keeps the list until it is in a hoard, in the depot or home.
        let list = unsafe { this.as_ref() };
        let Some(mut stock) = list.enter() else {
            // SAFETY: as above.
            return unsafe { Depot::give_one(NonNull::from(&list.depot), slot, home) };
        };
        if stock.push_below(list.capacity, slot) {
            Hoard::exit(stock);
        } else {
            // SAFETY: the caller's.
            unsafe { Self::release_into_full(this, stock, slot, home) };
        }
    }

    fn reclaim(&self, mut take: impl FnMut(u32) -> ControlFlow<()>) {
        let go_on = Cell::new(true);
        let mut each = |slot| go_on.set(take(slot).is_continue() && go_on.get());
        let mut empty_depot = || while go_on.get() && self.depot.take(&mut each) {};
        empty_depot();
        if go_on.get() && self.empty_idle_hoards() {
            empty_depot();
        }
    }

    fn close(&self, home: impl FnMut(u32)) {
        // AcqRel: see `seat`.
        self.seating.fetch_or(CLOSED, Ordering::AcqRel);
        let hoards = self.hoards.snapshot();
        hoards.clone().for_each(|(_, hoard)| hoard.shut(hoard::CLOSED));
        // Pairs with the light barrier of each owner.
        M::heavy_barrier();
        self.wait_to_reclaim(M::thread());
        'hoards: for (thread, hoard) in hoards {
            // Found out once, the owner is so for good: from now on it goes in only as far as the gate.
            while hoard.is_inside() {
                if M::is_lost(thread as usize) {
                    continue 'hoards;
                }
                M::yield_now();
            }
            // SAFETY: the gate was shut before the barrier, and stays so.
            unsafe { self.empty(hoard) };
        }
        self.end_reclaiming();
        self.depot.close(home);
    }

    unsafe fn leave(&self, thread: usize) {
        let Some(hoard) = self.hoards.get(thread as u32) else { return };
        if hoard.is_shut(hoard::UNSEATED) {
            return;
        }
        hoard.shut(hoard::UNSEATED);
        // Who closes the list empties the hoard, and may be a thread that a fork has left behind.
        if !hoard.is_shut(hoard::CLOSED) {
            self.wait_to_reclaim(Some(thread));
            // SAFETY: the gate is shut, and the owner, who else would have to see that, is this thread.
            unsafe { self.empty(hoard) };
            self.end_reclaiming();
        }
        // Relaxed: only a number.
        self.seating.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<M: Threads, const BATCH: usize> core::fmt::Debug for Magazines<M, BATCH> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Relaxed: for a reader.
        let seating = self.seating.load(Ordering::Relaxed);
        f.debug_struct("Magazines")
            .field("threads", &(seating & !CLOSED))
            .field("closed", &(seating & CLOSED != 0))
            .finish_non_exhaustive()
    }
}
