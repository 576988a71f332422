//! [`ThreadRef`]: a reference count with a cell for each thread.
//!
//! After Linux's `percpu_ref` and folly's `TLRefCount`. A get adds 1 to the caller's cell and a put subtracts 1, so a
//! cell may be negative, and the sum of all counts. No thread knows the sum, and none has to, while the *initial
//! reference* is there. [`kill`](ThreadRef::kill) gives it up: the cells are summed into one shared word, on which the
//! references are counted from then on.
//!
//! ```text
//!   get, put                                killer
//!   cell = old + 1 (or old - 1)             state |= KILLED
//!   light barrier                           heavy barrier
//!   state == LIVE? done                     each cell: v -> EMPTY, sum += v
//!   else cell: old + 1 -> old, by CAS       word += sum - BIAS: zero? the last
//!     failed? the killer took it: done
//!     else count on the shared word
//! ```
//!
//! 1. **Store, then look.** The thread stores its cell, then looks at the state; the killer stores the state, then looks
//!    at the cells. A light and a heavy barrier lie between, so they cannot both miss the other. A thread that finds the
//!    count live is in the killer's sum, wherever it was interrupted. No thread waits.
//! 2. **One of two.** A thread that finds the count killed cannot know whether the killer has read its cell before its
//!    store or after. It takes the store back by compare-exchange. If the killer emptied the cell after the store, that
//!    fails, and the operation is in the sum. Otherwise it succeeds, and the operation goes to the shared word. So each
//!    operation is counted once.
//! 3. **The killer empties each cell once**, by compare-exchange. Only the owner makes an `EMPTY` cell anything else.
//! 4. **The shared word has a bias** until the killer adds the sum, so it is not zero before. From then on it is the
//!    number of references, and one subtraction leaves 0.
//! 5. **A put looks at the state after its store**, when the object may be gone, so the state is in memory that stays.
//!    If the store was in a sum, whatever it finds there is right: the state of a later count that is live means "done",
//!    and the compare-exchange of one that is killed fails, because the cell is `EMPTY` until this thread stores again.
//!    If the store was in no sum, the reference is still the thread's, so the object lives, and so does its index.
//! 6. **What is taken back may lie on a cell that the killer has been to.** A thread that took something back, and left
//!    a cell that is not `EMPTY`, notes `LEFTOVERS` before it goes on; and [`retire`](ThreadRef::retire) then empties
//!    all cells.
//! 7. **Two keep the place**: the count's owner, which may try gets after the kill, and the references together. Each
//!    [leaves](ThreadRef::leave) it once, and the second one retires the count. Without such an owner nothing is left.
//! 8. **A positive cell means that light barriers are free.** Where they are not, cells are biased to be negative. The
//!    fast path passes a barrier only where it is free, and accepts only positive cells.
//!
//! # Orderings
//!
//! Barriers decide who counts, and carry no data. What a holder did reaches the destroyer by its put: through its cell,
//! the killer and the shared word, or through the shared word alone. Each store of a cell is Release, also that of a
//! get, because it takes the place of an earlier put's.
//!
//! # Threads
//!
//! A thread's next owner of the number goes on with the cells. A thread without a number counts on the shared word from
//! the start; so does a thread that comes by after the kill. Of threads that a fork left behind, references leak: what
//! they had in hand is never put. Not for signal handlers that interrupt a get or put of the same count: its load and
//! store are two instructions.

use super::table::{Node, Place, Table};
use crate::count::{GetResult, PutResult};
use crate::memory::{Atomic, Memory, Native, Ordering, Threads};
use crate::segments::Spot;
use alloc::vec::Vec;
use core::ptr::NonNull;

const LIVE: u32 = 0;
/// Bit of the state: the initial reference is gone, or going.
const KILLED: u32 = 1;
/// Bit of the state: rule 6.
const LEFTOVERS: u32 = 2;
/// Bit of the state: one of the two of rule 7 has left.
const LEFT: u32 = 4;

