//! [`Pool`]: the life cycle of a pool and of what is in its slots, for objects and for buffers.
//!
//! 1. **[`fill`](Shared::fill)** puts new contents into a vacant slot, which is then in use. Contents hold a reference
//!    to the pool (see [`Shared`]), so guards need none.
//! 2. The slot goes from in use to idle and back; nothing is counted.
//! 3. **[`empty`]** alone ends contents, of a slot that is neither in use nor idle. Giving up the reference is its last
//!    step.
//!
//! What a pool holds, in objects or bytes, is counted from before contents are made until they are gone, so it never
//! exceeds the limit.
//!
//! # At the limit
//!
//! An acquire is refused only if, at one moment of the call, no slot was idle and the limit allowed no other contents.
//! [`make_room`](Shared::make_room) gathers the lists, and looks at the limit between two looks that found all lists
//! empty. Or an acquire waits, in [`turns`], and this one would come before it.
//!
//! Contents that end [quietly](Contents::QUIET) are freed for others under the pool's lock: while one thread makes
//! room, no other has contents in hand that are neither idle nor in use. The drop of other contents may panic, take
//! long, or acquire from this pool: they are queued as [`Orphans`] and end when no lock is held.

mod turns;

use super::list::List;
use super::lock::Lock;
use super::table::{self, Table};
use crate::cache_line::CachePadded;
use crate::memory::{Atomic, Memory, Ordering, Resident, Threads};
use crate::segments::NO_INDEX;
use crate::shared::{RawShared, Shared};
use alloc::sync::{Arc, Weak};
use core::iter::once;
use core::mem::forget;
use core::ops::Deref;
use core::ptr::{self, NonNull};
use turns::{Serve, Turns, WAITING};

/// How many quiet contents a trim frees before it releases the lock for others.
const BATCH: usize = 32;
const OPEN: u32 = 0;
const CLOSED: u32 = 1;

pub(crate) trait Contents<L: List>: Sized {
    /// New contents, in no slot yet.
    type Made;
    type Failure;
    /// The part of a slot that has the contents, and stays when they go.
    type Place;
    /// One class, or one for each size, the smallest first.
    type Classes: AsRef<[Class<Self, L>]>;
    /// Whether contents end without running code of users.
    const QUIET: bool;
    /// A slot whose [`uses`](table::Slot::uses) have come here is not used again.
    const LAST_USE: u64;

    /// Makes contents. May panic, or close the pool.
    fn make(&self, class: &Class<Self, L>) -> Result<Self::Made, Self::Failure>;

    fn vacant(class: &Class<Self, L>) -> Self::Place;

    /// # Safety
    ///
    /// The slot is vacant, and the caller owns it.
    unsafe fn fill(place: &Self::Place, made: Self::Made);

    /// Ends the contents of a place. May panic unless [`QUIET`](Self::QUIET).
    ///
    /// # Safety
    ///
    /// The slot has contents, and the caller owns it.
    unsafe fn end(place: &Self::Place);

    /// The class of a slot.
    ///
    /// # Safety
    ///
    /// The pool is kept for `'a`, by the slot's contents or otherwise.
    unsafe fn class<'a>(part: &Part<Self, L>) -> &'a Class<Self, L>
    where
        Self: 'a;
}

pub(crate) type Slot<C, L> = table::Slot<Part<C, L>, <L as List>::Memory>;

pub(crate) struct Part<C: Contents<L>, L: List> {
    /// The slot's contents, if any, keep the pool.
    pub(crate) pool: RawShared<Pool<C, L>, L::Memory>,
    pub(crate) place: C::Place,
}

// SAFETY: all threads share the pool, as the owner's `Resident` requires.
unsafe impl<C: Contents<L>, L: List> Send for Part<C, L> where C::Place: Send {}
// SAFETY: as above.
unsafe impl<C: Contents<L>, L: List> Sync for Part<C, L> where C::Place: Sync {}

pub(crate) struct Class<C: Contents<L>, L: List> {
    pub(crate) table: Table<Part<C, L>, L>,
    /// What the contents of a slot count for: one object, or their bytes.
    pub(crate) size: u64,
    pub(crate) counts: CachePadded<Counts<L::Memory>>,
}

