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
//! A thread that has no hoard, or must not use it, takes and gives single slots: the depot has a second stack for
//! those, of *loose* ones. A list that hoards nothing is that stack alone.
//!
//! # Other threads' hoards
//!
//! Slots in the hoard of a thread that sleeps are idle too: a trim wants them, and so do an acquire at a limit and a
//! pool that ends. Taking them must not cost their owner an atomic operation whenever it uses its hoard. A pair of
//! asymmetric barriers makes that possible. A hoard has a word `inside`, which its owner alone writes, and a
//! word `gate`, which others write:
//!
//! ```text
//!   owner                               reclaimer
//!   inside = 1                          gate |= RECLAIM
//!   light barrier                       heavy barrier
//!   if gate == OPEN: use the hoard      wait until inside == 0: take everything
//!   inside = 0                          gate -= RECLAIM
//! ```
//!
//! 1. **The owner uses its hoard** only between `inside = 1`, having then found `gate` open, and `inside = 0`,
//!    which is its last touch. It calls nobody's code in there, allocates nothing and waits for nobody. Where it
//!    releases a slot, nothing in the way out of the call has a reference to the list: the reclaimer may have
//!    freed it by then.
//! 2. **A reclaimer uses a hoard** only while it has the list's `turn` and a bit of the gate is set, having
//!    found `inside == 0` after a heavy barrier that followed the bit. Once found out, the owner is so until the
//!    gate is open again: it goes in only as far as the gate.
//! 3. **Rules 1 and 2 exclude each other.** Had the owner found the gate open although the bit was set,
//!    and the reclaimer `inside == 0` although the owner had gone in, both would have missed the other's store,
//!    which the barriers rule out.
//! 4. **Crates change hands** only inside of a hoard, or by the thread that has the `turn`.
//! 5. While the gate is not open, the owner goes to the loose slots.
//! 6. **A free slot is loose, or on its way inside of a hoard, or in the hands of the thread that has the turn.** So
//!    a thread that has the turn, has shut all gates and has found all owners out can make all free slots loose. From
//!    then on until it opens a gate, a slot that is not loose has a user: that there is none to be had is seen in one
//!    load.
//!
//! A reclaimer waits for owners who are inside: for nanoseconds, or for a time slice if the system took the owner off
//! its CPU in there.
//!
//! # Orderings
//!
//! Ownership of a hoard's plain fields passes from the owner to a reclaimer through `inside` (Release in the
//! owner's last store, Acquire in the reclaimer's load), back through `gate` (Release when the bit goes,
//! Acquire in the owner's load), and between reclaimers through `turn`. An owner that finds the gate
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
//! other hoards nothing is. If one of them was gathering, the gates stay shut in the child, and all its threads use loose
//! slots, until it gathers: by a trim, or at a limit.

mod depot;
mod hoard;

use super::FreeList;
use crate::line::Isolated;
use crate::memory::{Atomic, Memory, Native, Ordering, Resident, Threads};
use crate::pool::turn::{Name, Turn};
use crate::segments::{CAPACITY, Segments};
use alloc::sync::Weak;
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
/// depot when the thread ends, and to whoever [gathers](FreeList::gather) or closes. With a `hoard` of 0 this is
/// a [`TaggedStack`](super::TaggedStack). There may be any number of threads; a process that forked may go on using the list.
pub struct Magazines<M: Memory = Native, const BATCH: usize = CRATE> {
    hoards: Segments<Isolated<Hoard<M, BATCH>>, M>,
    depot: Depot<M, BATCH>,
    /// Slots that a hoard may have.
    capacity: u32,
    /// How many threads are seated; and [`CLOSED`] or [`GATHERED`], while which none is.
    seating: M::AtomicU32,
    /// Who takes slots from hoards.
    turn: Turn<M>,
    /// Told when a seated thread ends.
    owner: Weak<dyn Resident>,
}