/// A cell that counts nothing.
const EMPTY: i64 = 0;
/// A cell whose thread took as many references as it gave back: where light barriers are free, and elsewhere.
const NONE: i64 = 1 << 62;
const NONE_FENCED: i64 = -NONE;
/// What the shared word has until the sum is in it.
const BIAS: i64 = 1 << 62;

/// References that are counted where their holders run.
///
/// A handle, to be copied and stored beside the object. Cost of get and put: a load and a store of a word that no other
/// thread writes, and a load of one that is not written while the count lives. Up to 2^61 references.
pub struct ThreadRef<M: Memory = Native> {
    node: NonNull<Node<M>>,
    spot: Spot,
}

impl<M: Memory> Clone for ThreadRef<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Memory> Copy for ThreadRef<M> {}

// SAFETY: the node is atomics, and its memory lives as long as the table.
unsafe impl<M: Memory> Send for ThreadRef<M> {}
// SAFETY: as above.
unsafe impl<M: Memory> Sync for ThreadRef<M> {}

/// # Safety
///
/// Every method is given the table that the count was made in, and that exists.
impl<M: Threads> ThreadRef<M> {
    /// A count with the initial reference alone, which the caller owns.
    #[must_use]
    pub fn new_in(table: &Table<M>) -> Self {
        let Place { spot, node } = table.acquire();
        let count = Self { node, spot };
        // Relaxed, here and below: the caller publishes the count.
        count.node().rest.store(BIAS as u64, Ordering::Relaxed);
        count
    }

    fn node<'a>(self) -> &'a Node<M> {
        // SAFETY: nodes live as long as the table (every caller's promise).
        unsafe { self.node.as_ref() }
    }