/// Figures, away from what every acquire reads.
pub(crate) struct Counts<M: Memory> {
    filled: M::AtomicU64,
    emptied: M::AtomicU64,
    /// Acquires that got a smaller class instead.
    pub(crate) downgraded: M::AtomicU64,
}

/// What [`Counts`] and slots say.
pub(crate) struct Usage {
    pub(crate) made: u64,
    pub(crate) ended: u64,
    pub(crate) acquired: u64,
    pub(crate) in_use: u64,
}

pub(crate) struct Pool<C: Contents<L>, L: List> {
    pub(crate) contents: C,
    pub(crate) classes: C::Classes,
    pub(crate) limit: u64,
    closed: <L::Memory as Memory>::AtomicU32,
    account: CachePadded<Account<L::Memory>>,
}

/// Away from what every acquire reads.
struct Account<M: Threads> {
    /// What contents count for; and [`WAITING`].
    held: M::AtomicU64,
    /// Their lock is held by the thread that makes room, or frees quiet contents.
    turns: Turns<M>,
}

pub(crate) enum Refused<F> {
    Closed,
    /// Nothing was idle at some moment of the call and the limit allowed no more, or an acquire waited.
    Limit,
    /// All possible slots have contents or were used up.
    NoSlot,
    Failed(F),
}

/// A part of the limit, given back unless new contents are made.
struct Reserved<'a, C: Contents<L>, L: List> {
    pool: &'a Pool<C, L>,
    size: u64,
}

impl<C: Contents<L>, L: List> Drop for Reserved<'_, C, L> {
    fn drop(&mut self) {
        self.pool.give_back(self.size);
        self.pool.serve_if_held();
    }
}

enum Found<'a, C: Contents<L>, L: List> {
    /// A slot that was idle, and is in use from now on.
    Idle(&'a Slot<C, L>),
    Room(Reserved<'a, C, L>),
}

impl<C: Contents<L>, L: List> Class<C, L> {
    pub(crate) fn new(size: u64, magazine: usize, owner: Weak<dyn Resident>) -> Self {
        let [filled, emptied, downgraded] = [(); 3].map(|()| Atomic::new(0));
        let counts = CachePadded::new(Counts { filled, emptied, downgraded });
        Self { table: Table::new(magazine, owner), size, counts }
    }

    /// Cost: a load for each slot.
    pub(crate) fn usage(&self) -> Usage {
        // Relaxed, both: figures. `ended` first, so that it is not more than `made`.
        let ended = self.counts.emptied.load(Ordering::Relaxed);
        let made = self.counts.filled.load(Ordering::Relaxed);
        let (acquired, in_use) = self.table.usage();
        Usage { made, ended, acquired, in_use }
    }
}

impl<C: Contents<L>, L: List> Pool<C, L> {
    pub(crate) fn new(contents: C, classes: C::Classes, limit: u64) -> Self {
        let account = CachePadded::new(Account { held: Atomic::new(0), turns: Turns::new() });
        Self { contents, classes, limit, closed: Atomic::new(OPEN), account }
    }

    #[inline(always)]
    pub(crate) fn is_closed(&self) -> bool {
        // Relaxed: a thread that knows of the close sees it; for others the order does not matter.
        self.closed.load(Ordering::Relaxed) != OPEN
    }

    pub(crate) fn held(&self) -> u64 {
        // Relaxed: a figure.
        self.account.held.load(Ordering::Relaxed) & !WAITING
    }

    /// `held` and other contents of `size`, if the limit allows them, and leave the bit [`WAITING`].
    fn with_another(&self, held: u64, size: u64) -> Option<u64> {
        held.checked_add(size).filter(|&sum| sum <= self.limit.min(WAITING - 1))
    }

    /// `None` at the limit, and while an acquire waits.
    fn reserve(&self, size: u64) -> Option<Reserved<'_, C, L>> {
        self.add(size, 0).then(|| Reserved { pool: self, size })
    }

    /// Adds to the account, which has the bit `waiting`, if the limit allows it.
    fn add(&self, size: u64, waiting: u64) -> bool {
        // Never above the limit, even briefly: another thread would be refused for nothing.
        let mut found = self.held() | waiting;
        while let Some(sum) = self.with_another(found & !WAITING, size) {
            // Release: pairs with the Acquire in `is_full`, which sees as idle what this thread released before.
            // Relaxed on failure: only an amount.
            let (held, sum) = (&self.account.held, sum | waiting);
            match held.compare_exchange_weak(found, sum, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) if now & WAITING != waiting => return false,
                Err(now) => found = now,
            }
        }
        false
    }

    fn give_back(&self, size: u64) {
        // Relaxed: only an amount.
        self.account.held.fetch_sub(size, Ordering::Relaxed);
    }

    fn lists(&self) -> impl Iterator<Item = &L> + Clone {
        self.classes.as_ref().iter().map(|class| &class.table.idle)
    }

    /// Whether, at some moment of the call, no slot was idle and the limit allowed no other contents of `size`. For the
    /// thread with the lock, on gathered lists.
    pub(super) fn is_full(&self, size: u64) -> bool {
        // There are fewer classes than a size has bits.
        let mut before = [0; usize::BITS as usize];
        for (list, before) in self.lists().zip(&mut before) {
            let Some(emptiness) = list.emptiness() else { return false };
            *before = emptiness;
        }
        // Acquire: pairs with the Release in `reserve`. Between the two looks, the first of which acquires. So this is
        // the moment: a release before it or an acquire after it would have been seen.
        let held = self.account.held.load(Ordering::Acquire);
        let mut lists = self.lists().zip(&before);
        self.with_another(held, size).is_none()
            && lists.all(|(list, &before)| list.emptiness() == Some(before))
    }
}