/// The bit of `seating` that says that the list is closed, for ever.
const CLOSED: u32 = 1 << 31;
/// The bit of `seating` that says that free slots are being gathered. Whoever has the turn writes it.
const GATHERED: u32 = 1 << 30;

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

    /// Makes the calling thread the owner of `hoard`, unless the list is closed or somebody gathers.
    fn seat(&self, hoard: &Hoard<M, BATCH>) -> bool {
        // AcqRel, paired with the one in `shut_all`: whichever is later sees the other. If that is `shut_all`, it
        // finds the segment of this hoard.
        if self.seating.fetch_add(1, Ordering::AcqRel) & (CLOSED | GATHERED) != 0 {
            // Relaxed: only a number.
            self.seating.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        M::at_exit(self.owner.clone());
        hoard.reopen(hoard::UNSEATED);
        true
    }

    /// Fills an empty hoard with a crate, and takes a slot from it; or takes a loose one.
    #[cold]
    fn refill(&self, mut stock: Stock<'_, M, BATCH>) -> Option<u32> {
        self.depot.take(|slot| {
            let fits = stock.push_below(self.capacity, slot);
            debug_assert!(fits, "a crate has at most half of what a hoard may have");
        });
        let slot = stock.pop();
        Hoard::exit(stock);
        slot.or_else(|| self.depot.take_one())
    }

    /// Puts `slot` into a full hoard, whose oldest ones go to the depot.
    ///
    /// # Safety
    ///
    /// As [`release_raw`](FreeList::release_raw); `stock` is of one of the list's hoards.
    #[cold]
    unsafe fn release_into_full(
        this: NonNull<Self>,
        stock: Stock<'_, M, BATCH>,
        slot: u32,
        home: impl FnMut(u32),
    ) {
        Hoard::exit(stock);
        // SAFETY: the caller's slot keeps the list until it is in the hoard. From then on the hoard does, until this
        // thread is out: only then can somebody take the slot from it.
        let list = unsafe { this.as_ref() };
        // Not inside: it may allocate.
        let mut crate_ = list.depot.take_empty();
        let Some(mut stock) = list.enter() else {
            list.depot.put(crate_);
            // SAFETY: as above.
            return unsafe { Depot::give_one(NonNull::from(&list.depot), slot, home) };
        };
        if !stock.push_below(list.capacity, slot) {
            stock.take_oldest(list.capacity.div_ceil(2), |slot| crate_.push(slot));
            let fits = stock.push_below(list.capacity, slot);
            debug_assert!(fits, "room was made");
        }
        // Inside: whoever gathers waits for the slots in the crate to be where they can be found.
        list.depot.put(crate_);
        Hoard::exit(stock);
    }

    /// Shuts the gates of all hoards that have, or could get, an owner. Returns whether there are hoards, so that a
    /// heavy barrier has to follow.
    fn shut_all(&self, seating: u32, gate: u32) -> bool {
        // AcqRel: see `seat`.
        self.seating.fetch_or(seating, Ordering::AcqRel);
        self.hoards.snapshot().fold(false, |_, (_, hoard)| {
            hoard.shut(gate);
            true
        })
    }

    /// Makes all free slots loose.
    ///
    /// # Safety
    ///
    /// Rule 2, but for the look: the caller has the turn, has [shut](Self::shut_all) that bit of the gates, and has
    /// passed a heavy barrier if there were hoards.
    unsafe fn loosen_all(&self, gate: u32) {
        // Other hoards have never been seated, and are empty.
        let shut = self.hoards.snapshot().filter(|(_, hoard)| hoard.is_shut(gate));
        'hoards: for (thread, hoard) in shut {
            while hoard.is_inside() {
                // What a thread was doing that a fork has left behind is lost to the child.
                if M::is_lost(thread as usize) {
                    continue 'hoards;
                }
                M::yield_now();
            }
            // SAFETY: the caller's, and the owner was found out.
            unsafe { self.empty(hoard) };
        }
        // Now that nobody is inside, nobody has a crate.
        self.depot.unpack();
    }

    /// Makes the slots of a hoard loose.
    ///
    /// # Safety
    ///
    /// Rule 2.
    unsafe fn empty(&self, hoard: &Hoard<M, BATCH>) {
        // SAFETY: the caller's.
        let mut stock = unsafe { hoard.stock() };
        core::iter::from_fn(|| stock.pop()).for_each(|slot| self.depot.loosen(slot));
    }

    /// Undoes what [`gather`](FreeList::gather) did to the list.
    fn reopen(&self) {
        // Those that were shut: what has been grown since then was not. The bit is written under the turn alone.
        let shut = self.hoards.snapshot().filter(|(_, hoard)| hoard.is_shut(hoard::RECLAIM));
        shut.for_each(|(_, hoard)| hoard.reopen(hoard::RECLAIM));
        // Relaxed: who is seated from now on owns a hoard that nobody has touched, or whose gate says what was done.
        self.seating.fetch_sub(GATHERED, Ordering::Relaxed);
        self.turn.give();
    }
}