    /// Takes a reference.
    ///
    /// # Safety
    ///
    /// The table is the count's. During the call the caller has a reference, or keeps the initial one from being killed.
    #[inline(always)]
    pub unsafe fn get(self, table: &Table<M>) {
        if !self.add(table, 1) {
            // Relaxed: the caller's reference orders everything that this one will need.
            self.node().rest.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes a reference, unless a kill was begun before the call. If one is begun during the call, the outcome may be
    /// either.
    ///
    /// # Safety
    ///
    /// The table is the count's, and the count is not [retired](Self::retire) during the call.
    #[inline(always)]
    pub unsafe fn try_get(self, table: &Table<M>) -> GetResult {
        // Relaxed, here and below: a kill that the caller knows of is seen. The killer may be about to read the cell: the
        // store would be in its sum.
        if self.node().state.load(Ordering::Relaxed) != LIVE {
            return GetResult::Dead;
        }
        if self.add(table, 1) { GetResult::Acquired } else { self.try_get_shared() }
    }

    #[cold]
    fn try_get_shared(self) -> GetResult {
        if self.node().state.load(Ordering::Relaxed) != LIVE {
            return GetResult::Dead;
        }
        // The thread has no number.
        let rest = &self.node().rest;
        let mut found = rest.load(Ordering::Relaxed);
        // Before the sum there is the bias, and afterwards 0 only if the last put was.
        while found != 0 {
            let new = found.wrapping_add(1);
            match rest.compare_exchange_weak(found, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return GetResult::Acquired,
                Err(now) => found = now,
            }
        }
        GetResult::Dead
    }

    /// Gives a reference back. After [`PutResult::StillHeld`] the caller does not touch the object; after [`PutResult::Last`] no
    /// other thread does.
    ///
    /// # Safety
    ///
    /// The table is the count's. The caller owns a reference, and gives it away.
    #[inline(always)]
    pub unsafe fn put(self, table: &Table<M>) -> PutResult {
        if self.add(table, -1) { PutResult::StillHeld } else { self.put_shared() }
    }

    #[cold]
    fn put_shared(self) -> PutResult {
        // Release: pairs with the Acquire below, of the last put, and with that of the killer.
        let old = self.node().rest.fetch_sub(1, Ordering::Release);
        if old != 1 {
            return PutResult::StillHeld;
        }
        // Acquire: pairs with the Release of every put, and of the killer. A load, since ThreadSanitizer does not model
        // fences.
        self.node().rest.load(Ordering::Acquire);
        PutResult::Last
    }

    /// # Panics
    ///
    /// If the table is visibly not the count's. Nothing has changed then.
    fn check(self, table: &Table<M>) {
        if !table.may_have(self.spot, self.node) {
            refuse();
        }
    }

    /// Adds to the calling thread's cell. If `false`, it has to be counted on the shared word.
    #[inline(always)]
    fn add(self, table: &Table<M>, by: i64) -> bool {
        if cfg!(debug_assertions) {
            self.check(table);
        }
        let Some(cell) = table.own(self.spot) else { return self.add_slowly(table, by) };
        // Relaxed: stored by this thread, or by one that had its number before; or emptied by a killer.
        let old = cell.load(Ordering::Relaxed) as i64;
        if old <= EMPTY {
            return self.add_slowly(table, by);
        }
        let new = old.wrapping_add(by) as u64;
        // Release: pairs with the Acquire in `take`: what a holder did before its put.
        cell.store(new, Ordering::Release);
        // Rule 1. Pairs with the heavy barriers in `kill` and `kill_all`.
        M::free_light_barrier();
        // Relaxed: the barriers do it.
        if self.node().state.load(Ordering::Relaxed) == LIVE {
            return true;
        }
        self.is_taken(cell, old, new)
    }

    #[cold]
    #[inline(never)]
    fn add_slowly(self, table: &Table<M>, by: i64) -> bool {
        // Relaxed, here and below: as in `add`.
        if self.node().state.load(Ordering::Relaxed) != LIVE {
            return false;
        }
        self.check(table);
        let Some(cell) = table.own_or_grow(self.spot) else { return false };
        let old = cell.load(Ordering::Relaxed) as i64;
        let none = if M::light_is_free() { NONE } else { NONE_FENCED };
        let new = if old == EMPTY { none } else { old }.wrapping_add(by) as u64;
        // Release: as in `add`.
        cell.store(new, Ordering::Release);
        // As in `add`, where light barriers are not free, too.
        M::light_barrier();
        if self.node().state.load(Ordering::Relaxed) == LIVE {
            return true;
        }
        self.is_taken(cell, old, new)
    }

    /// Rule 2: whether the killer has counted what this thread stored. If not, it is taken back.
    #[cold]
    #[inline(never)]
    fn is_taken(self, cell: &M::AtomicU64, old: i64, new: u64) -> bool {
        // Relaxed: what this thread did goes with its store, which a compare-exchange continues, and its put.
        if cell.compare_exchange(new, old as u64, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return true;
        }
        // Relaxed, twice: this thread's operation on the shared word, or its caller's end of use, comes before `retire`.
        if old != EMPTY && self.node().state.load(Ordering::Relaxed) & LEFTOVERS == 0 {
            self.node().state.fetch_or(LEFTOVERS, Ordering::Relaxed);
        }
        false
    }

    /// Gives the initial reference up: from now on the references are counted on one word, and one put is the last. If
    /// there are none, this is. Waits for no thread. A second call does nothing.
    ///
    /// # Safety
    ///
    /// The table is the count's, and the count is not [retired](Self::retire) during the call.
    pub unsafe fn kill(self, table: &Table<M>) -> PutResult {
        self.check(table);
        if !self.transition_to_killed() {
            return PutResult::StillHeld;
        }
        // Rule 1. Pairs with the light barriers of gets and puts.
        M::heavy_barrier();
        // SAFETY: marked, and past the barrier; the rest is the caller's promise.
        unsafe { self.sum(table) }
    }

    /// [Kills](Self::kill) the counts of all items with one barrier, and returns the items that are dead now. `count` is
    /// called while the item's count is alive.
    ///
    /// # Safety
    ///
    /// As [`kill`](Self::kill), for what `count` returns, always the same for an item.
    #[must_use = "the caller destroys them"]
    pub unsafe fn kill_all<T>(
        table: &Table<M>,
        mut items: Vec<T>,
        count: impl Fn(&T) -> Self,
    ) -> Vec<T> {
        items.iter().for_each(|item| count(item).check(table));
        items.retain(|item| count(item).transition_to_killed());
        if !items.is_empty() {
            // As in `kill`.
            M::heavy_barrier();
        }
        // SAFETY: marked, and past the barrier; the rest is the caller's promise.
        items.retain(|item| unsafe { count(item).sum(table) }.is_last());
        items
    }

    /// Whether this call did it.
    fn transition_to_killed(self) -> bool {
        // Relaxed: the barrier that follows does it.
        self.node().state.fetch_or(KILLED, Ordering::Relaxed) & KILLED == 0
    }

    /// Moves what is in cells to the shared word.
    ///
    /// # Safety
    ///
    /// The caller has marked the count as killed, alone, and passed a heavy barrier since. As [`kill`](Self::kill).
    unsafe fn sum(self, table: &Table<M>) -> PutResult {
        let sum = table.all(self.spot).map(take::<M>).sum::<i64>();
        let change = sum.wrapping_sub(BIAS) as u64;
        // Acquire: pairs with the Release of puts on the shared word. Release: pairs with the Acquire of the last put,
        // to which it passes on what `take` acquired.
        let old = self.node().rest.fetch_add(change, Ordering::AcqRel);
        if old.wrapping_add(change) == 0 { PutResult::Last } else { PutResult::StillHeld }
    }

    /// Rule 7: whether the other of the two has left, so that the caller [retires](Self::retire) the count.
    ///
    /// # Safety
    ///
    /// The table is the count's. The caller is its owner, which has killed it and does not use it any more, or got
    /// [`PutResult::Last`], and is done with the object. Each calls this once.
    pub unsafe fn leave(self) -> bool {
        // Release: what this one did comes before what the other one frees. Acquire: the same, if this one is the other.
        self.node().state.fetch_or(LEFT, Ordering::AcqRel) & LEFT != 0
    }

    /// Gives the index back.
    ///
    /// # Safety
    ///
    /// The table is the count's. The caller got [`PutResult::Last`], and no thread uses the count any more. Once.
    pub unsafe fn retire(self, table: &Table<M>) {
        self.check(table);
        let node = self.node();
        // Relaxed, here and below: every use comes before, and the next count is made after.
        if node.state.load(Ordering::Relaxed) & LEFTOVERS != 0 {
            table.all(self.spot).for_each(|cell| cell.store(EMPTY as u64, Ordering::Relaxed));
        }
        node.rest.store(0, Ordering::Relaxed);
        node.state.store(LIVE, Ordering::Relaxed);
        table.release(self.spot);
    }
}

#[cold]
#[inline(never)]
fn refuse() -> ! {
    panic!(
        "this is a `Shared` or `Owner` of another copy of the crate `tenure`, such as a plugin's or another version's: use it \
         only in code that is linked with the copy that made it"
    )
}

/// Rule 3: empties a cell, and returns what it counted.
fn take<M: Memory>(cell: &M::AtomicU64) -> i64 {
    // Relaxed, here and on failure: the value is compared.
    let mut found = cell.load(Ordering::Relaxed);
    while found as i64 != EMPTY {
        // Acquire: pairs with the Release in `add` and `add_slowly`.
        match cell.compare_exchange(found, EMPTY as u64, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                let found = found as i64;
                return found.wrapping_sub(if found > EMPTY { NONE } else { NONE_FENCED });
            }
            Err(now) => found = now,
        }
    }
    0
}

impl<M: Memory> core::fmt::Debug for ThreadRef<M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ThreadRef").field("index", &self.spot.index()).finish_non_exhaustive()
    }
}