impl<C: Contents<L>, L: List> Shared<Pool<C, L>, L::Memory> {
    /// A slot when `asked` has no idle one: another thread's, a new one, or one of a smaller class, down to `smallest`.
    #[cold]
    #[inline(never)]
    pub(crate) fn acquire_slowly(
        &self,
        asked: usize,
        smallest: usize,
    ) -> Result<&Slot<C, L>, Refused<C::Failure>> {
        if self.is_closed() {
            return Err(Refused::Closed);
        }
        let classes = self.classes.as_ref();
        if let Some(reserved) = self.reserve(classes[asked].size) {
            match self.fill(&classes[asked], reserved) {
                Err(Refused::NoSlot) => {}
                result => return result,
            }
        }
        // No room is made for what the limit can never allow.
        let mut possible =
            classes[smallest..=asked].iter().rev().filter(|class| class.size <= self.limit);
        let found = possible.clone().next().and_then(|_| {
            let mut look =
                || possible.find_map(|class| self.make_room(class).map(|found| (class, found)));
            self.unless_held(|| L::gather(self.lists(), &mut look))
        });
        match found {
            Some((_, Found::Idle(slot))) => Ok(slot),
            Some((class, Found::Room(reserved))) => self.fill(class, reserved),
            None if self.is_closed() => Err(Refused::Closed),
            None => Err(Refused::Limit),
        }
    }