/// Reopens lists that are gathered.
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

// SAFETY: rules 1 to 4: slots in a hoard have one user; crates have one as well, and loose slots, by the tags of their
// stacks.
unsafe impl<M: Threads, const BATCH: usize> FreeList for Magazines<M, BATCH> {
    type Memory = M;
    const NAME: &'static str = "magazines";

    fn new_in(hoard: usize, owner: Weak<dyn Resident>) -> Self {
        Self {
            hoards: Segments::new(),
            depot: Depot::new(owner.clone()),
            capacity: hoard.min(2 * BATCH) as u32,
            seating: Atomic::new(0),
            turn: Turn::new(),
            owner,
        }
    }

    fn admit(&self, slot: u32) {
        self.depot.loose.admit(slot);
    }

    #[inline(always)]
    fn acquire(&self, _home: impl FnMut(u32)) -> Option<u32> {
        let Some(mut stock) = self.enter() else { return self.depot.take_one() };
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

    fn gather<'a, R>(lists: impl Iterator<Item = &'a Self> + Clone, look: impl FnOnce() -> R) -> R {
        let name = Name::new();
        let mut barrier = false;
        for list in lists.clone() {
            list.turn.take(&name);
            barrier |= list.shut_all(GATHERED, hoard::RECLAIM);
        }
        let _reopen = Reopen(lists.clone());
        if barrier {
            // Pairs with the light barrier of each owner.
            M::heavy_barrier();
        }
        // SAFETY: done above.
        lists.for_each(|list| unsafe { list.loosen_all(hoard::RECLAIM) });
        look()
    }

    fn emptiness(&self) -> Option<u64> {
        self.depot.loose.emptiness()
    }

    fn close(&self, home: impl FnMut(u32)) {
        // The last step, after which there is nothing but loose slots.
        if !self.depot.loose.is_closed() {
            if self.shut_all(CLOSED, hoard::CLOSED) {
                // Pairs with the light barrier of each owner.
                M::heavy_barrier();
            }
            let _turn = self.turn.wait();
            // SAFETY: done above.
            unsafe { self.loosen_all(hoard::CLOSED) };
        }
        self.depot.loose.close(home);
    }

    unsafe fn leave(&self, thread: usize) {
        let Some(hoard) = self.hoards.get(thread as u32) else { return };
        if hoard.is_shut(hoard::UNSEATED) {
            return;
        }
        hoard.shut(hoard::UNSEATED);
        // Who closes the list empties the hoard, and may be a thread that a fork has left behind.
        if !hoard.is_shut(hoard::CLOSED) {
            self.turn.take(&Name::known(thread));
            // SAFETY: the gate is shut, and the owner, who else would have to see that, is this thread.
            unsafe { self.empty(hoard) };
            self.turn.give();
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
            .field("threads", &(seating & (GATHERED - 1)))
            .field("closed", &(seating & CLOSED != 0))
            .finish_non_exhaustive()
    }
}