    fn fill<'a>(
        &'a self,
        class: &'a Class<C, L>,
        reserved: Reserved<'_, C, L>,
    ) -> Result<&'a Slot<C, L>, Refused<C::Failure>> {
        // Before there is a slot: it may panic.
        let made = self.contents.make(class).map_err(Refused::Failed)?;
        if self.is_closed() {
            // `make` may have closed it.
            return Err(Refused::Closed);
        }
        let vacant = || Part { pool: self.as_raw(), place: C::vacant(class) };
        let slot = class.table.vacancy(vacant).ok_or(Refused::NoSlot)?;
        // Relaxed: this thread's, here and below.
        slot.next.store(0, Ordering::Relaxed);
        // SAFETY: the slot is vacant, and this thread's.
        unsafe { C::fill(&slot.part.place, made) };
        // From here on the contents are counted and keep the pool, until `empty`.
        forget(reserved);
        let _: RawShared<_, _> = self.clone().into_raw();
        // Relaxed: a figure.
        class.counts.filled.fetch_add(1, Ordering::Relaxed);
        slot.transition_to_in_use();
        Ok(slot)
    }

    /// An idle slot of that class, or room for a new one, for which idle contents of other classes are freed. `None` if
    /// there was neither at some moment. For the thread with the lock, on gathered lists.
    fn make_room<'a>(&'a self, class: &'a Class<C, L>) -> Option<Found<'a, C, L>> {
        loop {
            if let Some(slot) = class.table.reuse() {
                return Some(Found::Idle(slot));
            }
            if let Some(reserved) = self.reserve(class.size) {
                return Some(Found::Room(reserved));
            }
            // The largest first. Another thread may take what is found or freed: then again.
            let mut others = self.classes.as_ref().iter().rev();
            let mut free_one =
                |other: &Class<C, L>| !ptr::eq(other, class) && Orphans::new(other).take(1) == 1;
            if !(C::QUIET && others.any(&mut free_one)) && self.is_full(class.size) {
                return None;
            }
        }
    }

    /// Ends all idle contents. Returns what they counted for.
    pub(crate) fn trim(&self) -> u64 {
        let most = if C::QUIET { BATCH } else { usize::MAX };
        let _serve = Serve(self);
        let mut trimmed = 0;
        for class in self.classes.as_ref() {
            loop {
                let mut orphans = Orphans::new(class);
                let held = C::QUIET.then(|| self.account.turns.lock());
                let taken = L::gather(once(&class.table.idle), || orphans.take(most));
                if C::QUIET {
                    orphans.empty();
                }
                drop(held);
                while orphans.empty_next() {
                    self.serve_if_held();
                }
                trimmed += taken as u64 * class.size;
                if taken < most {
                    break;
                }
            }
        }
        trimmed
    }

    /// Refuses acquires from now on, and ends idle contents; others end when they are released.
    pub(crate) fn close(&self) {
        // Relaxed: as in `is_closed`.
        self.closed.store(CLOSED, Ordering::Relaxed);
        self.shut().iter_mut().for_each(Orphans::empty);
    }
}

/// Ends the use of a slot, which is then idle unless the pool is closed.
///
/// # Safety
///
/// The slot has contents, the caller is its user, and `idle` is the list of its class. The pool may be gone afterwards.
#[inline(always)]
pub(crate) unsafe fn release<C: Contents<L>, L: List>(slot: NonNull<Slot<C, L>>, idle: NonNull<L>) {
    // SAFETY: the contents keep the pool until the slot is released, after which `this` is not used. If the list is
    // closed, the slot is still this thread's, and not in use.
    unsafe {
        let this = slot.as_ref();
        let index = this.index();
        this.transition_to_unused();
        if L::release_raw(idle, index).is_err() {
            released_to_closed(slot);
        }
    }
}

/// The list is closed: the pool is, or an acquire waits.
///
/// # Safety
///
/// The slot has contents, is the caller's, and neither in use nor idle. The pool may be gone afterwards.
#[cold]
#[inline(never)]
unsafe fn released_to_closed<C: Contents<L>, L: List>(slot: NonNull<Slot<C, L>>) {
    // SAFETY: the contents keep the pool until here, and `pool` from here on.
    let (pool, class, index) = unsafe {
        let slot = slot.as_ref();
        (slot.part.pool.to_shared(), C::class(&slot.part), slot.index())
    };
    pool.hand_on(class, index);
}

/// Ends the use of a slot, and its contents.
///
/// # Safety
///
/// As [`release`].
#[cold]
#[inline(never)]
pub(crate) unsafe fn discard<C: Contents<L>, L: List>(slot: NonNull<Slot<C, L>>) {
    // SAFETY: the contents keep the pool until here, and `pool` from here on. The slot is the caller's, and in no list.
    unsafe {
        let pool = slot.as_ref().part.pool.to_shared();
        let _serve = Serve(&pool);
        slot.as_ref().transition_to_unused();
        empty(slot);
    }
}

/// Ends the contents of a slot, which is then vacant, or used up.
///
/// # Safety
///
/// The slot has contents, is the caller's, and neither in use nor idle. The pool may be gone afterwards.
#[cold]
#[inline(never)]
unsafe fn empty<C: Contents<L>, L: List>(slot: NonNull<Slot<C, L>>) {
    /// The rest, also if the contents' drop panics.
    struct Ended<C: Contents<L>, L: List>(NonNull<Slot<C, L>>);

    impl<C: Contents<L>, L: List> Drop for Ended<C, L> {
        fn drop(&mut self) {
            // SAFETY: `fill` left the contents' reference for this alone. `pool` keeps slot and class, and is dropped
            // last.
            let (pool, slot, class) = unsafe {
                let slot = self.0.as_ref();
                (Shared::from_raw(slot.part.pool), slot, C::class(&slot.part))
            };
            // Relaxed: a figure.
            class.counts.emptied.fetch_add(1, Ordering::Relaxed);
            pool.give_back(class.size);
            if slot.uses() < C::LAST_USE {
                // SAFETY: the slot is this thread's, not in use, and its contents are gone.
                unsafe { class.table.vacate(slot) };
            }
        }
    }

    let ended = Ended(slot);
    // SAFETY: the contents are there, and the caller's.
    unsafe { C::end(&ended.0.as_ref().part.place) };
}

/// Slots of the calling thread, in no list, whose contents have to go. Linked by their `next`.
struct Orphans<'a, C: Contents<L>, L: List> {
    class: &'a Class<C, L>,
    first: u32,
}

impl<'a, C: Contents<L>, L: List> Orphans<'a, C, L> {
    fn new(class: &'a Class<C, L>) -> Self {
        Self { class, first: NO_INDEX }
    }

    fn take(&mut self, most: usize) -> usize {
        let idle = &self.class.table.idle;
        (0..most).map_while(|_| idle.acquire()).map(|index| self.add(index)).count()
    }

    /// Adds a slot with contents, in no list, that the caller gives up.
    fn add(&mut self, index: u32) {
        // Relaxed: this thread reads it.
        self.class.table.slot(index).next.store(self.first, Ordering::Relaxed);
        self.first = index;
    }

    /// A slot for the caller.
    fn pop(&mut self) -> Option<u32> {
        let index = self.first;
        if index == NO_INDEX {
            return None;
        }
        let next = &self.class.table.slot(index).next;
        // Relaxed: this thread wrote it.
        self.first = next.load(Ordering::Relaxed);
        next.store(0, Ordering::Relaxed);
        Some(index)
    }

    /// Ends the contents of one, which may panic. The caller serves acquires that wait, without the lock.
    fn empty_next(&mut self) -> bool {
        let slot = self.pop().map(|index| NonNull::from(self.class.table.slot(index)));
        // SAFETY: the slot was the caller's of `add`. The pool's handle, or a reference, is kept by those who have
        // orphans.
        slot.map(|slot| unsafe { empty(slot) }).is_some()
    }

    /// Ends the contents of all.
    ///
    /// # Panics
    ///
    /// If the drop of one of them does, after the others are gone.
    fn empty(&mut self) {
        while self.empty_next() {}
    }
}

impl<C: Contents<L>, L: List> Drop for Orphans<'_, C, L> {
    /// Ends those that a panic left.
    fn drop(&mut self) {
        while self.empty_next() {}
    }
}

/// What the handles of a pool own together: the pool closes with the last of them.
struct Owner<C: Contents<L>, L: List>(Shared<Pool<C, L>, L::Memory>);

impl<C: Contents<L>, L: List> Resident for Owner<C, L>
where
    Pool<C, L>: Send + Sync,
{
    unsafe fn leave(&self, thread: usize) {
        for list in self.0.lists() {
            // SAFETY: passed on to the caller.
            unsafe { list.leave(thread) };
        }
    }
}

impl<C: Contents<L>, L: List> Drop for Owner<C, L> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A handle of a pool, shared by its clones.
pub(crate) struct Handle<C: Contents<L>, L: List>(Arc<Owner<C, L>>);

impl<C: Contents<L> + 'static, L: List> Handle<C, L>
where
    Pool<C, L>: Send + Sync,
{
    pub(crate) fn new(make: impl FnOnce(&Weak<dyn Resident>) -> Pool<C, L>) -> Self {
        Self(Arc::new_cyclic(|owner: &Weak<Owner<C, L>>| {
            let owner: Weak<dyn Resident> = owner.clone();
            Owner(Shared::new(make(&owner)))
        }))
    }
}

impl<C: Contents<L>, L: List> Clone for Handle<C, L> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: Contents<L>, L: List> Deref for Handle<C, L> {
    type Target = Shared<Pool<C, L>, L::Memory>;
    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.0.0
    }
}
